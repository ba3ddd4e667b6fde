"""What happens in one backward, event by event, exactly: no step size, no rounding, the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abstep.lab.backward import Backward, Bucket, Rank, Time


@dataclass(frozen=True)
class Collective:
    """One bucket's all_reduce. Times ns on the common clock; tuples hold one entry a rank.

    Attributes:
        index: its place in launch order.
        bytes: the bucket's size.
        stream: 0 or 1.
        ready: first valid launch.
        start: when it is on the rank's device; it waits there for the ranks that are not.
        arrival: the last start: from here on it is transport.
        moving: when the first byte moves, after the latency.
        end: on every rank.

    """

    index: int
    bytes: int
    stream: int
    ready: tuple[Time, ...]
    start: tuple[Time, ...]
    arrival: Time
    moving: Time
    end: Time


@dataclass(frozen=True)
class Events:
    """What happened.

    Attributes:
        collectives: in launch order.
        backward_end: a rank: ns on the common clock.

    """

    collectives: tuple[Collective, ...]
    backward_end: tuple[Time, ...]


@dataclass
class _Flight:
    """A collective on its way: what is known of it so far."""

    bucket: Bucket
    stream: int
    work: Time  # ns of transport that remain, at full rate
    ready: dict[int, Time] = field(default_factory=dict)
    starts: dict[int, Time] = field(default_factory=dict)  # set once its turn has come; may lie ahead
    arrival: Time | None = None
    end: Time | None = None


def simulate(backward: Backward) -> Events:
    """Run one backward.

    Args:
        backward: what to run.

    """
    alike = {_work(rank): at for at, rank in reversed(list(enumerate(backward.ranks)))}
    kept = sorted(alike.values())
    events = _Run(replace(backward, ranks=tuple(backward.ranks[at] for at in kept))).events()
    place = [kept.index(alike[_work(rank)]) for rank in backward.ranks]

    def every(times: tuple[Time, ...]) -> tuple[Time, ...]:
        return tuple(times[at] for at in place)

    return Events(
        tuple(replace(one, ready=every(one.ready), start=every(one.start)) for one in events.collectives),
        every(events.backward_end),
    )


def _work(rank: Rank) -> Rank:
    """Return what a rank does whatever its number: ranks that do the same are played once."""
    return replace(rank, rank=0)


class _Run:
    def __init__(self, backward: Backward) -> None:
        self.backward = backward
        self.now: Time = min(rank.start for rank in backward.ranks)
        self.progress: list[Time] = [self.now - rank.start for rank in backward.ranks]
        self.computing = [True] * len(backward.ranks)
        self.backward_end: list[Time] = [0] * len(backward.ranks)
        self.flights = [
            _Flight(bucket, index % backward.streams, round(bucket.bytes * backward.byte_ns))
            for index, bucket in enumerate(backward.buckets())
        ]
        self.next_ready = [0] * len(backward.ranks)  # a rank: the first collective that is not ready
        self.first_open = 0
        self.slow = _exact(backward.compute_slowdown)
        self.transport_slow = _exact(backward.transport_slowdown)

    def events(self) -> Events:
        """Go from event to event until everything has ended."""
        while True:
            while self._settle():
                pass
            if self.first_open == len(self.flights) and not any(self.computing):
                break
            self._advance(min(self._ahead()))
        return Events(
            tuple(self._told(index, flight) for index, flight in enumerate(self.flights)),
            tuple(self.backward_end),
        )

    def _open(self) -> Iterator[_Flight]:
        """Collectives that have not ended, at most one a stream: what is behind them waits its turn."""
        streams: set[int] = set()
        for flight in self.flights[self.first_open :]:
            if flight.end is None and flight.stream not in streams:
                streams.add(flight.stream)
                yield flight
            if len(streams) == self.backward.streams:
                return

    def _needed(self, rank: int) -> Time | None:
        """Compute after which the rank's next collective may be launched; None: all are."""
        index = self.next_ready[rank]
        if index == len(self.flights):
            return None
        full = self.flights[index].bucket.ready[rank]
        return max(full, self.backward.ranks[rank].backward) if self.backward.late_launch else full

    def _settle(self) -> bool:
        """Let everything happen that happens now; return whether anything did."""
        happened = False
        for rank, work in enumerate(self.backward.ranks):
            if self.computing[rank] and self.progress[rank] >= work.backward:
                self.computing[rank], self.backward_end[rank] = False, self.now
                happened = True
            needed = self._needed(rank)
            while needed is not None and self.progress[rank] >= needed:
                self.flights[self.next_ready[rank]].ready[rank] = self.now
                self.next_ready[rank] += 1
                happened = True
                needed = self._needed(rank)
        for flight in self._open():
            for rank in flight.ready.keys() - flight.starts.keys():
                flight.starts[rank] = self.now + self.backward.launch
                happened = True
            arrived = len(flight.starts) == len(self.progress) and max(flight.starts.values()) <= self.now
            if flight.arrival is None and arrived:
                flight.arrival = self.now
                happened = True
            if flight.arrival is not None and flight.work <= 0 and self._moves_from(flight) <= self.now:
                flight.end = self.now
                happened = True
        while self.first_open < len(self.flights) and self.flights[self.first_open].end is not None:
            self.first_open += 1
        return happened

    def _moves_from(self, flight: _Flight) -> Time:
        assert flight.arrival is not None
        return flight.arrival + self.backward.latency

    def _moving(self) -> list[_Flight]:
        return [
            flight
            for flight in self._open()
            if flight.arrival is not None and self._moves_from(flight) <= self.now and flight.work > 0
        ]

    def _beside(self, rank: int) -> bool:
        """Whether a collective is on the rank's device, moving or waiting for others."""
        return any(rank in flight.starts and flight.starts[rank] <= self.now for flight in self._open())

    def _compute_slow(self, rank: int) -> Time:
        return self.slow if self.computing[rank] and self._beside(rank) else 1

    def _move_slow(self, moving: int) -> Time:
        return moving * (self.transport_slow if any(self.computing) else 1)

    def _ahead(self) -> Iterator[Time]:
        """How far off each next event is, at the present rates."""
        for rank, work in enumerate(self.backward.ranks):
            progress = self.progress[rank]
            marks = [needed for needed in (self._needed(rank),) if needed is not None]
            marks += [work.backward] if self.computing[rank] else []
            marks += [0] if progress < 0 else []
            slow = self._compute_slow(rank)
            for mark in marks:
                if mark > progress:
                    yield (mark - progress) * slow
        for flight in self._open():
            for start in flight.starts.values():
                if start > self.now:
                    yield start - self.now
            if flight.arrival is not None and self._moves_from(flight) > self.now:
                yield self._moves_from(flight) - self.now
        moving = self._moving()
        slow = self._move_slow(len(moving))
        for flight in moving:
            yield flight.work * slow

    def _advance(self, by: Time) -> None:
        done = [_divided(by, self._compute_slow(rank)) for rank in range(len(self.progress))]
        moving = self._moving()
        moved = _divided(by, self._move_slow(len(moving))) if moving else 0
        for rank, part in enumerate(done):
            self.progress[rank] += part
        for flight in moving:
            flight.work -= moved
        self.now += by

    def _told(self, index: int, flight: _Flight) -> Collective:
        ranks = range(len(self.progress))
        assert flight.arrival is not None
        assert flight.end is not None
        return Collective(
            index,
            flight.bucket.bytes,
            flight.stream,
            tuple(flight.ready[rank] for rank in ranks),
            tuple(flight.starts[rank] for rank in ranks),
            flight.arrival,
            self._moves_from(flight),
            flight.end,
        )


def _exact(factor: Fraction) -> Time:
    """Return a factor as an int where it is one: whole nanoseconds then stay ints."""
    return factor.numerator if factor.denominator == 1 else factor


def _divided(value: Time, by: Time) -> Time:
    return value if by == 1 else Fraction(value) / by
