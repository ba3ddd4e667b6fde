"""Compute spans of a host thread: launches of collectives taken out, short holes bridged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from abstep.trace.nesting import Nesting

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A hole this short between operators of one thread is the framework's own time, not a wait, ns.
BRIDGED = 300_000


def without(
    rows: dict[str, NDArray[Any]], work: NDArray[np.int64], launches: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the operators in pieces, without the launches inside them: row, start and end of each piece.

    Args:
        rows: columns with thread, start and end.
        work: rows of outermost operators, by start.
        launches: rows of launching operators.

    """
    start, end = rows["start"][work], rows["end"][work]
    if not len(launches) or not len(work):
        return work, start, end
    launches = _outermost(rows, launches)
    nesting = Nesting(rows["thread"][work], start, end)
    inside = nesting.enclosing(rows["thread"][launches], rows["start"][launches])
    hit = inside >= 0
    if not hit.any():
        return work, start, end
    within, cut = nesting.order[inside[hit]], launches[hit]
    piece = np.concatenate((np.arange(len(work)), within))
    from_ = np.concatenate((start, np.minimum(rows["end"][cut], end[within])))
    until = np.concatenate((np.full(len(work), -1), rows["start"][cut]))
    order = np.lexsort((from_, piece))
    piece, from_, until = piece[order], from_[order], until[order]
    # each piece ends where the next launch in the same operator starts, the last one at the operator's end
    last = np.append(piece[1:] != piece[:-1], True)
    stop = np.where(last, end[piece], np.append(until[1:], -1))
    kept = stop > from_
    return work[piece[kept]], from_[kept], stop[kept]


def bridged(
    thread: NDArray[np.int32],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    cut_thread: NDArray[np.int32],
    cut_start: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the ends, lengthened to the thread's next start over holes under BRIDGED that hold no launch.

    Args:
        thread: of compute spans.
        start: ns.
        end: ns.
        cut_thread: of launches.
        cut_start: ns.

    """
    if len(start) < 2:
        return end
    order = np.lexsort((start, thread))
    now, then = order[:-1], order[1:]
    hole = start[then] - end[now]
    short = (thread[now] == thread[then]) & (hole > 0) & (hole < BRIDGED)
    now, then = now[short], then[short]
    cuts = np.lexsort((cut_start, cut_thread))
    crossed = np.zeros(len(now), bool)
    for one in np.unique(thread[now]).tolist():
        here = np.flatnonzero(thread[now] == one)
        mine = cut_start[cuts[cut_thread[cuts] == one]]
        crossed[here] = np.searchsorted(mine, end[now[here]]) != np.searchsorted(mine, start[then[here]])
    longer = end.copy()
    longer[now[~crossed]] = start[then[~crossed]]
    return longer


def _outermost(rows: dict[str, NDArray[Any]], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    nesting = Nesting(rows["thread"][chosen], rows["start"][chosen], rows["end"][chosen])
    return chosen[nesting.order[nesting.levels[0]]]
