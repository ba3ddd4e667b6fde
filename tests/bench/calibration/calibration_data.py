"""Made-up runs with known truth, for measuring error rates: no trace is involved.

A step takes 100 ms with a coefficient of variation of 2 %, right-skewed noise and lag-1 correlation (AR(1)).
A family has 100 intervals of 50 us to 4 ms, coefficients of variation of 10 to 50 %, every fifth present only in
some windows, 1 % outliers. All times int64 ns.

Shapes beyond the ones the method was tuned on (HELD_OUT): `sawtooth` (something fills up over about 13 steps and is
flushed), `cycle` (an AR(2) that swings with a period of about 6 steps), `garch` (calm and rough stretches),
`flip` (a clock that changes by 2 % every 10 steps or so).
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from abstep.compare.statistics import RunMetrics

STEP_NS = 100e6
STEP_CV = 0.02
TUNED = ("plain", "outlier", "periodic", "ramp")
OUTLIER_MEAN = 1 + 0.01 * 2.5
"""What 1 % of windows multiplied by 2 to 5 make of a mean."""
HELD_OUT = ("sawtooth", "cycle", "garch", "flip")


def rng_of(*key: object) -> np.random.Generator:
    """Return the generator of a cell's data set: the same on every machine, whatever runs before it."""
    return np.random.default_rng([0xAB57E9, crc32(repr(key).encode())])


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return noise with mean 0, deviation 1 and skewness 1 (a shifted gamma)."""
    return rng.gamma(4.0, 0.5, shape) - 2.0


def ar1(rng: np.random.Generator, rho: float | np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return stationary AR(1) noise along the last axis, mean 0, deviation 1."""
    noise = skewed(rng, shape)
    out = np.empty(shape)
    out[..., 0] = noise[..., 0]
    for t in range(1, shape[-1]):
        out[..., t] = rho * out[..., t - 1] + np.sqrt(1 - np.square(rho)) * noise[..., t]
    return out


def cycle(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return an AR(2) with a period of about 6 steps, deviation about 1."""
    noise = skewed(rng, (n + 50,))
    out = np.zeros(n + 50)
    for t in range(2, n + 50):
        out[t] = 0.8 * out[t - 1] - 0.6 * out[t - 2] + noise[t]
    return out[50:] / 1.45


def garch(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return uncorrelated noise whose variance comes in bursts, deviation about 1."""
    noise = skewed(rng, (n + 50,))
    variance, out = 1.0, np.zeros(n + 50)
    for t in range(n + 50):
        out[t] = np.sqrt(variance) * noise[t]
        variance = 0.1 + 0.4 * out[t] ** 2 + 0.5 * variance
    return out[50:]


def steps(
    rng: np.random.Generator, n: int, rho: float = 0.0, shape: str = "plain", cv: float = STEP_CV
) -> np.ndarray:
    """Return (n,) step times in ns, float, of mean about STEP_NS."""
    if shape == "cycle":
        noise = cycle(rng, n)
    elif shape == "garch":
        noise = garch(rng, n)
    else:
        noise = ar1(rng, rho, (n,))
    level = np.ones(n)
    t = np.arange(n)
    if shape == "outlier":
        level += (rng.random(n) < 0.02) * rng.uniform(0.2, 1.0, n)
    elif shape == "periodic":
        level += 0.03 * ((t + rng.integers(10)) % 10 == 0)
    elif shape == "ramp":
        level += 0.5 * np.exp(-t / 1.0)
    elif shape == "sawtooth":
        level += 0.04 * (((t + rng.integers(13)) % 13) / 12.0 - 0.5)
    elif shape == "flip":
        level += 0.01 * np.where(np.cumsum(rng.random(n) < 0.1) % 2 == rng.integers(2), 1.0, -1.0)
    return STEP_NS * (level + cv * noise)


@dataclass(frozen=True)
class Family:
    """What the intervals of one data set are: the same on both sides, but for the factors."""

    mean: np.ndarray
    cv: np.ndarray
    rho: np.ndarray
    presence: np.ndarray
    dwell: float
    true_mean: np.ndarray


def family(rng: np.random.Generator, k: int = 100, rho: float = 0.3, dwell: float = 0.0) -> Family:
    """Return k intervals; every fifth intermittent, window by window or (`dwell`) for so many windows at a time."""
    presence = np.ones(k)
    presence[::5] = rng.uniform(0.3, 0.9, len(presence[::5]))
    mean = np.exp(rng.uniform(np.log(50e3), np.log(4e6), k))
    cv = rng.uniform(0.1, 0.5, k)
    correlation = np.clip(rng.normal(rho, 0.1, k), 0.0, 0.9) if rho else np.zeros(k)
    return Family(mean, cv, correlation, presence, dwell, mean * presence * OUTLIER_MEAN)


def intervals(rng: np.random.Generator, of: Family, n: int, factor: np.ndarray | float = 1.0) -> np.ndarray:
    """Return (k, n) interval times in ns, float."""
    k = len(of.mean)
    x = of.mean[:, None] * np.maximum(0.0, 1.0 + of.cv[:, None] * ar1(rng, of.rho, (k, n)))
    x *= np.where(rng.random((k, n)) < 0.01, rng.uniform(2.0, 5.0, (k, n)), 1.0)
    return x * present(rng, of, n) * np.broadcast_to(factor, (k,))[:, None]


def present(rng: np.random.Generator, of: Family, n: int) -> np.ndarray:
    """Return (k, n), in which windows each interval is there."""
    if not of.dwell:
        return rng.random((len(of.mean), n)) < of.presence[:, None]
    on = np.empty((len(of.mean), n), dtype=bool)
    on[:, 0] = rng.random(len(of.mean)) < of.presence
    for t in range(1, n):
        redraw = rng.random(len(of.mean)) < 1.0 / of.dwell
        on[:, t] = np.where(redraw, rng.random(len(of.mean)) < of.presence, on[:, t - 1])
    return on


def run(step: np.ndarray, slots: np.ndarray | None = None, ranks: int = 1) -> RunMetrics:
    """Return the columns of one repeat; its two categories add up to the step."""
    whole = np.rint(step).astype(np.int64)
    exposed = whole // 5
    rows = {} if slots is None else {f"slot{j:03}": x for j, x in enumerate(np.rint(slots).astype(np.int64))}
    return RunMetrics(
        step_numbers=np.arange(len(whole)),
        ranks=ranks,
        step=whole,
        categories={"exposed": exposed, "compute_alone": whole - exposed},
        intervals=rows,
        contention={},
    )
