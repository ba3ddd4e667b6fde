"""How many forward passes a step makes (SEMANTICS 8, accumulation)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.measure.marks import outermost

if TYPE_CHECKING:
    from abstep.windows import CutRun


def forward_passes(run: CutRun) -> pl.DataFrame:
    """Return file, step, passes: outermost `*.forward` annotations in each step; no row where none is recorded."""
    tables = run.tables
    forward = tables.names.filter(pl.col("text").str.ends_with(".forward"))["name"]
    marks = tables.marks.filter(pl.col("name").is_in(forward.implode()))
    steps = run.marks.select(
        "file", "step", pl.col("start_ns").alias("step_start"), pl.col("end_ns").alias("step_end")
    )
    inside = (
        outermost(marks)
        .select("file", "start_ns")
        .join(steps, on="file")
        .filter((pl.col("start_ns") >= pl.col("step_start")) & (pl.col("start_ns") < pl.col("step_end")))
    )
    return inside.group_by("file", "step").agg(pl.len().cast(pl.Int32).alias("passes")).sort("file", "step")
