"""What a step could be at best: compute and transport started together and undisturbed (SEMANTICS 7, ideal)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.expand import expand

if TYPE_CHECKING:
    from abstep.measure.arrays import Int64

WHERE = ("repeat", "rank", "file")


def ideals(windows: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """Return each window's bound max(|C|, |union of transport|).

    Args:
        windows: window, repeat, rank, file, step, start_ns, end_ns, compute_alone, overlapped.
        instances: `AcrossRanks.instances`; where any of a window's is unsplit the bound is unknown.

    Returns:
        window, repeat, rank, step, transport_ns, ideal_ns (Int64; null where unsplit).

    """
    files = windows.select("window", "file")
    split = instances.join(files, on="window", how="left").select("file", "window", "last_arrival", "end_ns")
    by_file = split.partition_by("file", as_dict=True)
    frames = []
    for (file,), own in (
        windows.sort("file", "start_ns").partition_by("file", as_dict=True, maintain_order=True).items()
    ):
        found = by_file.get((file,), split.clear())
        unsplit = found.filter(pl.col("last_arrival").is_null())["window"].unique()
        transport = _union_in(
            found.drop_nulls("last_arrival"), own["start_ns"].to_numpy(), own["end_ns"].to_numpy()
        )
        frames.append(
            own.select(
                "window",
                "repeat",
                "rank",
                "step",
                (pl.col("compute_alone") + pl.col("overlapped")).alias("busy"),
            )
            .with_columns(
                pl.when(~pl.col("window").is_in(unsplit.implode()))
                .then(pl.Series(transport, dtype=pl.Int64))
                .alias("transport_ns"),
            )
            .with_columns(
                pl.when(pl.col("transport_ns").is_not_null())
                .then(pl.max_horizontal("busy", "transport_ns"))
                .alias("ideal_ns"),
            )
            .drop("busy"),
        )
    schema = {
        "window": pl.Int32,
        "repeat": pl.Int32,
        "rank": pl.Int32,
        "step": pl.Int64,
        "transport_ns": pl.Int64,
        "ideal_ns": pl.Int64,
    }
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)


def _union_in(split: pl.DataFrame, window_start: Int64, window_end: Int64) -> Int64:
    """Length of the union of transports inside each window: (windows,) ns."""
    total = np.zeros(len(window_start), dtype=np.int64)
    if split.is_empty():
        return total
    end = split["end_ns"].to_numpy()
    start = np.minimum(split["last_arrival"].to_numpy(), end)
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    start = np.maximum(start, np.append(start[:1], reach[:-1]))
    end = np.maximum(end, start)
    low = np.searchsorted(window_end, start, side="right")
    high = np.searchsorted(window_start, end, side="left")
    owner, window = expand(low, np.maximum(high, low))
    inside = np.minimum(end[owner], window_end[window]) - np.maximum(start[owner], window_start[window])
    np.add.at(total, window, np.maximum(inside, 0))
    return total
