"""Ranges of members as flat pairs, without a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from abstep.measure.arrays import Int64


def expand(low: Int64, high: Int64) -> tuple[Int64, Int64]:
    """Return (owner, member) of all members low[i] <= member < high[i], owners ascending."""
    count = np.maximum(high - low, 0)
    owner = np.repeat(np.arange(len(low)), count)
    offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return owner, np.repeat(low, count) + offset
