"""Milestones of a step, from its window's start (SEMANTICS 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.model import Kind, Phase

if TYPE_CHECKING:
    from abstep.measure.names import Names
    from abstep.windows import CutRun

MILESTONES = ("first_launch", "backward_end", "last_collective_end", "update_end", "tail")


def milestones(run: CutRun, names: Names, instances: pl.DataFrame) -> pl.DataFrame:
    """Return one row a completed window: window and the milestones, ns from window start.

    first_launch: the first collective's first valid launch. backward_end: the end of the backward's last
    compute span. last_collective_end. update_end: the end of the optimizer's last span. tail: from
    backward_end to the first optimizer span. Null where the step has none.

    Args:
        run: a rank's cut tables.
        names: of its spans.
        instances: its collectives.

    """
    own = names.spans.filter(~pl.col("packing")).select("row", "phase")
    spans = (
        run.tables.spans.filter(pl.col("window").is_not_null() & (pl.col("kind") == int(Kind.COMPUTE)))
        .select("row", "window", "start_ns", "end_ns")
        .join(own, on="row")
    )
    backward, optimizer = (pl.col("phase") == str(phase) for phase in (Phase.BACKWARD, Phase.OPTIMIZER))
    computed = spans.group_by("window").agg(
        pl.col("end_ns").filter(backward).max().alias("backward_end"),
        pl.col("end_ns").filter(optimizer).max().alias("update_end"),
        pl.col("start_ns").filter(optimizer).min().alias("update_start"),
    )
    communicated = instances.group_by("window").agg(
        pl.col("first_valid_launch").min().alias("first_launch"),
        pl.col("end_ns").max().alias("last_collective_end"),
    )
    return (
        run.completed.select("window", pl.col("start_ns").alias("origin"))
        .join(computed, on="window", how="left")
        .join(communicated, on="window", how="left")
        .with_columns((pl.col("update_start") - pl.col("backward_end")).alias("tail"))
        .select(
            "window",
            *((pl.col(name) - pl.col("origin")).alias(name) for name in MILESTONES[:-1]),
            "tail",
        )
        .sort("window")
    )
