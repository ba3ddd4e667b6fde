"""Collectives of a simulated run one by one, and what they cost the compute beside them (SEMANTICS 4, 6)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from synth.model import COMM, COMPUTE
from synth.truth import pieces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from synth.model import Instance, SimRun, Span
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
    exposed: int | Fraction  # its share of exposed stretches
    independent: int  # compute between first valid launch and consumer

    @property
    def hidden(self) -> int | Fraction:
        return self.end - self.start - self.exposed


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


def busy(spans: Iterable[Span], start: int, end: int) -> int:
    return sum(b - a for a, b, compute, _, _ in pieces(spans, start, end) if compute)


def calls_of(run: SimRun, exposed: tuple[Exposed, ...]) -> tuple[Call, ...]:
    """Every collective on every rank; where the host waited instead of a stream, the next span consumes."""
    share: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for row in exposed:
        share[id(row.span), row.rank] += row.ns
    hosts: dict[Span, str | None] = {row.span: row.consumer for row in exposed if row.wait == "host"}
    eaten = {rank: consumers(trace.spans) for rank, trace in run.ranks.items()}
    for rank, trace in run.ranks.items():
        anchors = {(s.step, s.anchor): s for s in trace.spans if s.kind == COMPUTE}
        for span in trace.spans:
            if span in hosts and span not in eaten[rank]:
                eaten[rank][span] = anchors[span.step, hosts[span] or ""]
    out = []
    for one in run.instances:
        for rank, span in sorted(one.members.items()):
            if rank in run.ranks:
                out.append(_call(one, span, eaten[rank].get(span), share[id(span), rank], run))
    return tuple(out)


def _call(one: Instance, span: Span, eater: Span | None, exposed: Fraction, run: SimRun) -> Call:
    ready = max(span.launch.start, _producer_end(span))
    waited = min(span.end - span.start, max(0, one.last_arrival - span.start))
    compute = [s for s in run.ranks[span.rank].spans if s.kind == COMPUTE and s.end > ready]
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
        consumer=eater.anchor if eater else None,
        consumer_start=eater.start if eater else None,
        slack=max(0, eater.start - span.end) if eater else None,
        exposed=exposed,
        independent=busy([s for s in compute if s.start < until], ready, until) if until > ready else 0,
    )


def excess_of(run: SimRun) -> dict[tuple[int, int], Pairs]:
    """Per (step, rank): what each (signature, phase + group + kind) pair added to compute spans."""
    out: dict[tuple[int, int], Pairs] = {}
    for rank, trace in run.ranks.items():
        talk = sorted((s for s in trace.spans if s.kind == COMM), key=lambda s: s.start)
        starts = [c.start for c in talk]
        longest = max((c.end - c.start for c in talk), default=0)
        for span in (s for s in trace.spans if s.kind == COMPUTE):
            pairs = out.setdefault((span.step, rank), {})
            lost = span.end - span.start - span.work
            near = talk[bisect_left(starts, span.start - longest) : bisect_left(starts, span.end)]
            beside = [(c, min(c.end, span.end) - max(c.start, span.start)) for c in near]
            beside = [(c, ns) for c, ns in beside if ns > 0]
            whole = sum(ns for _, ns in beside)
            for c, ns in beside:
                assert c.instance is not None
                key = span.signature, (c.phase, c.instance.group.role, c.collective)
                pairs[key] = pairs.get(key, Fraction()) + Fraction(lost * ns, whole)
    return out
