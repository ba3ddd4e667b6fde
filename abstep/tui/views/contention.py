"""Contention: which compute slowed while which collectives ran; growth is the change, stretch the ratio behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from abstep import units
from abstep.compare import recorded
from abstep.compare.statistics import CHANGED
from abstep.tui.nav import Place
from abstep.tui.views import figures
from abstep.tui.views.base import Stage, View
from abstep.tui.widgets.lines import BLANK, Line, line, wrap
from abstep.tui.widgets.table import Column, Table

if TYPE_CHECKING:
    from abstep.compare.comparison import ContentionRow
    from abstep.tui.look import Look


def stretches(row: ContentionRow, look: Look) -> str:
    """Return how much longer the compute ran than alone, on both sides."""
    base = units.ratio_text(row.base_stretch).removesuffix("x")
    return f"{base} {look.glyphs.arrow} {units.ratio_text(row.variant_stretch)}"


def _words(row: ContentionRow) -> str:
    return " ".join((row.compute, row.collective, row.slot, units.word(row.delta.verdict)))


_NAMED_FROM = 140  # columns: there is room for a slot in words


class ContentionView(View):
    """Beside level 2."""

    kind: ClassVar[str] = "contention"
    footer: ClassVar[tuple[str, ...]] = ("enter", "back", "filter", "sort", "views", "help")
    terms: ClassVar[tuple[str, ...]] = (
        "contention",
        "contention growth",
        "stretch",
        "alone",
        "control",
        "overlapped",
    )

    def __init__(self, stage: Stage, place: Place) -> None:
        super().__init__(stage, place)
        rows = self.comparison.contention
        self._table = Table(
            self._columns(),
            list(enumerate(rows, 1)),
            words=lambda row: _words(row[1]),
            stands_out=lambda row: row[1].delta.verdict in CHANGED,
        )

    def table(self) -> Table[object]:
        """Return the list."""
        return cast("Table[object]", self._table)

    def opens(self) -> Place | None:
        """Return the pair under the cursor."""
        index = self._table.index
        return None if index is None else Place("pair", index)

    def neighbour(self, row: int, by: int) -> int | None:
        """Return the pair before or after one, in the order the list shows."""
        found = self._table.neighbour(row, by)
        if found is not None:
            self._table.select(found)
        return found

    def body(self, width: int, height: int) -> list[Line]:
        """Return the list, with what the row under the cursor is below it."""
        rows = self.comparison.contention
        if not rows:
            return [line(("  no compute overlapped a collective long enough to say", "dim"))]
        said = self._table.count_text() or self._together()
        lines = [line((f" {said}", "dim"))]
        for told in recorded.host_sentences(self.comparison):
            lines += [line(" ", *piece) for piece in wrap(told, width - 1, role="dim")]
        lines += self._table.draw(width, max(height - len(lines) - 1, 3), self.look)
        lines += [BLANK] * (height - 1 - len(lines))
        current = self._table.current
        return [*lines[: height - 1], line((f" {self._about(current[1])}" if current else "", "dim"))]

    def _together(self) -> str:
        rows, control = self.comparison.contention, self.comparison.control
        total = sum(row.delta.delta or 0.0 for row in rows)
        said = f"{len(rows)} pairs, together {units.time_text(total, sign=True)} a window"
        return (
            said if control is None else f"{said}; what overlaps nothing: {units.ratio_text(control.ratio)}"
        )

    def text(self) -> list[str]:
        """Return every row as text."""
        return self._table.text(160, self.look)

    def _about(self, row: ContentionRow) -> str:
        overlap = units.pair_text(row.base_overlap, row.variant_overlap, ascii=self.look.ascii)
        said = f"overlaps {row.beside} for {overlap} a window"
        return f"{said}; {row.note}" if row.note else f"{said}: {row.compute}"

    def _columns(self) -> list[Column[tuple[int, ContentionRow]]]:
        rows = self.comparison.contention
        width = figures.change_width((row.delta for row in rows), self.look)
        counts = max((units.cells(units.n_text(row.delta)) - 2 for row in rows), default=1)
        return [
            Column("#", 2, lambda row: (str(row[0]), "dim"), lambda row: row[0]),
            Column("compute", 0, lambda row: (row[1].compute, ""), lambda row: row[1].compute.lower(), right=False),
            Column("before", 22, lambda row: (_before(row[1]), ""), lambda row: _before(row[1]), right=False,
                   from_width=100, below=_NAMED_FROM),
            Column("beside", 42, lambda row: (row[1].beside, ""), lambda row: row[1].beside, right=False,
                   from_width=_NAMED_FROM),
            Column("stretch", 13, lambda row: (stretches(row[1], self.look), ""), lambda row: row[1].variant_stretch,
                   right=False),
            Column("growth", width, lambda row: figures.change(row[1].delta, self.look),
                   lambda row: row[1].delta.delta, right=False, from_width=figures.WIDE_ENOUGH),
            Column("growth", 11, lambda row: figures.change(row[1].delta, self.look, 0),
                   lambda row: row[1].delta.delta, right=False, below=figures.WIDE_ENOUGH),
            Column("n", max(counts, 1), lambda row: (units.n_text(row[1].delta).removeprefix("n="), "")),
            Column("", 12, lambda row: figures.word(row[1].delta), lambda row: units.word(row[1].delta.verdict),
                   right=False),
        ]  # fmt: skip


def _before(row: ContentionRow) -> str:
    """Return what waits for the collective it ran beside: what tells apart pairs of one kind."""
    consumer = row.beside.partition(" before ")[2]
    return consumer or f"{row.collective}, nothing"
