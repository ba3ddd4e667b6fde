"""The metadata row of every communication span: what the kernel says, else its launching range, else its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from abstep.trace.gather import COMM_RANGE, META_FIELDS
from abstep.trace.metadata import (
    bytes_of_type,
    collective_of,
    element_counts,
    first_type,
    message_elements,
    ranks_text,
    reduction_of,
)
from abstep.trace.tables import COLLECTIVES, frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abstep.trace.gather import Gather
    from abstep.trace.paths import HostRanges

_RAW = ("group_ranks", "dims", "types")


def collective_rows(
    gathered: Gather,
    ranges: HostRanges,
    span: NDArray[np.int64],
    device_row: NDArray[np.int64],
    inner_row: NDArray[np.int64],
    name: NDArray[np.int32],
) -> pl.DataFrame:
    """Return the collectives table.

    Args:
        gathered: the file's columns.
        ranges: its host ranges.
        span: number of each communication span.
        device_row: its row in the device columns.
        inner_row: row of the innermost host range around its launch; -1 for none.
        name: its name id.

    """
    if not len(span):
        return frame({}, COLLECTIVES)
    names = list(gathered.names)
    wanted = [
        _ids(names, prefix) for prefix in (("record_param_comms",), ("nccl:", "rccl:", "xccl:", "hccl:"), ())
    ]
    comms, annotation, launch = (ranges.ancestor(inner_row, ids) for ids in wanted)
    own = _meta(gathered, 0, device_row)
    params = _meta(gathered, 1, comms)
    annotated = _meta(gathered, 1, annotation)
    launched = _meta(gathered, 1, launch)
    op_name = gathered.ops["name"]
    rows: dict[str, list[Any]] = {column: [] for column in COLLECTIVES}
    for index, number in enumerate(span.tolist()):
        sources = (own[index], params[index], annotated[index], launched[index])
        kernel = names[int(name[index])]
        labels = (
            (next((m["collective"] for m in sources if m and m["collective"]), ""), "metadata"),
            (names[int(op_name[annotation[index]])] if annotation[index] >= 0 else "", "range"),
            (names[int(op_name[launch[index]])] if launch[index] >= 0 else "", "launch"),
            (kernel, "name"),
        )
        kind, source = next(
            ((k, origin) for text, origin in labels if text and (k := collective_of(text)) != "unknown"),
            ("unknown", "name"),
        )
        facts = _merged(sources)
        dtype, size = facts["dtype"], None
        count = message_elements(kind, facts["in_nelems"], facts["out_nelems"], facts["group_size"])
        if count is None:
            count, found = _from_shapes(sources)
            dtype = dtype or found
            count = message_elements(kind, count, None, facts["group_size"])
        size = bytes_of_type(dtype) if dtype else None
        values = {
            "span": number,
            "collective": kind,
            "source": source,
            "group_name": facts["group_name"],
            "group_desc": facts["group_desc"],
            "group_size": facts["group_size"],
            "group_ranks": ranks_text(facts["group_ranks"]) if facts["group_ranks"] else None,
            "seq": facts["seq"],
            "bytes": count * size if count is not None and size is not None else None,
            "dtype": dtype,
            "reduction": reduction_of(kernel),
        }
        for column, value in values.items():
            rows[column].append(value)
    return frame(rows, COLLECTIVES)


def _ids(names: list[str], prefixes: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return, by name id, whether the name starts so; without prefixes, whether it is a launching operator."""
    if prefixes:
        return np.array([name.startswith(prefixes) for name in names], bool)
    return np.array(
        [COMM_RANGE.match(name) is not None and name.startswith(("c10d", "symm")) for name in names], bool
    )


def _meta(gathered: Gather, on: int, rows: NDArray[np.int64]) -> list[dict[str, Any] | None]:
    meta = gathered.meta
    at = {
        row: index
        for index, (kind, row) in enumerate(zip(meta["on"], meta["row"], strict=True))
        if kind == on
    }
    found = [at.get(row) for row in rows.tolist()]
    return [
        None if index is None else {field: meta[field][index] for field in META_FIELDS} for index in found
    ]


def _merged(sources: tuple[dict[str, Any] | None, ...]) -> dict[str, Any]:
    """Return each field from the first source that has it; shapes are no part of it."""
    merged: dict[str, Any] = {}
    for field in META_FIELDS:
        empty = b"" if field in _RAW else None
        merged[field] = next((m[field] for m in sources if m and m[field] not in (None, b"")), empty)
    return merged


def _from_shapes(sources: tuple[dict[str, Any] | None, ...]) -> tuple[int | None, str | None]:
    for meta in sources[1:]:
        if meta and meta["dims"]:
            counts = element_counts(meta["dims"])
            if counts and counts[0]:
                return counts[0], first_type(meta["types"])
    return None, None
