"""Repeats as the unit: Student's t on the means of whole repeats (STATISTICS 2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abstep.compare.statistics.core import RESOLUTION, Estimate
from abstep.compare.statistics.family import FAMILY_SIZE, squeeze

if TYPE_CHECKING:
    from abstep.compare.statistics.types import Floats

REPEATS_NEEDED = 4
"""From this many repeats in all, with one or more a side, the repeat is the unit."""
REPEAT_WINDOWS = 3
"""A repeat with fewer windows gives no mean to count."""


def _pooled(a: Floats, b: Floats) -> Floats:
    squares = sum(((x - x.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1) for x in (a, b))
    return np.asarray(squares / (a.shape[-1] + b.shape[-1] - 2), dtype=np.float64)


def repeats_resolution(
    windows: tuple[tuple[int, ...], tuple[int, ...]], resolution: float = RESOLUTION
) -> float:
    """Return the smallest believable standard error of a difference of means of repeat means.

    Args:
        windows: a side, the windows of each repeat.
        resolution: of one window.

    """
    return float(resolution * np.sqrt(sum(sum(1.0 / n for n in side) / len(side) ** 2 for side in windows)))


def repeats_test(
    a: Floats, b: Floats, *, family: bool, delta: Floats | None = None, least: float = 0.0
) -> Estimate:
    """Compare repeat means, rows (k, R_a) and (k, R_b), R_a + R_b >= 3.

    Args:
        a: base repeat means; their order does not matter.
        b: variant repeat means.
        family: whether the rows are one family of 10 or more whose variances learn from each other.
        delta: (k,) exact differences, when already known.
        least: smallest believable standard error.

    """
    a, b = np.sort(a, axis=-1), np.sort(b, axis=-1)
    r_a, r_b = a.shape[-1], b.shape[-1]
    mean_a, mean_b = a.mean(axis=-1), b.mean(axis=-1)
    if delta is None:
        delta = mean_b - mean_a
    variance = _pooled(a, b)
    df = np.full_like(variance, r_a + r_b - 2)
    if family and len(a) >= FAMILY_SIZE:
        scale = np.maximum(np.abs(mean_a), np.abs(mean_b))
        scale = np.where(scale > 0, scale, 1.0)
        moderated = squeeze(variance / scale**2, df, prior_share=0.5 if r_a + r_b == REPEATS_NEEDED else 1.0)
        if moderated is not None:
            variance, df = moderated.variance * scale**2, moderated.df
    return Estimate(delta, np.maximum(np.sqrt(variance * (1.0 / r_a + 1.0 / r_b)), least), df)
