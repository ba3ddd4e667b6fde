"""What a rank's host says it was doing in each step: its annotations (SEMANTICS 4, the late rank's host)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.measure.marks import in_steps, outermost

if TYPE_CHECKING:
    from abstep.windows import CutRun

STEP = "ProfilerStep#"
NUMBER = r"[#_ ]*\d+$"
RANGES = {"window": pl.Int32, "range": pl.String, "begins": pl.Int64, "ns": pl.Int64}


def host_ranges(run: CutRun) -> pl.DataFrame:
    """Return window, range, begins, ns: time in each outermost annotation of a step, on the threads that train.

    An annotation's trailing number is left out (`batch #17` is `batch`), so that steps and ranks have the same ones.
    """
    tables = run.tables
    trains = tables.threads.filter(pl.col("has_step") | pl.col("has_backward")).select("file", "thread")
    said = (
        tables.marks.join(tables.names.select("name", "text"), on="name", how="left")
        .join(trains, on=["file", "thread"], how="semi")
        .filter(pl.col("step").is_null() & ~pl.col("text").str.starts_with(STEP))
    )
    return (
        in_steps(run, outermost(said))
        .with_columns(
            pl.col("text").str.replace(NUMBER, "").alias("range"),
            (pl.col("end_ns") - pl.col("start_ns")).alias("ns"),
        )
        .group_by("window", "range")
        .agg(pl.col("start_ns").min().alias("begins"), pl.col("ns").sum())
        .sort("window", "range")
        .select(pl.col(name).cast(kind) for name, kind in RANGES.items())
    )
