"""Exposed time of a simulated run, instant by instant: whose it is, and whether it blocks (SEMANTICS 5)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from synth.model import COMM, COMPUTE
from synth.truth import Timeline, stretches_of
from synth.truth_calls import named, waits_for

if TYPE_CHECKING:
    from synth.model import Call, RankTrace, SimRun, Span
    from synth.truth import Window

ALLOCATIONS = ("cudaFree", "cudaMalloc", "cudaHostAlloc", "hipFree", "hipMalloc", "hipHostMalloc")
SYNCHRONISATIONS = ("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize", "cudaMemcpy")


@dataclass(frozen=True)
class Exposed:
    """One collective's share of one piece of an exposed stretch."""

    step: int  # of the window it lies in
    rank: int
    start: int
    end: int
    kind: str  # blocking, incidental
    wait: str | None  # stream, host; None: incidental
    consumer: str | None
    eater: Span | None  # the span that is the consumer; packing gives its timing, not its name
    span: Span
    ns: Fraction
    peer_wait: Fraction

    @property
    def transport(self) -> Fraction:
        return self.ns - self.peer_wait

    @property
    def slot(self) -> tuple[str, str, str, str, str | None]:
        assert self.span.instance is not None
        role = self.span.instance.group.role
        return self.kind, self.span.phase, role, self.span.collective, self.consumer


class _Rank:
    """One rank's spans, ready to be asked what comes next and what it waits for."""

    def __init__(self, trace: RankTrace) -> None:
        self.compute = sorted((s for s in trace.spans if s.kind == COMPUTE), key=lambda s: s.start)
        self.starts = [s.start for s in self.compute]
        self.line = Timeline(trace.spans)
        self.talk = Timeline(s for s in trace.spans if s.kind == COMM)
        self.spans = trace.spans
        self.following = {s.previous: s for s in trace.spans if s.previous is not None}
        self.calls = [c for c in trace.calls if c.name in SYNCHRONISATIONS + ALLOCATIONS]
        self._waited: dict[Span, set[tuple[int, int]]] = {}

    def next_compute(self, time: int) -> Span | None:
        place = bisect_left(self.starts, time)
        return self.compute[place] if place < len(self.compute) else None

    def waits(self, span: Span) -> set[tuple[int, int]]:
        if span not in self._waited:
            self._waited[span] = waits_for(span)
        return self._waited[span]

    def must_wait(self, span: Span, talk: Span) -> bool:
        """By recorded edges, those queued ahead on the same stream included; or queued behind it itself."""
        if span.stream == talk.stream and span.place > talk.place:
            return True
        return any(stream == talk.stream and place >= talk.place for stream, place in self.waits(span))

    def otherwise_ready(self, span: Span, waited: list[Span]) -> int:
        """Launched, its stream's last span ended, and everything else it waits for ended."""
        ready = [span.launch.start]
        before = span.previous
        while before is not None and before.kind not in (COMPUTE, COMM) and before.after:
            before = before.previous
        if before is not None and before not in waited:
            ready.append(before.end)
        others = [m.span for m in span.after if m.span is not None and m.span not in waited]
        ready += [s.end for s in others if s.kind == COMPUTE]
        return max(ready)

    def host_wait(self, span: Span, talk: Span) -> Call | None:
        """The call that held up the thread that launches `span` until the collective had ended."""
        for call in self.calls:
            if call.thread == span.launch.thread and call.start < talk.end <= call.end <= span.launch.start:
                if call.name in ALLOCATIONS:
                    return call
                between = any(talk.end < s.end <= call.end for s in self.spans if s is not talk)
                if call.end - talk.end <= 50_000 and not between:
                    return call
        return None


def exposed_of(run: SimRun, windows: list[Window]) -> tuple[Exposed, ...]:
    ranks = {rank: _Rank(trace) for rank, trace in run.ranks.items()}
    out: list[Exposed] = []
    for window in windows:
        rank = ranks[window.rank]
        near = rank.line.near(window.start, window.end)
        for start, end in stretches_of(near, window.start, window.end):
            out += _split(rank, window, start, end)
    return tuple(out)


def _split(rank: _Rank, window: Window, start: int, end: int) -> list[Exposed]:
    """Cut one stretch wherever who runs, who has arrived or who is waited for changes."""
    running = rank.talk.near(start, end)
    after = rank.next_compute(end)
    cuts = {start, end}
    waits: dict[Span, tuple[str, int]] = {}  # running collective -> (how it is waited for, from when)
    if after is not None:
        edged = [s for s in running if rank.must_wait(after, s)]
        waits = {s: ("stream", rank.otherwise_ready(after, edged)) for s in edged}
        for s in running:
            call = None if s in waits else rank.host_wait(after, s)
            if call is not None:
                waits[s] = ("host", max(call.start, after.previous.end if after.previous else 0))
    for s in running:
        assert s.instance is not None
        cuts |= {s.start, s.end, s.instance.last_arrival}
    cuts |= {ready for _, ready in waits.values()}
    inside = sorted(c for c in cuts if start <= c <= end)
    out = []
    for a, b in pairwise(inside):
        now = [s for s in running if s.start <= a and s.end >= b]
        wanted = [s for s in now if s in waits]
        for s in wanted or now:
            assert s.instance is not None
            how, ready = waits.get(s, (None, 0))
            blocks = how is not None and a >= ready
            ns = Fraction(b - a, len(wanted or now))
            out.append(
                Exposed(
                    step=window.step,
                    rank=window.rank,
                    start=a,
                    end=b,
                    kind="blocking" if blocks else "incidental",
                    wait=how if blocks else None,
                    consumer=named(after, rank.following) if blocks and after is not None else None,
                    eater=after if blocks else None,
                    span=s,
                    ns=ns,
                    peer_wait=ns if b <= s.instance.last_arrival else Fraction(),
                )
            )
    return out
