"""Collectives of a simulated run one by one, and what they cost the compute beside them (SEMANTICS 4, 6)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from synth.model import COMM, COMPUTE
from synth.truth import Timeline, pieces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from synth.model import Instance, RankTrace, SimRun, Span
    from synth.truth import Pairs
    from synth.truth_exposed import Exposed


@dataclass(frozen=True)
class Call:
    """One collective on one rank (SEMANTICS 4)."""

    step: int
    rank: int
    label: str
    collective: str
    group: str  # role
    phase: str
    order: int
    bytes: int
    start: int
    end: int
    first_valid_launch: int
    queue: int
    peer_wait: int
    transport: int
    late_rank: int
    consumer: str | None  # position in the model
    consumer_start: int | None
    slack: int | None
    complete: bool  # recorded on every rank of its group; else peer_wait and transport cannot be told apart
    exposed: int | Fraction  # its share of exposed stretches
    hidden: int  # of its duration, beside compute; the rest is another collective's where several run
    independent: int  # compute between first valid launch and consumer


def _producer_end(span: Span) -> int:
    """End of the last compute span before the marks that this collective's own waits name."""
    ends = []
    for mark in span.after:
        before = mark.span
        while before is not None and before.kind != COMPUTE:
            before = before.previous
        if before is not None:
            ends.append(before.end)
    return max(ends, default=-1)


def waits_for(span: Span) -> set[tuple[int, int]]:
    """(stream, position) a compute span waits for, also through copies right before it on its stream."""
    marks = {(m.stream, m.span.place) for m in span.after if m.span is not None}
    before = span.previous
    while before is not None and before.kind not in (COMPUTE, COMM):
        marks |= {(m.stream, m.span.place) for m in before.after if m.span is not None}
        before = before.previous
    return marks


def consumers(spans: list[Span]) -> dict[Span, Span]:
    """The earliest compute span that must wait for each communication span, by the recorded edges."""
    waiting = [(s, waits_for(s)) for s in spans if s.kind == COMPUTE]
    waiting = sorted(((s, w) for s, w in waiting if w), key=lambda sw: sw[0].start)
    starts = [s.start for s, _ in waiting]
    out: dict[Span, Span] = {}
    for span in spans:
        if span.kind == COMM:
            for candidate, marks in waiting[bisect_left(starts, span.end) :]:
                if any(stream == span.stream and place >= span.place for stream, place in marks):
                    out[span] = candidate
                    break
    return out


def held_by_host(trace: RankTrace) -> dict[Span, Span]:
    """Where the host waited for a communication span: the next compute span it launched afterwards."""
    out: dict[Span, Span] = {}
    compute = [s for s in trace.spans if s.kind == COMPUTE]
    talk = [s for s in trace.spans if s.kind == COMM]
    for call in trace.calls:
        marks = {s.stream: s.place for s in call.waited if s.kind == COMM}
        later = [s for s in compute if s.launch.thread == call.thread and s.launch.start >= call.end]
        if marks and later:
            after = min(later, key=lambda s: s.launch.start)
            for span in talk:
                if span.place <= marks.get(span.stream, -1):
                    out.setdefault(span, after)
    return out


def named(span: Span, following: dict[Span, Span]) -> str:
    """A consumer's name: behind packing it is the first span after it on that stream."""
    while span.packs and span in following:
        span = following[span]
    return span.anchor


def busy(spans: Iterable[Span], start: int, end: int) -> int:
    return sum(b - a for a, b, compute, _, _ in pieces(spans, start, end) if compute)


def calls_of(run: SimRun, exposed: tuple[Exposed, ...]) -> tuple[Call, ...]:
    """Every collective on every rank; where the host waited instead of a stream, the next span consumes."""
    share: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for row in exposed:
        share[id(row.span), row.rank] += row.ns
    eaten = {rank: held_by_host(trace) | consumers(trace.spans) for rank, trace in run.ranks.items()}
    following = {s.previous: s for t in run.ranks.values() for s in t.spans if s.previous is not None}
    recorded = {s for t in run.ranks.values() for s in t.spans}
    computes = {r: Timeline(s for s in t.spans if s.kind == COMPUTE) for r, t in run.ranks.items()}
    out = []
    for one in run.instances:
        complete = all(s in recorded for s in one.members.values())
        for rank, span in sorted(one.members.items()):
            if span in recorded:
                eater = eaten[rank].get(span)
                name = named(eater, following) if eater is not None else None
                call = _call(one, span, eater, computes[rank])
                mine = share[id(span), rank]
                out.append(replace(call, consumer=name, exposed=mine, complete=complete))
    return tuple(out)


def _call(one: Instance, span: Span, eater: Span | None, compute: Timeline) -> Call:
    ready = max(span.launch.start, _producer_end(span))
    waited = min(span.end - span.start, max(0, one.last_arrival - span.start))
    until = eater.start if eater else span.end
    return Call(
        step=span.step,
        rank=span.rank,
        label=span.anchor,
        collective=span.collective,
        group=one.group.role,
        phase=span.phase,
        order=one.order,
        bytes=span.bytes,
        start=span.start,
        end=span.end,
        first_valid_launch=ready,
        queue=max(0, span.start - ready),
        peer_wait=waited,
        transport=span.end - span.start - waited,
        late_rank=one.late_rank,
        consumer=None,
        consumer_start=eater.start if eater else None,
        slack=max(0, eater.start - span.end) if eater else None,
        complete=True,
        exposed=0,
        hidden=busy(compute.near(span.start, span.end), span.start, span.end),
        independent=busy(compute.near(ready, until), ready, until) if until > ready else 0,
    )


def excess_of(run: SimRun) -> dict[tuple[int, int], Pairs]:
    """Per (step, rank): what each (signature, phase + group + kind) pair added to compute spans."""
    out: dict[tuple[int, int], Pairs] = {}
    for rank, trace in run.ranks.items():
        talk = Timeline(s for s in trace.spans if s.kind == COMM)
        for span in (s for s in trace.spans if s.kind == COMPUTE):
            pairs = out.setdefault((span.step, rank), {})
            lost = span.end - span.start - span.work
            near = talk.near(span.start, span.end)
            beside = [(c, min(c.end, span.end) - max(c.start, span.start)) for c in near]
            whole = sum(ns for _, ns in beside)
            for c, ns in beside:
                assert c.instance is not None
                key = span.signature, (c.phase, c.instance.group.role, c.collective)
                pairs[key] = pairs.get(key, Fraction()) + Fraction(lost * ns, whole)
    return out
