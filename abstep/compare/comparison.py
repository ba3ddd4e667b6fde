"""`Comparison`: everything that is said about two runs, once, for screens, text, markdown and JSON alike.

Times are float nanoseconds here (means of int64 ns) unless a name says otherwise; shares are 0..1. Unknown is
None, never 0 and never NaN. Field names follow RESULT.md's result file, without `_us`. Figures are of typical
windows (SEMANTICS 1), per window, mean over ranks, unless said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from abstep.compare.rows import (
    AccountRow,
    BesideCompute,
    CategoryRow,
    CollectiveRow,
    ContentionRow,
    Control,
    Cores,
    PairEvidence,
    PathRow,
    RankRow,
    SlotRow,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from abstep.compare.statistics import Delta


__all__ = [
    "AccountRow",
    "BesideCompute",
    "CategoryRow",
    "Check",
    "ClockRow",
    "CollectiveRow",
    "Comparability",
    "Comparison",
    "ContentionRow",
    "Control",
    "Cores",
    "Detail",
    "Dropped",
    "Explanation",
    "Ideal",
    "Milestones",
    "Note",
    "PairEvidence",
    "PathRow",
    "RankRow",
    "SettingChange",
    "Side",
    "SlotRow",
    "Tail",
    "ValidityRow",
]


@dataclass(frozen=True)
class Dropped:
    """A window that is not used, and why; rank None means all ranks."""

    repeat: int
    rank: int | None
    step: int
    reason: str  # warm-up, last_in_cycle, outlier, incomplete, opaque_graph, ratio


@dataclass(frozen=True)
class ClockRow:
    """One rank's clock against the lowest traced rank's, at mid-trace; SEMANTICS 4, common clock."""

    repeat: int
    rank: int
    offset: float | None
    drift_ppm: float | None
    spread: float | None
    host_device_shift: float | None


@dataclass(frozen=True)
class Milestones:
    """Mean time from window start; SEMANTICS 7."""

    first_launch: float | None
    backward_end: float | None
    last_collective_end: float | None
    update_end: float | None
    tail: float | None


@dataclass(frozen=True)
class Ideal:
    """What a step could be at best, ns; SEMANTICS 7. Not there where a collective is unsplit.

    Attributes:
        together: max(compute, union of transport), mean over windows: each as long as measured, both started together.
        at_first_valid_launch: the step replayed with every collective at its first valid launch; None where what
            ends a window is not known.
        kept_by: cause -> ns between `together` and the step: late_readiness, pipeline (its schedule), serialization,
            tail (exposed before the optimizer), exposed_before_other_work, idle, other (contention, copies,
            incidental exposed time).

    """

    together: float
    at_first_valid_launch: float | None
    kept_by: Mapping[str, float]


@dataclass(frozen=True)
class Side:
    """One run of the comparison."""

    name: str  # path or name in the store
    label: str
    world_size: int | None
    ranks: tuple[int, ...]
    repeats: int
    device: str
    device_name: str | None
    host_only: bool
    windows_total: int  # (repeat, step) seen
    windows_used: int  # (repeat, step) typical
    steps_used: tuple[int, ...]
    dropped: tuple[Dropped, ...]
    clock: tuple[ClockRow, ...]
    settings: Mapping[str, Any]
    resident: bool
    unattributed_share: float | None
    overlap_of_communication: float | None  # share 0..1
    overlap_of_compute: float | None
    milestones: Milestones
    ideal: float | None
    bounds: Ideal | None = None
    start_delay: float | None = None  # of compute beside collectives, ns a window and rank (SEMANTICS 6)
    cores: Cores = field(default_factory=Cores)

    @property
    def bound(self) -> float | None:
        """Return the step replayed with every collective at its first valid launch, ns; None where not known."""
        return None if self.bounds is None else self.bounds.at_first_valid_launch


@dataclass(frozen=True)
class Check:
    """One comparability check with both values; SEMANTICS 8."""

    id: str
    status: str  # pass, warn, fail, unknown
    base: str
    variant: str
    message: str


@dataclass(frozen=True)
class SettingChange:
    """A run.json setting that differs between the sides."""

    key: str
    base: Any
    variant: Any


@dataclass(frozen=True)
class Comparability:
    """Whether the two runs are the same work; status is comparable, qualified or not_comparable."""

    status: str
    checks: tuple[Check, ...]
    settings_changed: tuple[SettingChange, ...]


@dataclass(frozen=True)
class ValidityRow:
    """One validity finding within a run; SEMANTICS 9."""

    id: str
    side: str
    status: str
    rank: int | None
    step: int | None
    collective: str | None
    message: str


@dataclass(frozen=True)
class Tail:
    """What the windows outside the typical ones add to the mean; STATISTICS 2.3."""

    base: float | None
    variant: float | None
    delta: float | None
    windows_base: int
    windows_variant: int


@dataclass(frozen=True)
class Explanation:
    """Plain English from the same figures; SEMANTICS 7, explanation."""

    headline: str
    sentences: tuple[str, ...]
    explained: float | None
    unassigned: float | None


@dataclass(frozen=True)
class Note:
    """A warning; ids are RESULT.md's."""

    id: str
    message: str


class Detail(Protocol):
    """What screens drill into: frames made on demand from both runs. `side` is 'base' or 'variant'."""

    def slot_windows(self, slot: str) -> pl.DataFrame:
        """Return side, repeat, step, rank, exposed_ns, typical: one row a window and rank, 0 where absent."""
        ...

    def slot_instances(self, slot: str) -> pl.DataFrame:
        """Return the collectives whose exposed time was booked to a slot.

        Columns: side, repeat, step, instance (number of the matched collective), label, rank, host_launch_ns,
        first_valid_launch_ns, start_ns, end_ns, last_arrival_ns, queue_ns, peer_wait_ns, transport_ns, consumer,
        consumer_start_ns, slack_ns, exposed_ns; times on the common clock, from the window's start on the
        lowest rank; null where unknown.
        """
        ...

    def lanes(self, side: str, repeat: int, step: int, rank: int) -> pl.DataFrame:
        """Return the spans in one window: kind (Int8), name, stream, start_ns, end_ns from window start."""
        ...

    def pair_spans(self, side: str, repeat: int, step: int, rank: int, compute: str) -> pl.DataFrame:
        """Return the spans of a contention pair's compute in one window: name, start_ns, end_ns from window start."""
        ...

    def exposed(self, side: str, repeat: int, step: int, rank: int) -> pl.DataFrame:
        """Return the exposed stretches of one window: slot, kind, start_ns, end_ns, exposed_ns, consumer."""
        ...

    def windows(self) -> pl.DataFrame:
        """Return side, repeat, step, rank, length_ns, the five categories (ns), reason (null: typical)."""
        ...

    def matched_windows(self, slot: str | None) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return ((repeat, step) of base, (repeat, step) of variant) that show a slot best; None without."""
        ...


@dataclass(frozen=True)
class Comparison:
    """A compared pair of runs: RESULT.md's object with its evidence behind it."""

    version: str
    options: Mapping[str, Any]  # alpha, min_effect_pct, warmup
    base: Side
    variant: Side
    comparability: Comparability
    validity: tuple[ValidityRow, ...]
    step_time: Delta
    tail: Tail
    decomposition: tuple[CategoryRow, ...]
    account: tuple[AccountRow, ...]
    intervals: tuple[SlotRow, ...]  # disappeared, shrank, grew, appeared first, by size
    contention: tuple[ContentionRow, ...]
    collectives: tuple[CollectiveRow, ...]
    ranks: tuple[RankRow, ...]
    path: tuple[PathRow, ...]
    explanation: Explanation
    warnings: tuple[Note, ...]
    unit: str  # 'window' or 'repeat': what n counts
    pairing: str | None = None  # how step time was paired, where it was
    sentences: tuple[str, ...] = ()  # the statistics' mandatory sentences
    not_called: Delta | None = None  # sum of the slots called unchanged or inconclusive (STATISTICS 2.3)
    below_floor: Delta | None = None  # sum of the slots below the floor
    step_p50: tuple[float | None, float | None] = (None, None)  # description only
    no_communication: bool = False
    control: Control | None = None
    beside_compute: tuple[BesideCompute, ...] = ()
    unmatched: Sequence[Mapping[str, Any]] = ()
    detail: Detail | None = field(default=None, compare=False, repr=False)

    @property
    def sides(self) -> tuple[tuple[str, Side], tuple[str, Side]]:
        """Both sides with their names, base first."""
        return ("base", self.base), ("variant", self.variant)
