"""Host-only runs: data parallel over gloo on CPUs, in the layout that recorded traces have.

There is no device. Operators of the main thread are compute, progress ranges on the gloo threads communication,
and a wait shows only as a hole on the main thread that ends shortly after the collective.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from synth.truth import CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

BRIDGED_NS = 300_000  # holes below this belong to the compute around them
Interval = tuple[int, int]


@dataclass(frozen=True)
class GlooJob:
    """Settings of one host-only run."""

    world: int = 2
    steps: int = 8
    first_step: int = 2
    layers: int = 6
    op_ns: int = 2_900_000  # one matrix product
    update_ns: int = 150_000
    buckets: int = 1
    grad_bytes: int = 32 << 20
    link_bytes_per_us: int = 500
    micro: int = 1
    pause_ns: Mapping[int, int] = field(default_factory=dict)  # that rank sleeps before each forward
    skew_ns: int = 400_000  # gloo is no barrier: ranks end up to this far apart
    jitter: float = 0.02
    seed: int = 0

    @property
    def step_numbers(self) -> range:
        return range(self.first_step, self.first_step + self.steps)


@dataclass(eq=False)
class Row:
    """One recorded range."""

    name: str
    cat: str
    thread: int  # 0 the main thread, 1 and 2 gloo's
    start: int
    end: int = -1
    dims: tuple[tuple[int, ...], ...] = ()


@dataclass(eq=False)
class Progress:
    """One all_reduce on one rank."""

    step: int
    rank: int
    bucket: int
    launch: Row
    start: int = -1
    end: int = -1
    last_arrival: int = -1
    hole: Interval | None = None  # the main thread's wait for it


@dataclass
class GlooRank:
    rank: int
    now: int
    rows: list[Row] = field(default_factory=list)
    calls: list[Progress] = field(default_factory=list)
    free: list[int] = field(default_factory=lambda: [0, 0])
    steps: dict[int, Row] = field(default_factory=dict)


@dataclass(frozen=True)
class HostWindow:
    """One step on one rank: its host annotation, and the categories that tile it."""

    step: int
    rank: int
    start: int
    end: int
    categories: dict[str, int]
    stretches: tuple[Interval, ...]


class _Simulation:
    """Rank by rank up to the waits, then the collectives in launch order, then the rest of the step."""

    def __init__(self, job: GlooJob) -> None:
        self.job = job
        self.ranks = [GlooRank(rank, 1_000_000 + 30_000 * rank) for rank in range(job.world)]
        self._rng = [random.Random(f"{job.seed}/{rank}") for rank in range(job.world)]
        self._link = random.Random(f"{job.seed}/link")

    def run(self) -> list[GlooRank]:
        for step in self.job.step_numbers:
            for rank in self.ranks:
                self._compute(rank, step)
            for bucket in range(self.job.buckets):
                self._reduce([r.calls[bucket - self.job.buckets] for r in self.ranks])
            for rank in self.ranks:
                self._finish(rank, step)
        return self.ranks

    def _noise(self, rank: GlooRank, ns: int) -> int:
        sigma = self.job.jitter
        return round(ns * self._rng[rank.rank].lognormvariate(-sigma * sigma / 2, sigma))

    def _op(self, rank: GlooRank, name: str, ns: int, inner: str = "", around: str = "") -> None:
        """An operator, its child and the autograd node around it; a few microseconds before the next."""
        rows = [Row(n, "cpu_op", 0, rank.now + k * 2_000) for k, n in enumerate((around, name, inner)) if n]
        rank.rows += rows
        rank.now += self._noise(rank, ns)
        for row in rows:
            row.end = rank.now
        rank.now += 20_000

    def _open(self, rank: GlooRank, name: str) -> Row:
        row = Row(name, "user_annotation", 0, rank.now)
        rank.rows.append(row)
        rank.now += 20_000
        return row

    def _close(self, rank: GlooRank, row: Row) -> None:
        row.end = rank.now
        rank.now += 10_000

    def _compute(self, rank: GlooRank, step: int) -> None:
        job = self.job
        rank.steps[step] = self._open(rank, f"ProfilerStep#{step}")
        for micro in range(job.micro):
            marks = self._open(rank, "## forward ##"), self._open(rank, "DistributedDataParallel.forward")
            rank.now += job.pause_ns.get(rank.rank, 0)
            for _ in range(job.layers):
                self._op(rank, "aten::linear", job.op_ns, "aten::addmm")
                self._op(rank, "aten::gelu", job.op_ns // 12)
            for row in reversed(marks):
                self._close(rank, row)
            for layer in reversed(range(job.layers)):
                node = "autograd::engine::evaluate_function: "
                self._op(rank, "aten::gelu_backward", job.op_ns // 8, around=f"{node}GeluBackward0")
                self._op(rank, "aten::mm", job.op_ns * 2, around=f"{node}AddmmBackward0")
                self._op(rank, "torch::distributed::reducer::mul_out", 60_000)
                if micro == job.micro - 1:
                    for bucket in range(job.buckets):
                        if layer == job.layers - job.layers * (bucket + 1) // job.buckets:
                            self._launch(rank, step, bucket)

    def _launch(self, rank: GlooRank, step: int, bucket: int) -> None:
        elements = self.job.grad_bytes // 4 // self.job.buckets
        row = Row("c10d::allreduce_", "cpu_op", 0, rank.now, rank.now + 60_000, ((elements,),))
        rank.rows.append(row)
        rank.now += 80_000
        rank.calls.append(Progress(step, rank.rank, bucket, row))

    def _reduce(self, calls: list[Progress]) -> None:
        """Each rank's first free gloo thread takes it; the bytes move once the last rank has."""
        threads = []
        for call in calls:
            free = self.ranks[call.rank].free
            threads.append(free.index(min(free)))
            call.start = max(call.launch.start + 80_000, free[threads[-1]])
        arrived = max(c.start for c in calls)
        sigma = self.job.jitter
        noise = self._link.lognormvariate(-sigma * sigma / 2, sigma)
        nbytes = self.job.grad_bytes // self.job.buckets
        moved = round(nbytes * 1_000 / self.job.link_bytes_per_us * noise)
        for call, thread in zip(calls, threads, strict=True):
            call.last_arrival = arrived
            call.end = arrived + moved + self._link.randrange(self.job.skew_ns + 1)
            self.ranks[call.rank].free[thread] = call.end + 30_000
            dims = call.launch.dims
            row = Row("gloo:all_reduce", "user_annotation", 1 + thread, call.start, call.end, dims)
            self.ranks[call.rank].rows.append(row)

    def _finish(self, rank: GlooRank, step: int) -> None:
        job = self.job
        for call in rank.calls[-job.buckets :]:
            wakes = call.end + 60_000
            if wakes > rank.now + BRIDGED_NS:
                call.hole = rank.now - 20_000, wakes
            rank.now = max(rank.now, wakes)
            for _ in range(2):
                self._op(
                    rank, "aten::copy_", 40_000, around="torch.distributed.ddp.reducer::copy_bucket_to_grad"
                )
        row = self._open(rank, "Optimizer.step#SGD.step")
        for _ in range(job.layers):
            self._op(rank, "aten::add_", job.update_ns)
        self._close(rank, row)
        row = self._open(rank, "Optimizer.zero_grad#SGD.zero_grad")
        self._op(rank, "aten::zero_", job.update_ns)
        self._close(rank, row)
        self._close(rank, rank.steps[step])
        rank.now += 40_000


@dataclass
class GlooRun:
    """A simulated host-only run and what is true about it."""

    job: GlooJob
    ranks: list[GlooRank]
    label: str = "run"
    settings: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def windows(self) -> list[HostWindow]:
        """The last one included: a host annotation has its own end."""
        out = []
        for rank in self.ranks:
            compute, talk = compute_of(rank), _union((c.start, c.end) for c in rank.calls)
            for step, row in rank.steps.items():
                out.append(_window(step, rank.rank, (row.start, row.end), compute, talk))
        return sorted(out, key=lambda w: (w.step, w.rank))


def _union(rows: Iterable[Interval]) -> list[Interval]:
    out: list[Interval] = []
    for a, b in sorted(rows):
        if out and a <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], b)
        else:
            out.append((a, b))
    return out


def compute_of(rank: GlooRank) -> list[Interval]:
    """Main-thread operators, short holes bridged, launches of collectives cut out (SEMANTICS 2)."""
    names = ("aten::", "torch::distributed::reducer::", "torch.distributed.ddp.reducer::")
    solid: list[Interval] = []
    for a, b in _union((r.start, r.end) for r in rank.rows if r.thread == 0 and r.name.startswith(names)):
        if solid and a - solid[-1][1] < BRIDGED_NS:
            solid[-1] = solid[-1][0], b
        else:
            solid.append((a, b))
    cuts = sorted((c.launch.start, c.launch.end) for c in rank.calls)
    out: list[Interval] = []
    for start, end in solid:
        at = start
        for a, b in cuts:
            if start <= a and b <= end:
                out.append((at, a))
                at = b
        out.append((at, end))
    return out


def _window(
    step: int, rank: int, within: Interval, compute: list[Interval], talk: list[Interval]
) -> HostWindow:
    edges = {p for rows in (compute, talk) for row in rows for p in row if within[0] < p < within[1]}
    cuts = sorted({*within, *edges})
    total, stretches = dict.fromkeys(CATEGORIES, 0), []
    for a, b in pairwise(cuts):
        computes = any(s <= a and b <= e for s, e in compute)
        talks = any(s <= a and b <= e for s, e in talk)
        name = ("overlapped" if talks else "compute_alone") if computes else "exposed" if talks else "idle"
        total[name] += b - a
        if name == "exposed":
            stretches.append((a, b))
    return HostWindow(step, rank, *within, total, tuple(_union(stretches)))


def simulate_gloo(job: GlooJob, label: str = "run", settings: dict[str, Any] | None = None) -> GlooRun:
    return GlooRun(job, _Simulation(job).run(), label, dict(settings or {}))


def gloo_pair(name: str = "buckets", **overrides: Any) -> tuple[GlooRun, GlooRun]:
    """Ready-made host-only pairs: buckets, straggler, slow_link, same, accumulation."""
    changes = {
        "same": {},
        "buckets": {"buckets": 6},
        "straggler": {"pause_ns": {1: 60_000_000}},
        "slow_link": {"link_bytes_per_us": 250},
        "accumulation": {"micro": 2},
    }[name]
    base = GlooJob(**{"seed": 0, **overrides})
    variant = GlooJob(**{"seed": 1, **overrides, **changes})
    key = {"buckets": ("bucket_cap_mb", 100, 4)}.get(name, (name, 0, 1))
    return (
        simulate_gloo(base, "base", {key[0]: key[1]}),
        simulate_gloo(variant, "variant", {key[0]: key[2]}),
    )
