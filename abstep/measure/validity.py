"""Is each run valid in itself: same order of collectives, no early reads, complete sets (SEMANTICS 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.measure.matching import POINT_TO_POINT
from abstep.model import Kind, Phase

if TYPE_CHECKING:
    from abstep.measure.names import Names
    from abstep.windows import CutRun

VIOLATIONS: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String,
    "status": pl.String,
    "rank": pl.Int32,
    "step": pl.Int64,
    "collective": pl.String,
    "message": pl.String,
}
REDUCTIONS = ("all_reduce", "reduce_scatter", "reduce")
USUALLY = 0.90


def violations(instances: pl.DataFrame, reads: pl.DataFrame) -> pl.DataFrame:
    """Return what is wrong in a run, in a fixed order: id, status, rank, step, collective, message.

    Args:
        instances: the run's collectives with their launches.
        reads: `early_reads` of all ranks, with rank and step.

    """
    found = [_orders(instances), _early(reads), _sets(instances)]
    return pl.concat([frame.select(list(VIOLATIONS)).cast(pl.Schema(VIOLATIONS)) for frame in found])


def _orders(instances: pl.DataFrame) -> pl.DataFrame:
    """Name ranks whose order of collectives differs from most ranks' in the same group and step."""
    keys = ("repeat", "step", "group", "group_name", "group_ranks")
    orders = (
        instances.filter(pl.col("collective") != POINT_TO_POINT)
        .sort("host_launch", "start_ns", "row", nulls_last=True)
        .group_by(*keys, "rank", maintain_order=True)
        .agg(
            pl.concat_str("collective", pl.col("bytes").cast(pl.String).fill_null("?"), separator=" ").alias(
                "order"
            )
        )
        .with_columns(
            pl.col("order").list.join(", ").alias("text"), pl.col("order").list.len().alias("count")
        )
    )
    usual = (
        orders.group_by(*keys, "text")
        .len()
        .sort("len", "text", descending=[True, False])
        .group_by(keys, maintain_order=True)
        .first()
        .select(*keys, pl.col("text").alias("usual"), pl.col("len").alias("agreeing"))
    )
    odd = orders.join(usual, on=keys, how="left", nulls_equal=True).filter(
        (pl.col("text") != pl.col("usual")) & (pl.col("count") == pl.col("usual").str.split(", ").list.len())
    )
    differs = pl.struct("order", "usual").map_elements(_first_difference, return_dtype=pl.String)
    return odd.sort("repeat", "step", "rank").select(
        pl.lit("collective_order").alias("id"),
        pl.lit("fail").alias("status"),
        "rank",
        "step",
        differs.alias("collective"),
        pl.format(
            "rank {} runs the collectives of step {} in another order than the other ranks of {}",
            "rank",
            "step",
            "group",
        ).alias("message"),
    )


def _first_difference(row: dict[str, object]) -> str:
    order = row["order"]
    assert isinstance(order, list)
    return next(
        (own for own, other in zip(order, str(row["usual"]).split(", "), strict=False) if own != other), ""
    )


def early_reads(run: CutRun, instances: pl.DataFrame, names: Names) -> pl.DataFrame:
    """Return when each window's optimizer ranges began and its last gradient reduction ended.

    Args:
        run: a rank's cut tables.
        instances: its collectives.
        names: of its spans.

    Returns:
        window, anchor, begins (ns), reduced (ns), collective; no rows for host-only traces: a progress range on
        the host ends when its thread says so, which may be after its waiter ran on.

    """
    backward = pl.col("phase") == str(Phase.BACKWARD)
    reductions = (
        instances.filter(pl.col("collective").is_in(REDUCTIONS) & backward)
        .sort("end_ns")
        .group_by("window", maintain_order=True)
        .agg(pl.col("end_ns").last().alias("reduced"), pl.col("collective").last())
    )
    on_device = run.tables.files.filter(~pl.col("host_only"))["file"]
    optimizer = names.spans.filter((pl.col("phase") == str(Phase.OPTIMIZER)) & ~pl.col("packing"))
    spans = (
        run.tables.spans.filter(
            pl.col("window").is_not_null()
            & (pl.col("kind") == int(Kind.COMPUTE))
            & pl.col("file").is_in(on_device.implode()),
        )
        .select("row", "window", "start_ns")
        .join(optimizer.select("row", "label", "occurrence"), on="row")
        .join(reductions, on="window")
    )
    first = spans.group_by("window", "label", "occurrence", "reduced", "collective").agg(
        pl.col("row").first(), pl.col("start_ns").min().alias("begins")
    )
    anchors = names.of(first["row"]).select("row", "anchor")
    return (
        first.join(anchors, on="row")
        .select("window", "anchor", "begins", "reduced", "collective")
        .sort("window", "anchor")
    )


def _early(reads: pl.DataFrame) -> pl.DataFrame:
    """Name optimizer spans that start before a gradient reduction of that step ended, where most do not."""
    judged = reads.with_columns((pl.col("begins") < pl.col("reduced")).alias("early")).with_columns(
        pl.col("early").sum().over("anchor").alias("early_count"),
        pl.len().over("anchor").alias("windows"),
    )
    rest = pl.col("windows") - pl.col("early_count")
    others_late = rest >= USUALLY * (pl.col("windows") - 1).clip(1, None)
    early = judged.filter("early")
    fails = (
        early.filter(others_late)
        .select(
            pl.lit("early_consumption").alias("id"),
            pl.lit("fail").alias("status"),
            "rank",
            "step",
            "collective",
            pl.format(
                "rank {} starts {} of step {} {} us before the gradient {} has ended",
                "rank",
                "anchor",
                "step",
                ((pl.col("reduced") - pl.col("begins")) / 1e3).round(1),
                "collective",
            ).alias("message"),
        )
        .sort("step", "rank", "message")
    )
    systematic = early.filter(~others_late)
    if systematic.is_empty():
        return fails
    said = (
        systematic.sort("anchor")
        .head(1)
        .select(
            pl.lit("early_consumption").alias("id"),
            pl.lit("unknown").alias("status"),
            pl.lit(None, dtype=pl.Int32).alias("rank"),
            pl.lit(None, dtype=pl.Int64).alias("step"),
            "collective",
            pl.format(
                "{} starts before a gradient {} has ended in {} of {} windows: an optimizer that overlaps the "
                "backward, or a race; not judged",
                "anchor",
                "collective",
                "early_count",
                "windows",
            ).alias("message"),
        )
    )
    return pl.concat([fails, said], how="diagonal_relaxed")


def _sets(instances: pl.DataFrame) -> pl.DataFrame:
    """Name windows that hold other numbers of collectives than most windows of the run."""
    counts = instances.group_by("repeat", "step", "rank", "collective", "group", "phase").len()
    cells = instances.select("repeat", "step", "rank").unique()
    kinds = counts.select("collective", "group", "phase").unique()
    every = (
        cells.join(kinds, how="cross")
        .join(
            counts,
            on=["repeat", "step", "rank", "collective", "group", "phase"],
            how="left",
        )
        .with_columns(pl.col("len").fill_null(0))
    )
    # a rank outside a sub-group never has its collectives: compare a rank with itself
    usual = pl.col("len").mode().sort().last().over("rank", "collective", "group", "phase")
    odd = (
        every.with_columns(usual.alias("usual"))
        .filter(pl.col("len") != pl.col("usual"))
        .sort("repeat", "step", "rank")
    )
    return odd.select(
        pl.lit("complete_set").alias("id"),
        pl.lit("fail").alias("status"),
        "rank",
        "step",
        "collective",
        pl.format(
            "rank {} has {} {} in step {}, {} in most windows", "rank", "len", "collective", "step", "usual"
        ).alias("message"),
    )
