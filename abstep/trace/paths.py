"""Host-range paths: a tree of names, and for each launch the path that encloses it and the range that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from abstep.trace import kinds
from abstep.trace.columns import NONE
from abstep.trace.naming import NOTHING, is_packing, outerness, rank_of
from abstep.trace.nesting import Nesting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abstep.trace.nametable import NameTable
    from abstep.trace.slices import Slice

_OUTER_WIDTH = 2**32


class PathTree:
    """The paths found so far, parents before children.

    Attributes:
        parent, name: of each path; -1 at the root.

    """

    def __init__(self, names: NameTable) -> None:
        self._names = names
        self._ids: dict[tuple[int, int], int] = {}
        self.parent: list[int] = []
        self.name: list[int] = []
        self._best: list[int] = []
        self._rank: list[int] = []
        self._packing: list[bool] = []
        self._launching: list[bool] = []
        self._comm: list[bool] = []

    def path(self, parent: int, name: int, *, is_range: bool) -> int:
        """Return the id of a path, new or not."""
        known = self._ids.get((parent, name))
        if known is None:
            known = self._ids[(parent, name)] = len(self.parent)
            self._add(parent, name, is_range=is_range)
        return known

    def _add(self, parent: int, name: int, *, is_range: bool) -> None:
        text = self._names.texts[name]
        own = len(self.parent)
        best, rank, packing, launching, comm = -1, NOTHING, False, False, False
        if parent >= 0:
            best, rank, packing = self._best[parent], self._rank[parent], self._packing[parent]
            launching, comm = self._launching[parent], self._comm[parent]
        if not packing:
            packing = is_packing(text)
            if (mine := rank_of(text, is_range=is_range)) < rank:
                best, rank = own, mine
        self.parent.append(parent)
        self.name.append(name)
        self._best.append(best)
        self._rank.append(rank)
        self._packing.append(packing)
        self._launching.append(launching or kinds.load().launching.search(text) is not None)
        self._comm.append(comm or bool(self._names.flag("comm")[name]))

    def naming(self) -> NDArray[np.int64]:
        """Return, by path, the path of the range that names it; -1 where none does."""
        return np.array([*self._best, -1], np.int64)

    def launching(self) -> NDArray[np.bool_]:
        """Return, by path, whether every launch inside is communication."""
        return np.array([*self._launching, False], bool)

    def around_communication(self) -> NDArray[np.bool_]:
        """Return, by path, whether it holds any range of a collective."""
        return np.array([*self._comm, False], bool)


class Places:
    """Where each launch lies; columns by row, -1 (times: NONE) where there is nothing.

    Attributes:
        path, range_start, range_path: as in tables.SPANS.
        dims: text id of the innermost range's shapes, 0 for none.
        around: for 'params', 'annotation' and 'launch', the ops row of that range of a collective.
        around_name: their names.

    """

    def __init__(self, count: int) -> None:
        self.path = np.full(count, -1, np.int32)
        self.range_start = np.full(count, NONE, np.int64)
        self.range_path = np.full(count, -1, np.int32)
        self.dims = np.zeros(count, np.int32)
        self.around = {flag: np.full(count, -1, np.int64) for flag in ("params", "annotation", "launch")}
        self.around_name = {flag: np.full(count, -1, np.int32) for flag in self.around}

    def only(self, rows: NDArray[np.int64]) -> Places:
        """Return some rows' ranges of collectives, the rest left empty."""
        chosen = Places(0)
        chosen.around = {flag: values[rows] for flag, values in self.around.items()}
        chosen.around_name = {flag: values[rows] for flag, values in self.around_name.items()}
        return chosen


class HostRanges:
    """The ranges of one slice of time, nested."""

    def __init__(self, part: Slice, names: NameTable, tree: PathTree) -> None:
        self._names, self._tree = names, tree
        rows = part.rows
        kept = np.flatnonzero(names.flag("step")[rows["name"]] == NONE)
        rows = (
            {name: values[kept] for name, values in rows.items()} if len(kept) < len(rows["name"]) else rows
        )
        self.nesting = Nesting(rows["thread"], rows["start"], rows["end"], self._outerness(rows))
        self._sorted = {name: values[self.nesting.order] for name, values in rows.items()}

    def _outerness(self, rows: dict[str, NDArray[Any]]) -> NDArray[np.int8]:
        used, inverse = np.unique(rows["name"], return_inverse=True)
        annotated = np.zeros(len(used), bool)
        annotated[inverse[rows["range"]]] = True
        texts = self._names.texts
        rank = [
            outerness(texts[n], is_range=r) for n, r in zip(used.tolist(), annotated.tolist(), strict=True)
        ]
        return np.array(rank, np.int8)[inverse]

    def place(
        self, places: Places, launches: NDArray[np.int64], thread: NDArray[Any], time: NDArray[Any]
    ) -> None:
        """Fill in the places of launch calls that start in the slice.

        Args:
            places: to fill in.
            launches: rows of `places`.
            thread: of each launch.
            time: its start, ns.

        """
        self._fill(places, launches, self.nesting.enclosing(thread, time))

    def place_rows(self, places: Places, launches: NDArray[np.int64], ops_rows: NDArray[np.int64]) -> None:
        """Like `place`, for ranges that are their own launch: the path ends with the range itself."""
        order = np.argsort(self._sorted["row"])
        self._fill(places, launches, order[np.searchsorted(self._sorted["row"], ops_rows, sorter=order)])

    def _fill(self, places: Places, launches: NDArray[np.int64], inner: NDArray[np.int64]) -> None:
        found = inner >= 0
        launches, inner = launches[found], inner[found]
        if not len(inner):
            return
        path_of = self._build(inner)
        path = path_of[inner]
        places.path[launches] = path
        places.dims[launches] = self._sorted["dims"][inner]
        naming = self._tree.naming()[path]
        places.range_path[launches] = naming
        named = np.flatnonzero(naming >= 0)
        at = self._climb(inner[named], lambda row, of: path_of[row] == naming[named[of]])
        places.range_start[launches[named]] = self._sorted["start"][at]
        comm = np.flatnonzero(self._tree.around_communication()[path])
        if not len(comm):
            return
        for flag, rows in places.around.items():
            wanted = self._names.flag(flag)[self._sorted["name"]]
            at = self._climb(inner[comm], lambda row, _, wanted=wanted: wanted[row])
            hit = at >= 0
            rows[launches[comm[hit]]] = self._sorted["row"][at[hit]]
            places.around_name[flag][launches[comm[hit]]] = self._sorted["name"][at[hit]]

    def _climb(self, inner: NDArray[np.int64], reached: Any) -> NDArray[np.int64]:
        """Return the innermost enclosing position (itself included) that is what is looked for; else -1."""
        at = inner.copy()
        todo = np.arange(len(at))
        while len(todo):
            todo = todo[~reached(at[todo], todo)]
            at[todo] = self.nesting.parent[at[todo]]
            todo = todo[at[todo] >= 0]
        return at

    def _build(self, inner: NDArray[np.int64]) -> NDArray[np.int32]:
        """Give a path to every range that encloses a launch, level by level."""
        parent, name, is_range = self.nesting.parent, self._sorted["name"], self._sorted["range"]
        needed = np.zeros(len(parent), bool)
        at = np.unique(inner)
        while len(at):
            needed[at] = True
            at = np.unique(parent[at])
            at = at[at >= 0]
            at = at[~needed[at]]
        path_of = np.full(len(parent), -1, np.int32)
        for level in self.nesting.levels:
            rows = level[needed[level]]
            if not len(rows):
                break
            outer = parent[rows]
            outer_path = np.where(outer >= 0, path_of[outer], -1).astype(np.int64)
            keys, first, inverse = np.unique(
                (outer_path + 1) * _OUTER_WIDTH + name[rows], return_index=True, return_inverse=True
            )
            found = [
                self._tree.path(key // _OUTER_WIDTH - 1, key % _OUTER_WIDTH, is_range=is_one)
                for key, is_one in zip(keys.tolist(), is_range[rows[first]].tolist(), strict=True)
            ]
            path_of[rows] = np.array(found, np.int32)[inverse.ravel()]
        return path_of
