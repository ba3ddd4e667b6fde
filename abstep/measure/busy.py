"""Time in which at least one of some spans ran, up to any moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from abstep.measure.arrays import Int64


class Busy:
    """Cumulative length of the union of spans.

    Args:
        start, end: (n,) of the spans, by start; none is no busy time.

    """

    def __init__(self, start: Int64, end: Int64) -> None:
        if len(start) == 0:
            start = end = np.zeros(1, dtype=np.int64)
        latest = np.maximum.accumulate(end)
        opens = np.ones(len(start), dtype=bool)
        opens[1:] = start[1:] > latest[:-1]
        heads = np.flatnonzero(opens)
        self.start = start[heads]
        self.end = latest[np.append(heads[1:] - 1, len(start) - 1)]
        self.before = np.concatenate([[0], np.cumsum(self.end - self.start)])

    def until(self, when: Int64) -> Int64:
        """Return the busy time before each moment."""
        at = np.searchsorted(self.start, when, side="right") - 1
        inside = np.minimum(when, self.end[np.maximum(at, 0)]) - self.start[np.maximum(at, 0)]
        return np.where(at >= 0, self.before[np.maximum(at, 0)] + np.maximum(inside, 0), 0)

    def between(self, start: Int64, end: Int64) -> Int64:
        """Return the busy time within each [start, end)."""
        return self.until(end) - self.until(start)
