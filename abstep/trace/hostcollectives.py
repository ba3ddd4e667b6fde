"""Progress ranges of host collectives (`gloo:*`), joined to the operators (`c10d::*`) that launched them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from abstep.trace.columns import at
from abstep.trace.gather import META_FIELDS, ON_HOST
from abstep.trace.metadata import collective_of, element_counts, first_type, message_bytes
from abstep.trace.recorded import Recorded
from abstep.trace.tables import COLLECTIVES, frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abstep.trace.gather import Gather

#: c10d operators whose S is their second argument: (output, input, …).
_SECOND = (
    "_reduce_scatter_base_",
    "reduce_scatter_tensor_",
    "alltoall_base_",
    "reduce_scatter_",
    "alltoall_",
)
_DIMS, _TYPES = META_FIELDS.index("dims"), META_FIELDS.index("types")


def join_progress(
    rows: dict[str, NDArray[Any]], texts: list[str], progress: NDArray[np.int64], launches: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the launch of each progress range, -1 for none: the k-th start of a kind is its k-th launch.

    Args:
        rows: columns with name and start.
        texts: name id -> name.
        progress: rows of progress ranges, by start.
        launches: rows of launching operators, by start.

    """
    shown = _kinds(rows["name"][progress], texts)
    asked = _kinds(rows["name"][launches], texts)
    kinds = set(shown.tolist())
    if "reduce_scatter" not in kinds:  # gloo has none of its own and runs it as all_reduce
        asked = np.where(asked == "reduce_scatter", "all_reduce", asked)
    joined = np.full(len(progress), -1, np.int64)
    for kind in kinds:
        mine, theirs = np.flatnonzero(shown == kind), launches[asked == kind]
        joined[mine] = _paired(rows["start"][progress[mine]], rows["start"][theirs], theirs)
    return joined


def _kinds(name: NDArray[np.int32], texts: list[str]) -> NDArray[Any]:
    used, inverse = np.unique(name, return_inverse=True)
    return np.array([collective_of(texts[name_id]) for name_id in used.tolist()], object)[inverse]


def _paired(
    started: NDArray[np.int64], launched: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Pair k-th with k-th, behind those that were launched before the capture began."""
    joined = np.full(len(started), -1, np.int64)
    if not len(launched) or not len(started):
        return joined
    # each range that starts before its launch shows one more from before the capture
    before = 0
    while before < len(started):
        count = min(len(started) - before, len(launched))
        early = np.flatnonzero(started[before : before + count] < launched[:count])
        if not len(early):
            joined[before : before + count] = rows[:count]
            break
        before += max(1, int(np.searchsorted(started[before:], launched[0])))
    return joined


def progress_table(
    gathered: Gather,
    *,
    rows: dict[str, NDArray[Any]],
    progress: NDArray[np.int64],
    joined: NDArray[np.int64],
    numbers: NDArray[np.int64],
    group: dict[str, Any],
) -> pl.DataFrame:
    """Return the collectives table.

    Args:
        gathered: the file's columns.
        rows: columns with name and row.
        progress: rows of progress ranges.
        joined: row of each one's launch; -1 for none.
        numbers: span numbers of the progress ranges, then of communication that is none.
        group: the sole process group, if there is just one.

    """
    recorded = Recorded(gathered)
    own = at(recorded.facts, recorded.rows(ON_HOST, rows["row"][progress]), none=-1)
    asked = at(recorded.facts, recorded.rows(ON_HOST, at(rows["row"], joined, none=-1)), none=-1)
    combination = np.stack(
        (rows["name"][progress], at(rows["name"], joined, none=-1), own, asked), axis=1
    ).astype(np.int64)
    distinct, inverse = np.unique(combination, axis=0, return_inverse=True)
    facts, texts = list(gathered.meta_facts), gathered.names.texts
    found = [_facts_of(row, facts, texts) for row in distinct.tolist()]
    strays = len(numbers) - len(progress)
    found.append({"collective": "unknown", "source": "name"})
    which = np.concatenate((inverse.ravel(), np.full(strays, len(found) - 1))).astype(np.int64)
    columns: dict[str, Any] = {
        key: pl.Series([row.get(key, group.get(key)) for row in found], dtype=COLLECTIVES[key])[which]
        for key in COLLECTIVES
        if key not in ("span", "seq")
    }
    return frame({"span": numbers, **columns}, COLLECTIVES).sort("span")


def _facts_of(row: list[int], facts: list[tuple[Any, ...]], texts: list[str]) -> dict[str, Any]:
    name, launch_name, own, asked = row
    kind = collective_of(texts[launch_name]) if launch_name >= 0 else "unknown"
    source = "launch" if kind != "unknown" else "range"
    kind = kind if kind != "unknown" else collective_of(texts[name])
    dtype = first_type(facts[own][_TYPES]) if own >= 0 else None
    count = None
    if asked >= 0:
        counts = element_counts(facts[asked][_DIMS])
        second = texts[launch_name].removeprefix("c10d::") in _SECOND and len(counts) > 1
        count = counts[1 if second else 0] if counts else None
    elif own >= 0 and kind != "all_gather":  # gloo lists an all_gather's outputs too
        count = sum(element_counts(facts[own][_DIMS])) or None
    return {
        "collective": kind,
        "source": source,
        "bytes": message_bytes(count, dtype),
        "dtype": dtype,
        "reduction": None,
        "peer": None,
    }
