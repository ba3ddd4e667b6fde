"""Joins device activities to the host calls that launched them, by correlation (and time where that repeats)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abstep.trace.columns import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abstep.trace.columns import Columns

#: A device clock may show an activity this long before its own launch call, ns (80 us are seen).
_EARLY = 200_000


@dataclass(frozen=True)
class Calls:
    """The call of each correlation asked for; NONE and -1 where there is none.

    Attributes:
        correlation: sorted, distinct.
        start, end: ns.
        thread: id.
        name: name id.

    """

    correlation: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    thread: NDArray[np.int32]
    name: NDArray[np.int32]

    def row(self, correlation: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row of each correlation; -1 where it has no call."""
        if not len(self.correlation):
            return np.full(len(correlation), -1, np.int64)
        found = np.minimum(np.searchsorted(self.correlation, correlation), len(self.correlation) - 1)
        known = (self.correlation[found] == correlation) & (self.thread[found] >= 0)
        return np.where(known, found, -1)


def find_calls(calls: Columns, correlation: NDArray[np.int64], first: NDArray[np.int64]) -> Calls:
    """Return the calls with these correlations.

    Where several calls have one (files of several processes, a driver call within a runtime call), the last of
    them that starts before what it launched, and of nested ones the outermost.

    Args:
        calls: the runtime calls.
        correlation: what to look for; NONE is not looked for.
        first: start of what each launched, ns.

    """
    known = correlation != NONE
    wanted, inverse = np.unique(correlation[known], return_inverse=True)
    until = np.full(len(wanted), np.iinfo(np.int64).max)
    np.minimum.at(until, inverse, first[known])
    best = Calls(
        wanted,
        np.full(len(wanted), NONE, np.int64),
        np.full(len(wanted), NONE, np.int64),
        np.full(len(wanted), -1, np.int32),
        np.full(len(wanted), -1, np.int32),
    )
    for part in calls.parts() if len(wanted) else ():
        _take_better(best, until + _EARLY, part)
    return best


def _take_better(best: Calls, until: NDArray[np.int64], part: dict[str, NDArray[Any]]) -> None:
    """Take the calls of a part that are better than those found so far."""
    at = np.minimum(np.searchsorted(best.correlation, part["correlation"]), len(best.correlation) - 1)
    rows = np.flatnonzero(best.correlation[at] == part["correlation"])
    rows = rows[np.lexsort((part["start"][rows], at[rows]))]
    while len(rows):
        target = at[rows]
        now = np.concatenate(([True], target[1:] != target[:-1]))
        here, into = rows[now], target[now]
        start, end = part["start"][here], part["end"][here]
        fresh = best.thread[into] < 0
        inside = (start >= best.start[into]) & (end <= best.end[into])
        around = (start <= best.start[into]) & (end >= best.end[into])
        later = (start > best.start[into]) & (start <= until[into])
        too_late = best.start[into] > until[into]
        better = fresh | (~inside & (around | later | (too_late & (start < best.start[into]))))
        for column in ("start", "end", "thread", "name"):
            getattr(best, column)[into[better]] = part[column][here[better]]
        rows = rows[~now]
