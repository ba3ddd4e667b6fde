"""Exposed stretches of one rank trace, attributed to collectives: blocking and incidental (SEMANTICS 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.dependencies import FAR
from abstep.measure.expand import expand
from abstep.model import Kind

if TYPE_CHECKING:
    from abstep.measure.arrays import Int64
    from abstep.measure.dependencies import Dependencies
    from abstep.measure.timeline import Timeline

PARTS = {
    "window": pl.Int32,
    "collective_row": pl.Int32,
    "consumer_row": pl.Int32,
    "blocking": pl.Boolean,
    "host": pl.Boolean,
    "inferred": pl.Boolean,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "exposed_ns": pl.Int64,
}


def exposed_parts(line: Timeline, needs: Dependencies) -> pl.DataFrame:
    """Return every exposed instant of a rank trace, booked to collectives.

    Instants are divided equally, to whole ns, among the running collectives that the next compute span waits
    for (those queued ahead of them on their stream included); where none of these runs, or before that span
    was otherwise ready, among all running ones, as incidental.

    Returns:
        window, collective_row, consumer_row (the next compute span; null at the trace's end), blocking, host
        (blocked through its launching thread), inferred, start_ns, end_ns (the stretch), exposed_ns (the collective's
        share of it, exact: shares of all parts sum to the exposed category).

    """
    sweep = line.sweep
    bare = (sweep.communication > 0) & (sweep.compute == 0)
    start, end, window = sweep.start[bare], sweep.end[bare], sweep.window[bare]
    collective = line.of(Kind.COMMUNICATION)
    compute = line.of(Kind.COMPUTE)
    if len(start) == 0:
        return pl.DataFrame(schema=PARTS)
    at = np.searchsorted(line.start[compute], end, side="left")
    following = np.full(len(start), -1, dtype=np.int64)
    has_next = at < len(compute)
    following[has_next] = compute[at[has_next]]

    low = np.searchsorted(start, line.start[collective], side="left")
    high = np.searchsorted(end, line.end[collective], side="right")
    owner, segment = expand(low, high)
    by_segment = np.argsort(segment, kind="stable")
    segment, running = segment[by_segment], collective[owner[by_segment]]

    waited = needs.waits_for(following[segment], running, line.stream_order.order[running])
    ready = np.where(following >= 0, needs.ready[following], FAR)
    any_waited = np.bincount(segment[waited], minlength=len(start)) > 0
    cut = np.where(any_waited, np.clip(ready, start, end), end)

    parts = [
        _shares(segment[waited], running[waited], (cut, end), blocking=True),
        _shares(segment, running, (start, cut), blocking=False),
    ]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    at_segment, at_collective, part_start, part_end, share, blocking = columns
    span = following[at_segment]
    frame = pl.DataFrame(
        {
            "window": line.windows[window[at_segment]].astype(np.int32),
            "collective_row": line.row[at_collective].astype(np.int32),
            "consumer_row": np.where(span >= 0, line.row[span], -1).astype(np.int32),
            "blocking": blocking.astype(bool),
            "host": needs.host[span] & (span >= 0),
            "inferred": needs.inferred[span] & (span >= 0) & blocking.astype(bool),
            "start_ns": part_start,
            "end_ns": part_end,
            "exposed_ns": share,
        },
    )
    return frame.with_columns(
        pl.when(pl.col("consumer_row") >= 0).then("consumer_row").alias("consumer_row"),
    ).sort("start_ns", "collective_row", "blocking")


def _shares(
    segment: Int64, collective: Int64, edges: tuple[Int64, Int64], *, blocking: bool
) -> tuple[Int64, ...]:
    """Divide [start, end) of each segment among its collectives in whole ns; the first ones take the rest."""
    start, end = edges[0][segment], edges[1][segment]
    there = end > start
    segment, collective, start, end = segment[there], collective[there], start[there], end[there]
    first = np.ones(len(segment), dtype=bool)
    first[1:] = segment[1:] != segment[:-1]
    heads = np.flatnonzero(first)
    count = np.diff(np.append(heads, len(segment)))
    size = np.repeat(count, count)
    place = np.arange(len(segment)) - np.repeat(heads, count)
    length = end - start
    share = length // np.maximum(size, 1) + (place < length % np.maximum(size, 1))
    return segment, collective, start, end, share, np.full(len(segment), blocking)
