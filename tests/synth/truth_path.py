"""The dependency path of each step, walked back through the causes the simulation recorded (SEMANTICS 7)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from synth.model import COMM

if TYPE_CHECKING:
    from synth.model import Call, SimRun, Span
    from synth.truth import Window


@dataclass
class Path:
    """Nanoseconds on the path, by kind and by rank."""

    compute: int = 0
    transport: int = 0
    host: int = 0
    idle: int = 0
    ranks: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def length(self) -> int:
        return self.compute + self.transport + self.host + self.idle

    def add(self, kind: str, rank: int, ns: int) -> None:
        if ns > 0:
            setattr(self, kind, getattr(self, kind) + ns)
            self.ranks[rank] += ns


def paths_of(run: SimRun, windows: list[Window]) -> dict[int, Path]:
    if len(run.ranks) < run.job.world:
        return {}  # a rank that was not traced may be the one that the path runs on
    starts = {(w.step, w.rank): w.start for w in windows}
    steps = sorted({w.step for w in windows if w.reason is None})
    out = {}
    for step in steps:
        launched = [s for trace in run.ranks.values() for s in trace.spans if s.step == step]
        last = max(launched, key=lambda s: (s.end, -s.rank))
        out[step] = _walk(run, last, {r: starts[step, r] for r in run.ranks if (step, r) in starts})
    return out


def _walk(run: SimRun, span: Span, floor: dict[int, int]) -> Path:
    path, time = Path(), span.end
    while True:
        rank = span.rank
        if span.kind == COMM and span.instance is not None:
            late = span.instance.members[span.instance.late_rank]
            arrival = max(late.start, floor[rank])
            path.add("transport", rank, time - arrival)
            span, time = late, arrival
            if late.rank in floor:
                rank = late.rank
        else:
            path.add("compute", rank, time - max(span.start, floor[rank]))
            time = span.start
        if time <= floor[rank]:
            return path
        if span.cause is not None:
            path.add("idle", rank, time - max(span.cause.end, floor[rank]))
            span, time = span.cause, span.cause.end
        else:
            held = _held(run, span)
            back = held.end if held is not None else 0
            path.add("host", rank, time - max(back, floor[rank]))
            if held is None or back <= floor[rank]:
                return path
            before = max(held.waited, key=lambda s: s.end)
            path.add("idle", rank, back - max(before.end, floor[rank]))
            span, time = before, before.end
        if time <= floor[span.rank]:
            return path


def _held(run: SimRun, span: Span) -> Call | None:
    """The last synchronisation that returned before this launch."""
    calls = [c for c in run.ranks[span.rank].calls if c.waited and c.end <= span.launch.start]
    return max(calls, key=lambda c: c.end, default=None)
