"""Compute spans beside collectives: how long each ran, and with which collectives (SEMANTICS 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.dependencies import expand
from abstep.model import ExposedKind, Kind

if TYPE_CHECKING:
    from abstep.measure.timeline import Timeline
    from abstep.windows import CutRun

BESIDE = {"row": pl.Int32, "collective_row": pl.Int32, "overlap_ns": pl.Int64}


def beside(line: Timeline) -> pl.DataFrame:
    """Return every (compute span, collective) that ran at the same time: row, collective_row, overlap_ns."""
    compute, collective = line.of(Kind.COMPUTE), line.of(Kind.COMMUNICATION)
    if len(compute) == 0 or len(collective) == 0:
        return pl.DataFrame(schema=BESIDE)
    start, end = line.start[compute], line.end[compute]
    latest = np.maximum.accumulate(line.end[collective])
    low = np.searchsorted(latest, start, side="right")
    high = np.searchsorted(line.start[collective], end, side="left")
    owner, member = expand(low, high)
    overlap = np.minimum(end[owner], line.end[collective[member]]) - np.maximum(
        start[owner], line.start[collective[member]]
    )
    there = overlap > 0
    return pl.DataFrame(
        {
            "row": line.row[compute[owner[there]]].astype(np.int32),
            "collective_row": line.row[collective[member[there]]].astype(np.int32),
            "overlap_ns": overlap[there],
        },
    )


def compute_spans(run: CutRun, pairs: pl.DataFrame, where: pl.DataFrame) -> pl.DataFrame:
    """Return the compute spans launched in completed windows, with the time they ran beside collectives.

    Args:
        run: the cut run.
        pairs: `beside` of all rank traces.
        where: window, repeat, rank, step of the completed windows.

    Returns:
        row, repeat, rank, step, path, name, shape, duration_ns, overlap_ns (at most the duration).

    """
    overlapped = pairs.group_by("row").agg(pl.col("overlap_ns").sum())
    return (
        run.tables.spans.filter(pl.col("kind") == int(Kind.COMPUTE))
        .select(
            "row",
            "window",
            "path",
            "name",
            "shape",
            (pl.col("end_ns") - pl.col("start_ns")).alias("duration_ns"),
        )
        .join(where, on="window", how="inner", maintain_order="left")
        .join(overlapped, on="row", how="left", maintain_order="left")
        .with_columns(pl.min_horizontal(pl.col("overlap_ns").fill_null(0), "duration_ns").alias("overlap_ns"))
        .drop("window")
    )


def slots_beside(pairs: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """Return each compute span's overlap by the slot of the collective: row, phase, group, collective, consumer.

    The slot of a collective is that of the exposed time it would leave: its consumer, or none (incidental).
    `share` is the slot's part of the span's overlap; shares of a span sum to 1.
    """
    slot = instances.select(pl.col("row").alias("collective_row"), "phase", "group", "collective", "consumer")
    summed = (
        pairs.join(slot, on="collective_row", how="inner")
        .group_by("row", "phase", "group", "collective", "consumer")
        .agg(pl.col("overlap_ns").sum())
    )
    kind = pl.when(pl.col("consumer").is_null()).then(pl.lit(str(ExposedKind.INCIDENTAL)))
    return summed.with_columns(
        (pl.col("overlap_ns") / pl.col("overlap_ns").sum().over("row")).alias("share"),
        kind.otherwise(pl.lit(str(ExposedKind.BLOCKING))).alias("kind"),
    ).sort("row", "phase", "group", "collective", "consumer", nulls_last=True)
