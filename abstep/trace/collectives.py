"""The metadata row of every communication span: what the kernel says, else its launching range, else its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from abstep.trace.columns import NONE, at
from abstep.trace.gather import META_FIELDS, ON_DEVICE, ON_HOST
from abstep.trace.metadata import (
    collective_of,
    element_counts,
    first_type,
    message_bytes,
    message_elements,
    peer_of,
    ranks_text,
    reduction_of,
    small_int,
)
from abstep.trace.recorded import Recorded
from abstep.trace.tables import COLLECTIVES, frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abstep.trace.gather import Gather
    from abstep.trace.paths import Places

_FACTS = tuple(name for name in COLLECTIVES if name not in ("span", "seq"))
_AROUND = ("params", "annotation", "launch")


def collective_rows(
    gathered: Gather,
    *,
    span: NDArray[np.int64],
    device_row: NDArray[np.int64],
    places: Places,
    name: NDArray[np.int32],
    group: dict[str, Any],
) -> pl.DataFrame:
    """Return the collectives table.

    Args:
        gathered: the file's columns.
        span: number of each communication span; the rows of `places`.
        device_row: its row in the device columns.
        places: where its launch lies.
        name: its name id.
        group: the sole process group, for what is not said (`sole_group`).

    """
    if not len(span):
        return frame({}, COLLECTIVES)
    recorded = Recorded(gathered)
    found = [
        recorded.rows(ON_DEVICE, device_row),
        *(recorded.rows(ON_HOST, places.around[flag]) for flag in _AROUND),
    ]
    combination = np.stack(
        [
            *(at(recorded.facts, row, none=-1) for row in found),
            places.around_name["annotation"],
            places.around_name["launch"],
            name,
        ],
        axis=1,
    ).astype(np.int64)
    distinct, inverse = np.unique(combination, axis=0, return_inverse=True)
    facts = list(gathered.meta_facts)
    texts = gathered.names.texts
    rows = [_facts_of(row, facts, texts, group) for row in distinct.tolist()]
    table = pl.DataFrame([pl.Series(key, [row[key] for row in rows], COLLECTIVES[key]) for key in _FACTS])
    seq = np.full(len(span), NONE, np.int64)
    for row in reversed(found):
        own = at(recorded.seq, row)
        seq = np.where(own != NONE, own, seq)
    return (
        table[inverse.ravel()]
        .with_columns(span=pl.Series(span).cast(pl.Int32), seq=pl.Series(seq))
        .with_columns(seq=pl.when(pl.col("seq") != NONE).then("seq"))
        .select(list(COLLECTIVES))
    )


def _facts_of(
    row: list[int], facts: list[tuple[Any, ...]], texts: list[str], group: dict[str, Any]
) -> dict[str, Any]:
    """Return the columns of one combination of kernel, ranges and metadata."""
    sources = [dict(zip(META_FIELDS, facts[number], strict=True)) for number in row[:4] if number >= 0]
    kernel = texts[row[6]]
    said = (
        (next((s["collective"] for s in sources if s["collective"]), ""), "metadata"),
        (texts[row[4]] if row[4] >= 0 else "", "range"),
        (texts[row[5]] if row[5] >= 0 else "", "launch"),
        (kernel, "name"),
    )
    kind, source = next(
        ((kind, origin) for text, origin in said if text and (kind := collective_of(text)) != "unknown"),
        ("unknown", "name"),
    )
    known = {
        field: next((s[field] for s in sources if s[field] not in (None, b"")), None) for field in META_FIELDS
    }
    size = small_int(known["group_size"] if known["group_size"] is not None else group.get("group_size"))
    dtype = known["dtype"]
    count = message_elements(kind, known["in_nelems"], known["out_nelems"], size)
    if count is None:
        shown, found = _from_shapes([source for source in sources if source["dims"]])
        dtype = dtype or found
        count = message_elements(kind, shown, None, size)
    said_group = any(known[field] is not None for field in ("group_name", "group_desc", "group_size"))
    return {
        "collective": kind,
        "source": source,
        "group_name": known["group_name"] if said_group else group.get("group_name"),
        "group_desc": known["group_desc"] if said_group else group.get("group_desc"),
        "group_size": size,
        "group_ranks": _ranks(known, group),
        "bytes": message_bytes(count, dtype),
        "dtype": dtype,
        "reduction": reduction_of(kernel),
        "peer": peer_of(kind, known["peer"]),
    }


def _ranks(known: dict[str, Any], group: dict[str, Any]) -> str | None:
    said = ranks_text(known["group_ranks"]) if known["group_ranks"] else None
    if said is None and known["group_name"] in (None, group.get("group_name")):
        return group.get("group_ranks")
    return said


def _from_shapes(sources: list[dict[str, Any]]) -> tuple[int | None, str | None]:
    """Return the elements and type of the first tensor in the first recorded shapes."""
    count = None
    for source in sources:
        counts = element_counts(source["dims"])
        count = count or next((value for value in counts if value), None)
        dtype = first_type(source["types"])
        if count is not None and dtype is not None:
            return count, dtype
    return count, None


def sole_group(groups: list[Any]) -> dict[str, Any]:
    """Return the group columns of every collective, where the metadata lists one group only; else nothing."""
    if len(groups) != 1 or not isinstance(groups[0], dict):
        return {}
    group = groups[0]
    ranks = group.get("ranks")
    whole = isinstance(ranks, list) and ranks and all(small_int(rank) is not None for rank in ranks)
    size = group.get("pg_size")
    return {
        "group_name": _plain(group.get("pg_name")),
        "group_desc": _plain(group.get("pg_desc")),
        "group_size": small_int(size),
        "group_ranks": ",".join(map(str, ranks)) if whole else None,  # type: ignore[arg-type] # whole says list
    }


def _plain(value: object) -> str | None:
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "", str(value)) if isinstance(value, (str, int)) else None
