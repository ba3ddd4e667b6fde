"""The overlap lab: what one data-parallel backward costs the step, and what keeps it from its ideal.

The words are SEMANTICS': compute alone, overlapped, exposed and idle tile each rank's window exactly; exposed time
divides into peer wait and transport; the ideal is the larger of compute and communication.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from abstep.lab.events import simulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from abstep.lab.backward import Backward, Rank, Time
    from abstep.lab.events import Collective, Events

CONSTRAINTS = ("readiness", "serialization", "contention", "launch cost", "tail")
"""What can keep a step from its ideal, in the order in which they are listed."""


@dataclass(frozen=True)
class Stretch:
    """A stretch of one rank's window in which nothing changes. Times ns on the common clock.

    Attributes:
        start, end: its ends.
        computing: whether the rank computes.
        running: indices of the collectives on its device.

    """

    start: Time
    end: Time
    computing: bool
    running: tuple[int, ...]

    @property
    def length(self) -> Time:
        """Return how long it is, ns."""
        return self.end - self.start

    @property
    def exposed(self) -> bool:
        """Whether communication runs and compute does not."""
        return bool(self.running) and not self.computing


@dataclass(frozen=True)
class Parts:
    """A step and what fills it: means over ranks, ns.

    Attributes:
        step: the window's length.
        compute_alone, overlapped, exposed, idle: the categories that tile it.
        peer_wait, transport: what `exposed` divides into.
        communication: union of transport: what the ideal counts.
        tail: from the backward's end to what waits for the reductions.
        contention: how much longer compute takes than with nothing beside it.

    """

    step: Time
    compute_alone: Time
    overlapped: Time
    exposed: Time
    idle: Time
    peer_wait: Time
    transport: Time
    communication: Time
    tail: Time
    contention: Time


@dataclass(frozen=True)
class Play:
    """One backward played to its end.

    Attributes:
        backward: what was played.
        events: what happened.

    """

    backward: Backward
    events: Events

    def resumes(self, rank: int) -> Time:
        """Return when a rank (by position) goes on: its backward over and every bucket reduced."""
        return max(self.events.backward_end[rank], *(one.end for one in self.events.collectives))

    def window(self, rank: int) -> tuple[Time, Time]:
        """Return start and end of a rank's window, ns on the common clock."""
        return self.backward.ranks[rank].start, self.resumes(rank) + self.backward.ranks[rank].after

    def stretches(self, rank: int) -> list[Stretch]:
        """Return a rank's window, cut wherever something begins or ends."""
        start, end = self.window(rank)
        over, resumes = self.events.backward_end[rank], self.resumes(rank)
        cuts = {start, over, resumes, end}
        for one in self.events.collectives:
            cuts |= {one.start[rank], one.arrival, one.moving, one.end}
        edges = sorted(cut for cut in cuts if start <= cut <= end)
        lines = [
            [one for one in self.events.collectives if one.stream == stream]
            for stream in range(self.backward.streams)
        ]
        found = []
        for low, high in pairwise(edges):
            for line in lines:
                while line and line[0].end <= low:
                    del line[0]
            running = tuple(
                sorted(line[0].index for line in lines if line and line[0].start[rank] <= low < line[0].end)
            )
            found.append(Stretch(low, high, low < over or low >= resumes, running))
        return found

    def exposed(self, rank: int) -> list[tuple[Time, Time]]:
        """Return a rank's exposed stretches, each as long as it lasts: start and end, ns on the common clock."""
        found: list[tuple[Time, Time]] = []
        for stretch in self.stretches(rank):
            if stretch.exposed and found and found[-1][1] == stretch.start:
                found[-1] = (found[-1][0], stretch.end)
            elif stretch.exposed:
                found.append((stretch.start, stretch.end))
        return found

    @cached_property
    def parts(self) -> Parts:
        """Return the step and its parts."""
        ranks = [self._parts(rank) for rank in self._alike]
        return Parts(
            *(self._mean([getattr(part, name) for part in ranks]) for name in Parts.__dataclass_fields__),
        )

    @cached_property
    def _alike(self) -> dict[int, int]:
        """The first of the ranks (positions) that do the same, and how many these are."""
        first: dict[Rank, int] = {}
        for at, rank in enumerate(self.backward.ranks):
            first.setdefault(replace(rank, rank=0), at)
        counts = dict.fromkeys(first.values(), 0)
        for rank in self.backward.ranks:
            counts[first[replace(rank, rank=0)]] += 1
        return counts

    def _mean(self, values: Sequence[Time]) -> Time:
        """Return the mean over all ranks of one value a kind of rank."""
        total = sum(value * count for value, count in zip(values, self._alike.values(), strict=True))
        number = len(self.backward.ranks)
        if isinstance(total, int) and total % number == 0:
            return total // number
        return Fraction(total) / number

    def _parts(self, rank: int) -> Parts:
        start, end = self.window(rank)
        sums: dict[str, Time] = dict.fromkeys(("compute_alone", "overlapped", "exposed", "idle"), 0)
        peer_wait: Time = 0
        for stretch in self.stretches(rank):
            if stretch.computing:
                name = "overlapped" if stretch.running else "compute_alone"
            else:
                name = "exposed" if stretch.running else "idle"
            sums[name] += stretch.length
            if stretch.exposed:
                waiting = [k for k in stretch.running if stretch.start < self.events.collectives[k].arrival]
                peer_wait += _share(stretch.length, len(waiting), len(stretch.running))
        return Parts(
            step=end - start,
            peer_wait=peer_wait,
            transport=sums["exposed"] - peer_wait,
            communication=_transport(self.events.collectives),
            tail=self.resumes(rank) - self.events.backward_end[rank],
            contention=self.events.backward_end[rank] - start - self.backward.ranks[rank].backward,
            **sums,
        )

    @cached_property
    def undisturbed(self) -> Play:
        """Return the same without contention: what neither side's slowdown can explain."""
        calm = replace(self.backward, compute_slowdown=Fraction(1), transport_slowdown=Fraction(1))
        return self if calm == self.backward else play(calm)

    @cached_property
    def ideal(self) -> Time:
        """Return max(compute, communication), undisturbed, and what only then can begin: mean over ranks, ns."""
        return self._mean([self._ideal(rank) for rank in self._alike])

    def _ideal(self, rank: int) -> Time:
        communication = _transport(self.undisturbed.events.collectives)
        work = self.backward.ranks[rank]
        return max(work.backward, communication) + work.after

    @cached_property
    def gap(self) -> dict[str, Time]:
        """Return what keeps the step from its ideal, ns, mean over ranks: the values sum to step - ideal."""
        calm = self.undisturbed
        reasons: dict[str, Time] = dict.fromkeys(CONSTRAINTS, 0)
        reasons["contention"] = self.parts.step - calm.parts.step
        told = [_summed(calm.reasons(rank)) for rank in self._alike]
        for name in reasons:
            reasons[name] += self._mean([own.get(name, 0) for own in told])
        return reasons

    @property
    def binding(self) -> str | None:
        """Return the constraint that costs most; None when the ideal is reached."""
        name = max(CONSTRAINTS, key=lambda each: self.gap[each])
        return name if self.gap[name] > 0 else None

    def reasons(self, rank: int) -> Iterator[tuple[str, Time]]:
        """Yield (constraint, ns) of everything beyond the ideal of an undisturbed play, on one rank.

        Where compute is the larger, that is when it has ended and the step has not; where communication is, it is
        when nothing is being transported.
        """
        communication = _transport(self.events.collectives)
        compute_bound = self.backward.ranks[rank].backward >= communication
        over, resumes = self.events.backward_end[rank], self.resumes(rank)
        for stretch in self.stretches(rank):
            if stretch.start >= resumes:
                break
            moving = [k for k in stretch.running if self.events.collectives[k].arrival <= stretch.start]
            if (stretch.start >= over) if compute_bound else not moving:
                yield (self.reason(rank, stretch, moving), stretch.length)

    def reason(self, rank: int, stretch: Stretch, moving: list[int]) -> str:
        """Return the constraint behind a stretch: what is moving then, or what keeps the next one from moving.

        Args:
            rank: by position.
            stretch: part of the rank's window.
            moving: the collectives in transport.

        """
        collectives = self.events.collectives
        if not moving:
            following = next(one for one in collectives if one.end > stretch.start)
            if max(following.ready) <= stretch.start:
                return "launch cost"
            return "tail" if self.backward.late_launch and stretch.computing else "readiness"
        one = collectives[moving[0]]
        if stretch.start < one.moving:
            return "launch cost"
        over = self.events.backward_end[rank]
        if one.ready[rank] >= over:
            return "tail"
        return "readiness" if max(one.ready) >= over else "serialization"


def play(backward: Backward) -> Play:
    """Play one backward to its end.

    Args:
        backward: what to play.

    """
    return Play(backward, simulate(backward))


def _summed(pairs: Iterable[tuple[str, Time]]) -> dict[str, Time]:
    sums: dict[str, Time] = {}
    for name, value in pairs:
        sums[name] = sums.get(name, 0) + value
    return sums


def _transport(collectives: Iterable[Collective]) -> Time:
    """Union of transport, ns."""
    total: Time = 0
    reach: Time | None = None
    for one in sorted(collectives, key=lambda each: each.arrival):
        low = one.arrival if reach is None else max(one.arrival, reach)
        total += max(one.end - low, 0)
        reach = one.end if reach is None else max(reach, one.end)
    return total


def _share(length: Time, part: int, whole: int) -> Time:
    return length if part == whole else Fraction(length * part) / whole if part else 0
