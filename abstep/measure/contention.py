"""Compute beside collectives: how long each signature ran alone, and how long beside which slot (SEMANTICS 6).

Excess needs the alone durations of both runs, which one run does not know. It is linear in them, so sums by
window, signature and slot are kept: excess = share_ns - alone x share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.expand import expand
from abstep.measure.work import IDS, by_signature
from abstep.model import ExposedKind, Kind

if TYPE_CHECKING:
    from abstep.measure.dictionary import Dictionary
    from abstep.measure.timeline import Timeline
    from abstep.windows import CutRun

BESIDE = {"row": pl.Int32, "collective_row": pl.Int32, "start_ns": pl.Int64, "overlap_ns": pl.Int64}
SIGNATURE = ("operator", "base", "shape")
SLOT = ("phase", "group", "collective", "kind", "consumer")
HALF = 0.5
"""A span overlapped for at least this much of its length counts towards the stretch."""


def beside(line: Timeline) -> pl.DataFrame:
    """Return every (compute span, collective) that ran at the same time.

    Returns:
        row, collective_row, start_ns (of the time both ran) and overlap_ns (its length).

    """
    compute, collective = line.of(Kind.COMPUTE), line.of(Kind.COMMUNICATION)
    if len(compute) == 0 or len(collective) == 0:
        return pl.DataFrame(schema=BESIDE)
    start, end = line.start[compute], line.end[compute]
    latest = np.maximum.accumulate(line.end[collective])
    low = np.searchsorted(latest, start, side="right")
    high = np.searchsorted(line.start[collective], end, side="left")
    owner, member = expand(low, high)
    both = np.maximum(start[owner], line.start[collective[member]])
    overlap = np.minimum(end[owner], line.end[collective[member]]) - both
    there = overlap > 0
    return pl.DataFrame(
        {
            "row": line.row[compute[owner[there]]].astype(np.int32),
            "collective_row": line.row[collective[member[there]]].astype(np.int32),
            "start_ns": both[there],
            "overlap_ns": overlap[there],
        },
    )


def slots_of(instances: pl.DataFrame) -> pl.DataFrame:
    """Return the slot of each collective, that of the exposed time it would leave: collective_row, SLOT.

    Its consumer makes it blocking; without one it is incidental.
    """
    kind = pl.when(pl.col("consumer").is_null()).then(pl.lit(str(ExposedKind.INCIDENTAL)))
    return instances.select(
        pl.col("row").alias("collective_row"), "phase", "group", "collective", "consumer"
    ).with_columns(kind.otherwise(pl.lit(str(ExposedKind.BLOCKING))).alias("kind"))


def compute_spans(run: CutRun, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the compute spans launched in windows, with the time they ran beside collectives.

    Args:
        run: the cut run.
        pairs: `beside` of all rank traces.

    Returns:
        row, window, path, name, shape, duration_ns, overlap_ns (at most the duration).

    """
    overlapped = pairs.group_by("row", maintain_order=True).agg(pl.col("overlap_ns").sum())
    return (
        run.tables.spans.filter((pl.col("kind") == int(Kind.COMPUTE)) & pl.col("window").is_not_null())
        .select("row", "window", *IDS, (pl.col("end_ns") - pl.col("start_ns")).alias("duration_ns"))
        .join(overlapped, on="row", how="left", maintain_order="left")
        .with_columns(pl.min_horizontal(pl.col("overlap_ns").fill_null(0), "duration_ns").alias("overlap_ns"))
    )


def signatures(spans: pl.DataFrame, texts: Dictionary) -> pl.DataFrame:
    """Return each signature's compute in each window: window, SIGNATURE, count, ns, alone_count, alone_ns, overlap_ns.

    alone: without communication at any moment of the span.
    """
    alone = pl.col("overlap_ns") == 0
    summed = spans.group_by("window", *IDS, maintain_order=True).agg(
        pl.len().cast(pl.Int32).alias("count"),
        pl.col("duration_ns").sum().alias("ns"),
        alone.sum().cast(pl.Int32).alias("alone_count"),
        pl.col("duration_ns").filter(alone).sum().alias("alone_ns"),
        pl.col("overlap_ns").sum(),
    )
    return (
        by_signature(summed, texts)
        .group_by("window", *SIGNATURE, maintain_order=True)
        .agg(pl.col("count", "ns", "alone_count", "alone_ns", "overlap_ns").sum())
        .sort("window", *SIGNATURE, nulls_last=True)
    )


def signatures_beside(
    spans: pl.DataFrame, pairs: pl.DataFrame, instances: pl.DataFrame, texts: Dictionary
) -> pl.DataFrame:
    """Return what ran beside which slot in each window: window, SIGNATURE, SLOT and sums.

    Args:
        spans: `compute_spans`.
        pairs: `beside`.
        instances: row, phase, group, collective, consumer of the collectives.
        texts: the dictionary.

    Returns:
        share (each span's overlap divided among slots, so that a span's shares sum to 1), share_ns (share x
        duration), overlap_ns, and long_count, long_ns of the spans overlapped for at least half their length.

    """
    by_slot = (
        pairs.join(slots_of(instances), on="collective_row", how="inner", maintain_order="left")
        .group_by("row", *SLOT, maintain_order=True)
        .agg(pl.col("overlap_ns").sum().alias("slot_ns"))
        .with_columns((pl.col("slot_ns") / pl.col("slot_ns").sum().over("row")).alias("share"))
    )
    long = pl.col("overlap_ns") >= HALF * pl.col("duration_ns")
    summed = (
        by_slot.join(spans, on="row", how="inner", maintain_order="left")
        .group_by("window", *IDS, *SLOT, maintain_order=True)
        .agg(
            pl.col("share").sum(),
            (pl.col("share") * pl.col("duration_ns")).sum().alias("share_ns"),
            pl.col("slot_ns").sum().alias("overlap_ns"),
            long.sum().cast(pl.Int32).alias("long_count"),
            pl.col("duration_ns").filter(long).sum().alias("long_ns"),
        )
    )
    keys = ("window", *SIGNATURE, *SLOT)
    return (
        by_signature(summed, texts)
        .group_by(keys, maintain_order=True)
        .agg(pl.col("share", "share_ns", "overlap_ns", "long_count", "long_ns").sum())
        .sort(keys, nulls_last=True)
    )
