"""Compared figures as pieces of a line: the sign, the word and the colour that go with a verdict."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from abstep import units
from abstep.model import Phase
from abstep.tui.look import role_of
from abstep.tui.widgets.lines import cells, line, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from abstep.compare.comparison import Comparison, SlotRow
    from abstep.compare.statistics import Delta
    from abstep.tui.look import Look
    from abstep.tui.widgets.lines import Line, Span

COMPARABLE = {
    "comparable": "comparable",
    "qualified": "comparable, with a caution",
    "not_comparable": "not comparable",
}
"""Comparability's status in words."""

WIDE_ENOUGH = 76  # columns from which small tables have their full widths
_SAMPLE = 500  # rows a column's width is taken from


def change(delta: Delta, look: Look, room: int = 99) -> Span:
    """Return sign, value and interval; without the interval where there is no room for it."""
    if delta.delta is None:
        return units.ABSENT, ""
    sign, role = units.glyph(delta.verdict, ascii=look.ascii), role_of(delta.verdict)
    text = f"{sign} {units.value_text(delta)}"
    return (text if cells(text) <= room else f"{sign} {units.time_text(delta.delta, sign=True)}"), role


def word(delta: Delta) -> Span:
    """Return the verdict."""
    return units.word(delta.verdict) or units.ABSENT, role_of(delta.verdict)


def change_width(deltas: Iterable[Delta], look: Look) -> int:
    """Return the columns that changes with their intervals take: `▲ +1.84 ms [+1.31, +2.40]`."""
    return max((cells(change(delta, look)[0]) for delta in islice(deltas, _SAMPLE)), default=0) or 12


class Compared:
    """A small table with a column a side, as wide as the screen allows."""

    def __init__(self, width: int, look: Look) -> None:
        self._look = look
        self._label, self._number = (27, 11) if width >= WIDE_ENOUGH else (24, 10)
        self.room = width - self._label - 2 * self._number - 4

    def titles(self, label: str, last: str) -> Line:
        """Return the heading."""
        return line((plain(self.row(label, "base", "variant")) + last, "head"))

    def row(self, label: str, base: str, variant: str, *rest: Span) -> Line:
        """Return a row."""
        columns = self._label, self._number
        return line(f"  {label:<{columns[0]}}{base:>{columns[1]}}{variant:>{columns[1]}}  ", *rest)

    def times(self, label: str, base: float | None, variant: float | None, *rest: Span) -> Line:
        """Return a row of two times (ns)."""
        return self.row(label, units.time_text(base), units.time_text(variant), *rest)

    def delta(self, label: str, delta: Delta, *, neutral: bool = False) -> Line:
        """Return a row of a compared time; `neutral`: more of it is neither better nor worse."""
        text, role = change(delta, self._look, self.room)
        return self.times(label, delta.base, delta.variant, (text, "" if neutral else role))


def tested(delta: Delta) -> Span:
    """Return how many units were counted, p and q."""
    said = [units.n_text(delta)]
    said += [f"p {probability(delta.p_value)}"] if delta.p_value is not None else []
    said += [f"q {probability(delta.q_value)}"] if delta.q_value is not None else []
    return "  ".join(text for text in said if text), "dim"


def probability(value: float) -> str:
    """Return a p or q value."""
    return "<0.0001" if value < 0.0001 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def consumer_name(consumer: str) -> str:
    """Return a consumer without the phase its name starts with."""
    phase, _, rest = consumer.partition(" ")
    return rest if phase in set(Phase) and rest else consumer


def slot_name(row: SlotRow) -> str:
    """Return how a slot is called in lists and breadcrumbs."""
    return row.label


def slot_line(row: SlotRow) -> str:
    """Return what a slot is, in one line."""
    waits = f"{row.consumer} waits" if row.consumer else "nothing waits"
    inferred = " (inferred)" if row.inferred else ""
    only = "" if row.matched else "; on one side only"
    return f"{row.kind}: {waits}{inferred} for {row.collective} of {row.group}, from {row.phase}{only}"


def both_sides(comparison: Comparison, width: int) -> tuple[Line, Line]:
    """Return one line a side: its label, and as much of what was compared as fits."""
    lines: list[Line] = []
    labels = min(
        max(units.cells(units.name_text(side.label)) for _, side in comparison.sides), max(width // 3, 8)
    )
    for name, side in comparison.sides:
        label = units.name_text(side.label, width=labels)
        label += " " * (labels - units.cells(label))
        facts = [
            f"{side.windows_used} of {side.windows_total} windows",
            "1 rank" if len(side.ranks) == 1 else f"{len(side.ranks)} ranks",
            "1 repeat" if side.repeats == 1 else f"{side.repeats} repeats",
            units.name_text(side.device_name or side.device),
        ]
        while len(facts) > 1 and 12 + labels + units.cells(", ".join(facts)) > width:
            facts.pop()
        lines.append(line((f" {name:<8}", name), (f" {label}  ", "strong"), (", ".join(facts), "dim")))
    return lines[0], lines[1]
