"""Compute work by signature: who used the device's compute time, each instant shared among those running."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.dependencies import expand
from abstep.measure.names import base_names, path_facts
from abstep.model import Kind, Phase

if TYPE_CHECKING:
    from abstep.measure.timeline import Timeline
    from abstep.windows import CutRun

WORK = {"window": pl.Int32, "row": pl.Int32, "count": pl.Int32, "ns": pl.Float64}


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


def described_work(run: CutRun, work: list[pl.DataFrame], where: pl.DataFrame) -> pl.DataFrame:
    """Sum compute work by signature and window, and put the signatures' texts beside them.

    Returns:
        repeat, rank, step, operator, operator_path, base, shape, count, ns.

    """
    spans = run.tables.spans.select("row", "path", "name", "shape")
    every = pl.concat(work) if work else pl.DataFrame(schema=WORK)
    summed = (
        every.join(spans, on="row", how="left")
        .group_by("window", "path", "name", "shape")
        .agg(pl.col("count").sum(), pl.col("ns").sum())
    )
    facts = path_facts(run).select(
        "path", pl.col("label").alias("operator"), pl.col("full").alias("operator_path")
    )
    shapes = run.tables.names.select(pl.col("name").alias("shape"), pl.col("text").alias("shape_text"))
    return (
        summed.join(where, on="window", how="inner")
        .join(facts, on="path", how="left")
        .join(base_names(run, summed["name"]), on="name", how="left")
        .join(shapes, on="shape", how="left")
        .select(
            "repeat",
            "rank",
            "step",
            pl.col("operator", "operator_path").fill_null(""),
            "base",
            pl.col("shape_text").alias("shape"),
            "count",
            "ns",
        )
        .sort("repeat", "rank", "step", "operator_path", "base", "shape", nulls_last=True)
    )


def forward_shapes(run: CutRun, names: pl.DataFrame) -> pl.DataFrame:
    """Return the shapes of the forward operators of every window: rank, operator, base, occurrence, shape."""
    forward = names.filter((pl.col("phase") == str(Phase.FORWARD)) & ~pl.col("packing")).select("row")
    spans = (
        run.tables.spans.filter(pl.col("kind") == int(Kind.COMPUTE))
        .join(forward, on="row", how="semi")
        .select("row", "rank", "window", "path", "name", "shape", "launch_start", "start_ns")
    )
    facts = path_facts(run).select("path", pl.col("label").alias("operator"))
    shapes = run.tables.names.select(pl.col("name").alias("shape"), pl.col("text").alias("shape_text"))
    return (
        spans.join(facts, on="path", how="left")
        .join(base_names(run, spans["name"]), on="name", how="left")
        .with_columns(
            pl.coalesce("launch_start", "start_ns")
            .rank("ordinal")
            .over("window", "operator", "base")
            .cast(pl.Int32)
            .alias("occurrence"),
            pl.col("operator").fill_null(""),
        )
        .join(shapes, on="shape", how="inner")
        .select("rank", "operator", "base", "occurrence", pl.col("shape_text").alias("shape"))
    )
