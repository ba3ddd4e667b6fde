"""Why a device stood idle: the end of the step, a late host, a stream wait (SEMANTICS 7, accounting)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.categories import category_of
from abstep.measure.timeline import NEVER
from abstep.model import Category

if TYPE_CHECKING:
    from abstep.measure.arrays import Int64
    from abstep.measure.timeline import Timeline

IDLE = {
    "window": pl.Int32,
    "end_of_step": pl.Int64,
    "host_late": pl.Int64,
    "stream_wait": pl.Int64,
    "unknown": pl.Int64,
}
STREAM_WAIT_ABOVE_NS = 20_000


def idle_causes(line: Timeline) -> pl.DataFrame:
    """Return each window's idle time by cause; the causes sum to the idle category exactly.

    After the last activity launched in the step: end_of_step. Else host_late up to the end of the next
    activity's launch call; what is left is stream_wait when above 20 us, else host_late. Without a launch
    record of the next activity: unknown.
    """
    sweep = line.sweep
    idle = category_of(sweep)[Category.IDLE]
    start, end, window = sweep.start[idle], sweep.end[idle], sweep.window[idle]
    count = len(line.windows)
    last = np.full(count, NEVER, dtype=np.int64)
    index = np.searchsorted(line.windows, line.window)
    own = (line.window >= 0) & (index < count)
    own[own] &= line.windows[index[own]] == line.window[own]
    np.maximum.at(last, index[own], line.end[own])

    after_all = start >= last[window]
    following = np.minimum(np.searchsorted(line.start, end, side="left"), max(len(line.start) - 1, 0))
    launched = line.launch_end[following]
    known = (launched != NEVER) & (line.start[following] >= end)
    cut = np.clip(launched, start, end)
    waiting = np.where(known & (end - cut > STREAM_WAIT_ABOVE_NS), end - cut, 0)
    length = end - start
    causes = {
        "end_of_step": np.where(after_all, length, 0),
        "host_late": np.where(~after_all & known, length - waiting, 0),
        "stream_wait": np.where(~after_all & known, waiting, 0),
        "unknown": np.where(~after_all & ~known, length, 0),
    }
    return pl.DataFrame(
        {
            "window": line.windows.astype(np.int32),
            **{cause: _summed(window, value, count) for cause, value in causes.items()},
        },
    )


def _summed(
    window: Int64,
    value: Int64,
    count: int,
) -> Int64:
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, window, value)
    return total
