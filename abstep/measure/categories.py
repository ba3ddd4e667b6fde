"""The five categories that tile every window exactly (SEMANTICS 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.model import Category

if TYPE_CHECKING:
    from abstep.measure.arrays import Flags, Int64
    from abstep.measure.timeline import Sweep, Timeline


def category_of(sweep: Sweep) -> dict[Category, Flags]:
    """Return, for each category, which segments of a sweep are of it: (n,) booleans, one true a segment."""
    compute, communication, other = sweep.compute > 0, sweep.communication > 0, sweep.other > 0
    return {
        Category.COMPUTE_ALONE: compute & ~communication,
        Category.OVERLAPPED: compute & communication,
        Category.EXPOSED: communication & ~compute,
        Category.COPY_ONLY: other & ~compute & ~communication,
        Category.IDLE: ~compute & ~communication & ~other,
    }


def categories(line: Timeline) -> pl.DataFrame:
    """Return one row a window of a rank trace: window (Int32) and the five categories (Int64 ns)."""
    sweep = line.sweep
    return pl.DataFrame(
        {
            "window": line.windows.astype(np.int32),
            **{
                str(category): sums(sweep, chosen, len(line.windows))
                for category, chosen in category_of(sweep).items()
            },
        },
    )


def sums(sweep: Sweep, chosen: Flags, windows: int) -> Int64:
    """Return the time of the chosen segments in each window: (windows,) int64 ns, exact."""
    total = np.zeros(windows, dtype=np.int64)
    np.add.at(total, sweep.window[chosen], sweep.length[chosen])
    return total
