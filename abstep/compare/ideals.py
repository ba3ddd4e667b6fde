"""What a side's step could be at best, and what keeps it from there (SEMANTICS 7, ideal)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.compare.comparison import Ideal
from abstep.compare.lateness import CAUSES, lead_parts
from abstep.compare.sides import CELL
from abstep.measure.matching import POINT_TO_POINT
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
    own = side.own(side.run.ideal).join(weights.cells, on=CELL, how="inner", maintain_order="left")
    if step is None or own.is_empty() or own["ideal_ns"].null_count():
        return None
    blocking = side.parts.filter(pl.col("kind") == str(ExposedKind.BLOCKING)).join(
        side.instances.select("row", "queue_ns"), on="row", how="left", maintain_order="left"
    )
    by_instance = blocking.group_by(*WHERE, "row", maintain_order=True).agg(
        pl.col("peer_wait_ns", "transport_ns").sum(),
        pl.col("queue_ns").first().fill_null(0),
        pl.col("consumer").first().str.starts_with(str(Phase.OPTIMIZER)).fill_null(value=False).alias("tail"),
    )
    # a collective at its first valid launch would end earlier by what it queued; its wait shrinks by no more
    kept = by_instance.join(
        _pipelined(side.instances), on="row", how="left", maintain_order="left"
    ).with_columns((pl.col("peer_wait_ns") * pl.col("pipelined").fill_null(0.0)).alias("pipelined"))
    gained = None if own["gain_ns"].null_count() else weights.total(own.select(*CELL, "gain_ns"), "gain_ns")
    kept = _queued(kept, weights, gained)
    late = weights.total(kept.select(*CELL, "peer_wait_ns"), "peer_wait_ns")
    pipelined = weights.total(kept.select(*CELL, "pipelined"), "pipelined")
    queued = weights.total(kept.select(*CELL, "queued"), "queued")
    tail = weights.total(kept.filter("tail").select(*CELL, "rest"), "rest")
    before = weights.total(kept.filter(~pl.col("tail")).select(*CELL, "rest"), "rest")
    idle = weights.total(side.windows.select(*CELL, "idle"), "idle")
    bound = weights.total(own.select(*CELL, "ideal_ns"), "ideal_ns")
    parts = {
        "late_readiness": late - pipelined,
        "pipeline": pipelined,
        "serialization": queued,
        "tail": tail,
        "exposed_before_other_work": before,
        "idle": idle,
    }
    parts["other"] = step - bound - sum(parts.values())
    return Ideal(bound, None if gained is None else step - gained, parts)


def _queued(kept: pl.DataFrame, weights: Weights, gained: float | None) -> pl.DataFrame:
    """Divide each instance's exposed transport into what queueing costs the step, and the rest: queued, rest.

    An instance costs no more than it queued. Together they cost no more than the replay gains without any queue: what
    queues behind a collective that itself waits for a late rank costs nothing.
    """
    kept = kept.with_columns(pl.min_horizontal("transport_ns", "queue_ns").cast(pl.Float64).alias("queued"))
    whole = weights.total(kept.select(*CELL, "queued"), "queued")
    if gained is not None and whole > gained:
        kept = kept.with_columns(pl.col("queued") * (gained / whole))
    return kept.with_columns((pl.col("transport_ns") - pl.col("queued")).alias("rest"))


def _pipelined(instances: pl.DataFrame) -> pl.DataFrame:
    """Return what share of each instance's waiting is the pipeline's schedule: row, pipelined (0..1).

    All of it in sends and receives; elsewhere the late rank's share of being held in them.
    """
    parts = lead_parts(instances).select(
        "instance", (pl.col("pipeline") / pl.sum_horizontal(CAUSES)).fill_nan(0.0).alias("share")
    )
    passed = pl.col("collective") == POINT_TO_POINT
    return instances.join(parts, on="instance", how="left", maintain_order="left").select(
        "row", pl.when(passed).then(1.0).otherwise(pl.col("share").fill_null(0.0)).alias("pipelined")
    )
