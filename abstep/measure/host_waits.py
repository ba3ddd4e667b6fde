"""Compute held up through its host: synchronisations, calls that synchronise the device, gloo waits (SEMANTICS 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.expand import expand
from abstep.measure.timeline import NEVER
from abstep.model import Kind

if TYPE_CHECKING:
    from abstep.measure.arrays import Int64
    from abstep.measure.timeline import Timeline

HOST_RETURNS_WITHIN_NS = 50_000
HOST_WAKES_WITHIN_NS = 500_000  # a gloo wait wakes 30-110 us after the end, later under load


def host_waits(line: Timeline, host_calls: pl.DataFrame) -> tuple[Int64, Int64, Int64]:
    """Next compute spans held up because their thread was inside a call that waited for a collective's end."""
    empty = np.zeros(0, dtype=np.int64)
    calls = host_calls.filter(pl.col("kind") != "graph").sort("thread", "start_ns")
    collective, compute = line.of(Kind.COMMUNICATION), line.of(Kind.COMPUTE)
    if calls.is_empty() or len(collective) == 0 or len(compute) == 0:
        return empty, empty, empty
    end = line.end[collective]
    at = np.searchsorted(line.start[compute], end, side="left")
    span = np.where(at < len(compute), compute[np.minimum(at, len(compute) - 1)], -1)
    thread = np.where(span >= 0, line.thread[span], -1)
    call_thread = calls["thread"].cast(pl.Int64).to_numpy()
    call_start, call_end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
    allocates = (calls["kind"] == "alloc").to_numpy()
    inside = np.full(len(collective), -1, dtype=np.int64)
    for number in np.unique(thread[thread >= 0]):  # a loop over threads
        own = np.flatnonzero(call_thread == number)
        asked = np.flatnonzero(thread == number)
        if len(own) == 0:
            continue
        last = np.searchsorted(call_start[own], end[asked], side="left") - 1
        found = own[np.maximum(last, 0)]
        holds = (last >= 0) & (call_end[found] >= end[asked])
        inside[asked[holds]] = found[holds]
    ends = np.sort(line.end)
    returned = call_end[inside]
    quiet = np.searchsorted(ends, returned, side="right") == np.searchsorted(ends, end, side="right")
    could_not = allocates[inside] | ((returned - end <= HOST_RETURNS_WITHIN_NS) & quiet)
    held = (inside >= 0) & could_not
    since = np.maximum(call_start[inside], line.stream_order.work_ended_before[span])
    return span[held], collective[held], since[held]


def host_only_waits(line: Timeline) -> tuple[Int64, Int64, Int64]:
    """Host-only runs: what wakes after the hole that ends with a collective waits for all that ended in it.

    Where a progress range's end was recorded late (its thread lost the core to the one it woke), unpacking that
    begins after a hole still waits: for the running collective launched first.
    """
    empty = np.zeros(0, dtype=np.int64)
    collective, compute = line.of(Kind.COMMUNICATION), line.of(Kind.COMPUTE)
    if len(collective) == 0 or len(compute) == 0:
        return empty, empty, empty
    busy_until = np.maximum.accumulate(line.end[compute])
    hole_start = np.full(len(line.start), NEVER, dtype=np.int64)
    hole_start[compute[1:]] = busy_until[:-1]

    end = line.end[collective]
    at = np.searchsorted(line.start[compute], end, side="left")
    span = np.where(at < len(compute), compute[np.minimum(at, len(compute) - 1)], -1)
    known = (span >= 0) & (hole_start[span] <= end)
    last_end = np.full(len(line.start), NEVER, dtype=np.int64)
    np.maximum.at(last_end, span[known], end[known])
    wakes = known & (line.start[span] - last_end[span] <= HOST_WAKES_WITHIN_NS)
    span, awaited = span[wakes], collective[wakes]

    explained = np.zeros(len(line.start), dtype=bool)
    explained[span] = True
    unpacking = compute[
        line.packing[compute] & ~explained[compute] & (hole_start[compute] < line.start[compute])
    ]
    running = _first_launched_running(line, collective, unpacking)
    found = running >= 0
    span = np.concatenate([span, unpacking[found]])
    awaited = np.concatenate([awaited, running[found]])
    return span, awaited, hole_start[span]


def _first_launched_running(line: Timeline, collective: Int64, span: Int64) -> Int64:
    """For each span the collective running at its start that was launched first, -1 none."""
    low = np.searchsorted(line.start[span], line.start[collective], side="right")
    high = np.searchsorted(line.start[span], line.end[collective], side="left")
    owner, at = expand(low, high)
    by_launch = np.lexsort((line.launch[collective[owner]], at))
    first, index = np.unique(at[by_launch], return_index=True)
    found = np.full(len(span), -1, dtype=np.int64)
    found[first] = collective[owner[by_launch][index]]
    return found
