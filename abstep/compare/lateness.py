"""Which rank the others wait for, how surely, and what its lateness is made of (SEMANTICS 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from abstep.compare.sides import CELL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abstep.compare.sides import MeasuredSide, Weights

LATE_SHARE = 0.60
LATE_LEAD = 3.0
HALF = 0.5
CAUSES = ("pipeline", "compute", "host", "queue", "unknown")


class Lateness(NamedTuple):
    """Who is late in a group of instances.

    Attributes:
        rank: the rank that most often arrives last, of the instances it takes part in; None where not known.
        share: of those, how often (0..1).
        reason: what its lateness is made of: its own longer compute, its host, or its stream still carrying
            another collective (queue); None where not known (a copy it waited for, say), or where it is the
            pipeline's schedule.
        called: whether text may call it late.
        lead: its median start after the second last, ns.
        pipelined: it was held by sends and receives: the schedule, never evidence of a late rank.
        sure: it is last in 60 % of its instances, and its median lead exceeds 3 x the clock's spread.

    """

    rank: int | None
    share: float | None
    reason: str | None
    called: bool
    lead: float | None
    pipelined: bool
    sure: bool = False


def lateness(group: pl.DataFrame) -> Lateness:
    """Return who is late in instances of one role, which may be several groups of ranks.

    Text may call a rank late if it is last in 60 % of its instances, its median lead over the second last exceeds
    3 x the clock's spread, and the lead is not the pipeline's schedule.
    """
    last = group.filter(pl.col("rank") == pl.col("late_rank"))
    if last.is_empty():
        return Lateness(None, None, None, called=False, lead=None, pipelined=False)
    taking_part = (
        group.drop_nulls("lead_ns")
        .group_by("rank", maintain_order=True)
        .agg(pl.col("instance").n_unique().alias("instances"))
    )
    causes = {
        row["rank"]: row
        for row in lead_parts(group)
        .group_by("rank", maintain_order=True)
        .agg(pl.col(CAUSES).sum())
        .to_dicts()
    }
    found = [
        _of_rank(rank, times / instances, lead, spread, causes.get(rank, {}))
        for rank, times, lead, spread, instances in last.group_by("rank", maintain_order=True)
        .agg(
            pl.col("instance").n_unique().alias("last"),
            pl.col("lead_ns").median(),
            pl.col("uncertain_ns").median(),
        )
        .join(taking_part, on="rank", maintain_order="left")
        .sort(["last", "rank"], descending=[True, False])
        .iter_rows()
    ]
    # several groups share a role (each stage's replicas): who is late in its own group is not hidden by another's last
    return max((late for late in found if late.called), key=lambda late: late.lead or 0.0, default=found[0])


def _of_rank(rank: int, share: float, lead: float, spread: float, parts: Mapping[str, float]) -> Lateness:
    """Return what is known of one rank: how often it is last, by how much, and what its lead is made of."""
    cause = max(CAUSES, key=lambda name: parts[name]) if any(parts.get(name) for name in CAUSES) else None
    pipelined = cause == "pipeline"
    sure = share >= LATE_SHARE and lead > LATE_LEAD * spread
    return Lateness(
        rank=rank,
        share=share,
        reason=None if cause in ("pipeline", "unknown") else cause,
        called=sure and not pipelined,
        lead=float(lead),
        pipelined=pipelined,
        sure=sure,
    )


def lead_parts(instances: pl.DataFrame) -> pl.DataFrame:
    """Divide each instance's lead, the late rank's start after the second last, by what it is made of.

    It splits at the late rank's own first valid launch: what it queued after that is queue. Of the rest, what it
    stood longer in sends and receives than the other ranks is the pipeline's; what its compute since the window's
    start exceeds theirs is compute; what it stood waiting for other collectives longer than they did is queue too; what
    its host launched later than theirs is host; what remains is unknown.

    Returns:
        instance, rank (the late one), pipeline, compute, host, queue, unknown (Float64 ns); no row where nobody is
        late or its launch is not known.

    """
    others = pl.col("rank") != pl.col("late_rank")
    names = ("busy_ns", "waited_ns", "pipeline_ns", "launched_ns")
    # on the common clock, from the first rank's start
    launched = pl.col("lateness_ns") - (pl.col("start_ns") - pl.col("host_launch"))
    usual = [pl.col(name).filter(others).median().over("instance").alias(f"usual_{name}") for name in names]
    own = (
        instances.with_columns(launched.alias("launched_ns"))
        .with_columns(usual)
        .filter(pl.col("rank") == pl.col("late_rank"))
        .drop_nulls(["lead_ns", "queue_ns", "busy_ns", "usual_busy_ns"])
    )
    longer, held, passed, later = (
        (pl.col(name) - pl.col(f"usual_{name}")).clip(0, None).fill_null(0) for name in names
    )
    lead = pl.col("lead_ns").cast(pl.Float64)
    queued = pl.min_horizontal(lead, pl.col("queue_ns").cast(pl.Float64))
    left = own.with_columns(queued.alias("queued"), (lead - queued).alias("left"))
    for name, most in (("pipeline", passed), ("compute", longer), ("carried", held), ("host", later)):
        left = left.with_columns(pl.min_horizontal("left", most).alias(name)).with_columns(
            (pl.col("left") - pl.col(name)).alias("left")
        )
    return left.select(
        "instance",
        "rank",
        "pipeline",
        "compute",
        "host",
        (pl.col("queued") + pl.col("carried")).alias("queue"),
        pl.col("left").alias("unknown"),
    )


def longer_range(
    side: MeasuredSide, weights: Weights, group: pl.DataFrame, late: Lateness
) -> tuple[str, float] | None:
    """Return in which annotation a late host stood longer than the other ranks' hosts, and by how much, ns a window.

    Only annotations that began before the last of these collectives was launched can be why. None where the host is
    not why it is late, where no annotation accounts for half of its lead, or where the other ranks' hosts are not
    known.
    """
    if late.reason != "host" or late.lead is None:
        return None
    launched = group.group_by(*CELL, "rank").agg(pl.col("host_launch").max().alias("launched"))
    own = (
        side.own(side.run.ranges)
        .join(weights.cells, on=CELL, how="semi", maintain_order="left")
        .join(launched, on=[*CELL, "rank"], maintain_order="left")
        .filter(pl.col("begins") < pl.col("launched"))
    )
    windows = side.windows.join(weights.cells, on=CELL, how="semi", maintain_order="left").select(
        *CELL, "rank"
    )
    every = windows.join(own.select("range").unique(maintain_order=True), how="cross").join(
        own.select(*CELL, "rank", "range", "ns"),
        on=[*CELL, "rank", "range"],
        how="left",
        maintain_order="left",
    )
    is_late = pl.col("rank") == late.rank
    longer = (
        every.with_columns(pl.col("ns").fill_null(0))
        .group_by(*CELL, "range", maintain_order=True)
        .agg((pl.col("ns").filter(is_late).sum() - pl.col("ns").filter(~is_late).median()).alias("longer"))
        .group_by("range", maintain_order=True)
        .agg(pl.col("longer").mean())
        .drop_nulls()
        .sort(["longer", "range"], descending=[True, False])
    )
    if longer.is_empty():
        return None
    name, time = longer.row(0)
    return (name, float(time)) if time >= HALF * late.lead else None


def waited_for(group: pl.DataFrame) -> tuple[int, float] | None:
    """Return the rank for which most of the waiting was, and its share of all waiting; None without any.

    Only instances whose lead exceeds 3 x the clock's spread count: a wait within it is for nobody. Where ranks wait
    for a root that is not the last, it is the wait itself that has to.
    """
    for_last = pl.col("last_rank") == pl.col("late_rank")
    ahead = pl.when(for_last).then("lead_ns").otherwise("peer_wait_ns")
    decided = group.filter(ahead > LATE_LEAD * pl.col("uncertain_ns"))
    by_rank = (
        decided.group_by("last_rank", maintain_order=True)
        .agg((pl.col("peer_wait_ns") * pl.col("weight")).sum().alias("waited"))
        .sort(["waited", "last_rank"], descending=[True, False])
    )
    whole = float((group["peer_wait_ns"].fill_null(0) * group["weight"]).sum())
    if by_rank.is_empty() or whole <= 0:
        return None
    rank, waited = by_rank.row(0)
    return int(rank), waited / whole
