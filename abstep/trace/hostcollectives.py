"""Progress ranges of host collectives (`gloo:*`), joined to the operators (`c10d::*`) that launched them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abstep.trace.gather import META_FIELDS
from abstep.trace.metadata import bytes_of_type, collective_of, element_counts, first_type
from abstep.trace.tables import COLLECTIVES, frame

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from abstep.trace.gather import Gather

#: Which argument of a c10d operator holds S of its kind: (output, input, …) where two are given.
_SECOND = ("_reduce_scatter_base_", "alltoall_base_", "reduce_scatter_tensor_")


@dataclass(frozen=True)
class Progress:
    """Communication spans of a host-only trace, one row a progress range, by start.

    Attributes:
        row: row in the ops columns.
        launch: row of the launching operator; -1 for none.
        facts: columns of tables.COLLECTIVES but `span`.

    """

    row: NDArray[np.int64]
    launch: NDArray[np.int64]
    facts: dict[str, list[Any]]

    def table(self, numbers: NDArray[np.int64], others: NDArray[np.int64]) -> pl.DataFrame:
        """Return the collectives table.

        Args:
            numbers: span numbers of these rows.
            others: span numbers of communication that is no progress range.

        """
        columns: dict[str, list[Any]] = {"span": [*numbers.tolist(), *others.tolist()]}
        for name in COLLECTIVES:
            if name != "span":
                filler = {"collective": "unknown", "source": "name"}.get(name)
                columns[name] = [*self.facts[name], *([filler] * len(others))]
        return frame(columns, COLLECTIVES).sort("span")


def progress_rows(
    gathered: Gather, progress: NDArray[np.int64], launches: NDArray[np.int64], groups: list[Any]
) -> Progress:
    """Join progress ranges to launches: the k-th start of a kind to its k-th launch.

    Args:
        gathered: the file's columns.
        progress: rows of progress ranges.
        launches: rows of launching operators, by start.
        groups: process groups of the metadata; a sole one is everyone's.

    """
    ops, names = gathered.ops, list(gathered.names)
    progress = progress[np.argsort(ops["start"][progress], kind="stable")]
    shown = [collective_of(names[name]) for name in ops["name"][progress].tolist()]
    asked = [collective_of(names[name]) for name in ops["name"][launches].tolist()]
    kinds = set(shown)
    played = np.array([_as_shown(kind, kinds) for kind in asked], object)
    launch = np.full(len(progress), -1, np.int64)
    for kind in kinds:
        mine = np.flatnonzero(np.array([other == kind for other in shown], bool))
        theirs = launches[played == kind] if len(launches) else launches
        launch[mine] = _join(ops["start"][progress[mine]], ops["start"][theirs], theirs)
    meta = gathered.meta
    at = {row: index for index, (on, row) in enumerate(zip(meta["on"], meta["row"], strict=True)) if on == 1}
    facts: dict[str, list[Any]] = {name: [] for name in COLLECTIVES if name != "span"}
    group = _sole_group(groups)
    for row, launched, kind in zip(progress.tolist(), launch.tolist(), shown, strict=True):
        own = {field: meta[field][at[row]] for field in META_FIELDS} if row in at else None
        asking = {field: meta[field][at[launched]] for field in META_FIELDS} if launched in at else None
        name = names[int(ops["name"][launched])] if launched >= 0 else ""
        real = collective_of(name) if launched >= 0 else "unknown"
        dtype = first_type(own["types"]) if own else None
        count = _elements(name, asking["dims"]) if asking else None
        if count is None and own and kind != "all_gather":
            count = sum(element_counts(own["dims"])) or None
        size = bytes_of_type(dtype) if dtype else None
        facts["collective"].append(real if real != "unknown" else kind)
        facts["source"].append("launch" if real != "unknown" else "range")
        facts["seq"].append(None)
        facts["bytes"].append(count * size if count is not None and size is not None else None)
        facts["dtype"].append(dtype)
        facts["reduction"].append(None)
        for field, value in group.items():
            facts[field].append(value)
    return Progress(progress, launch, facts)


def _as_shown(kind: str, shown: set[str]) -> str:
    """Return the kind under which gloo runs a launch: it has no reduce_scatter of its own."""
    return "all_reduce" if kind == "reduce_scatter" and kind not in shown else kind


def _join(
    progress: NDArray[np.int64], launched: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the launch of each progress range: k-th to k-th, after those launched before the capture."""
    joined = np.full(len(progress), -1, np.int64)
    for before in range(len(progress)):
        count = min(len(progress) - before, len(launched))
        if (progress[before : before + count] >= launched[:count]).all():
            joined[before : before + count] = rows[:count]
            break
    return joined


def _elements(launch: str, dims: bytes) -> int | None:
    counts = element_counts(dims)
    if not counts:
        return None
    if launch.removeprefix("c10d::") in _SECOND and len(counts) > 1:
        return counts[1]
    return counts[0]


def _sole_group(groups: list[Any]) -> dict[str, Any]:
    """Return the group columns of every collective, where there is only one group."""
    empty: dict[str, Any] = dict.fromkeys(("group_name", "group_desc", "group_size", "group_ranks"))
    if len(groups) != 1 or not isinstance(groups[0], dict):
        return empty
    group = groups[0]
    ranks = group.get("ranks")
    whole = isinstance(ranks, list) and all(isinstance(rank, int) for rank in ranks)
    size = group.get("pg_size")
    return {
        "group_name": str(group["pg_name"]) if "pg_name" in group else None,
        "group_desc": str(group["pg_desc"]) if "pg_desc" in group else None,
        "group_size": size if isinstance(size, int) else None,
        "group_ranks": ",".join(map(str, ranks)) if whole and ranks else None,  # type: ignore[arg-type]
    }
