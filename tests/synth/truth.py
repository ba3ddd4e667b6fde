"""What is true of a simulated run, from its spans on the true clock by the definitions (SEMANTICS 1, 3, 4).

Written without the program under test: sweeps over cut points instead of interval algebra on columns.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from synth.model import COMM, COMPUTE, Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from synth.model import SimRun, Span
    from synth.truth_calls import Call
    from synth.truth_exposed import Exposed
    from synth.truth_path import Path

# (operator, kernel), (phase, group, collective) -> nanoseconds
Pairs = dict[tuple[tuple[str, str], tuple[str, str, str]], Fraction]
CATEGORIES = ("compute_alone", "overlapped", "exposed", "copy_only", "idle")


@dataclass(frozen=True)
class Window:
    """One step on one rank. Categories tile it."""

    step: int
    rank: int
    start: int
    end: int
    reason: str | None  # None: completed; else why it is dropped
    compute_alone: int = 0
    overlapped: int = 0
    exposed: int = 0
    copy_only: int = 0
    idle: int = 0

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, repr=False)
class Truth:
    """Everything known about one run."""

    windows: tuple[Window, ...]
    stretches: dict[tuple[int, int], tuple[tuple[int, int], ...]]  # (step, rank) -> exposed stretches
    exposed: tuple[Exposed, ...]
    calls: tuple[Call, ...]
    paths: dict[int, Path]
    excess: dict[tuple[int, int], Pairs]
    clocks: dict[int, Clock]

    def completed(self) -> list[Window]:
        return [w for w in self.windows if w.reason is None]

    def mean(self, what: str, steps: Iterable[int] | None = None) -> float:
        """Mean over completed windows (of these steps) of a category, or of `length`."""
        keep = None if steps is None else set(steps)
        rows = [w for w in self.completed() if keep is None or w.step in keep]
        return sum(getattr(w, what) for w in rows) / len(rows) if rows else math.nan

    def slots(self, steps: Iterable[int] | None = None) -> dict[tuple[str, str, str, str, str | None], float]:
        """Mean exposed time a window of (kind, phase, group, collective, consumer); no interval counts 0."""
        chosen = self._keys(steps)
        total: dict[tuple[str, str, str, str, str | None], Fraction] = defaultdict(Fraction)
        for row in self.exposed:
            if (row.step, row.rank) in chosen:
                total[row.slot] += row.ns
        return {slot: float(ns / len(chosen)) for slot, ns in total.items()}

    def contention(self, steps: Iterable[int] | None = None) -> float:
        """Mean over windows of what compute spans lost to the collectives beside them."""
        chosen = self._keys(steps)
        lost = sum(sum(pairs.values()) for key, pairs in self.excess.items() if key in chosen)
        return float(lost / len(chosen))

    def clock_offset(self, rank: int, at: int | None = None) -> int:
        """This rank's clock minus the lowest rank's, at mid-trace."""
        lowest = min(self.clocks)
        middle = at if at is not None else (self.windows[0].start + self.windows[-1].end) // 2
        return self.clocks[rank].show(middle) - self.clocks[lowest].show(middle)

    def _keys(self, steps: Iterable[int] | None) -> set[tuple[int, int]]:
        keep = None if steps is None else set(steps)
        return {(w.step, w.rank) for w in self.completed() if keep is None or w.step in keep}


def pieces(spans: Iterable[Span], start: int, end: int) -> list[tuple[int, int, bool, bool, bool]]:
    """Cut where anything begins or ends: from, to, and whether compute, communication, copies run."""
    change: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for span in spans:
        a, b = max(span.start, start), min(span.end, end)
        if a < b:
            which = 0 if span.kind == COMPUTE else 1 if span.kind == COMM else 2
            change[a][which] += 1
            change[b][which] -= 1
    cuts = sorted({start, end, *change})
    running, out = [0, 0, 0], []
    for a, b in pairwise(cuts):
        running = [x + d for x, d in zip(running, change.get(a, (0, 0, 0)), strict=True)]
        out.append((a, b, running[0] > 0, running[1] > 0, running[2] > 0))
    return out


def categories(
    spans: Iterable[Span], start: int, end: int, clock: Callable[[int], int] = lambda t: t
) -> dict[str, int]:
    """The five categories of a window, in their order of precedence, as a clock shows them."""
    total = dict.fromkeys(CATEGORIES, 0)
    for a, b, compute, communication, copies in pieces(spans, start, end):
        if compute:
            name = "overlapped" if communication else "compute_alone"
        else:
            name = "exposed" if communication else "copy_only" if copies else "idle"
        total[name] += clock(b) - clock(a)
    return total


def stretches_of(spans: Iterable[Span], start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Maximal stretches in which communication runs and compute does not."""
    out: list[tuple[int, int]] = []
    for a, b, compute, communication, _ in pieces(spans, start, end):
        if communication and not compute:
            if out and out[-1][1] == a:
                out[-1] = (out[-1][0], b)
            else:
                out.append((a, b))
    return tuple(out)


class Timeline:
    """One rank's spans in order of start: those near an interval are found without looking at all."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = sorted(spans, key=lambda s: s.start)
        self._starts = [s.start for s in self.spans]
        self._longest = max((s.end - s.start for s in self.spans), default=0)

    def near(self, start: int, end: int) -> list[Span]:
        """Every span that has a part inside [start, end)."""
        first = bisect_left(self._starts, start - self._longest)
        return [s for s in self.spans[first : bisect_left(self._starts, end)] if s.end > start]


def windows_of(run: SimRun, show: Callable[[int, int], int] | None = None) -> list[Window]:
    """Cut every rank at its first compute or communication activity a step; the last window has no end."""
    out = []
    for rank, trace in run.ranks.items():
        clock = (lambda t: t) if show is None else (lambda t, r=rank: show(r, t))
        line = Timeline(trace.spans)
        firsts: dict[int, int] = {}
        last: dict[int, int] = {}
        for span in trace.spans:
            if span.kind in (COMPUTE, COMM) and not span.launchless:
                firsts[span.step] = min(firsts.get(span.step, span.start), span.start)
            last[span.step] = max(last.get(span.step, span.end), span.end)
        numbers = sorted(firsts)
        for step, following in zip(numbers, [*numbers[1:], None], strict=True):
            cycle = run.job.cycle_of
            after = None if following is None or cycle(following) > cycle(step) else following
            end = firsts[after] if after is not None else max(last[step], trace.steps[step].end)
            parts = categories(line.near(firsts[step], end), firsts[step], end, clock)
            alone = sum(cycle(n) == cycle(step) for n in numbers) == 1
            reason = "closed_by_own_work" if alone else "last_in_cycle" if after is None else None
            out.append(Window(step, rank, clock(firsts[step]), clock(end), reason, **parts))
    return sorted(out, key=lambda w: (w.step, w.rank))


def local_windows(run: SimRun) -> list[Window]:
    """The windows as each rank's own clock shows them: what its file says to the nanosecond."""
    return windows_of(run, lambda rank, t: run.clock(rank).show(t))


def visible(run: SimRun) -> SimRun:
    """The run without spans whose record is corrupt: quarantined, they are in no figure."""
    ranks = {r: replace(t, spans=[s for s in t.spans if s.shown_end is None]) for r, t in run.ranks.items()}
    return replace(run, ranks=ranks)


def tell(run: SimRun) -> Truth:
    """All truths of a run."""
    from synth.truth_calls import calls_of, excess_of
    from synth.truth_exposed import exposed_of
    from synth.truth_path import paths_of

    run = visible(run)
    windows = windows_of(run)
    exposed = exposed_of(run, windows)
    lines = {rank: Timeline(trace.spans) for rank, trace in run.ranks.items()}
    stretches = {
        (w.step, w.rank): stretches_of(lines[w.rank].near(w.start, w.end), w.start, w.end) for w in windows
    }
    return Truth(
        windows=tuple(windows),
        stretches=stretches,
        exposed=exposed,
        calls=calls_of(run, exposed),
        paths=paths_of(run, windows),
        excess=excess_of(run),
        clocks={rank: run.clock(rank) for rank in run.ranks},
    )
