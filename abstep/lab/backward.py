"""One data-parallel backward as the overlap lab sees it: gradient groups, buckets, ranks and a link.

Times are whole nanoseconds, or exact fractions of them where work is slowed; nothing is rounded before it is
printed. Buckets fill in the order in which gradients arrive and close at a size, as DistributedDataParallel's do
(torch.nn.parallel, `bucket_cap_mb`, which counts 2^20 bytes).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Time: TypeAlias = int | Fraction
"""Nanoseconds, exact."""
MIB = 1 << 20
"""What `bucket_cap_mb` counts in."""


@dataclass(frozen=True)
class Rank:
    """What one rank computes in the window.

    Attributes:
        rank: its number.
        start: ns on the common clock at which its window starts.
        ready: ns of compute from the window's start after which each group's gradients are there, ascending.
        backward: ns of compute from the window's start to the backward's end, with nothing beside it.
        begins: ns of compute from the window's start to the backward's begin.
        after: ns from when the reductions are waited for (and the backward is over) to the window's end.

    """

    rank: int
    start: int
    ready: tuple[Time, ...]
    backward: Time
    begins: Time = 0
    after: Time = 0


@dataclass(frozen=True)
class Bucket:
    """Gradients reduced by one collective.

    Attributes:
        bytes: its size.
        ready: a rank: ns of compute from the window's start after which it is full.

    """

    bytes: int
    ready: tuple[Time, ...]


@dataclass(frozen=True)
class Backward:
    """One data-parallel backward.

    Attributes:
        sizes: bytes of each gradient group, in order of arrival.
        even: whether a group's bytes arrive evenly since the group before it (measured buckets, whose inside is
            unknown); else all at once.
        ranks: every rank.
        bucket: bytes at which a bucket closes; None: each group is one.
        launch: ns between a collective's turn on its stream and its start, each time, on each rank.
        latency: ns of transport before the first byte moves.
        byte_ns: ns of transport a byte of the bucket takes, with nothing beside it.
        compute_slowdown: compute takes this many times as long while a collective is on its rank's device.
        transport_slowdown: bytes take this many times as long while any rank is still in its backward.
        streams: communication streams, 1 or 2; buckets take turns, and what moves at once shares the link.
        late_launch: every bucket is launched when its rank's backward has ended, not when it is full.

    """

    sizes: tuple[int, ...]
    ranks: tuple[Rank, ...]
    bucket: int | None = None
    even: bool = False
    launch: Time = 0
    latency: Time = 0
    byte_ns: Fraction = Fraction(0)
    compute_slowdown: Fraction = Fraction(1)
    transport_slowdown: Fraction = Fraction(1)
    streams: int = 1
    late_launch: bool = False

    def buckets(self) -> tuple[Bucket, ...]:
        """Return the buckets in the order of their collectives."""
        if self.bucket is None:
            return tuple(
                Bucket(size, tuple(rank.ready[group] for rank in self.ranks))
                for group, size in enumerate(self.sizes)
            )
        return tuple(self._even() if self.even else self._whole())

    def _whole(self) -> list[Bucket]:
        """Buckets of whole groups: one closes with the group that fills it."""
        assert self.bucket is not None
        found, held = [], 0
        for group, size in enumerate(self.sizes):
            held += size
            if held >= self.bucket or group == len(self.sizes) - 1:
                found.append(Bucket(held, tuple(rank.ready[group] for rank in self.ranks)))
                held = 0
        return found

    def _even(self) -> list[Bucket]:
        """Buckets that close at their very size, inside a group where it falls there."""
        assert self.bucket is not None
        total = sum(self.sizes)
        closes = [*range(self.bucket, total, self.bucket), total]
        arrivals = [_Arrival(self.sizes, rank) for rank in self.ranks]
        return [
            Bucket(upper - lower, tuple(arrival.at(upper) for arrival in arrivals))
            for lower, upper in pairwise([0, *closes])
        ]


class _Arrival:
    """When a rank's gradients are there: bytes against compute time, straight between the groups' ready times."""

    def __init__(self, sizes: Sequence[int], rank: Rank) -> None:
        self.points: list[tuple[int, Time]] = [(0, min(rank.begins, rank.ready[0]))]
        for size, ready in zip(sizes, rank.ready, strict=True):
            self.points.append((self.points[-1][0] + size, ready))

    def at(self, count: int) -> Time:
        """Return the ns of compute after which so many bytes are there, to the ns."""
        for (low, since), (high, until) in pairwise(self.points):
            if count <= high:
                return since + round(Fraction(until - since) * (count - low) / max(high - low, 1))
        return self.points[-1][1]
