"""The roofline lab: one ceiling on memory traffic, one on arithmetic, and nothing else.

Attainable = min(peak, intensity x bandwidth): S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009.
Intensities are FLOP/byte, bandwidths decimal GB/s, rates GFLOP/s, times seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from abstep.errors import AbstepError

ROOF_GFLOPS = 1000.0
"""The fixed compute roof."""
INTENSITIES = (0.1, 1000.0)
"""The range of arithmetic intensity, FLOP/byte."""
BANDWIDTHS = (10.0, 10_000.0)
"""The range of bandwidth, decimal GB/s."""
WORK_GFLOP = 100.0
"""The work that Play pushes through the ceilings."""

Bound: TypeAlias = Literal["memory", "compute"]


@dataclass(frozen=True)
class Roofline:
    """The two controls. These values are what Reset gives.

    Attributes:
        intensity: I, arithmetic intensity, FLOP per byte of device memory moved.
        bandwidth: B, device-memory bandwidth, decimal GB/s.

    Raises:
        AbstepError: a control lies outside its range.

    """

    intensity: float = 4.0
    bandwidth: float = 50.0

    def __post_init__(self) -> None:
        _within("--intensity", self.intensity, INTENSITIES, "FLOP/byte")
        _within("--bandwidth", self.bandwidth, BANDWIDTHS, "GB/s")

    @property
    def attainable_gflops(self) -> float:
        """Return min(roof, I x B), GFLOP/s."""
        return attainable_gflops(self.intensity, self.bandwidth)

    @property
    def bound(self) -> Bound:
        """Return the ceiling that limits: memory below the ridge, compute from it on."""
        return "memory" if self.intensity * self.bandwidth < ROOF_GFLOPS else "compute"

    @property
    def ridge(self) -> float:
        """Return the intensity, FLOP/byte, from which the compute roof limits at this bandwidth."""
        return ROOF_GFLOPS / self.bandwidth


def attainable_gflops(intensity: float, bandwidth: float) -> float:
    """Return what the two ceilings allow.

    Args:
        intensity: FLOP/byte.
        bandwidth: decimal GB/s.

    Returns:
        GFLOP/s.

    """
    return min(ROOF_GFLOPS, intensity * bandwidth)


@dataclass(frozen=True)
class Moment:
    """One moment of Play.

    Attributes:
        seconds: since the start.
        moved_gb: bytes moved, decimal GB.
        done_gflop: arithmetic done.

    """

    seconds: float
    moved_gb: float
    done_gflop: float

    @property
    def achieved_gflops(self) -> float:
        """Return the mean rate so far, GFLOP/s."""
        return self.done_gflop / self.seconds if self.seconds else 0.0

    @property
    def share(self) -> float:
        """Return how much of the work is done, 0..1."""
        return self.done_gflop / WORK_GFLOP


def playback(controls: Roofline, frames: int = 40) -> list[Moment]:
    """Push `WORK_GFLOP` through the ceilings, a frame at a time: memory delivers, arithmetic takes what is there.

    Each ceiling is applied by itself, so that what is achieved comes from the two, not from the formula.

    Args:
        controls: what Play must not change.
        frames: how many moments after the first.

    """
    total_gb = WORK_GFLOP / controls.intensity
    longest = max(total_gb / controls.bandwidth, WORK_GFLOP / ROOF_GFLOPS)
    tick = longest / frames
    moments = [Moment(0.0, 0.0, 0.0)]
    for frame in range(1, frames + 1):
        now = tick * frame
        moved = min(total_gb, controls.bandwidth * now)
        done = min(WORK_GFLOP, moved * controls.intensity, ROOF_GFLOPS * now)
        moments.append(Moment(now, moved, done))
    return moments


def told(controls: Roofline, guess: float | None = None) -> list[str]:
    """Return the result in sentences, and how far a typed prediction was off.

    Args:
        controls: the controls.
        guess: what was predicted before playing, GFLOP/s.

    """
    reached = controls.attainable_gflops
    product = f"{figure(controls.intensity)} x {figure(controls.bandwidth)}"
    limit = f"min({figure(ROOF_GFLOPS)}, {product})"
    lines = [f"Attainable: {figure(reached)} GFLOP/s, bound by {controls.bound}: {limit}."]
    if controls.bound == "memory":
        lines.append(
            f"Memory delivers for {figure(reached)} of the {figure(ROOF_GFLOPS)} GFLOP/s that compute could take; at "
            f"{figure(controls.bandwidth)} GB/s the roof is reached from {figure(controls.ridge)} FLOP/byte on."
        )
    else:
        lines.append(
            f"Memory could feed {figure(controls.intensity * controls.bandwidth)} GFLOP/s: more bandwidth or "
            "intensity changes nothing."
        )
    if guess is not None:
        lines.append(judged(guess, reached, "GFLOP/s"))
    return lines


def judged(guess: float, reached: float, unit: str) -> str:
    """Return a typed prediction beside what came out."""
    if math.isclose(guess, reached, rel_tol=1e-3, abs_tol=1e-9):
        return f"You predicted {figure(guess)} {unit}: right."
    off = abs(guess - reached)
    share = f" ({100 * off / reached:.3g} %)" if reached else ""
    way = "too high" if guess > reached else "too low"
    return f"You predicted {figure(guess)} {unit}, it is {figure(reached)}: {figure(off)}{share} {way}."


def figure(value: float) -> str:
    """Return a control or result with at most four significant digits and no exponent."""
    text = f"{value:.4g}"
    return text if "e" not in text else f"{value:.0f}"


def _within(option: str, value: float, allowed: tuple[float, float], unit: str) -> None:
    low, high = allowed
    if not low <= value <= high:  # also what is not a number
        raise AbstepError(
            f"{option} {figure(value)}: outside the lab's range",
            f"give {figure(low)} to {figure(high)} {unit}",
        )
