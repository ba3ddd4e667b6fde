"""What goes into the statistics and what comes out of them: plain values, no computation.

Units: what goes in is int64 nanoseconds summed over ranks; what comes out is float nanoseconds a window, mean
over ranks. What is not defined is None, never NaN (STATISTICS 0, RESULT).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

Verdict: TypeAlias = Literal[
    "too_few", "below_floor", "disappeared", "appeared", "unchanged",
    "grew", "shrank", "faster", "slower", "inconclusive",
]  # fmt: skip
Unit: TypeAlias = Literal["windows", "repeats"]
Pair: TypeAlias = Literal["auto", "always", "never"]

CHANGED: frozenset[Verdict] = frozenset({"disappeared", "appeared", "grew", "shrank", "faster", "slower"})
"""The verdicts that say something changed."""

ONE_RUN_SENTENCE = (
    "Inference is about these two runs; run-to-run differences (placement, clocks) are not in the error bars."
)
"""Said whenever windows of one repeat a side are the units (STATISTICS 2.6)."""

T = TypeVar("T")


class Sides(NamedTuple, Generic[T]):
    """One value a side: `sides.base` is `sides[0]`, `sides.variant` is `sides[1]`."""

    base: T
    variant: T


@dataclass(frozen=True)
class RunMetrics:
    """One repeat of one side; windows in step order, times int64 ns summed over ranks.

    Attributes:
        step_numbers: (n,) the windows' step numbers.
        ranks: how many ranks were summed, at least 1.
        step: (n,) the windows' lengths.
        categories: name -> (n,) time; they add up to the step (a rest becomes the category `residual`).
        intervals: slot id -> (n,) exposed time, 0 in a window without the slot; an absent slot is 0.
        contention: pair id -> (n,) excess time; may be negative.

    """

    step_numbers: Ints
    ranks: int
    step: Ints
    categories: Mapping[str, Ints]
    intervals: Mapping[str, Ints]
    contention: Mapping[str, Ints]


@dataclass(frozen=True)
class StatisticsOptions:
    """The choices a user may make (STATISTICS 2.9).

    Attributes:
        alpha: error rate of each family of tests.
        delta_step: margin of step time and categories, a share of the baseline step (`--min-effect`).
        delta_interval: margin of an interval or pair, a share of its own baseline mean; never below 0.1 % of
            the baseline step.
        floor: ns a window; smaller intervals and pairs are only summed; at least 0.02 % of the baseline step.
        pair: pair windows by step number when it pays (`auto`), whenever possible (`always`) or `never`.
        skip: windows to drop at the start of every repeat; None finds the warm-up.

    """

    alpha: float = 0.05
    delta_step: float = 0.01
    delta_interval: float = 0.10
    floor: float = 10_000.0
    pair: Pair = "auto"
    skip: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:
            raise ValueError(f"alpha must lie between 0 and 0.5, not {self.alpha}")
        if self.delta_step < 0 or self.delta_interval < 0 or self.floor < 0:
            raise ValueError("delta_step, delta_interval and floor must not be negative")
        if self.pair not in ("auto", "always", "never"):
            raise ValueError(f"pair must be auto, always or never, not {self.pair!r}")
        if self.skip is not None and self.skip < 0:
            raise ValueError(f"skip must not be negative, not {self.skip}")


@dataclass(frozen=True)
class Delta:
    """One compared figure. Times in ns a window, mean over ranks; None where not defined.

    Attributes:
        base: mean over the base's typical windows.
        variant: mean over the variant's typical windows.
        delta: variant - base.
        ci_low: lower end of the 1 - alpha interval of delta.
        ci_high: its upper end.
        p_value: two-sided.
        q_value: adjusted within the family (Holm for categories, Benjamini-Hochberg for intervals and pairs).
        n_base: units tested: windows, or repeats where these are the unit.
        n_variant: the same of the variant.
        presence_base: share of the base's typical windows with 10 us or more (a rank).
        presence_variant: the same of the variant.
        verdict: the word (STATISTICS 2.9).
        note: a printed sentence that belongs to the verdict, or "".
        margin: differences smaller than this count as no change.
        half_width: of the 1 - 2 alpha interval that must lie inside the margin for `unchanged`.
        fcr_low: lower end of the interval widened for having been picked from a family (changed rows only).
        fcr_high: its upper end.
        smallest_detectable: the change these units would have shown four times in five.
        n_unchanged: units a side that would allow `unchanged`, if nothing changed (inconclusive rows).
        n_decides: units a side that would decide, if the difference is as seen (inconclusive rows).

    """

    base: float | None
    variant: float | None
    delta: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    p_value: float | None = None
    q_value: float | None = None
    n_base: int = 0
    n_variant: int = 0
    presence_base: float | None = None
    presence_variant: float | None = None
    verdict: Verdict | None = None
    note: str = ""
    margin: float | None = None
    half_width: float | None = None
    fcr_low: float | None = None
    fcr_high: float | None = None
    smallest_detectable: float | None = None
    n_unchanged: int | None = None
    n_decides: int | None = None

    @property
    def delta_pct(self) -> float | None:
        """Return delta in percent of the base; None where the base is 0 or unknown."""
        return None if self.delta is None or not self.base else 100.0 * self.delta / abs(self.base)


@dataclass(frozen=True, order=True)
class Dropped:
    """A window left out: its index in the repeat, its step number, and `warm-up`, `ratio` or `outlier`."""

    index: int
    step: int
    reason: str


class StatisticsWarning(NamedTuple):
    """A warning of RESULT.md; `side` is 0 (base), 1 (variant) or None, `repeat` counts from 0."""

    id: str
    message: str
    side: int | None = None
    repeat: int | None = None


@dataclass(frozen=True)
class Tail:
    """What the outlier windows add to the mean step: delta of all = delta of typical + this (STATISTICS 2.3).

    Times in ns a window, mean over ranks; windows are counts of (repeat, step) over the compared repeats.
    """

    base: float | None
    variant: float | None
    delta: float | None
    windows_base: int
    windows_variant: int
    all_windows_base: int
    all_windows_variant: int


@dataclass(frozen=True)
class StatisticsResult:
    """What `compare_runs` found.

    Attributes:
        step_time: the one test of the step.
        categories: name -> delta; their deltas add up to step_time's.
        intervals: slot id -> delta, sorted by id.
        contention: pair id -> delta, sorted by id.
        kept: a side, a repeat: indices of the typical windows, in step order.
        dropped: a side, a repeat: what was left out and why.
        warnings: in a fixed order.
        unit: what was counted: windows of one repeat a side, or repeats.
        compared: a side: which repeats the figures are of (the others are only described).
        warmup: windows dropped at the start of every repeat.
        paired: whether windows were paired by step number.
        tail: what the outlier windows add.
        intervals_below_floor: sum of the intervals below the floor, with its own interval, or None.
        intervals_not_called: sum of the intervals called unchanged or inconclusive, with its own interval.
        contention_below_floor: as for intervals.
        contention_not_called: as for intervals.
        described: a side, a repeat: mean step of the typical windows, or None without windows.
        step_p50: median step of the typical windows, a side; description only.

    """

    step_time: Delta
    categories: Mapping[str, Delta]
    intervals: Mapping[str, Delta]
    contention: Mapping[str, Delta]
    kept: Sides[tuple[tuple[int, ...], ...]]
    dropped: Sides[tuple[tuple[Dropped, ...], ...]]
    warnings: tuple[StatisticsWarning, ...]
    unit: Unit
    compared: Sides[tuple[int, ...]]
    warmup: int
    paired: bool
    tail: Tail
    intervals_below_floor: Delta | None
    intervals_not_called: Delta | None
    contention_below_floor: Delta | None
    contention_not_called: Delta | None
    described: Sides[tuple[float | None, ...]]
    step_p50: Sides[float | None]
