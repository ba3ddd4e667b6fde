"""Whether windows of the same step number belong together (STATISTICS 2.7).

Two runs that see the same batches in the same order share their slow and fast steps; the differences of
paired windows then vary less than the windows do. Used for step time and categories, one repeat a side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from abstep.compare.statistics import special
from abstep.compare.statistics.core import CORE_PRIOR, autocorrelation, inflation
from abstep.compare.statistics.types import Floats, Ints, Pair, RunMetrics, Sides

PAIRS_NEEDED = 10
CORRELATION = 0.3
CONFIDENCE = 0.01


@dataclass(frozen=True)
class Pairs:
    """Indices of the paired windows, (n,) a side, and the correlation of their step times."""

    indices: Sides[Ints]
    correlation: float


def correlation_p(a: Floats, b: Floats) -> tuple[float, float]:
    """Return the correlation of two series (n,) and its one-sided p, allowing for autocorrelation.

    n is replaced by max(n / tau(rho^2), 3.5), rho being the core test's. A constant series gives (0, 1).
    """
    n = len(a)
    if not (np.ptp(a) > 0 and np.ptp(b) > 0):
        return 0.0, 1.0
    x, y = a - a.mean(), b - b.mean()
    r = float((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()))
    rho = autocorrelation((a[None], b[None]), CORE_PRIOR)
    effective = max(n / float(inflation(rho**2, n)[0]), 3.5)
    if r >= 1.0:
        return 1.0, 0.0
    t = r * np.sqrt((effective - 2.0) / (1.0 - r * r))
    return r, float(special.t_upper(t, effective - 2.0))


def find_pairs(
    runs: Sides[RunMetrics], kept: Sides[Ints], before_trimming: Sides[Ints], choice: Pair
) -> Pairs | None:
    """Return the pairs when pairing is possible and wanted, else None.

    Possible: after warm-up and ratio both sides hold the same step numbers, each once, and 10 or more are
    typical on both sides. Wanted (`auto`): their step times correlate by .3 or more, at p <= .01.

    Args:
        runs: the compared repeat of each side.
        kept: indices of its typical windows.
        before_trimming: indices before outliers were dropped.
        choice: the option.

    """
    if choice == "never":
        return None
    numbers = [run.step_numbers[index] for run, index in zip(runs, before_trimming, strict=True)]
    if not np.array_equal(numbers[0], numbers[1]) or len(np.unique(numbers[0])) < len(numbers[0]):
        return None
    typical = [run.step_numbers[index] for run, index in zip(runs, kept, strict=True)]
    common = np.intersect1d(typical[0], typical[1])
    if len(common) < PAIRS_NEEDED:
        return None
    indices = Sides(kept[0][np.isin(typical[0], common)], kept[1][np.isin(typical[1], common)])
    a, b = (run.step[index] / run.ranks for run, index in zip(runs, indices, strict=True))
    r, p = correlation_p(a, b)
    if choice == "auto" and not (r >= CORRELATION and p <= CONFIDENCE):
        return None
    return Pairs(indices, r)
