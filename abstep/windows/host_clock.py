"""Move host times onto the device clock of their own file (SEMANTICS 1, clocks inside a file)."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

LEAST_LATENCY_NS = 5_000  # no launch reaches the device sooner
REPORTED_BELOW_NS = -1_000
"""A shift no larger than a launch's own latency says nothing: it is neither reported nor applied."""


@dataclass(frozen=True)
class HostShift:
    """What each file's host times are moved by.

    Attributes:
        shifts: file (Int32), shift_ns (Int64, never positive).

    """

    shifts: pl.DataFrame

    def move(self, frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
        """Return `frame` (with a `file` column) with the named host time columns moved."""
        return (
            frame.join(self.shifts, on="file", how="left", maintain_order="left")
            .with_columns(pl.col(column) + pl.col("shift_ns").fill_null(0) for column in columns)
            .drop("shift_ns")
        )


def host_shift(spans: pl.DataFrame, host_only: pl.DataFrame) -> HostShift:
    """Measure each file's shift: min(0, min(start - launch start) - 5 us); 0 for host-only files.

    Args:
        spans: file, start_ns, launch_start.
        host_only: file, host_only (Boolean).

    """
    shifts = (
        spans.lazy()
        .group_by("file")
        .agg((pl.col("start_ns") - pl.col("launch_start")).min().alias("least"))
        .join(host_only.lazy(), on="file", how="left")
        .select(
            "file",
            pl.when(
                pl.col("host_only")
                | pl.col("least").is_null()
                | (pl.col("least") - LEAST_LATENCY_NS >= REPORTED_BELOW_NS)
            )
            .then(0)
            .otherwise(pl.min_horizontal(pl.lit(0, dtype=pl.Int64), pl.col("least") - LEAST_LATENCY_NS))
            .cast(pl.Int64)
            .alias("shift_ns"),
        )
        .sort("file")
        .collect()
    )
    return HostShift(shifts)
