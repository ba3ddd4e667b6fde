"""The exposed slots: what disappeared, shrank, grew and appeared, one interval, one word and one n a row."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar, cast

from abstep import units
from abstep.compare.statistics import CHANGED
from abstep.tui.nav import Place
from abstep.tui.views import figures
from abstep.tui.views.base import Stage, View
from abstep.tui.widgets.lines import Line, line
from abstep.tui.widgets.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.compare.comparison import SlotRow

_WORDS = ("disappeared", "shrank", "grew", "appeared", "inconclusive", "unchanged", "too_few", "below_floor")


class SlotsView(View):
    """Level 2."""

    kind: ClassVar[str] = "intervals"
    footer: ClassVar[tuple[str, ...]] = ("enter", "back", "filter", "sort", "views", "help")
    terms: ClassVar[tuple[str, ...]] = (
        "exposed", "slot", "consumer", "blocking", "incidental", "disappeared", "appeared", "grew", "shrank",
        "unchanged", "inconclusive", "below floor", "too few",
    )  # fmt: skip

    def __init__(self, stage: Stage, place: Place) -> None:
        super().__init__(stage, place)
        numbered = list(enumerate(self.comparison.intervals, 1))
        self._summary = _summary(self.comparison.intervals)
        self._table = Table(
            self._columns(),
            numbered,
            words=lambda row: _words(row[1]),
            stands_out=lambda row: row[1].delta.verdict in CHANGED,
        )

    def title(self) -> str:
        """Return this view's piece of the breadcrumbs."""
        return "slots"

    def table(self) -> Table[object]:
        """Return the list."""
        return cast("Table[object]", self._table)

    def body(self, width: int, height: int) -> list[Line]:
        """Return the list, with what the row under the cursor is below it."""
        found = self._table.count_text() or self._summary
        rows = self._table.draw(width, max(height - 2, 3), self.look)
        rows = [line((f" {found}", "dim")), *rows]
        rows += [()] * (height - 1 - len(rows))
        current = self._table.current
        about = figures.slot_line(current[1]) if current else ""
        return [*rows[: height - 1], line((f" {about}", "dim"))]

    def opens(self) -> Place | None:
        """Return the slot under the cursor."""
        index = self._table.index
        return None if index is None else Place("slot", index)

    def neighbour(self, row: int, by: int) -> int | None:
        """Return the slot before or after one, in the order the list shows."""
        found = self._table.neighbour(row, by)
        if found is not None:
            self._table.select(found)
        return found

    def text(self) -> list[str]:
        """Return every row as text."""
        return [self._table.count_text() or self._summary, *self._table.text(160, self.look)]

    def _columns(self) -> list[Column[tuple[int, SlotRow]]]:
        rows = self.comparison.intervals
        width = figures.change_width((row.delta for row in rows), self.look)
        digits = max(len(str(len(rows))), 2)
        counts = max((units.cells(units.n_text(row.delta)) - 2 for row in rows), default=1)
        return [
            Column("#", digits, lambda row: (str(row[0]), "dim"), lambda row: row[0]),
            Column("what waits for what", 0, lambda row: self._name(row[1]), lambda row: row[1].label.lower(),
                   right=False),
            Column("phase", 9, lambda row: (row[1].phase, ""), lambda row: row[1].phase, right=False, from_width=110),
            Column("base", 8, lambda row: (units.time_text(row[1].delta.base), ""), lambda row: row[1].delta.base,
                   from_width=100),
            Column("variant", 8, lambda row: (units.time_text(row[1].delta.variant), ""),
                   lambda row: row[1].delta.variant, from_width=100),
            Column("change", width, lambda row: figures.change(row[1].delta, self.look),
                   lambda row: row[1].delta.delta, right=False, from_width=figures.WIDE_ENOUGH),
            Column("change", 11, lambda row: figures.change(row[1].delta, self.look, 0),
                   lambda row: row[1].delta.delta, right=False, below=figures.WIDE_ENOUGH),
            Column("n", max(counts, 1), lambda row: (units.n_text(row[1].delta).removeprefix("n="), "")),
            Column("", 12, lambda row: figures.word(row[1].delta),
                   lambda row: units.word(row[1].delta.verdict), right=False),
        ]  # fmt: skip

    def _name(self, row: SlotRow) -> tuple[str, str]:
        if row.consumer is None:
            return f"incidental {row.collective}, {row.phase}", "dim"
        consumer = figures.consumer_name(row.consumer)
        return f"{consumer} {self.look.glyphs.waits_for} {row.collective}", ""


def _words(row: SlotRow) -> str:
    return " ".join(
        (
            row.label,
            row.phase,
            row.group,
            row.collective,
            row.kind,
            row.consumer or "",
            units.word(row.delta.verdict),
        )
    )


def _summary(rows: Sequence[SlotRow]) -> str:
    counts = Counter(str(row.delta.verdict) for row in rows)
    said = [f"{counts[name]} {units.word(name)}" for name in _WORDS if counts[name]]
    slots = "1 slot" if len(rows) == 1 else f"{len(rows)} slots"
    return f"{slots}: {', '.join(said)}" if said else slots


def slot_beside(view: View, by: int) -> Place | None:
    """Return the same kind of place for the slot before or after, in the order the list of slots shows."""
    listed = view.stage.view(Place("intervals"))
    assert isinstance(listed, SlotsView)
    row = listed.neighbour(view.place.row or 0, by)
    return None if row is None else view.place.beside(row)
