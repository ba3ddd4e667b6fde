"""What a summary or a report shows of a comparison, and in what order; no text layout.

Times are ns. Rows that add up are rounded here, once, so that they also add up as printed (STATISTICS 2.3).
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from abstep.model import Category
from abstep.units import Unit, rounded_to_sum, same_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from abstep.compare.comparison import AccountRow, CategoryRow, Comparison, ContentionRow, Side, SlotRow
    from abstep.compare.statistics.types import Delta

CALLED = ("disappeared", "shrank", "grew", "appeared")
"""Verdicts of slots that say something changed, in the order they are told."""


def not_comparable(comparison: Comparison) -> bool:
    """Return whether figures may only describe (SEMANTICS 8)."""
    return comparison.comparability.status == "not_comparable"


def shown(comparison: Comparison, delta: Delta) -> Delta:
    """Return a delta as it may be shown: without word, interval, p and q when the runs are not comparable."""
    if not not_comparable(comparison):
        return delta
    return replace(
        delta,
        verdict=None,
        ci_low=None,
        ci_high=None,
        p_value=None,
        q_value=None,
        note="",
        smallest_detectable=None,
    )


@dataclass(frozen=True)
class Slots:
    """Slots as told: the called ones by word, the rest behind them."""

    called: tuple[tuple[str, tuple[SlotRow, ...]], ...]
    rest: tuple[SlotRow, ...]

    @property
    def rest_delta(self) -> float | None:
        """Return the sum of the rest's deltas, None when none is known."""
        return together(self.rest)


def together(found: Iterable[SlotRow | ContentionRow]) -> float | None:
    """Return the sum of rows' deltas (ns), None when none is known."""
    known = [row.delta.delta for row in found if row.delta.delta is not None]
    return math.fsum(known) if known else None


def slots(comparison: Comparison) -> Slots:
    """Return the slots: disappeared, shrank, grew and appeared first, then the rest, each largest first."""
    by_word: dict[str, list[SlotRow]] = defaultdict(list)
    for row in comparison.intervals:
        word = shown(comparison, row.delta).verdict
        by_word[word if word in CALLED else ""].append(row)
    for rows in by_word.values():
        rows.sort(key=_size, reverse=True)
    called = tuple((word, tuple(by_word[word])) for word in CALLED if word in by_word)
    return Slots(called, tuple(by_word[""]))


def _size(row: SlotRow) -> tuple[float, float]:
    return abs(row.delta.delta or 0.0), max(row.delta.base or 0.0, row.delta.variant or 0.0)


@dataclass(frozen=True)
class Pairs:
    """Contention pairs as told: those to read, the rest behind them; each largest first."""

    told: tuple[ContentionRow, ...]
    rest: tuple[ContentionRow, ...]


def pairs(comparison: Comparison, most: int) -> Pairs:
    """Return at most `most` pairs to read: called changed, else undecided, else the largest described ones."""

    def rank(row: ContentionRow) -> tuple[int, float]:
        verdict = shown(comparison, row.delta).verdict
        group = 0 if verdict in CALLED else 2 if verdict == "below_floor" else 1
        return group, -abs(row.delta.delta or 0.0)

    order = tuple(sorted(comparison.contention, key=rank))
    below = [row for row in order if rank(row)[0] == 2]
    told = min(most, len(order) - len(below) or most)
    return Pairs(order[:told], order[told:])


@dataclass(frozen=True)
class Column:
    """Rows that add up to a total, all rounded to steps of one unit."""

    unit: Unit
    rows: tuple[int, ...]
    total: int


def column(parts: Sequence[float], total: float, unit: Unit) -> Column:
    """Round parts (ns) that add up to total (ns) in a unit, so that they still do."""
    rows = rounded_to_sum(parts, total, unit.step)
    return Column(unit, tuple(rows), sum(rows))


def _unit(parts: Sequence[float | None], total: float | None) -> Unit:
    """Return a unit with three digits for the largest part; one more where the total or decimals need it."""
    unit = same_unit([*parts, total])
    exact = unit.decimals and same_unit([total]) == unit
    return unit if exact else same_unit([*parts, total], digits=4)


@dataclass(frozen=True)
class Account:
    """The account of the step, ready to print: labels with the column of their deltas."""

    rows: tuple[tuple[AccountRow | None, str], ...]  # None: the small rows together
    deltas: Column


def account(comparison: Comparison, most: int) -> Account | None:
    """Return the account's `most` largest rows, the others in one; None when the step's delta is unknown.

    Order is the account's own. Rows that print as 0 are among the others; the unassigned row always stays.
    """
    total = comparison.step_time.delta
    if total is None or not comparison.account:
        return None
    unit = _unit([row.delta for row in comparison.account], total)
    moved = [row for row in comparison.account if abs(row.delta) >= unit.step / 2]
    large = {id(row) for row in sorted(moved, key=lambda row: -abs(row.delta))[:most]}
    large |= {id(row) for row in comparison.account if row.part == "unassigned"}
    rows: list[tuple[AccountRow | None, str, float]] = [
        (row, row.label, row.delta) for row in comparison.account if id(row) in large
    ]
    small = [row.delta for row in comparison.account if id(row) not in large]
    if any(small):
        rows.append((None, f"{len(small)} smaller parts together", sum(small)))
    return Account(
        tuple((row, label) for row, label, _ in rows), column([delta for _, _, delta in rows], total, unit)
    )


@dataclass(frozen=True)
class Categories:
    """The five categories, each column rounded so that it adds up to the step."""

    base: Column
    variant: Column
    delta: Column


def decomposition(comparison: Comparison) -> tuple[CategoryRow, ...]:
    """Return the categories in the definitions' order."""
    order = {category.value: i for i, category in enumerate(Category)}
    return tuple(sorted(comparison.decomposition, key=lambda row: order.get(row.category, len(order))))


def categories(comparison: Comparison) -> Categories | None:
    """Return the categories' three columns in one unit; None when anything in them is unknown."""
    deltas = [row.delta for row in decomposition(comparison)]
    whole = comparison.step_time
    base, variant = [d.base for d in deltas], [d.variant for d in deltas]
    change = [d.delta for d in deltas]
    if not deltas or None in (*base, *variant, *change, whole.base, whole.variant, whole.delta):
        return None
    unit = _unit([whole.base, whole.variant], whole.delta)

    def rounded(parts: Sequence[float | None], total: float | None) -> Column:
        return column([part or 0.0 for part in parts], total or 0.0, unit)

    return Categories(
        rounded(base, whole.base), rounded(variant, whole.variant), rounded(change, whole.delta)
    )


@dataclass(frozen=True)
class DroppedGroup:
    """Windows of one repeat that were left out for one reason; ranks empty means all."""

    reason: str
    repeat: int
    ranks: tuple[int, ...]
    steps: tuple[int, ...]


def dropped(side: Side) -> tuple[DroppedGroup, ...]:
    """Return the windows left out, by reason, repeat and ranks."""
    ranks: dict[tuple[str, int, int], set[int]] = defaultdict(set)
    for row in side.dropped:
        ranks[row.reason, row.repeat, row.step] |= set() if row.rank is None else {row.rank}
    steps: dict[tuple[str, int, tuple[int, ...]], list[int]] = defaultdict(list)
    for (reason, repeat, step), found in sorted(ranks.items()):
        steps[reason, repeat, tuple(sorted(found))].append(step)
    return tuple(
        DroppedGroup(reason, repeat, found, tuple(which)) for (reason, repeat, found), which in steps.items()
    )


def dropped_counts(side: Side) -> dict[str, int]:
    """Return how many (repeat, step) were left out for each reason."""
    seen = {(row.reason, row.repeat, row.step) for row in side.dropped}
    return {reason: sum(r == reason for r, _, _ in seen) for reason in sorted({r for r, _, _ in seen})}


def ranges(numbers: Iterable[int]) -> str:
    """Return whole numbers as ranges: `0-2, 5, 7-9`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in runs)
