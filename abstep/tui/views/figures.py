"""Compared figures as pieces of a line: the sign, the word and the colour that go with a verdict."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from abstep import units
from abstep.model import Phase
from abstep.tui.look import role_of
from abstep.tui.widgets.lines import cells, line

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

_SAMPLE = 500  # rows a column's width is taken from


def change(delta: Delta, look: Look) -> Span:
    """Return sign, value and interval."""
    if delta.delta is None:
        return units.ABSENT, ""
    sign = units.glyph(delta.verdict, ascii=look.ascii)
    return f"{sign} {units.value_text(delta)}", role_of(delta.verdict)


def whole(delta: Delta, look: Look) -> Span:
    """Return all of a delta: sign, value, interval, n and word."""
    return units.delta_text(delta, ascii=look.ascii), role_of(delta.verdict)


def word(delta: Delta) -> Span:
    """Return the verdict."""
    return units.word(delta.verdict) or units.ABSENT, role_of(delta.verdict)


def change_width(deltas: Iterable[Delta], look: Look) -> int:
    """Return the columns that changes with their intervals take: `▲ +1.84 ms [+1.31, +2.40]`."""
    return max((cells(change(delta, look)[0]) for delta in islice(deltas, _SAMPLE)), default=0) or 12


def compared(label: str, base: str, variant: str, *rest: Span) -> Line:
    """Return one row of a small table with a column a side."""
    return line(f"  {label:<27}{base:>11}{variant:>11}  ", *rest)


def times(label: str, base: float | None, variant: float | None, *rest: Span) -> Line:
    """Return one row of two times (ns)."""
    return compared(label, units.time_text(base), units.time_text(variant), *rest)


def titles(label: str, last: str) -> Line:
    """Return the heading of such a table."""
    return line((f"  {label:<27}{'base':>11}{'variant':>11}  {last}", "head"))


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
