"""Collectives within a rank: launch, readiness, queue, consumer, slack (SEMANTICS 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.busy import Busy
from abstep.measure.expand import expand
from abstep.measure.timeline import NEVER
from abstep.model import Kind

if TYPE_CHECKING:
    from abstep.measure.arrays import Int64
    from abstep.measure.dependencies import Dependencies
    from abstep.measure.timeline import Timeline

INSTANCES = {
    "row": pl.Int32,
    "window": pl.Int32,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "host_launch": pl.Int64,
    "producer_end": pl.Int64,
    "first_valid_launch": pl.Int64,
    "queue_ns": pl.Int64,
    "consumer_row": pl.Int32,
    "consumer_start": pl.Int64,
    "consumer_inferred": pl.Boolean,
    "slack_ns": pl.Int64,
    "hidden_ns": pl.Int64,
    "busy_ns": pl.Int64,
    "waited_ns": pl.Int64,
    "pipeline_ns": pl.Int64,
    "independent_ns": pl.Int64,
    "completion_wait_ns": pl.Int64,
}


def instances(line: Timeline, needs: Dependencies, produced: Int64, point_to_point: Int64) -> pl.DataFrame:
    """Return one row a collective that a completed window's step launched.

    Args:
        line: one rank trace.
        needs: what its spans wait for.
        produced: `producers` of it.
        point_to_point: rows of its sends and receives.

    Returns:
        row (of the span), window (of the launching step), start_ns, end_ns, host_launch, producer_end,
        first_valid_launch (null without a launch record), queue_ns, consumer_row and consumer_start (null
        without a consumer), consumer_inferred, slack_ns, hidden_ns (compute running beside it),
        busy_ns, pipeline_ns and waited_ns (compute, exposed sends and receives, and other exposed communication,
        between its window's start and its own),
        independent_ns (compute between first valid launch and consumer), completion_wait_ns.

    """
    collective = line.of(Kind.COMMUNICATION)
    collective = collective[line.window[collective] >= 0]
    if len(collective) == 0:
        return pl.DataFrame(schema=INSTANCES)
    start, end, launch = line.start[collective], line.end[collective], line.launch[collective]
    producer = produced[collective]
    producer_end = np.where(producer >= 0, line.end[producer], NEVER)
    ready = np.maximum(launch, producer_end)
    consumer, inferred = _consumers(line, needs, collective)
    has = consumer >= 0
    consumer_start = np.where(has, line.start[consumer], NEVER)
    slack = np.where(has, np.maximum(consumer_start - end, 0), NEVER)
    compute, either = line.kind == Kind.COMPUTE, line.kind <= Kind.COMMUNICATION
    or_passed = compute | (either & np.isin(line.row, point_to_point))
    busy, busy_or_passed, busy_either = (
        Busy(line.start[chosen], line.end[chosen]) for chosen in (compute, or_passed, either)
    )
    at = np.minimum(np.searchsorted(line.windows, line.window[collective]), len(line.windows) - 1)
    window_start = np.where(line.windows[at] == line.window[collective], line.window_start[at], start)
    window_start = np.minimum(window_start, start)
    computed, with_passed, with_all = (
        kind.between(window_start, start) for kind in (busy, busy_or_passed, busy_either)
    )
    known = launch != NEVER
    completion = np.where(has, np.maximum(0, end - np.maximum(needs.ready[consumer], start)), NEVER)
    nothing = NEVER

    def column(values: Int64) -> pl.Series:
        return pl.Series(values, dtype=pl.Int64)

    frame = pl.DataFrame(
        {
            "row": pl.Series(line.row[collective]).cast(pl.Int32),
            "window": pl.Series(line.window[collective]).cast(pl.Int32),
            "start_ns": column(start),
            "end_ns": column(end),
            "host_launch": column(launch),
            "producer_end": column(producer_end),
            "first_valid_launch": column(np.where(known, ready, nothing)),
            "queue_ns": column(np.where(known, np.maximum(0, start - ready), nothing)),
            "consumer_row": pl.Series(np.where(has, line.row[consumer], nothing)),
            "consumer_start": column(consumer_start),
            "consumer_inferred": inferred,
            "slack_ns": column(slack),
            "hidden_ns": column(busy.between(start, end)),
            "busy_ns": column(computed),
            "waited_ns": column(with_all - with_passed),
            "pipeline_ns": column(with_passed - computed),
            "independent_ns": column(
                np.where(known & has, busy.between(ready, np.maximum(ready, consumer_start)), nothing),
            ),
            "completion_wait_ns": column(completion),
        },
    )
    return frame.with_columns(
        pl.when(pl.col(name) != NEVER).then(pl.col(name)).alias(name)
        for name, kind in INSTANCES.items()
        if kind == pl.Int64 or name == "consumer_row"
    ).with_columns(pl.col("consumer_row").cast(pl.Int32))


def producers(line: Timeline, needs: Dependencies) -> Int64:
    """Return for each span the last compute span that it, a collective, had to wait for; (n,) positions, -1 none.

    By recorded waits; else the last compute span enqueued, in host order, before its launch that ended no later
    than its start.
    """
    edges = needs.edges
    producer = np.full(len(line.start), -1, dtype=np.int64)
    own = (line.kind[edges.head] == Kind.COMMUNICATION) & ~edges.inferred
    head, found = edges.head[own], latest_compute(line)[edges.target[own]]
    head, found = head[found >= 0], found[found >= 0]
    by_end = np.argsort(line.end[found], kind="stable")  # the latest end is written last and stays
    producer[head[by_end]] = found[by_end]
    missing = (line.kind == Kind.COMMUNICATION) & (producer < 0) & (line.launch != NEVER)
    producer[missing] = _inferred_producer(line, np.flatnonzero(missing))
    return producer


def latest_compute(line: Timeline) -> Int64:
    """Return for each span the compute span at or before it on its stream that ended last; (n,) positions, -1 none."""
    order = np.lexsort((line.stream_order.order, line.stream))
    compute = line.kind[order] == Kind.COMPUTE
    ends = np.where(compute, line.end[order], NEVER)
    streams = line.stream[order]
    latest = np.full(len(line.start), -1, dtype=np.int64)
    heads: Int64 = np.flatnonzero(np.append(np.ones(1, dtype=bool), streams[1:] != streams[:-1]))[
        : len(order)
    ]
    for head, tail in zip(heads, np.append(heads[1:], len(order)), strict=True):
        highest = np.maximum.accumulate(ends[head:tail])
        is_it = compute[head:tail] & (ends[head:tail] == highest)
        at = np.maximum.accumulate(np.where(is_it, np.arange(head, tail), -1))
        latest[order[head:tail]] = np.where(at >= 0, order[np.maximum(at, 0)], -1)
    return latest


def _inferred_producer(line: Timeline, collective: Int64) -> Int64:
    """Return the last compute span enqueued, in host order, before each launch that ended no later than its start."""
    compute = line.of(Kind.COMPUTE)
    compute = compute[line.launch[compute] != NEVER]
    found = np.full(len(collective), -1, dtype=np.int64)
    if len(compute) == 0 or len(collective) == 0:
        return found
    compute = compute[np.argsort(line.launch[compute], kind="stable")]
    back = np.searchsorted(line.launch[compute], line.launch[collective], side="left") - 1
    open_ = np.flatnonzero(back >= 0)
    while len(
        open_
    ):  # each round settles all whose candidate ended in time; streams run in order, so few rounds
        candidate = compute[back[open_]]
        fits = line.end[candidate] <= line.start[collective[open_]]
        found[open_[fits]] = candidate[fits]
        open_ = open_[~fits]
        back[open_] -= 1
        open_ = open_[back[open_] >= 0]
    return found


def _consumers(line: Timeline, needs: Dependencies, collective: Int64) -> tuple[Int64, Int64]:
    """The earliest compute span that waits for each collective, and whether that was inferred."""
    edges, consumer = needs.edges, needs.consumer
    count = len(line.start)
    waits = (consumer >= 0) & (line.kind[edges.target] == Kind.COMMUNICATION)
    waits &= line.kind[edges.head] != Kind.COMMUNICATION
    span, target, inferred = consumer[waits], edges.target[waits], edges.inferred[waits]
    host_span, host_target = _host_pairs(line, needs)
    span = np.concatenate([span, host_span])
    target = np.concatenate([target, host_target])
    inferred = np.concatenate([inferred, np.ones(len(host_span), dtype=bool)])
    # a span that waits for a collective waits for all queued ahead of it on that stream
    key = needs.stream_code * count + line.stream_order.order
    by_key = np.lexsort((line.start[span], key[target]))
    span, target, inferred = span[by_key], target[by_key], inferred[by_key]
    sorted_key = key[target]
    low = np.searchsorted(sorted_key, key[collective], side="left")
    high = np.searchsorted(sorted_key, (needs.stream_code[collective] + 1) * count, side="left")
    earliest = np.full(len(collective), -1, dtype=np.int64)
    guessed = np.zeros(len(collective), dtype=bool)
    if len(span) == 0:
        return earliest, guessed
    suffix, suffix_at = _earliest_from_behind(line.start[span], needs.stream_code[target])
    there = high > low
    earliest[there] = span[suffix_at[low[there]]]
    guessed[there] = inferred[suffix_at[low[there]]]
    _ = suffix
    return earliest, guessed


def _earliest_from_behind(start: Int64, stream: Int64) -> tuple[Int64, Int64]:
    """Running minimum of `start` from the end of each stream's run, and where it stands."""
    best, where = start.copy(), np.arange(len(start))
    heads = (
        np.flatnonzero(np.append(True, stream[1:] != stream[:-1]))
        if len(stream)
        else np.zeros(0, dtype=np.int64)
    )
    for head, tail in zip(heads, np.append(heads[1:], len(start)), strict=True):
        backwards = start[head:tail][::-1]
        low = np.minimum.accumulate(backwards)
        is_new = np.append(True, low[1:] < low[:-1])
        at = np.maximum.accumulate(np.where(is_new, np.arange(len(low)), 0))
        best[head:tail] = low[::-1]
        where[head:tail] = (tail - 1 - at)[::-1]
    return best, where


def _host_pairs(line: Timeline, needs: Dependencies) -> tuple[Int64, Int64]:
    """(span, collective) pairs that wait through the host."""
    spans = np.flatnonzero(needs.host)
    low = np.searchsorted(needs.need_key, spans * needs.streams)
    high = np.searchsorted(needs.need_key, (spans + 1) * needs.streams)
    owner, at = expand(low, high)
    code = needs.need_key[at] % needs.streams
    key = needs.stream_code * len(line.start) + line.stream_order.order
    by_key = np.argsort(key, kind="stable")
    target = by_key[np.searchsorted(key[by_key], code * len(line.start) + needs.need_order[at])]
    return spans[owner], target
