"""The timing engine: streams in order, waits between them, collectives that end together, rates that change.

Host programs (layouts.py) are generators: they enqueue work at their own pace and yield only when the host
must wait for the device. Work shrinks at an integer rate: durations are exact however often it changes.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import defaultdict
from itertools import count
from typing import TYPE_CHECKING, Any

from synth.model import COMM, COMPUTE, Group, Instance, Job, RankTrace, SimRun, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from synth.host import Host

FULL = 1_000_000


class Flow:
    """Work that shrinks at a rate: a span's own, or a collective's transport."""

    __slots__ = ("owner", "rate", "remaining", "since", "slow", "version")

    def __init__(self, owner: Span | Instance, work: int, slow: int = FULL) -> None:
        self.owner = owner
        self.remaining = work * FULL
        self.rate = 0
        self.slow = slow  # the rate beside the other kind of work
        self.since = 0
        self.version = 0


class Engine:
    """All devices of a run, and the link between them."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.now = 0
        self.instances: list[Instance] = []
        self.tails: dict[tuple[int, int], Span] = {}
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._tick = count()
        self._pending: dict[Span, int] = {}
        self._hooks: dict[Span, list[Callable[[], None]]] = defaultdict(list)
        self._computing: dict[int, list[Flow]] = defaultdict(list)
        self._communicating: dict[int, int] = defaultdict(int)
        self._moving: dict[int, list[Flow]] = defaultdict(list)
        self._ordered: dict[str, list[Instance]] = defaultdict(list)
        self._issued: dict[tuple[str, int], int] = defaultdict(int)
        self._link = random.Random(f"{job.seed}/link")

    # what host programs call -------------------------------------------------------------------------------
    def join(self, group: Group, host: Host, kind: str, label: str, work: int) -> Instance:
        """The host's next collective in this group; the n-th of every rank is one instance."""
        order = self._issued[group.name, host.rank]
        self._issued[group.name, host.rank] += 1
        line = self._ordered[group.name]
        if order == len(line):
            moved = max(1, round(work * self.noise(self._link)))
            line.append(Instance(group, order, host.step_number, kind, label, moved, seq=order + 1))
            self.instances.append(line[-1])
        return line[order]

    def noise(self, rng: random.Random) -> float:
        sigma = self.job.jitter
        return rng.lognormvariate(-sigma * sigma / 2, sigma) if sigma else 1.0

    def enqueue(self, span: Span) -> None:
        span.previous = self.tails.get((span.rank, span.stream))
        span.place = span.previous.place + 1 if span.previous else 0
        self.tails[span.rank, span.stream] = span
        if span.instance is not None:
            span.instance.members[span.rank] = span
        before = {span.previous, *(mark.span for mark in span.after)} - {None}
        self._when_done(before, lambda: self._ready(span))

    def when_done(self, spans: Iterable[Span], then: Callable[[], None]) -> None:
        self._when_done(set(spans), then)

    def run(self) -> None:
        while self._heap:
            self.now, _, act, args = heapq.heappop(self._heap)
            act(*args)

    # inside ------------------------------------------------------------------------------------------------
    def _when_done(self, spans: set[Span], then: Callable[[], None]) -> None:
        open_ = [span for span in spans if span.end < 0]
        if not open_:
            then()
            return
        left = len(open_)

        def one_less() -> None:
            nonlocal left
            left -= 1
            if not left:
                then()

        for span in open_:
            self._hooks[span].append(one_less)

    def _at(self, time: int, act: Callable[..., None], *args: Any) -> None:
        heapq.heappush(self._heap, (time, next(self._tick), act, args))

    def _ready(self, span: Span) -> None:
        """All that it waits for has ended: it starts, for the latest of its reasons."""
        start, cause = self._round(span.launch.start + self.job.launch_ns), None
        if span.previous is not None and span.previous.end + self.job.gap_ns >= start:
            start, cause = span.previous.end + self.job.gap_ns, span.previous
        for mark in span.after:
            if mark.span is not None and mark.span.end + self.job.gap_ns >= start:
                start, cause = mark.span.end + self.job.gap_ns, mark.span
        span.cause = cause
        self._at(start, self._start, span)

    def _start(self, span: Span) -> None:
        span.start = self.now
        if span.kind == COMM:
            self._communicating[span.rank] += 1
            self._arrive(span)
        else:
            factor = self.job.stretch_of.get(span.op, self.job.compute_stretch)
            flow = Flow(span, span.work, round(FULL / factor))
            if span.kind == COMPUTE:
                self._computing[span.rank].append(flow)
            else:
                self._set(flow, FULL)
        self._rerate(span.rank)

    def _arrive(self, span: Span) -> None:
        instance = span.instance
        assert instance is not None
        if self.job.eager_send and span.collective == "send":
            self._at(self.now + instance.work, self._end, span)
        arrived = [m.start for m in instance.members.values() if m.start >= 0]
        if len(arrived) < len(instance.group.ranks):
            return
        instance.last_arrival = max(arrived)
        work = instance.work
        if self.job.eager_send and span.collective in {"send", "recv"}:
            sent = next(m.start for m in instance.members.values() if m.collective == "send")
            work = max(1_000, sent + work - self.now)
        flow = Flow(instance, work, round(FULL / self.job.comm_stretch))
        for rank in instance.group.ranks:
            self._moving[rank].append(flow)
        for rank in instance.group.ranks:
            self._rerate(rank)

    def _rerate(self, rank: int) -> None:
        beside = self._communicating[rank] > 0
        for flow in self._computing[rank]:
            self._set(flow, flow.slow if beside else FULL)
        for flow in self._moving[rank]:
            ranks = flow.owner.group.ranks
            rate = flow.slow if any(self._computing[r] for r in ranks) else FULL
            if self.job.share_link:
                rate //= max(len(self._moving[r]) for r in ranks)
            self._set(flow, rate)

    def _set(self, flow: Flow, rate: int) -> None:
        if rate == flow.rate:
            return
        flow.remaining = max(0, flow.remaining - flow.rate * (self.now - flow.since))
        flow.rate, flow.since = rate, self.now
        flow.version += 1
        end = self._round(self.now + math.ceil(flow.remaining / rate))
        self._at(end, self._run_out, flow, flow.version)

    def _round(self, time: int) -> int:
        q = self.job.quantum_ns
        return -(-time // q) * q

    def _run_out(self, flow: Flow, version: int) -> None:
        if version != flow.version:
            return
        if isinstance(flow.owner, Span):
            if flow.owner.kind == COMPUTE:
                self._computing[flow.owner.rank].remove(flow)
            self._end(flow.owner)
            return
        instance = flow.owner
        instance.end = self.now
        for rank in instance.group.ranks:
            self._moving[rank].remove(flow)
        for span in instance.members.values():
            if span.end < 0:
                self._end(span)

    def _end(self, span: Span) -> None:
        if span.end >= 0:
            return  # an eager send has ended before its transfer did
        span.end = self.now
        if span.kind == COMM:
            self._communicating[span.rank] -= 1
        self._rerate(span.rank)
        for hook in self._hooks.pop(span, ()):
            hook()


def simulate(job: Job, label: str = "run", settings: dict[str, Any] | None = None) -> SimRun:
    """Run the job's program on every rank to its end."""
    from synth.host import Host
    from synth.layouts import LAYOUTS
    from synth.pieces import groups_of

    engine = Engine(job)
    groups = groups_of(job)
    hosts = [Host(engine, rank, groups) for rank in range(job.world)]
    for host in hosts:
        host.start(LAYOUTS[job.parallel](host))
    engine.run()
    traces: dict[int, RankTrace] = {host.rank: host.trace for host in hosts}
    stuck = [s for trace in traces.values() for s in trace.spans if s.end < 0]
    if stuck or any(not host.finished for host in hosts):
        names = sorted({f"{s.rank}:{s.anchor}" for s in stuck})
        raise RuntimeError(f"the program cannot finish; never ended: {names[:8]}")
    return SimRun(job, traces, engine.instances, tuple(groups.values()), label, dict(settings or {}))
