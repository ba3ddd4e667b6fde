"""Tests of a family of intervals or pairs: variances learn from each other (STATISTICS 2.5)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abstep.compare.statistics import special
from abstep.compare.statistics.core import (
    FAMILY_PRIOR,
    GUARD_WINDOWS,
    RESOLUTION,
    Estimate,
    Prior,
    autocorrelation,
    cosine_variance,
    lag_one,
    more_careful,
    resolution_se,
    side_variance,
    two_sample,
)

if TYPE_CHECKING:
    from abstep.compare.statistics.types import Flags, Floats

FAMILY_SIZE = 10
"""From this many tested metrics their variances are moderated."""
ALIKE_FAMILY = 0.33
"""From this mean lag-1 correlation of a family on, the guard does not wait for 20 windows a side ..."""
ALIKE_FAMILY_WINDOWS = 8
"""... but comes in from this many."""


def family_lag(sides: tuple[Floats, ...]) -> float | None:
    """Return the mean lag-1 correlation of the rows (k, n_s) that vary, or None when fewer than 10 do."""
    varies = np.any([np.ptp(x, axis=-1) > 0 for x in sides], axis=0)
    return float(lag_one(sides)[varies].mean()) if int(varies.sum()) >= FAMILY_SIZE else None


def family_prior(lag: float | None, prior: Prior) -> Prior:
    """Return the prior for a family's autocorrelation: what is usual, or its own mean lag where that is higher.

    STATISTICS 2.5 shrinks every row to .40. Where neighbouring windows of most intervals are closer than that,
    each row's own estimate is too vague to say so, and the family's mean says it.
    """
    return prior if lag is None else prior._replace(rho=max(prior.rho, lag))


def guard_windows(lag: float | None) -> int:
    """Return from how many windows a side the guard stands beside the family test.

    20; 8 where the family's mean lag shows that neighbouring windows are alike. From a hundred rows that mean is
    known well, and with a correlation of .3 hardly any family gets there, so that nothing is lost. At a correlation
    of .6, 7 % of comparisons of 10 windows, 10 % of 12 and 14 % of 15 in which nothing changed had a false interval
    without this, 1 to 3 % have one with it (tests/bench/calibration/README.md).
    """
    return ALIKE_FAMILY_WINDOWS if lag is not None and lag > ALIKE_FAMILY else GUARD_WINDOWS


class Moderated(NamedTuple):
    """Squeezed variances and their degrees of freedom, each (k,)."""

    variance: Floats
    df: Floats


def squeeze(variance: Floats, df: Floats, *, prior_share: float = 1.0) -> Moderated | None:
    """Squeeze k relative variances towards what the family shows (limma; Smyth 2004).

    Args:
        variance: (k,), 0 allowed: such rows take no part in the fit.
        df: (k,) their degrees of freedom.
        prior_share: what share of the fitted prior's degrees of freedom is believed.

    Returns:
        None when fewer than two rows vary, so that there is nothing to learn from.

    """
    fit = variance > 0
    if int(fit.sum()) < 2:
        return None
    z, half = np.log(variance[fit]), df[fit] / 2.0
    e = z - special.digamma(half) + np.log(half)
    spread = float(e.var(ddof=1) - special.trigamma(half).mean())
    prior_df = 2.0 * special.trigamma_inverse(spread) if spread > 0 else 1e6
    prior_half = prior_df / 2.0
    prior = float(np.exp(e.mean() + special.digamma(prior_half) - np.log(prior_half)))
    prior_df *= prior_share
    return Moderated(
        (prior_df * prior + df * variance) / (prior_df + df),
        np.minimum(prior_df + df, df.sum()),
    )


def family_two_sample(
    a: Floats,
    b: Floats,
    *,
    delta: Floats | None = None,
    prior: Prior = FAMILY_PRIOR,
    resolution: float = RESOLUTION,
    guard: bool = True,
) -> Estimate:
    """Compare rows (k, n_a) and (k, n_b) of one family, n >= 2 windows a side, never paired (STATISTICS 2.5).

    Fewer than 10 rows, or rows that do not vary, take the core test with the family's prior. From 20 windows a side,
    or earlier (`guard_windows`), the core test's guard, moderated like the rest, stands beside it and the larger p
    counts: an interval with rare spikes, or one that is stable for a while and then differs, is worse known than its
    lag-1 correlation says (tests/bench/calibration/README.md). STATISTICS 2.5 has no such guard.
    """
    n_a, n_b = a.shape[-1], b.shape[-1]
    mean_a, mean_b = a.mean(axis=-1), b.mean(axis=-1)
    if delta is None:
        delta = mean_b - mean_a
    scale = np.maximum(np.abs(mean_a), np.abs(mean_b))
    scale = np.where(scale > 0, scale, 1.0)
    least = resolution_se(n_a, n_b, resolution=resolution)

    def moderated(variance: Floats, df: Floats, units: Floats) -> Estimate | None:
        squeezed = squeeze(variance / scale**2, df)
        if squeezed is None:
            return None
        return Estimate(delta, np.maximum(scale * np.sqrt(squeezed.variance * units), least), squeezed.df)

    usual, lag = None, None
    if len(a) >= FAMILY_SIZE:
        lag = family_lag((a, b))
        rho = autocorrelation((a, b), family_prior(lag, prior))
        side_a, side_b = side_variance(a, rho), side_variance(b, rho)
        df = side_a.df + side_b.df
        pooled = (side_a.df * side_a.variance + side_b.df * side_b.variance) / df
        usual = moderated(pooled, df, side_a.tau / n_a + side_b.tau / n_b)
    if usual is None:
        return two_sample(a, b, delta=delta, prior=prior, resolution=resolution, guard=guard)
    if not guard or min(n_a, n_b) < guard_windows(lag):
        return usual
    (cosine_a, df_a), (cosine_b, df_b) = cosine_variance(a), cosine_variance(b)
    pooled = (df_a * cosine_a * n_a + df_b * cosine_b * n_b) / (df_a + df_b)
    units = np.full_like(pooled, 1.0 / n_a + 1.0 / n_b)
    careful = moderated(pooled, np.full_like(pooled, df_a + df_b), units)
    if careful is None:
        return usual
    # below 20 windows STATISTICS has no guard: there its interval must not be what calls a figure unchanged
    return replace(more_careful(usual, careful), least=usual if min(n_a, n_b) < GUARD_WINDOWS else None)


def comes_and_goes(present: Flags) -> Flags:
    """Return which rows (k, n) switch on and off in blocks rather than window by window, (k,).

    True where both states occur twice or more and the number of stretches is at most max(2, .6 of what chance
    gives). With fewer than 20 windows nothing can be said: False.
    """
    n = present.shape[-1]
    if n < GUARD_WINDOWS:
        return np.zeros(len(present), dtype=np.bool_)
    on = present.sum(axis=-1)
    off = n - on
    stretches = 1 + (present[:, 1:] != present[:, :-1]).sum(axis=-1)
    expected = 1.0 + 2.0 * on * off / n
    return np.asarray((on > 1) & (off > 1) & (stretches <= np.maximum(2.0, 0.6 * expected)))


def benjamini_hochberg(p: Floats) -> Floats:
    """Return the q values of m p values, (m,) (Benjamini and Hochberg 1995)."""
    m = len(p)
    order = np.argsort(p, kind="stable")[::-1]
    q = np.empty(m)
    q[order] = np.minimum.accumulate(p[order] * m / np.arange(m, 0, -1))
    return np.minimum(q, 1.0)


def holm(p: Floats) -> Floats:
    """Return m p values adjusted by Holm's step-down method, (m,) (Holm 1979)."""
    m = len(p)
    order = np.argsort(p, kind="stable")
    q = np.empty(m)
    q[order] = np.maximum.accumulate(p[order] * np.arange(m, 0, -1))
    return np.minimum(q, 1.0)
