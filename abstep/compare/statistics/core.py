"""The core test: Student's t on window means, their number corrected for autocorrelation (STATISTICS 2.4).

Every function works on rows: an array (k, n) holds k metrics over the n windows of one side, in step order.
Windows that were dropped are closed up. Times may be in any unit; standard errors come back in the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abstep.compare.statistics import special

if TYPE_CHECKING:
    from abstep.compare.statistics.types import Flags, Floats

RESOLUTION = 500.0
"""ns: what one time stamp can be trusted to; no mean is better known than this over the root of n."""
GUARD_WINDOWS = 20
"""From this many windows a side the second, prior-free variance (EWC) is used where it is more careful."""
ALIKE = 0.1
"""From this lag-1 correlation on (`lag_one`), fewer windows than `GUARD_WINDOWS` are looked at more carefully too."""
ALIKE_GUARD_WINDOWS = 10
"""From this many windows a side the guard stands beside the core test where neighbours are alike."""
ALIKE_WINDOWS = 8
"""This many or 9 windows are too few for the cosines: alike ones give fewer degrees of freedom instead."""
ALIKE_DF = 0.7
"""What share of the degrees of freedom those have."""


class Prior(NamedTuple):
    """What autocorrelation is expected (`rho`) and how many windows that expectation is worth (`weight`)."""

    weight: float
    rho: float


CORE_PRIOR = Prior(20.0, 0.35)
FAMILY_PRIOR = Prior(40.0, 0.40)
PAIRED_PRIOR = Prior(10.0, 0.35)


@dataclass(frozen=True)
class Estimate:
    """k differences, their standard errors and degrees of freedom; each (k,).

    No interval is narrower than that of `least`, whose degrees of freedom may differ.
    """

    delta: Floats
    se: Floats
    df: Floats
    least: Estimate | None = None

    def p(self) -> Floats:
        """Return the two-sided p of no difference, (k,); 1 where the difference is 0."""
        sure = np.where(self.delta == 0, 0.0, np.inf)
        t = np.asarray(np.divide(self.delta, self.se, out=sure, where=self.se > 0), dtype=np.float64)
        return special.t_two_sided(t, self.df)

    def half_width(self, level: float) -> Floats:
        """Return half the width of the two-sided interval of that level (0..1), (k,)."""
        own = np.asarray(special.t_quantile(0.5 + level / 2, self.df) * self.se, dtype=np.float64)
        return own if self.least is None else np.maximum(own, self.least.half_width(level))

    def of(self, rows: Flags) -> Estimate:
        """Return the estimate of the rows that are flagged, (k,)."""
        least = None if self.least is None else self.least.of(rows)
        return Estimate(self.delta[rows], self.se[rows], self.df[rows], least)


def centred(x: Floats) -> Floats:
    """Return rows (k, n) minus their means."""
    return np.asarray(x - x.mean(axis=-1, keepdims=True), dtype=np.float64)


def lag_one(sides: tuple[Floats, ...]) -> Floats:
    """Return the correlation of neighbouring windows, (k,), pooled over sides (k, n_s) and corrected for bias.

    One side (paired differences) is its own series length; two sides have their mean length. 0 where nothing varies.
    """
    length = sum(x.shape[-1] for x in sides) / len(sides)
    c = [centred(x) for x in sides]
    power = np.sum([(x * x).sum(axis=-1) for x in c], axis=0)
    lagged = np.sum([(x[:, 1:] * x[:, :-1]).sum(axis=-1) for x in c], axis=0)
    r = np.divide(lagged, power, out=np.zeros_like(power), where=power > 0)
    long = (length * r + 1.0) / (length - 4.0) if length > 6 else None
    corrected = r + (1.0 + 4.0 * np.clip(r, 0.0, 1.0)) / length if long is None else long
    return np.asarray(np.clip(corrected, -0.5, 0.9), dtype=np.float64)


def autocorrelation(sides: tuple[Floats, ...], prior: Prior) -> Floats:
    """Return rho at lag 1, (k,): `lag_one` shrunk to the prior, and not negative (STATISTICS 2.4)."""
    total = sum(x.shape[-1] for x in sides)
    shrunk = (total * lag_one(sides) + prior.weight * prior.rho) / (total + prior.weight)
    return np.asarray(np.clip(shrunk, 0.0, 0.9), dtype=np.float64)


def inflation(rho: Floats, n: int) -> Floats:
    """Return tau, (k,): var(mean of n windows) = var * tau / n for an AR(1) series."""
    # 1 + 2 sum_{j=1}^{n-1} (1 - j/n) rho^j, summed
    tau = 1.0 + 2.0 * (rho / (1.0 - rho) - rho * (1.0 - rho**n) / (n * (1.0 - rho) ** 2))
    return np.asarray(np.minimum(tau, n / 1.5))


class SideVariance(NamedTuple):
    """A side's variance of one window, its inflation tau and degrees of freedom; each (k,)."""

    variance: Floats
    tau: Floats
    df: Floats


def side_variance(x: Floats, rho: Floats) -> SideVariance:
    """Return v = s^2 (n-1)/(n-tau), tau and f = max(n/tau - 1, .5) of rows (k, n), n >= 2."""
    n = x.shape[-1]
    tau = inflation(rho, n)
    squares = (centred(x) ** 2).sum(axis=-1)
    return SideVariance(squares / (n - tau), tau, np.maximum(n / tau - 1.0, 0.5))


def satterthwaite(a: Floats, df_a: Floats, b: Floats, df_b: Floats) -> Floats:
    """Return the degrees of freedom of a + b, variances of two means; their sum where both are 0."""
    spread = a * a / df_a + b * b / df_b
    return np.divide((a + b) ** 2, spread, out=np.asarray(df_a + df_b, dtype=np.float64), where=spread > 0)


def few_satterthwaite(a: Floats, df_a: Floats, b: Floats, df_b: Floats) -> Floats:
    """Return the degrees of freedom of a + b where each is known from a handful: `satterthwaite` with less bias.

    a^2 is on average 1 + 2 / df times too large. With 3 degrees of freedom a side and sides that vary alike the plain
    formula gives 5.0 on average where 6 are right, this 5.5 (variances 1 to 3: 4.6 and 5.2, where 4.8 are right).
    Welch 1947 puts df + 2 for df and takes 2 off the result; kept between the smaller df, which one side alone would
    give, and their sum. Without it +2 % is found in 46 instead of 48 % of comparisons of 20 windows correlated by
    .3; A/A at a correlation of .6 goes from 5.6 to 5.9 % (20,000 data sets each).
    """
    spread = a * a / (df_a + 2.0) + b * b / (df_b + 2.0)
    both = np.asarray(df_a + df_b, dtype=np.float64)
    df = np.divide((a + b) ** 2, spread, out=both + 2.0, where=spread > 0) - 2.0
    return np.asarray(np.clip(df, np.minimum(df_a, df_b), both))


def cosine_variance(x: Floats) -> tuple[Floats, int]:
    """Return var(mean) of rows (k, n), (k,), and its degrees of freedom: equal-weighted cosines (EWC).

    Lazarus, Lewis, Stock and Watson 2018: B = .4 n^(2/3) type-II cosine weights.
    """
    n = x.shape[-1]
    count = round(0.4 * n ** (2.0 / 3.0))
    c = centred(x)
    angle = math.pi * (np.arange(n) + 0.5) / n
    squares = np.zeros(x.shape[0])
    for j in range(1, count + 1):
        squares += ((c * np.cos(j * angle)).sum(axis=-1) * math.sqrt(2.0 / n)) ** 2
    return squares / count / n, count


def resolution_se(*windows: int, resolution: float = RESOLUTION) -> float:
    """Return the smallest standard error that the difference of means of so many windows can have."""
    return resolution * math.sqrt(sum(1.0 / n for n in windows))


def more_careful(core: Estimate, other: Estimate) -> Estimate:
    """Return, row by row, the estimate with the larger p; its interval goes with it."""
    p_core, p_other = core.p(), other.p()
    wider = other.half_width(0.95) > core.half_width(0.95)
    take = (p_other > p_core) | ((p_other == p_core) & wider)
    return Estimate(core.delta, np.where(take, other.se, core.se), np.where(take, other.df, core.df))


def cosine_estimate(delta: Floats, sides: tuple[Floats, ...], least: float) -> Estimate:
    """Return the differences (k,) with the cosines' errors of one side (paired) or two, rows (k, n_s).

    STATISTICS 2.4 asks for Satterthwaite's degrees of freedom. From 20 windows on they are `few_satterthwaite`'s;
    below, where the core test alone finds too much, the plain formula's extra care is welcome.
    """
    means, counts = zip(*(cosine_variance(x) for x in sides), strict=True)
    df = np.full_like(means[0], counts[0])
    if len(sides) > 1:
        two = few_satterthwaite if min(x.shape[-1] for x in sides) >= GUARD_WINDOWS else satterthwaite
        df = two(means[0], df, means[1], np.full_like(df, counts[1]))
    return Estimate(delta, np.maximum(np.sqrt(np.sum(means, axis=0)), least), df)


def guarded(core: Estimate, sides: tuple[Floats, ...], least: float) -> Estimate:
    """Return the core estimate, made more careful where it is known to find too much.

    From 20 windows a side the cosines' variance stands beside it, and the larger p counts (STATISTICS 2.4). Below,
    STATISTICS has no guard, and with neighbours correlated by .6 too much was found, the more so where warm-up had
    left fewer windows: in 8 to 10 % of comparisons of 8 to 19 windows in which nothing changed, up to 11 % where 20
    windows had begun with a ramp. Hence, only in rows whose neighbours are alike, the same guard from 10 windows (and
    an interval no narrower than either's), and fewer degrees of freedom for 8 and 9. With a correlation of .3 it costs
    5 points of finding +5 % in 10 windows, nothing at 5 to 7 and nothing measurable from 20 on
    (tests/bench/calibration/README.md). Wider measures that were tried and not taken: the guard in all rows, which
    costs more; a higher rho, which costs most.

    Args:
        core: of rows (k, n_s).
        sides: one (paired) or two.
        least: the smallest believable standard error.

    """
    n = min(x.shape[-1] for x in sides)
    if n < ALIKE_WINDOWS:
        return core
    if n >= GUARD_WINDOWS:
        return more_careful(core, cosine_estimate(core.delta, sides, least))
    alike = lag_one(sides) > ALIKE
    if n < ALIKE_GUARD_WINDOWS:
        return replace(core, df=np.where(alike, np.maximum(ALIKE_DF * core.df, 0.5), core.df))
    cosine = cosine_estimate(core.delta, sides, least)
    careful = more_careful(core, cosine)
    # of a difference far from 0 the larger p may come with the narrower interval
    own = careful.half_width(0.95)
    both = np.maximum(core.half_width(0.95), cosine.half_width(0.95))
    wider = np.divide(both, own, out=np.ones_like(own), where=own > 0)
    return Estimate(
        core.delta,
        np.where(alike, wider * careful.se, core.se),
        np.where(alike, careful.df, core.df),
        least=core,  # few degrees of freedom make a wide 95 % interval, and yet a narrower one of 90 %
    )


def two_sample(
    a: Floats,
    b: Floats,
    *,
    delta: Floats | None = None,
    prior: Prior = CORE_PRIOR,
    resolution: float = RESOLUTION,
    guard: bool = True,
) -> Estimate:
    """Compare rows (k, n_a) of the base with rows (k, n_b) of the variant, each n >= 2 (STATISTICS 2.4).

    Args:
        a: base windows.
        b: variant windows.
        delta: (k,) exact differences of means, when already known.
        prior: for the autocorrelation.
        resolution: smallest believable error of one window, in the unit of the data.
        guard: whether `guarded` is asked.

    """
    n_a, n_b = a.shape[-1], b.shape[-1]
    if delta is None:
        delta = b.mean(axis=-1) - a.mean(axis=-1)
    least = resolution_se(n_a, n_b, resolution=resolution)
    rho = autocorrelation((a, b), prior)
    side_a, side_b = side_variance(a, rho), side_variance(b, rho)
    mean_a, mean_b = side_a.variance * side_a.tau / n_a, side_b.variance * side_b.tau / n_b
    core = Estimate(
        delta,
        np.maximum(np.sqrt(mean_a + mean_b), least),
        satterthwaite(mean_a, side_a.df, mean_b, side_b.df),
    )
    return guarded(core, (a, b), least) if guard else core


def one_sample(
    difference: Floats,
    *,
    delta: Floats | None = None,
    prior: Prior = PAIRED_PRIOR,
    resolution: float = RESOLUTION,
    guard: bool = True,
) -> Estimate:
    """Test whether rows (k, n) of paired differences have mean 0, n >= 2 (STATISTICS 2.7)."""
    n = difference.shape[-1]
    if delta is None:
        delta = difference.mean(axis=-1)
    least = resolution_se(n, n, resolution=resolution)
    rho = autocorrelation((difference,), prior)
    side = side_variance(difference, rho)
    core = Estimate(delta, np.maximum(np.sqrt(side.variance * side.tau / n), least), side.df)
    return guarded(core, (difference,), least) if guard else core
