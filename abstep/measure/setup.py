"""What a warming-up run does in a step: device memory allocated, code compiled, kernels tuned (STATISTICS 2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.measure.marks import in_steps

if TYPE_CHECKING:
    from abstep.windows import CutRun

COMPILING = r"(?i)dynamo|inductor|torchfx|\bcompile|triton.*compil|jit"
TUNING = r"(?i)autotun|benchmark_all|find.*algorithm|tunable"
SETUP = {"window": pl.Int32, "allocations": pl.Int32, "compilations": pl.Int32, "tunings": pl.Int32}


def setup(run: CutRun) -> pl.DataFrame:
    """Return window, allocations, compilations, tunings: calls and annotations inside each step's host mark.

    allocations: calls that take or give back device memory (cudaMalloc, cudaFree and their like).
    """
    tables = run.tables
    texts = tables.names.select("name", "text")
    allocated = tables.host_calls.filter(pl.col("kind") == "alloc").select(
        "file", "start_ns", what=pl.lit("allocations")
    )
    said = tables.marks.join(texts, on="name", how="left").select(
        "file",
        "start_ns",
        pl.when(pl.col("text").str.contains(COMPILING))
        .then(pl.lit("compilations"))
        .when(pl.col("text").str.contains(TUNING))
        .then(pl.lit("tunings"))
        .alias("what"),
    )
    inside = in_steps(run, pl.concat([allocated, said.drop_nulls("what")]))
    counted = inside.group_by("window").agg(
        (pl.col("what") == what).sum().cast(pl.Int32).alias(what) for what in list(SETUP)[1:]
    )
    return counted.sort("window").select(list(SETUP))
