"""What a side's step could be at best, and what keeps it from there (SEMANTICS 7, ideal)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.compare.comparison import Ideal
from abstep.compare.sides import CELL
from abstep.model import ExposedKind, Phase

if TYPE_CHECKING:
    from abstep.compare.sides import MeasuredSide, Weights

WHERE = (*CELL, "rank")


def ideal_of(side: MeasuredSide, weights: Weights, step: float | None) -> Ideal | None:
    """Return a side's bounds and what lies between them and its step; None where a collective is unsplit.

    Args:
        side: one side.
        weights: its windows' weights.
        step: its mean step, ns.

    """
    own = side.run.ideal.filter(pl.col("rank").is_in(list(side.ranks))).join(
        weights.cells, on=CELL, how="inner"
    )
    if step is None or own.is_empty() or own["ideal_ns"].null_count():
        return None
    blocking = side.parts.filter(pl.col("kind") == str(ExposedKind.BLOCKING)).join(
        side.instances.select("row", "queue_ns", "slack_ns"), on="row", how="left", maintain_order="left"
    )
    by_instance = blocking.group_by(*WHERE, "row", maintain_order=True).agg(
        pl.col("peer_wait_ns", "transport_ns").sum(),
        pl.col("queue_ns").first().fill_null(0),
        pl.col("consumer").first().str.starts_with(str(Phase.OPTIMIZER)).fill_null(value=False).alias("tail"),
    )
    # a collective at its first valid launch would end earlier by what it queued; its wait shrinks by no more
    kept = by_instance.with_columns(
        pl.min_horizontal("transport_ns", "queue_ns").alias("queued")
    ).with_columns((pl.col("transport_ns") - pl.col("queued")).alias("rest"))
    late = weights.total(kept.select(*CELL, "peer_wait_ns"), "peer_wait_ns")
    queued = weights.total(kept.select(*CELL, "queued"), "queued")
    tail = weights.total(kept.filter("tail").select(*CELL, "rest"), "rest")
    before = weights.total(kept.filter(~pl.col("tail")).select(*CELL, "rest"), "rest")
    idle = weights.total(side.windows.select(*CELL, "idle"), "idle")
    bound = weights.total(own.select(*CELL, "ideal_ns"), "ideal_ns")
    parts = {
        "late_readiness": late,
        "serialization": queued,
        "tail": tail,
        "exposed_before_other_work": before,
        "idle": idle,
    }
    parts["other"] = step - bound - sum(parts.values())
    return Ideal(bound, step - late - queued, parts)
