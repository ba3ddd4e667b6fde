"""Joins device activities to the host calls that launched them, by correlation (and time where that repeats)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abstep.trace.gather import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abstep.trace.gather import Columns

#: A device clock may show an activity this long before its own launch call, ns (80 us are seen).
_EARLY = 200_000


def launch_rows(
    calls: Columns, correlation: NDArray[np.int64], start: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the row of the call with each activity's correlation; -1 where there is none.

    Where several calls have one correlation (files of several processes, a driver call within a runtime call),
    the last of them that starts before the activity, and of those that start at once the outermost.

    Args:
        calls: the runtime calls.
        correlation: of each activity; NONE where not recorded.
        start: of each activity, ns.

    """
    known = calls["correlation"]
    if not len(known):
        return np.full(len(correlation), -1, np.int64)
    order = np.lexsort((calls["start"], known))
    ordered = known[order]
    first = np.searchsorted(ordered, correlation, side="left")
    after = np.searchsorted(ordered, correlation, side="right")
    found = (after > first) & (correlation != NONE)
    at = np.where(found, order[np.minimum(first, len(order) - 1)], -1)
    several = np.flatnonzero(found & (after - first > 1))
    begins, ends = calls["start"][order], calls["end"][order]
    chosen = first[several].copy()
    candidate = chosen + 1
    while len(several):
        open_ = candidate < after[several]
        several, chosen, candidate = several[open_], chosen[open_], candidate[open_]
        later = (begins[candidate] <= start[several] + _EARLY) & (begins[candidate] >= ends[chosen])
        chosen = np.where(later, candidate, chosen)
        at[several] = order[chosen]
        candidate = candidate + 1
    return at
