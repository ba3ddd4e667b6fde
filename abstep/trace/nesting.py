"""Which host range lies in which, on columns: the enclosing range of every range, and of any instant.

Ranges of one thread nest, up to a microsecond of truncation in files that keep whole microseconds and the odd
crossing annotation; an end that runs over its parent's is drawn in.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_REPAIRS = 20
_MICROSECOND = 1000
#: Ranges nested deeper count as lying at this depth: no program nests so, and each level costs a pass.
_DEEPEST = 1000


class Nesting:
    """Ranges sorted by thread and start, outer before inner.

    Attributes:
        order: position -> row of the columns it was made from.
        parent: position -> position of the enclosing range, -1 at the root.
        levels: positions by depth, outermost first.

    """

    def __init__(
        self,
        thread: NDArray[Any],
        start: NDArray[Any],
        end: NDArray[Any],
        outerness: NDArray[Any] | None = None,
    ) -> None:
        """Nest the ranges.

        Args:
            thread: of each range, from 0.
            start: ns.
            end: ns.
            outerness: breaks ties between ranges of equal start and end, smaller is outer; then row order.

        """
        self._line = _Timeline(thread, start, end)
        key = self._line.at(thread, start)
        close = self._line.at(thread, np.maximum(end, start + 1))
        if outerness is None:
            outerness = np.zeros(len(key), np.int8)
        elif len(start) and not (start % _MICROSECOND).any():
            close = _untruncated(key, close, outerness)
        self.order = np.lexsort((outerness, -close, key))
        self._key = key[self.order]
        self._close = close[self.order]
        for _ in range(_MOST_REPAIRS):
            self._find_parents()
            crossing = self._crossing()
            if not len(crossing):
                break
            self._close[crossing] = self._close[self.parent[crossing]]

    def _find_parents(self) -> None:
        count = len(self._key)
        depth = np.arange(count) - np.searchsorted(np.sort(self._close), self._key, side="right")
        np.minimum(depth, _DEEPEST, out=depth)
        by_depth = np.argsort(depth, kind="stable")
        bounds = np.searchsorted(depth[by_depth], np.arange(int(depth.max(initial=-1)) + 2))
        self.levels = [by_depth[lo:hi] for lo, hi in pairwise(bounds)]
        self.parent = np.full(count, -1, np.int64)
        for outer, inner in pairwise(self.levels):
            self.parent[inner] = outer[np.searchsorted(outer, inner) - 1]

    def _crossing(self) -> NDArray[Any]:
        inner = np.flatnonzero(self.parent >= 0)
        outer = self.parent[inner]
        over = (self._close[inner] > self._close[outer]) & (self._key[inner] < self._close[outer])
        return np.asarray(inner[over])

    def enclosing(self, thread: NDArray[Any], time: NDArray[Any]) -> NDArray[np.int64]:
        """Return, for each instant, the position of the innermost range open on that thread; -1 for none.

        A range is open from its start (included) to its end (excluded). Threads below 0 have no ranges.
        """
        at = self._line.at(thread, time)
        found = np.searchsorted(self._key, at, side="right") - 1
        found[thread < 0] = -1
        todo = np.flatnonzero(found >= 0)
        while len(todo):
            todo = todo[self._close[found[todo]] <= at[todo]]
            found[todo] = self.parent[found[todo]]
            todo = todo[found[todo] >= 0]
        return found


class _Timeline:
    """Puts all threads behind each other on one line of int64."""

    def __init__(self, thread: NDArray[Any], start: NDArray[Any], end: NDArray[Any]) -> None:
        self._first = int(start.min()) if len(start) else 0
        last = int(end.max()) if len(start) else 0
        self._threads = int(thread.max(initial=0)) + 1
        self._length = last - self._first + 3
        self._ranks: NDArray[Any] | None = None
        if self._length > 2**62 // (self._threads + 1):  # a wild time in the file: ranks instead of times
            self._ranks = np.unique(np.concatenate((start, end)))
            self._length = len(self._ranks) * 2 + 3

    def at(self, thread: NDArray[Any], time: NDArray[Any]) -> NDArray[np.int64]:
        """Return the place of an instant; what lies outside is drawn to the thread's edge."""
        if self._ranks is None:
            offset = np.clip(time, self._first - 1, self._first + self._length - 2) - (self._first - 1)
        else:
            at = np.searchsorted(self._ranks, time)
            exact = self._ranks[np.minimum(at, len(self._ranks) - 1)] == time
            offset = 2 * at + exact
        return np.asarray(thread.astype(np.int64) * self._length + offset, np.int64)


def _untruncated(key: NDArray[Any], close: NDArray[Any], outerness: NDArray[Any]) -> NDArray[Any]:
    """Return the ends with an outer range's drawn out to that of an inner one it seems to lie in.

    Where whole microseconds are kept, a range and the first one in it may start in the same microsecond, and the
    inner one may end a microsecond later. Which is outer then shows by name, or by the file's order.
    """
    close = close.copy()
    for _ in range(3):
        order = np.lexsort((outerness, -close, key))
        first, second = order[:-1], order[1:]
        over = close[first] - close[second]
        inner_first = (outerness[first] > outerness[second]) | (
            (outerness[first] == outerness[second]) & (first > second)
        )
        wrong = np.flatnonzero(
            (key[first] == key[second]) & (over > 0) & (over <= _MICROSECOND) & inner_first
        )
        if not len(wrong):
            break
        close[second[wrong]] = close[first[wrong]]
    return close
