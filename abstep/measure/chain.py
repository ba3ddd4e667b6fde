"""What each span of a rank trace started right after: the links that a dependency path walks (SEMANTICS 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.timeline import NEVER
from abstep.model import Kind

if TYPE_CHECKING:
    from abstep.measure.arrays import Flags, Int32, Int64
    from abstep.measure.dependencies import Dependencies
    from abstep.measure.timeline import Timeline


TIE_NS = 1_000


@dataclass(frozen=True)
class Chain:
    """The links of one rank trace. Positions are indexes into these arrays.

    Attributes:
        repeat, rank, host_only: which trace.
        row, start, end: (n,) of its spans, by start.
        communication: (n,) is a collective.
        link: (n,) position of the span whose end it started after, -1 none.
        host: (n,) it waited for its launch call, not for the device.
        synced: (n,) end of the last device synchronisation before its launch, NEVER none.
        run: (n,) position of the earliest span reached by following links that stay on one stream and cross
            neither a collective nor the host: walked in one step.
        busy_before: (n,) compute time of its run's spans before it, ns.
        by_stream: (n,) positions by stream and order: a run lies together there.
        place: (n,) where each position stands in `by_stream`.
        window: (n,) window that launched it, -1 none.

    """

    repeat: int
    rank: int
    host_only: bool
    row: Int32
    start: Int64
    end: Int64
    communication: Flags
    link: Int32
    host: Flags
    synced: Int64
    run: Int32
    busy_before: Int64
    by_stream: Int32
    place: Int32
    window: Int32


def chain(line: Timeline, needs: Dependencies, host_calls: pl.DataFrame) -> Chain:
    """Link every span to what it started after: a stream predecessor, what it waited for, or its host."""
    count = len(line.start)
    order = line.stream_order
    link = order.before.copy()
    link_end = np.where(link >= 0, line.end[link], NEVER)
    head, target = needs.edges.head, needs.edges.target
    if line.host_only:
        head, target = _host_only_links(line, needs)
    by_end = np.argsort(line.end[target], kind="stable")  # the latest end is written last and stays
    head, target = head[by_end], target[by_end]
    later = line.end[target] > link_end[head]
    # what a span waited for ended before it; a progress range's end may be recorded after the thread it woke ran on
    later &= line.host_only | (line.end[target] <= line.start[head] + TIE_NS)
    link[head[later]] = target[later]
    link_end = np.where(link >= 0, line.end[link], NEVER)
    communication = line.kind == Kind.COMMUNICATION
    host = (
        np.zeros(count, dtype=bool) if line.host_only else (line.launch != NEVER) & (line.launch > link_end)
    )
    same = (link >= 0) & (link == order.before) & ~host & ~communication
    same[same] &= ~communication[link[same]]
    by_stream = np.lexsort((order.order, line.stream))
    place = np.empty(count, dtype=np.int64)
    place[by_stream] = np.arange(count)
    run, busy_before = _runs(line, same, by_stream)
    small = np.int32  # positions within one trace: half the memory of a run of many ranks
    return Chain(
        line.repeat,
        line.rank,
        line.host_only,
        line.row.astype(small),
        line.start,
        line.end,
        communication,
        link.astype(small),
        host,
        _synced(line, host_calls),
        run.astype(small),
        busy_before,
        by_stream.astype(small),
        place.astype(small),
        line.window.astype(small),
    )


def _host_only_links(line: Timeline, needs: Dependencies) -> tuple[Int64, Int64]:
    """On the host a collective starts after the operators before its launch, a woken thread after its collective."""
    collective, compute = line.of(Kind.COMMUNICATION), line.of(Kind.COMPUTE)
    by_end = compute[np.argsort(line.end[compute], kind="stable")]
    at = np.searchsorted(line.end[by_end], line.launch[collective], side="right") - 1
    known = at >= 0
    woken, awaited = needs.pairs
    return (
        np.concatenate([collective[known], woken]),
        np.concatenate([by_end[at[known]], awaited]),
    )


def _runs(line: Timeline, same: Flags, by_stream: Int64) -> tuple[Int64, Int64]:
    """For each span the head of its run of links on one stream, and the busy time of the run before it."""
    count = len(line.start)
    starts_run = ~same[by_stream]
    if count:
        starts_run[0] = True
    heads = np.flatnonzero(starts_run)
    number = np.cumsum(starts_run) - 1
    run = np.empty(count, dtype=np.int64)
    run[by_stream] = by_stream[heads[number]] if count else by_stream
    length = (line.end - line.start)[by_stream]
    before = np.cumsum(length) - length
    busy = np.empty(count, dtype=np.int64)
    busy[by_stream] = before - before[heads[number]] if count else before
    return run, busy


def _synced(line: Timeline, host_calls: pl.DataFrame) -> Int64:
    """End of the last device synchronisation that ended before each span's launch, on any thread."""
    ends = np.sort(host_calls.filter(pl.col("kind").is_in(["sync", "alloc"]))["end_ns"].to_numpy())
    if len(ends) == 0:
        return np.full(len(line.start), NEVER, dtype=np.int64)
    at = np.searchsorted(ends, line.launch, side="right") - 1
    return np.where((at >= 0) & (line.launch != NEVER), ends[np.maximum(at, 0)], NEVER)
