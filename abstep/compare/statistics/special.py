"""Distribution functions, from scipy.special, which is loaded at the first call and never at import.

scipy.stats would give the same numbers and costs 0.5 s to load; scipy.special costs 0.15 s.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abstep.compare.statistics.types import Floats


@cache
def _scipy() -> Any:
    return importlib.import_module("scipy.special")


def t_two_sided(t: ArrayLike, df: ArrayLike) -> Floats:
    """Return the two-sided p of Student's t; both arguments broadcast."""
    return np.minimum(1.0, 2.0 * np.asarray(_scipy().stdtr(df, -np.abs(t)), dtype=np.float64))


def t_upper(t: ArrayLike, df: ArrayLike) -> Floats:
    """Return P(T > t) of Student's t; both arguments broadcast."""
    return np.asarray(_scipy().stdtr(df, -np.asarray(t, dtype=np.float64)), dtype=np.float64)


def t_quantile(probability: ArrayLike, df: ArrayLike) -> Floats:
    """Return the quantile of Student's t; both arguments broadcast."""
    return np.asarray(_scipy().stdtrit(df, probability), dtype=np.float64)


def f_upper(f: ArrayLike, df_between: ArrayLike, df_within: ArrayLike) -> Floats:
    """Return P(F > f) of Fisher's F; all arguments broadcast."""
    return np.asarray(_scipy().fdtrc(df_between, df_within, f), dtype=np.float64)


def share_upper_bound(count: int, n: int, alpha: float) -> float:
    """Return the upper 1 - alpha bound of a rate (Clopper-Pearson; 1 - alpha^(1/n) after 0 of n)."""
    return 1.0 if count >= n else float(_scipy().betaincinv(count + 1.0, n - count, 1.0 - alpha))


def digamma(x: ArrayLike) -> Floats:
    """Return the digamma function."""
    return np.asarray(_scipy().digamma(x), dtype=np.float64)


def trigamma(x: ArrayLike) -> Floats:
    """Return the trigamma function."""
    return np.asarray(_scipy().polygamma(1, x), dtype=np.float64)


def trigamma_inverse(y: float) -> float:
    """Return x > 0 with trigamma(x) = y, for y > 0: Newton's method on 1/trigamma (Smyth 2004, appendix)."""
    if y > 1e7:
        return float(1.0 / np.sqrt(y))
    if y < 1e-6:
        return 1.0 / y
    x = 0.5 + 1.0 / y
    for _ in range(50):
        value = float(trigamma(x))
        step = value * (1.0 - value / y) / float(_scipy().polygamma(2, x))
        x += step
        if abs(step) < 1e-12 * x:
            break
    return x
