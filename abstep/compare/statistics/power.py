"""What these units could have shown, and how many would decide (STATISTICS 2.9).

Standard errors shrink with the root of the units; a repeat also brings degrees of freedom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from abstep.compare.statistics import special

if TYPE_CHECKING:
    from abstep.compare.statistics.core import Estimate
    from abstep.compare.statistics.types import Floats, Unit

POWER = 0.8
_REPEATS = np.unique(np.round(np.geomspace(2, 1000, 60)).astype(np.int64))
_LIMIT = 1e9

Counts: TypeAlias = NDArray[np.float64]


def smallest_detectable(estimate: Estimate, alpha: float) -> Floats:
    """Return the changes, (k,), that would have been called at level alpha four times in five."""
    return estimate.se * (
        special.t_quantile(1.0 - alpha / 2.0, estimate.df) + special.t_quantile(POWER, estimate.df)
    )


def units_needed(
    estimate: Estimate, *, n: tuple[int, int], unit: Unit, tail: float, allowed: Floats
) -> Counts:
    """Return how many units a side bring a half-width down to `allowed`, (k,); nan where none does.

    Args:
        estimate: of the units at hand.
        n: units of the base and of the variant.
        unit: windows (the half-width shrinks with the root of n: n (h/allowed)^2), or repeats (the quantile
            of t shrinks too).
        tail: probability above the upper end: half-width = t(1 - tail) * se.
        allowed: (k,), what the half-width may be; <= 0 is never reached.

    """
    harmonic = 2.0 / (1.0 / n[0] + 1.0 / n[1])
    possible = allowed > 0
    room = np.where(possible, allowed, 1.0)
    if unit == "windows":
        needed = np.ceil(harmonic * (estimate.half_width(1.0 - 2.0 * tail) / room) ** 2)
        return np.where(possible & (needed < _LIMIT), needed, np.nan)
    learned = np.maximum(estimate.df - (n[0] + n[1] - 2), 0.0)
    df = 2.0 * _REPEATS - 2.0 + learned[:, None]
    se = (estimate.se * np.sqrt(harmonic))[:, None] / np.sqrt(_REPEATS)
    enough = special.t_quantile(1.0 - tail, df) * se <= room[:, None]
    return np.where(possible & enough.any(axis=-1), _REPEATS[enough.argmax(axis=-1)], np.nan)
