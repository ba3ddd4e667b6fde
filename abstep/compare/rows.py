"""The rows of a comparison: one figure each, with what stands behind it. Times in float ns, shares 0..1.

Unknown is None, never 0 and never NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abstep.compare.statistics import Delta


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
class PairEvidence:
    """What one side's traces recorded of a contention pair: evidence, never a cause; SEMANTICS 6.

    Ranges are (smallest, largest) over these kernels of all ranks and windows, beside each other or not; None where
    any has none recorded.

    Attributes:
        registers: of a thread of the compute's kernels.
        shared_bytes: shared memory of a block of them.
        occupancy_pct: of them, as the recorder estimated it.
        occupancy_mean_pct: its mean, each kernel by its time.
        blocks: thread blocks of the collectives' kernels.
        threads: of such a block.
        channels: of NCCL's or RCCL's own device kernels, which run a block a channel; None for other libraries'.
        copies: direction (HtoD, DtoH, DtoD, other) -> ns a window and rank in which such a copy ran too while the
            compute and the collective did; empty: none did; None: the traces hold no copies.

    """

    registers: tuple[int, int] | None = None
    shared_bytes: tuple[int, int] | None = None
    occupancy_pct: tuple[float, float] | None = None
    occupancy_mean_pct: float | None = None
    blocks: tuple[int, int] | None = None
    threads: tuple[int, int] | None = None
    channels: tuple[int, int] | None = None
    copies: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Cores:
    """What run.json says of a side's processors; None where it does not say."""

    cores: int | None = None  # of the host
    threads_per_rank: int | None = None  # of one operator
    pinning: str | None = None


@dataclass(frozen=True)
class ContentionRow:
    """Compute slowed while a slot's collectives ran; SEMANTICS 6. delta.delta is contention growth."""

    compute: str
    collective: str
    slot: str
    beside: str  # the slot in words
    delta: Delta
    base_stretch: float | None
    variant_stretch: float | None
    base_overlap: float | None
    variant_overlap: float | None
    control_ratio: float | None
    note: str = ""
    base_evidence: PairEvidence = PairEvidence()
    variant_evidence: PairEvidence = PairEvidence()


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
    late_sure: bool = False  # the same, whatever held it
    pipelined: bool = False  # who arrives last was held by sends and receives: the schedule, not a late rank
    late_range: tuple[str, float] | None = (
        None  # a late host's annotation, and how much longer it took, ns a window
    )
    late_lead: float | None = None  # median time of the late rank after the second last
    late_wait: float | None = None  # of peer_wait, what was for the late rank
    waited_for: tuple[int, float] | None = (
        None  # (rank, share of the waiting that was for it), the largest share
    )
    split_uncertain: float | None = None  # of the mean peer wait and transport (SEMANTICS 4)
    blocks: tuple[int, int] | None = None  # smallest, largest count of thread blocks of its kernels
    threads: tuple[int, int] | None = None  # of threads of a block
    channels: tuple[int, int] | None = None  # of channels; see PairEvidence


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
    compute_threads: int | None = None  # host-only runs: threads its operators ran on
    collective_threads: int | None = None  # threads its collectives progressed on


@dataclass(frozen=True)
class PathRow:
    """The dependency path of one side; SEMANTICS 7."""

    side: str
    compute: float | None
    transport: float | None
    host: float | None
    idle: float | None
    ranks: Mapping[int, float]
