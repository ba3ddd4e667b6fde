"""The step windows: which were used, which were dropped and why, and how each window's time divides."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from abstep import units
from abstep.tui.nav import Place, Window
from abstep.tui.views.base import Stage, View
from abstep.tui.widgets.lines import Line, line
from abstep.tui.widgets.table import Column, Table

if TYPE_CHECKING:
    from abstep.compare.comparison import Comparison, Detail

CATEGORIES = ("compute_alone", "overlapped", "exposed", "copy_only", "idle")
_TITLES = ("compute", "overlap", "exposed", "copies", "idle")


class WindowRow(NamedTuple):
    """One window on one rank; ns, None where unknown."""

    window: Window
    rank: int
    length: float | None
    categories: tuple[float | None, ...]
    reason: str | None


def windows(detail: Detail, comparison: Comparison) -> list[WindowRow]:
    """Read every window of both runs; one that the comparison left out, with its reason."""
    left_out = {
        (name, drop.repeat, drop.step): drop.reason
        for name, side in comparison.sides
        for drop in side.dropped
        if drop.rank is None
    }
    names = ["side", "repeat", "step", "rank", "length_ns", *CATEGORIES, "reason"]
    frame = detail.windows().sort("side", "repeat", "step", "rank").select(names)
    return [
        WindowRow(
            Window(*row[:3]),
            row[3],
            row[4],
            tuple(row[5:10]),
            left_out.get(row[:3], row[10]) if row[10] is not None else None,
        )
        for row in frame.iter_rows()
    ]


class WindowsView(View):
    """Kept and dropped windows."""

    kind: ClassVar[str] = "windows"
    footer: ClassVar[tuple[str, ...]] = ("enter=timelines", "back", "filter", "sort", "views", "help")
    terms: ClassVar[tuple[str, ...]] = (
        "step window", "completed window", "warm window", "typical window", "warm-up", "last in cycle", "outlier",
        "incomplete",
    )  # fmt: skip

    def __init__(self, stage: Stage, place: Place) -> None:
        super().__init__(stage, place)
        self._found: list[WindowRow] | None = None
        self._table: Table[WindowRow] | None = None

    def table(self) -> Table[object] | None:
        """Return the list."""
        return cast("Table[object] | None", self._table)

    def opens(self) -> Place | None:
        """Return the timelines of the window under the cursor."""
        row = self._table.current if self._table is not None else None
        return None if row is None else Place("timelines", None, row.rank, row.window)

    def body(self, width: int, height: int) -> list[Line]:
        """Return what was used and dropped, and the list."""
        lines = self._summary()
        detail = self.comparison.detail
        if detail is None:
            return [*lines, *self._dropped()][:height]
        found = self.stage.fetch("windows", lambda: windows(detail, self.comparison))
        if found is None:
            return [*lines, *self.waiting("windows", width)]
        if found is not self._found:
            self._found = found
            self._table = Table(
                _columns(), found, words=_words, stands_out=lambda row: row.reason is not None
            )
        assert self._table is not None
        lines.append(line((f" {self._table.count_text()}", "dim")))
        return [*lines, *self._table.draw(width, max(height - len(lines), 3), self.look)][:height]

    def text(self) -> list[str]:
        """Return every window as text."""
        return self._table.text(160, self.look) if self._table is not None else super().text()

    def _summary(self) -> list[Line]:
        lines = []
        for name, side in self.comparison.sides:
            reasons: dict[str, set[tuple[int, int]]] = {}
            for drop in side.dropped:
                reasons.setdefault(drop.reason, set()).add((drop.repeat, drop.step))
            why = ", ".join(
                f"{len(found)} {reason.replace('_', ' ')}" for reason, found in sorted(reasons.items())
            )
            said = f" {side.windows_used} of {side.windows_total} windows used" + (
                f"; dropped: {why}" if why else ""
            )
            lines.append(line((f" {name:<8}", name), said))
        return lines

    def _dropped(self) -> list[Line]:
        return [
            line(f" {name:<8} repeat {drop.repeat}, step {drop.step}: {drop.reason.replace('_', ' ')}")
            for name, side in self.comparison.sides
            for drop in side.dropped
        ]


def _words(row: WindowRow) -> str:
    reason = (row.reason or "typical").replace("_", " ")
    return f"{row.window.side} repeat {row.window.repeat} step {row.window.step} rank {row.rank} {reason}"


def _columns() -> list[Column[WindowRow]]:
    def category(at: int) -> Column[WindowRow]:
        return Column(
            _TITLES[at], 8, lambda row: (units.time_text(row.categories[at]), ""), lambda row: row.categories[at],
            from_width=(66, 94, 0, 105, 84)[at],
        )  # fmt: skip

    return [
        Column("side", 7, lambda row: (row.window.side, row.window.side), lambda row: row.window.side, right=False),
        Column("rep", 3, lambda row: (str(row.window.repeat), ""), lambda row: row.window.repeat),
        Column("step", 5, lambda row: (str(row.window.step), ""), lambda row: row.window.step),
        Column("rank", 5, lambda row: (str(row.rank), ""), lambda row: row.rank),
        Column("length", 8, lambda row: (units.time_text(row.length), ""), lambda row: row.length),
        *(category(at) for at in range(len(CATEGORIES))),
        Column("", 0, lambda row: ((row.reason or "used").replace("_", " "), "warning" if row.reason else "dim"),
               lambda row: row.reason or "", right=False),
    ]  # fmt: skip
