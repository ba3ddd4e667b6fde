"""Hypothesis strategies: spans that no device would produce, with a truth counted nanosecond by nanosecond."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from synth.model import (
    COMM,
    COMPUTE,
    COPY,
    MEMSET,
    Call,
    Group,
    Instance,
    Job,
    Range,
    RankTrace,
    SimRun,
    Span,
)
from synth.names import GEMM
from synth.truth import CATEGORIES

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

DEVICE_NS = (
    1_000_000  # device work starts this long after the host's: every launch is well before its activity
)
STEP_NS = 20_000
LAUNCH_NS = 500
STREAMS = {COMPUTE: range(7, 20), COMM: range(20, 40), COPY: range(40, 60), MEMSET: range(60, 80)}


@dataclass(frozen=True)
class Piece:
    """One span: kind, start after the first window's start, and length."""

    kind: str
    start: int
    length: int


@st.composite
def pieces(draw: DrawFn, window_start: int) -> list[Piece]:
    """A step's spans. The first opens its window; the rest may overlap, be empty or cross the window's edges."""
    reach, longest = st.integers(0, 300), st.integers(0, 250)
    opener = Piece(draw(st.sampled_from([COMPUTE, COMM])), window_start, draw(longest))
    kinds = st.sampled_from([COMPUTE, COMM, COMM, COPY, MEMSET])
    rest = []
    for kind in draw(st.lists(kinds, max_size=6)):
        early = draw(st.integers(0, 100)) if kind in {COPY, MEMSET} else 0
        rest.append(Piece(kind, window_start + draw(reach) - early, draw(longest)))
    return [opener, *rest]


@st.composite
def loose_runs(draw: DrawFn, max_ranks: int = 2, max_steps: int = 4) -> SimRun:
    """A run of arbitrary spans, ready for write_run; its own truth is not meant, use count_windows."""
    world = draw(st.integers(1, max_ranks))
    steps = draw(st.integers(2, max_steps))
    job = Job(world=world, steps=steps, jitter=0.0)
    everyone = Group("0", "default_pg", tuple(range(world)))
    instances: dict[int, Instance] = {}
    ranks = {}
    for rank in range(world):
        start, by_step = DEVICE_NS, {}
        for number in job.step_numbers:
            by_step[number] = draw(pieces(start))
            start += draw(st.integers(1, 400))
        ranks[rank] = _trace(rank, by_step, everyone, instances)
    return SimRun(job, ranks, [instances[k] for k in sorted(instances)], (everyone,), "loose")


def _trace(
    rank: int, by_step: dict[int, list[Piece]], group: Group, instances: dict[int, Instance]
) -> RankTrace:
    """Launches in order of start, inside their step; streams so that no two spans of one overlap."""
    trace = RankTrace(rank)
    rows = sorted(
        ((number, piece) for number, pieces in by_step.items() for piece in pieces),
        key=lambda row: (row[1].start, row[1].length),
    )
    launched = dict.fromkeys(by_step, 0)
    for place, number in enumerate(by_step):
        begin = place * STEP_NS
        mark = Range(f"ProfilerStep#{number}", "user_annotation", "main", begin, begin + STEP_NS - 500)
        trace.steps[number] = mark
        trace.ranges.append(mark)
    ends: dict[int, int] = {}
    talked = 0
    for number, piece in rows:
        at = trace.steps[number].start + 100 + launched[number] * (LAUNCH_NS + 100)
        launched[number] += 1
        call = Call("cudaLaunchKernel", "main", at, at + LAUNCH_NS, 1_000 + len(trace.spans))
        stream = next(s for s in STREAMS[piece.kind] if ends.get(s, 0) <= piece.start)
        ends[stream] = piece.start + piece.length
        span = Span(
            rank=rank,
            step=number,
            kind=piece.kind,
            stream=stream,
            place=len(trace.spans),
            kernel=GEMM,
            op="",
            phase="forward",
            anchor=f"{piece.kind}{len(trace.spans)}",
            path=(trace.steps[number],),
            launch=call,
            work=piece.length,
            bytes=4_096,
            start=piece.start,
            end=piece.start + piece.length,
        )
        if piece.kind == COMM:
            span.collective = "all_reduce"
            made = Instance(group, talked, number, "all_reduce", f"bucket{talked}", 0, talked + 1)
            span.instance = instances.setdefault(talked, made)
            span.instance.members[rank] = span
            span.instance.last_arrival = max(span.instance.last_arrival, span.start)
            talked += 1
        trace.spans.append(span)
        trace.calls.append(call)
    return trace


@dataclass(frozen=True)
class Counted:
    """One window, counted."""

    step: int
    rank: int
    start: int
    end: int
    categories: dict[str, int]
    stretches: tuple[tuple[int, int], ...]


def count_windows(run: SimRun) -> list[Counted]:
    """Every completed window, by looking at each nanosecond in turn."""
    out = []
    for rank, trace in run.ranks.items():
        covered: dict[str, set[int]] = {COMPUTE: set(), COMM: set(), COPY: set()}
        firsts: dict[int, int] = {}
        for span in trace.spans:
            covered[COPY if span.kind == MEMSET else span.kind].update(range(span.start, span.end))
            if span.kind in {COMPUTE, COMM}:
                firsts[span.step] = min(span.start, firsts.get(span.step, span.start))
        steps = sorted(firsts)
        for step, after in pairwise(steps):
            total, exposed = dict.fromkeys(CATEGORIES, 0), []
            for t in range(firsts[step], firsts[after]):
                compute, talk = t in covered[COMPUTE], t in covered[COMM]
                if compute:
                    name = "overlapped" if talk else "compute_alone"
                else:
                    name = "exposed" if talk else "copy_only" if t in covered[COPY] else "idle"
                total[name] += 1
                if name == "exposed":
                    exposed.append(t)
            stretches: list[tuple[int, int]] = []
            for t in exposed:
                if stretches and stretches[-1][1] == t:
                    stretches[-1] = (stretches[-1][0], t + 1)
                else:
                    stretches.append((t, t + 1))
            out.append(Counted(step, rank, firsts[step], firsts[after], total, tuple(stretches)))
    return sorted(out, key=lambda w: (w.step, w.rank))


def small_jobs() -> SearchStrategy[Job]:
    """Physical runs of every layout, small enough to simulate in a few milliseconds."""
    return st.builds(
        Job,
        parallel=st.sampled_from(["ddp", "fsdp", "tp_dp", "moe", "pipeline"]),
        world=st.sampled_from([2, 4]),
        steps=st.integers(2, 4),
        layers=st.sampled_from([4, 6]),
        micro=st.integers(1, 2),
        buckets=st.integers(1, 4),
        uneven=st.booleans(),
        overlap=st.booleans(),
        prefetch=st.integers(0, 2),
        gap_ns=st.sampled_from([0, 600, 2_000]),
        compute_stretch=st.sampled_from([1.0, 1.05, 1.9]),
        comm_stretch=st.sampled_from([1.0, 2.0]),
        slowdown=st.sampled_from([1.0, 1.03]),
        sync=st.sampled_from(["run_ahead", "step", "none"]),
        packing=st.booleans(),
        eager_send=st.booleans(),
        gemm_ns=st.sampled_from([18_000, 240_000]),
        host_op_ns=st.sampled_from([10_000, 66_000]),
        seed=st.integers(0, 1_000),
    )
