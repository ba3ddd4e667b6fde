"""What goes wrong with recordings: each takes a run and returns it with the fault; its truth follows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from synth.model import COMM, RankTrace, SimRun, Span

if TYPE_CHECKING:
    from collections.abc import Callable


def _with(run: SimRun, rank: int, **changes: object) -> SimRun:
    return replace(run, ranks={**run.ranks, rank: replace(run.ranks[rank], **changes)})  # type: ignore[arg-type]


def without_rank(run: SimRun, rank: int) -> SimRun:
    """That rank's file is missing."""
    return replace(run, ranks={r: trace for r, trace in run.ranks.items() if r != rank})


def find(run: SimRun, rank: int, step: int, anchor: str) -> Span:
    """A span by its place in the model: "bucket1", "m0/bwd3/dx", "opt0"."""
    return next(s for s in run.ranks[rank].spans if s.step == step and s.anchor == anchor)


def lose(run: SimRun, rank: int, step: int, anchor: str, host: bool = False) -> SimRun:
    """One activity's record is lost on one rank; with `host` also its launch call and host ranges."""
    trace = run.ranks[rank]
    lost = find(run, rank, step, anchor)
    if not host:
        return _with(run, rank, spans=[s for s in trace.spans if s is not lost])
    names = ("nccl:", "record_param_comms", "c10d::")
    ranges = {r for r in lost.path if r.name.startswith(names)}
    return _with(
        run,
        rank,
        spans=[s for s in trace.spans if s is not lost],
        calls=[c for c in trace.calls if c is not lost.launch],
        ranges=[r for r in trace.ranges if r not in ranges],
    )


def corrupt(run: SimRun, rank: int, step: int, anchor: str, past_ns: int = 3_000_000_000) -> SimRun:
    """One activity's recorded end lies this far beyond the next one's start on its own stream."""
    return _replaced(
        run, rank, lambda s: s.step == step and s.anchor == anchor, lambda s: {"shown_end": s.end + past_ns}
    )


def unlaunched(run: SimRun, rank: int, step: int, anchor: str) -> SimRun:
    """One activity without a launch record: it belongs to no step."""
    return _replaced(
        run, rank, lambda s: s.step == step and s.anchor == anchor, lambda _: {"launchless": True}
    )


def _replaced(
    run: SimRun, rank: int, which: Callable[[Span], bool], how: Callable[[Span], dict[str, object]]
) -> SimRun:
    """Copies of some spans with other fields; whatever pointed at a span points at its copy."""
    spans, copies = [], {}
    for span in run.ranks[rank].spans:
        one = replace(span, **how(span)) if which(span) else span  # type: ignore[arg-type]
        copies[span] = one
        spans.append(one)
    if all(a is b for a, b in copies.items()):
        raise LookupError("no such span")
    instances = [
        replace(i, members={r: copies.get(s, s) if r == rank else s for r, s in i.members.items()})
        for i in run.instances
    ]
    return replace(_with(run, rank, spans=spans), instances=instances)


def cut_front(run: SimRun, rank: int, lost: int) -> SimRun:
    """The capture of this rank starts late: the first few collectives of its first step are not in it."""
    trace = run.ranks[rank]
    first = min(trace.steps)
    talk = sorted((s for s in trace.spans if s.step == first and s.kind == COMM), key=lambda s: s.start)
    gone = set(talk[:lost])
    return _with(run, rank, spans=[s for s in trace.spans if s not in gone])


def opaque_graph(run: SimRun, step: int) -> SimRun:
    """In this step every rank shows one graph launch and no device activity of its own."""
    for rank, trace in run.ranks.items():
        mine = [s for s in trace.spans if s.step == step]
        launches = {s.launch for s in mine}
        calls = [replace(c, name="cudaGraphLaunch") if c is mine[0].launch else c for c in trace.calls]
        calls = [c for c in calls if c not in launches or c.name == "cudaGraphLaunch"]
        left = RankTrace(
            rank,
            [s for s in trace.spans if s.step != step],
            [r for r in trace.ranges if r.span is None or r.span.step != step or r.cat == "user_annotation"],
            calls,
            [e for e in trace.edges if e.mark.span is None or e.mark.span.step != step],
            trace.steps,
        )
        run = replace(run, ranks={**run.ranks, rank: left})
    return run
