"""The overlap lab's controls: one table for the command's options and the screen's rows, and the model they set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from abstep.errors import AbstepError
from abstep.lab.backward import MIB, Backward, Rank
from abstep.lab.roofline import figure


class Control(NamedTuple):
    """One control.

    Attributes:
        name: its field in `Controls`.
        option: on the command line.
        label: in a screen's row.
        unit: of its value; "" for counts and factors.
        low, high: its range.
        steps: the values that keys go through.
        meaning: in a line.

    """

    name: str
    option: str
    label: str
    unit: str
    low: float
    high: float
    steps: tuple[float, ...]
    meaning: str


CONTROLS: tuple[Control, ...] = (
    Control("bucket_mb", "--bucket-mb", "bucket size", "MiB", 0.001, 100_000, (1, 2, 5, 10, 16, 20, 25, 40, 80),
            "bytes at which a bucket closes, in MiB as DDP's bucket_cap_mb counts"),
    Control("streams", "--streams", "communication streams", "", 1, 2, (1, 2),
            "buckets take turns on them; what moves at once shares the link"),
    Control("launch_us", "--launch-cost", "launch cost", "us", 0, 1e6, (0, 1, 2, 5, 10, 20, 50, 100, 200),
            "between a collective's turn on its stream and its start, each time"),
    Control("latency_us", "--latency", "latency", "us", 0, 1e6, (0, 5, 10, 20, 50, 100, 200),
            "of transport, before the first byte moves"),
    Control("bandwidth", "--bandwidth", "bus bandwidth", "GB/s", 0.001, 1e6, (5, 10, 20, 40, 75, 100, 150, 300),
            "of an all_reduce, decimal: transport = latency + 2(n-1)/n x bytes / bandwidth"),
    Control("ranks", "--ranks", "ranks", "", 1, 64, (1, 2, 4, 8, 16), "data-parallel ranks"),
    Control("late_us", "--late", "last rank late by", "us", 0, 1e6, (0, 50, 100, 200, 400, 800, 1600),
            "the last rank computes this much longer before its backward"),
    Control("compute_slowdown", "--compute-slowdown", "compute slowed by", "x", 1, 100,
            (1, 1.05, 1.1, 1.2, 1.4, 1.9), "while a collective is on its device"),
    Control("transport_slowdown", "--transport-slowdown", "transport slowed by", "x", 1, 100,
            (1, 1.1, 1.2, 1.5, 2, 2.3), "while any rank still computes its backward"),
    Control("groups", "--groups", "gradient groups", "", 1, 1024, (1, 2, 4, 8, 16, 40, 80, 160),
            "of equal size, ready at equal distances, the last at the backward's end"),
    Control("gradients_mb", "--gradients", "gradients", "MiB", 0.001, 1e6, (20, 40, 80, 160, 320, 640),
            "of all groups together"),
    Control("backward_us", "--backward", "backward", "us", 0, 1e9, (1200, 2400, 4800, 9600),
            "compute of the backward, with nothing beside it"),
    Control("rest_us", "--rest", "forward and optimizer", "us", 0, 1e9, (0, 600, 1200, 2400, 4800),
            "compute that no reduction may run beside"),
)  # fmt: skip
BY_NAME = {control.name: control for control in CONTROLS}


@dataclass(frozen=True)
class Controls:
    """The values of the controls; these are what Reset gives. Units as in `CONTROLS`.

    Attributes:
        late_launch: every bucket is launched when the backward has ended.
        ready_us: own ready times, us from the backward's begin, ascending; empty: at equal distances.
        sizes_mb: own sizes, MiB, one a ready time; empty: equal.

    """

    bucket_mb: float = 20.0
    streams: int = 1
    launch_us: float = 5.0
    latency_us: float = 20.0
    bandwidth: float = 75.0
    ranks: int = 4
    late_us: float = 0.0
    compute_slowdown: float = 1.0
    transport_slowdown: float = 1.0
    groups: int = 40
    gradients_mb: float = 80.0
    backward_us: float = 4800.0
    rest_us: float = 0.0
    late_launch: bool = False
    ready_us: tuple[float, ...] = ()
    sizes_mb: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for control in CONTROLS:
            value = getattr(self, control.name)
            if not control.low <= value <= control.high:  # also what is not a number
                raise AbstepError(
                    f"{control.option} {figure(value)}: outside the lab's range",
                    f"give {figure(control.low)} to {figure(control.high)} {control.unit}".rstrip(),
                )
        _check_lists(self)

    def backward(self) -> Backward:
        """Return the model these values set."""
        ready = self.ready_us or tuple(
            self.backward_us * (group + 1) / self.groups for group in range(self.groups)
        )
        count = len(ready)
        sizes = self.sizes_mb or (self.gradients_mb / count,) * count
        last = self.ranks - 1
        ranks = tuple(
            Rank(
                rank,
                0,
                tuple(ns(late + each) for each in ready),
                ns(late + self.backward_us),
                ns(late),
                ns(self.rest_us),
            )
            for rank in range(self.ranks)
            for late in (self.late_us if rank == last else 0.0,)
        )
        factor = Fraction(2 * (self.ranks - 1), self.ranks)
        return Backward(
            sizes=tuple(round(size * MIB) for size in sizes),
            ranks=ranks,
            bucket=max(1, round(self.bucket_mb * MIB)),
            launch=ns(self.launch_us),
            latency=ns(self.latency_us) if self.ranks > 1 else 0,
            byte_ns=factor / Fraction(str(self.bandwidth)),
            compute_slowdown=Fraction(str(self.compute_slowdown)),
            transport_slowdown=Fraction(str(self.transport_slowdown)),
            streams=int(self.streams),
            late_launch=self.late_launch,
        )


def _check_lists(controls: Controls) -> None:
    ready, sizes = controls.ready_us, controls.sizes_mb
    if sizes and len(sizes) != len(ready):
        raise AbstepError(
            f"--sizes names {len(sizes)} groups and --ready {len(ready)}", "give one size a ready time"
        )
    ascending = all(low <= high for low, high in pairwise(ready))
    if ready and not (ascending and ready[0] >= 0 and ready[-1] <= controls.backward_us):
        raise AbstepError(
            "--ready: the times do not ascend within the backward",
            f"give times from 0 to {figure(controls.backward_us)} us (--backward), earliest first",
        )
    if any(not 0 < size < math.inf for size in sizes):
        raise AbstepError("--sizes: a size is not above 0", "give MiB a group")
    if len(ready) > BY_NAME["groups"].high:
        raise AbstepError(f"--ready names {len(ready)} groups", "give at most 1024")


def ns(us: float) -> int:
    """Return microseconds as whole nanoseconds."""
    return round(us * 1000)
