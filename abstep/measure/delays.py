"""Start delays: compute that was ready while a collective ran, and started late (SEMANTICS 6: not slowed, blocked)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.dependencies import FAR
from abstep.measure.timeline import NEVER
from abstep.model import Kind

if TYPE_CHECKING:
    from abstep.measure.arrays import Flags, Int64
    from abstep.measure.dependencies import Dependencies
    from abstep.measure.timeline import Timeline

DELAYS = {"window": pl.Int32, "beside": pl.Int64, "delay_ns": pl.Float64}
ENOUGH = 3  # spans alone from which the usual gap is known, as for contention


def start_delays(line: Timeline, needs: Dependencies) -> pl.DataFrame:
    """Return each window's start delay: gaps before compute spans beyond the gap that is usual alone.

    Only spans already queued on the device when their stream was free count, and only those that wait for no
    other stream and no host: what is left of their gap is the device's. The usual gap is the median of those that
    start while no collective runs; gaps beside a collective count against it with their sign, so that noise
    adds up to nothing.

    Returns:
        window, beside (spans ready while a collective ran until they started), delay_ns (null where fewer than 3
        spans alone tell the usual gap, where nothing was beside 0); no row of a host-only trace.

    """
    if line.host_only:
        return pl.DataFrame(schema=DELAYS)
    compute = line.of(Kind.COMPUTE)
    free = line.stream_order.ended_before[compute]
    queued = (line.launch_end[compute] != NEVER) & (free != NEVER) & (line.launch_end[compute] <= free)
    chosen = queued & ~_waits(needs)[compute]
    compute, free = compute[chosen], free[chosen]
    start = line.start[compute]
    window = np.searchsorted(line.window_start, start, side="right") - 1
    inside = (window >= 0) & (start < line.window_end[np.maximum(window, 0)]) & (start >= free)
    start, free, window = start[inside], free[inside], window[inside]
    alone, beside = _running(line, free, start)
    count = len(line.windows)
    many = np.bincount(window[beside], minlength=count)
    usual = float(np.median((start - free)[alone])) if int(alone.sum()) >= ENOUGH else np.nan
    delay = np.bincount(window[beside], weights=(start - free)[beside] - usual, minlength=count)
    frame = pl.DataFrame(
        {"window": line.windows.astype(np.int32), "beside": many, "delay_ns": delay}, schema=DELAYS
    )
    return frame.with_columns(pl.col("delay_ns").fill_nan(None))


def _waits(needs: Dependencies) -> Flags:
    """Return whether each span waits for another stream, a collective or the host."""
    waits: Flags = (needs.ready != FAR) | needs.host
    waits[needs.edges.head] = True
    waits[needs.consumer[needs.consumer >= 0]] = True
    return waits


def _running(line: Timeline, free: Int64, start: Int64) -> tuple[Flags, Flags]:
    """Return whether no collective touches [free, start], and whether one runs from before it until after it."""
    collective = line.of(Kind.COMMUNICATION)
    begun, ended = line.start[collective], np.sort(line.end[collective])
    reach = np.maximum.accumulate(line.end[collective])
    before = np.searchsorted(begun, free, side="right")  # begun at or before the stream was free
    by_start = np.searchsorted(begun, start, side="right")
    alone = by_start == np.searchsorted(ended, free, side="left")
    beside = np.zeros(len(start), dtype=bool)
    some = before > 0
    beside[some] = reach[before[some] - 1] > start[some]
    return alone, beside
