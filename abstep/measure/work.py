"""Compute work by signature, a window at a time: who used the device's compute time, alone and beside collectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.expand import expand
from abstep.model import Kind

if TYPE_CHECKING:
    from abstep.measure.dictionary import Dictionary
    from abstep.measure.names import Names
    from abstep.measure.timeline import Timeline
    from abstep.windows import CutRun

WORK = {"window": pl.Int32, "row": pl.Int32, "count": pl.Int32, "ns": pl.Float64}
IDS = ("path", "name", "shape")
TEXTS = ("operator", "operator_path", "base", "shape")


def compute_work(line: Timeline) -> pl.DataFrame:
    """Return compute spans by the windows in which they lie: window, row, count, ns.

    `ns` is the span's share of the union inside that window: each instant is divided equally among the compute
    spans running then, so that the shares of a window sum to its compute time (SEMANTICS 7). `count` is 1 in
    the window where the span starts, else 0.
    """
    compute = line.of(Kind.COMPUTE)
    sweep = line.sweep
    if len(compute) == 0 or len(sweep.start) == 0:
        return pl.DataFrame(schema=WORK)
    running = np.maximum(sweep.compute, 1)
    shared = np.where(sweep.compute > 0, sweep.length / running, 0.0)
    before = np.concatenate([[0.0], np.cumsum(shared)])

    start, end = line.start[compute], line.end[compute]
    low = np.searchsorted(line.window_end, start, side="right")
    high = np.searchsorted(line.window_start, end, side="left")
    owner, window = expand(low, np.maximum(high, low))
    left = np.maximum(start[owner], line.window_start[window])
    right = np.minimum(end[owner], line.window_end[window])
    share = before[np.searchsorted(sweep.start, right)] - before[np.searchsorted(sweep.start, left)]
    return pl.DataFrame(
        {
            "window": line.windows[window].astype(np.int32),
            "row": line.row[compute[owner]].astype(np.int32),
            "count": (start[owner] >= line.window_start[window]).astype(np.int32),
            "ns": share,
        },
    )


def by_signature(frame: pl.DataFrame, texts: Dictionary) -> pl.DataFrame:
    """Put a signature's texts in place of its ids (path, name, shape): operator, operator_path, base, shape."""
    paths = texts.paths.select("path", "operator", pl.col("full").alias("operator_path"))
    shapes = texts.texts.select(pl.col("name").alias("shape"), pl.col("text").alias("shape_text"))
    return (
        frame.join(paths, on="path", how="left", maintain_order="left")
        .join(texts.kernels.select("name", "base"), on="name", how="left", maintain_order="left")
        .join(shapes, on="shape", how="left", maintain_order="left")
        .with_columns(pl.col("operator", "operator_path").fill_null(""))
        .drop(IDS)
        .rename({"shape_text": "shape"})
    )


def described_work(run: CutRun, work: list[pl.DataFrame], texts: Dictionary) -> pl.DataFrame:
    """Sum compute work by signature and window: window, count, ns and the signature's texts."""
    every = pl.concat(work) if work else pl.DataFrame(schema=WORK)
    spans = run.tables.spans.select("row", *IDS)
    summed = (
        every.join(spans, on="row", how="left", maintain_order="left")
        .group_by("window", *IDS, maintain_order=True)
        .agg(pl.col("count").sum(), pl.col("ns").sum())
        .sort("window", *IDS, nulls_last=True)
    )
    return by_signature(summed, texts)


def forward_shapes(run: CutRun, names: Names, texts: Dictionary) -> pl.DataFrame:
    """Return how often forward operators had which shapes: operator, operator_path, base, occurrence, shape, seen."""
    forward = names.spans.filter((pl.col("phase") == "forward") & ~pl.col("packing")).select("row")
    spans = (
        run.tables.spans.filter((pl.col("kind") == int(Kind.COMPUTE)) & pl.col("shape").is_not_null())
        .join(forward, on="row", how="semi")
        .select("window", "launch_start", "start_ns", *IDS)
    )
    place = pl.coalesce("launch_start", "start_ns").rank("ordinal").over("window", "path", "name")
    counted = (
        spans.with_columns(place.cast(pl.Int32).alias("occurrence"))
        .group_by("occurrence", *IDS, maintain_order=True)
        .agg(pl.len().cast(pl.Int32).alias("seen"))
    )
    return (
        by_signature(counted, texts)
        .group_by("operator", "operator_path", "base", "occurrence", "shape", maintain_order=True)
        .agg(pl.col("seen").sum())
        .sort("operator_path", "base", "occurrence", "shape")
    )
