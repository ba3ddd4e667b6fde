"""Host-range paths: a tree of names, and for each launch the path that encloses it and the range that names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abstep.trace.gather import NONE
from abstep.trace.naming import naming_paths, outerness
from abstep.trace.nesting import Nesting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abstep.trace.gather import Gather


@dataclass(frozen=True)
class Placed:
    """Where launches lie among the host ranges; one row a launch.

    Attributes:
        row: row of the innermost enclosing range in the ops columns; -1 for none.
        path: its path; -1 for none.
        range_start: start of the range that names it, ns; NONE for none.
        range_path: path of that range; -1 for none.

    """

    row: NDArray[np.int64]
    path: NDArray[np.int32]
    range_start: NDArray[np.int64]
    range_path: NDArray[np.int32]


class HostRanges:
    """The operators and annotations of all host threads, nested.

    Attributes:
        parent, name, is_range: the path tree, one row a path; only paths that enclose a launch asked for.

    """

    def __init__(self, gathered: Gather) -> None:
        ops = gathered.ops
        self._names = list(gathered.names)
        names = ops["name"]
        is_range = ops["range"].astype(bool)
        used = np.unique(names)
        rank = np.zeros(len(self._names) + 1, np.int8)
        step = np.zeros(len(self._names) + 1, bool)
        annotated = set(np.unique(names[is_range]).tolist())
        for name_id in used.tolist():
            rank[name_id] = outerness(self._names[name_id], is_range=name_id in annotated)
            step[name_id] = self._names[name_id].startswith("ProfilerStep")
        self._rows = np.flatnonzero(~step[names]) if len(names) else np.empty(0, np.int64)
        self._start = ops["start"][self._rows]
        self.nesting = Nesting(
            ops["thread"][self._rows], self._start, ops["end"][self._rows], rank[names[self._rows]]
        )
        self._name = names[self._rows][self.nesting.order]
        self._range = is_range[self._rows][self.nesting.order]
        self._start = self._start[self.nesting.order]
        self.parent = np.empty(0, np.int32)
        self.name = np.empty(0, np.int32)
        self.is_range = np.empty(0, bool)

    @property
    def row(self) -> NDArray[np.int64]:
        """Position -> row of the ops columns."""
        return np.asarray(self._rows[self.nesting.order])

    def place(self, thread: NDArray[Any], time: NDArray[Any]) -> Placed:
        """Find the path of each launch call and build the tree of the paths found.

        Args:
            thread: of each call; -1 where there is none.
            time: its start, ns.

        """
        return self._place(self.nesting.enclosing(thread, time))

    def place_rows(self, rows: NDArray[np.int64]) -> Placed:
        """Like `place`, for ranges that are their own launch: the path ends with the range itself.

        Args:
            rows: of the ops columns; -1 for none.

        """
        return self._place(np.where(rows >= 0, self._positions()[rows], -1))

    def _positions(self) -> NDArray[np.int64]:
        """Row of the ops columns -> position; -1 for a row that is no range of a path."""
        position = np.full(int(self._rows.max(initial=-1)) + 2, -1, np.int64)
        position[self.row] = np.arange(len(self._rows))
        return position

    def _place(self, inner: NDArray[np.int64]) -> Placed:
        path_of = self._build(inner)
        found = inner >= 0
        path = np.full(len(inner), -1, np.int32)
        path[found] = path_of[inner[found]]
        best = naming_paths(self.parent, self.name, self.is_range, self._names)
        range_path = np.full(len(inner), -1, np.int32)
        range_path[found] = best[path[found]]
        range_start = np.full(len(inner), NONE, np.int64)
        todo = np.flatnonzero(range_path >= 0)
        at = inner[todo]
        while len(todo):
            here = path_of[at] == range_path[todo]
            range_start[todo[here]] = self._start[at[here]]
            todo, at = todo[~here], self.nesting.parent[at[~here]]
        row = np.full(len(inner), -1, np.int64)
        row[found] = self.row[inner[found]]
        return Placed(row, path, range_start, range_path)

    def _build(self, inner: NDArray[np.int64]) -> NDArray[np.int32]:
        """Give a path to every range that encloses a launch, level by level."""
        parent = self.nesting.parent
        needed = np.zeros(len(parent), bool)
        at = np.unique(inner[inner >= 0])
        while len(at):
            needed[at] = True
            at = np.unique(parent[at])
            at = at[at >= 0]
            at = at[~needed[at]]
        path_of = np.full(len(parent), -1, np.int32)
        parents: list[NDArray[np.int32]] = []
        names: list[NDArray[np.int32]] = []
        ranges: list[NDArray[np.bool_]] = []
        width = len(self._names) + 1
        count = 0
        for level in self.nesting.levels:
            rows = level[needed[level]]
            if not len(rows):
                break
            outer = parent[rows]
            outer_path = np.where(outer >= 0, path_of[outer], -1).astype(np.int64)
            keys, first, inverse = np.unique(
                (outer_path + 1) * width + self._name[rows], return_index=True, return_inverse=True
            )
            path_of[rows] = inverse.ravel() + count
            parents.append((keys // width - 1).astype(np.int32))
            names.append((keys % width).astype(np.int32))
            ranges.append(self._range[rows[first]])
            count += len(keys)
        if count:
            self.parent, self.name = np.concatenate(parents), np.concatenate(names)
            self.is_range = np.concatenate(ranges)
        return path_of

    def ancestor(self, inner_row: NDArray[np.int64], wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return, for each ops row, the innermost enclosing row (itself included) whose name is wanted; else -1.

        Args:
            inner_row: rows of the ops columns, -1 for none.
            wanted: by name id.

        """
        at = np.where(inner_row >= 0, self._positions()[inner_row], -1)
        todo = np.flatnonzero(at >= 0)
        while len(todo):
            todo = todo[~wanted[self._name[at[todo]]]]
            at[todo] = self.nesting.parent[at[todo]]
            todo = todo[at[todo] >= 0]
        return np.where(at >= 0, self.row[at], -1) if len(self._rows) else at
