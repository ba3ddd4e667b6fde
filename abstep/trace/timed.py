"""Events with their times in nanoseconds; those without a usable time or name are left out and counted."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from abstep.trace.times import ODD, nanoseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abstep.trace.event import Event

#: Times beyond this leave no room for the base, ns.
_FAR = 2**62
_get_name, _get_ts, _get_dur = attrgetter("name"), attrgetter("ts"), attrgetter("dur")


def timed(rows: list[Event]) -> tuple[list[Event], NDArray[np.int64], NDArray[np.int64], int, str | None]:
    """Return the usable events, their starts and ends in ns, how many are not, and what the first lacks."""
    start = nanoseconds(list(map(_get_ts, rows)))
    length = nanoseconds(list(map(_get_dur, rows)))
    named = None not in set(map(_get_name, rows))
    with np.errstate(over="ignore"):
        end = start + length
    if named and start.min() > -_FAR and length.min() >= 0 and (end >= start).all() and end.max() < _FAR:
        return rows, start, end, 0, None
    good = (start > -_FAR) & (length >= 0) & (end >= start) & (end < _FAR)
    if not named:
        good &= np.fromiter((event.name is not None for event in rows), bool, len(rows))
    odd = np.flatnonzero(~good)
    example = _fault(rows[odd[0]], int(start[odd[0]]), int(length[odd[0]])) if len(odd) else None
    return [rows[row] for row in np.flatnonzero(good)], start[good], end[good], len(odd), example


def _fault(event: Event, start: int, length: int) -> str:
    if event.name is None:
        return "an event has no name"
    name = repr(event.name[:200])
    if start == ODD:
        return f"{name} has no usable ts"
    if length == ODD:
        return f"{name} has no usable dur"
    return f"{name} has a negative duration" if length < 0 else f"{name} lies beyond int64 nanoseconds"
