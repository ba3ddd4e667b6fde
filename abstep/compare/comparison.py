"""`Comparison`: everything that is said about two runs, once, for screens, text, markdown and JSON alike.

Times are float nanoseconds here (means of int64 ns) unless a name says otherwise; shares are 0..1. Unknown is
None, never 0 and never NaN. Field names follow RESULT.md's result file, without `_us`. Figures are of typical
windows (SEMANTICS 1), per window, mean over ranks, unless said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from abstep.compare.statistics import Delta


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
class CategoryRow:
    """One of the five categories, as a delta."""

    category: str
    delta: Delta


@dataclass(frozen=True)
class AccountRow:
    """One line of the account of the step; all lines sum to the step's delta exactly; SEMANTICS 7."""

    part: str  # exposed, contention, speed, added_work, removed_work, copy, idle_*, unassigned
    label: str
    delta: float
    base: float | None = None
    variant: float | None = None
    slot: str | None = None  # id of the slot, for part == exposed


@dataclass(frozen=True)
class SlotRow:
    """One exposed slot, matched between the runs; SEMANTICS 5."""

    id: str
    label: str
    phase: str
    group: str
    collective: str
    kind: str  # blocking, incidental
    consumer: str | None  # None for incidental
    inferred: bool
    matched: bool
    delta: Delta
    base_peer_wait: float | None
    variant_peer_wait: float | None
    base_transport: float | None
    variant_transport: float | None
    base_independent: float | None = None  # compute that could have hidden it (SEMANTICS 4)
    variant_independent: float | None = None
    split_uncertain: float | None = None  # of the mean split, the larger side's (SEMANTICS 4)
    base_presence: float | None = None  # share of typical windows with any of it on any rank
    variant_presence: float | None = None


@dataclass(frozen=True)
class ContentionRow:
    """Compute slowed while a slot's collectives ran; SEMANTICS 6. delta.delta is contention growth."""

    compute: str
    collective: str
    slot: str
    delta: Delta
    base_stretch: float | None
    variant_stretch: float | None
    base_overlap: float | None
    variant_overlap: float | None
    control_ratio: float | None
    note: str = ""


@dataclass(frozen=True)
class Control:
    """Compute that overlaps no collective in either run: did it slow too? SEMANTICS 6, control."""

    ratio: float  # variant / base mean duration
    by_rank: Mapping[int, float]
    delta: Delta  # its time a window and rank, tested like a category


@dataclass(frozen=True)
class CollectiveRow:
    """One side's collectives of a kind, group role and phase, summed over a window's instances."""

    side: str
    collective: str
    group: str
    phase: str
    bytes: float | None
    count: float
    queue: float | None
    peer_wait: float | None
    transport: float | None
    exposed: float
    hidden: float
    independent: float | None
    slack: float | None
    duration: float
    busbw_gb_s: float | None
    late_rank: int | None
    late_share: float | None
    late_reason: str | None
    isolated: float | None = None
    late_called: bool = (
        False  # last in 60 % of instances, by more than 3 x the clock's spread: text may name it
    )
    late_lead: float | None = None  # median time of the late rank after the second last
    split_uncertain: float | None = None  # of the mean peer wait and transport (SEMANTICS 4)


@dataclass(frozen=True)
class BesideCompute:
    """The reverse of contention: one side's collectives at equal bytes, beside compute and alone; SEMANTICS 6.

    Means of one instance, ns and decimal GB/s; None where fewer than three instances are of that kind.
    """

    side: str
    collective: str
    group: str
    phase: str
    bytes: int | None
    alone_count: int
    beside_count: int
    alone_duration: float | None
    beside_duration: float | None
    alone_transport: float | None
    beside_transport: float | None
    alone_busbw_gb_s: float | None
    beside_busbw_gb_s: float | None


@dataclass(frozen=True)
class RankRow:
    """One side's categories on one rank."""

    side: str
    rank: int
    compute_alone: float
    overlapped: float
    exposed: float
    copy_only: float
    idle: float
    peer_wait: float | None
    lateness: float | None


@dataclass(frozen=True)
class PathRow:
    """The dependency path of one side; SEMANTICS 7."""

    side: str
    compute: float | None
    transport: float | None
    host: float | None
    idle: float | None
    ranks: Mapping[int, float]


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
