"""The overlap lab's controls: their values, checked, and the model they set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from abstep.errors import AbstepError
from abstep.lab.backward import MIB, Backward, Rank
from abstep.lab.roofline import figure
from abstep.lab.table import BY_NAME, CONTROLS


@dataclass(frozen=True)
class Controls:
    """The values of the controls; these are what Reset gives. Units as in `CONTROLS`.

    Attributes:
        late_launch: every bucket is launched when the backward has ended.
        ready_us: own ready times, us from the backward's begin, ascending; empty: at equal distances.
        sizes_mb: own sizes, MiB, one a ready time; empty: equal.

    """

    bucket_mb: float = BY_NAME["bucket_mb"].reset
    streams: int = int(BY_NAME["streams"].reset)
    launch_us: float = BY_NAME["launch_us"].reset
    latency_us: float = BY_NAME["latency_us"].reset
    bandwidth: float = BY_NAME["bandwidth"].reset
    ranks: int = int(BY_NAME["ranks"].reset)
    late_us: float = BY_NAME["late_us"].reset
    compute_slowdown: float = BY_NAME["compute_slowdown"].reset
    transport_slowdown: float = BY_NAME["transport_slowdown"].reset
    groups: int = int(BY_NAME["groups"].reset)
    gradients_mb: float = BY_NAME["gradients_mb"].reset
    backward_us: float = BY_NAME["backward_us"].reset
    rest_us: float = BY_NAME["rest_us"].reset
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
