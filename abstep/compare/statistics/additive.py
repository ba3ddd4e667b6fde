"""Means that add up exactly (STATISTICS 2.3); `units.rounded_to_sum` prints them so.

Sums are Python integers, so that the parts of a step add up to it to the last nanosecond; floats appear only
at the end, each rounded once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abstep.compare.statistics.types import Floats, Ints, RunMetrics, Sides

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class ExactMeans:
    """k means as integers over one denominator."""

    numerators: tuple[int, ...]
    denominator: int

    def floats(self) -> Floats:
        """Return the means, (k,), each correctly rounded."""
        return np.array([n / self.denominator for n in self.numerators], dtype=np.float64)

    def minus(self, other: ExactMeans) -> ExactMeans:
        """Return the k differences, exact."""
        common = math.lcm(self.denominator, other.denominator)
        mine, theirs = common // self.denominator, common // other.denominator
        return ExactMeans(
            tuple(a * mine - b * theirs for a, b in zip(self.numerators, other.numerators, strict=True)),
            common,
        )


def exact_means(windows: Sequence[Ints], ranks: Sequence[int]) -> ExactMeans:
    """Return the means over repeats of the means over windows, per rank.

    Args:
        windows: a repeat, (k, n) sums over ranks, n >= 1.
        ranks: a repeat, how many ranks were summed.

    """
    shares = [x.shape[-1] * count for x, count in zip(windows, ranks, strict=True)]
    common = math.lcm(*shares)
    sums = [x.sum(axis=-1).tolist() for x in windows]
    numerators = tuple(
        sum(total * (common // share) for total, share in zip(row, shares, strict=True))
        for row in zip(*sums, strict=True)
    )
    return ExactMeans(numerators, common * len(windows))


def window_weights(
    runs: Sides[tuple[RunMetrics, ...]],
    kept: Sides[tuple[tuple[int, ...], ...]],
    compared: Sides[tuple[int, ...]],
) -> Sides[tuple[Floats, ...]]:
    """Return the weight of each window in the printed means: a side, a repeat, (n,).

    Summed over repeats and windows, weight x time of all ranks is the `base` or `variant` of a delta. Figures
    that must add up to a delta take the same weights; dropped windows and repeats not compared weigh 0.
    """
    sides = []
    for repeats, kept_side, chosen in zip(runs, kept, compared, strict=True):
        side = [np.zeros(len(run.step)) for run in repeats]
        for r in chosen:
            if kept_side[r]:
                side[r][list(kept_side[r])] = 1.0 / (len(chosen) * len(kept_side[r]) * repeats[r].ranks)
        sides.append(tuple(side))
    return Sides(sides[0], sides[1])
