"""What a simulated run is made of: its settings, and the spans, ranges and calls it leaves behind.

Every time is an integer number of nanoseconds on one true clock that starts at 0; clocks are only put wrong
when a run is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from synth.truth import Truth

COMPUTE, COMM, COPY, MEMSET = "compute", "communication", "copy", "memset"
NOTHING: Mapping[int, Any] = MappingProxyType({})
ITEM_BYTES = MappingProxyType({"Float": 4, "BFloat16": 2, "Half": 2})


@dataclass(frozen=True)
class Clock:
    """A rank's clock: it shows true + offset + drift x true."""

    offset_ns: int = 0
    drift_ppm: float = 0.0

    def show(self, true_ns: int) -> int:
        return true_ns + self.offset_ns + round(true_ns * self.drift_ppm / 1e6)


@dataclass(frozen=True)
class Job:
    """Settings of one run. A scenario is a pair of these that differ in what it plants."""

    parallel: str = "ddp"  # ddp, fsdp, tp_dp, pipeline, moe
    world: int = 4
    steps: int = 12
    first_step: int = 3
    layers: int = 8
    micro: int = 1  # forward/backward passes a step: accumulation, or a pipeline's micro-batches
    batch: int = 32  # durations and shapes of forward and backward follow it
    hidden: int = 1024
    gemm_ns: int = 240_000
    act_ns: int = 60_000
    opt_ns: int = 180_000
    opt_kernels: int = 2
    copies: bool = True  # an input copy and a memset a step
    grad_bytes: int = 64 << 20
    buckets: int = 4
    uneven: bool = False  # every bucket another size
    frozen: int = 0  # first layers without gradients: the last bucket leaves before their backward pass
    dtype: str = "Float"
    link_bytes_per_us: int = 75_000
    link_latency_ns: int = 8_000
    share_link: bool = True  # collectives that move at once share the link
    own_streams: bool = False  # every collective on a stream of its own: none queues behind another
    overlap: bool = True  # False: nothing is communicated before the backward pass has been launched
    prefetch: int = 0  # fsdp: how many all_gathers ahead
    tensor_parallel: int = 2  # tp_dp: ranks a tensor-parallel group
    per_bucket_optimizer: bool = False  # legal: each optimizer kernel waits for its own bucket only
    early_read: tuple[tuple[int, int], ...] = ()  # (step, rank) whose optimizer does not wait: a bug
    swapped: tuple[tuple[int, int], ...] = ()  # (step, rank) that issues its first two collectives swapped
    compute_stretch: float = 1.0  # compute takes this many times as long while its rank communicates
    stretch_of: Mapping[str, float] = field(default_factory=dict)  # the same, by operator
    comm_stretch: float = 1.0  # transport likewise, while any of its ranks computes
    slowdown: float = 1.0  # every compute span, on every rank
    step_factor: Mapping[int, float] = field(default_factory=dict)  # the same, in that step only
    slow_rank: Mapping[int, float] = field(default_factory=dict)
    late_host_ns: Mapping[int, int] = field(default_factory=dict)  # that rank's host loads data this long
    host_op_ns: int = 10_000  # what one operator costs the host
    allocates: tuple[int, ...] = ()  # steps in which the host allocates device memory, which waits for it
    inserted: int = 0  # more kernels in every forward layer
    packing: bool = False  # copies the reduced buckets back into gradients before the optimizer
    graph: bool = False  # the forward pass is one graph launch
    cycles: int = 1  # the capture is cut into this many files a rank
    launch_ns: int = 5_000  # from launch call to the earliest start on the device
    gap_ns: int = 0  # what a stream needs between two activities
    sync: str = "run_ahead"  # the host waits for: run_ahead the step before, step its own step, none
    host_wait: str = ""  # "cudaStreamSynchronize", "cudaFree", …: what the host does before the optimizer
    eager_send: bool = False  # a send ends without its receiver
    jitter: float = 0.01  # sigma of the log-normal factor on every duration
    quantum_ns: int = 1  # 1000: every time is a whole microsecond, as in old integer files
    clocks: Mapping[int, Clock] = field(default_factory=dict)
    seed: int = 0

    @property
    def step_numbers(self) -> range:
        return range(self.first_step, self.first_step + self.steps)

    def cycle_of(self, step: int) -> int:
        return (step - self.first_step) * self.cycles // self.steps

    def but(self, **changes: Any) -> Job:
        return replace(self, **changes)


@dataclass(frozen=True)
class Group:
    """A process group; `role` is its description, the same for each rank's own sub-group."""

    name: str
    role: str
    ranks: tuple[int, ...]


@dataclass(eq=False, slots=True)
class Mark:
    """An event recorded on a stream: reached when the stream's last span before it has ended."""

    stream: int
    span: Span | None
    call: Call


@dataclass(eq=False, slots=True)
class Range:
    """A host range: an operator or an annotation."""

    name: str
    cat: str
    thread: str
    start: int
    end: int = -1
    span: Span | None = field(default=None, repr=False)  # the first span launched inside it
    dims: tuple[tuple[int, ...], ...] = ()


@dataclass(eq=False, slots=True)
class Call:
    """A runtime call; `waited` are the spans a synchronisation waited for."""

    name: str
    thread: str
    start: int
    end: int
    correlation: int
    waited: tuple[Span, ...] = field(default=(), repr=False)


@dataclass(eq=False, slots=True)
class Edge:
    """A stream-wait: what is launched on `stream` from now on waits for `mark`."""

    stream: int
    mark: Mark
    call: Call


@dataclass(eq=False, slots=True)
class Instance:
    """One collective over its group: the spans start when their ranks are ready and end together."""

    group: Group
    order: int  # its place in the group's order of collectives
    step: int
    kind: str
    label: str
    work: int  # transport alone
    seq: int
    members: dict[int, Span] = field(default_factory=dict, repr=False)
    last_arrival: int = -1
    end: int = -1

    @property
    def late_rank(self) -> int:
        return max(self.members, key=lambda r: (self.members[r].start, -r))


@dataclass(eq=False, slots=True)
class Span:
    """One activity on a device stream."""

    rank: int
    step: int
    kind: str
    stream: int
    place: int  # position in its stream
    kernel: str
    op: str
    phase: str
    anchor: str  # position in the model: m0/bwd3/dx
    path: tuple[Range, ...] = field(repr=False)  # host ranges around its launch call, outermost first
    launch: Call
    work: int  # how long it takes with nothing beside it
    grid: tuple[int, int, int] = (1, 1, 1)
    bytes: int = 0
    collective: str = ""  # kind, communication only
    peer: tuple[int, int] = (-1, -1)  # send/recv: source and destination
    instance: Instance | None = field(default=None, repr=False)
    previous: Span | None = field(default=None, repr=False)
    after: tuple[Mark, ...] = field(default=(), repr=False)
    start: int = -1
    end: int = -1
    cause: Span | None = field(default=None, repr=False)  # what it last waited for; None: its own launch
    packs: bool = False  # moves communicated data to where it is used
    in_graph: bool = False  # a node of a graph launch
    launchless: bool = False  # its launch was not recorded
    shown_end: int | None = None  # a corrupt record of its end

    @property
    def signature(self) -> tuple[str, str]:
        return self.op, self.kernel


@dataclass
class RankTrace:
    """Everything that happened on one rank."""

    rank: int
    spans: list[Span] = field(default_factory=list, repr=False)
    ranges: list[Range] = field(default_factory=list, repr=False)
    calls: list[Call] = field(default_factory=list, repr=False)
    edges: list[Edge] = field(default_factory=list, repr=False)
    steps: dict[int, Range] = field(default_factory=dict, repr=False)


@dataclass
class SimRun:
    """One simulated run."""

    job: Job
    ranks: dict[int, RankTrace] = field(repr=False)
    instances: list[Instance] = field(repr=False)
    groups: tuple[Group, ...]
    label: str = "run"
    settings: dict[str, Any] = field(default_factory=dict)
    recorded: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def truth(self) -> Truth:
        from synth.truth import tell

        return tell(self)

    def clock(self, rank: int) -> Clock:
        return self.job.clocks.get(rank, Clock())
