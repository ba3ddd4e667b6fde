"""Collectives, ranks and clocks of one side as RESULT.md lists them (SEMANTICS 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.compare.comparison import CollectiveRow
from abstep.compare.sides import CELL
from abstep.compare.slots import MEAN_OF_MEDIANS
from abstep.measure.ranks import bus_factor

if TYPE_CHECKING:
    from abstep.compare.isolated import Isolated
    from abstep.compare.sides import MeasuredSide, Weights

KEYS = ("collective", "group", "phase")
SUMMED = (
    "duration_ns",
    "queue_ns",
    "peer_wait_ns",
    "transport_ns",
    "exposed_ns",
    "hidden_ns",
    "independent_ns",
    "slack_ns",
    "bytes",
)
POINT_TO_POINT = ("send", "recv", "send_recv")
LATE_SHARE = 0.60
LATE_LEAD = 3.0


def collective_rows(
    side: MeasuredSide, weights: Weights, isolated: Isolated | None = None
) -> list[CollectiveRow]:
    """Return one row a kind, group role and phase: times summed over a window's instances, mean over ranks.

    Args:
        side: one side.
        weights: its windows' weights.
        isolated: what a collective takes alone; its own kind gets `isolated`, the others null.

    """
    exposed = side.parts.group_by("row", maintain_order=True).agg(pl.col("exposed_ns").sum())
    instances = (
        side.instances.join(weights.cells, on=CELL, how="inner", maintain_order="left")
        .join(exposed, on="row", how="left", maintain_order="left")
        .with_columns(
            pl.col("exposed_ns").fill_null(0),
            (pl.col("end_ns") - pl.col("start_ns")).alias("duration_ns"),
        )
    )
    rows = []
    for keys, group in sorted(instances.partition_by(KEYS, as_dict=True).items()):
        means = {name: _mean(group, name) for name in SUMMED}
        # waiting in a pipeline is its schedule, never evidence of a late rank
        late = (None, None, None) if str(keys[0]) in POINT_TO_POINT else late_rank(group)
        called, lead = is_persistently_late(group, late)
        collective, role, phase = (str(key) for key in keys)
        rows.append(
            CollectiveRow(
                side=side.name,
                collective=collective,
                group=role,
                phase=phase,
                bytes=means["bytes"],
                count=float(group["weight"].sum()),
                queue=means["queue_ns"],
                peer_wait=means["peer_wait_ns"],
                transport=means["transport_ns"],
                exposed=means["exposed_ns"] or 0.0,
                hidden=means["hidden_ns"] or 0.0,
                independent=means["independent_ns"],
                slack=means["slack_ns"],
                duration=means["duration_ns"] or 0.0,
                isolated=_alone(group, collective, isolated),
                busbw_gb_s=_bus_bandwidth(group, collective),
                late_rank=late[0],
                late_share=late[1],
                late_reason=late[2],
                late_called=called,
                waited_for=None if late[0] is None else waited_for(group),
                late_lead=lead,
                split_uncertain=mean_uncertainty(group),
                blocks=_range(group, "blocks"),
                threads=_range(group, "threads"),
                channels=_range(group, "channels"),
            ),
        )
    return rows


def _mean(group: pl.DataFrame, name: str) -> float | None:
    """Return the weighed sum; null where the value is unknown in every instance, or (sizes, splits) in any."""
    values = group[name]
    strict = name in ("bytes", "peer_wait_ns", "transport_ns")
    if values.null_count() == len(values) or (strict and values.null_count()):
        return None
    return float((values.fill_null(0) * group["weight"]).sum())


def _alone(group: pl.DataFrame, collective: str, isolated: Isolated | None) -> float | None:
    """Return what a window's instances would take alone, one after another; null where a size is not covered."""
    if isolated is None or isolated.collective != collective or group["bytes"].null_count():
        return None
    times = isolated.at(group["bytes"].cast(pl.Float64).to_numpy())
    return None if np.isnan(times).any() else float((times * group["weight"].to_numpy()).sum())


def _range(group: pl.DataFrame, name: str) -> tuple[int, int] | None:
    """Return the smallest and largest value; None where any instance has none recorded."""
    known = group[name]
    return None if known.null_count() else (int(known.min()), int(known.max()))  # type: ignore[arg-type]


def _bus_bandwidth(group: pl.DataFrame, collective: str) -> float | None:
    """Return factor x S / transport over all instances, decimal GB/s; null when unsplit or alone."""
    known = group.drop_nulls(["bytes", "transport_ns", "expected"]).filter(pl.col("expected") > 1)
    if known.height < group.height or known.is_empty():
        return None
    moved = sum(
        bus_factor(collective, int(size)) * float(total)
        for size, total in known.group_by("expected", maintain_order=True)
        .agg(pl.col("bytes").sum())
        .iter_rows()
    )
    transport = float(known["transport_ns"].sum())
    return moved / transport if transport > 0 else None


def late_rank(group: pl.DataFrame) -> tuple[int | None, float | None, str | None]:
    """Return (late_rank, late_share, late_reason) of a group of instances.

    late_rank: the rank that most often arrives last, of the instances it takes part in. late_reason: what its
    lateness is made of: its own longer compute, its host, or its stream still carrying another collective (queue).
    """
    last = group.filter(pl.col("rank") == pl.col("late_rank"))
    if last.is_empty():
        return None, None, None
    taking_part = (
        group.drop_nulls("late_rank")
        .group_by("rank", maintain_order=True)
        .agg(pl.col("instance").n_unique().alias("instances"))
    )
    counts = (
        last.group_by("rank", maintain_order=True)
        .agg(pl.col("instance").n_unique().alias("last"))
        .join(taking_part, on="rank", maintain_order="left")
        .sort(["last", "rank"], descending=[True, False])
    )
    rank, times, instances = counts.row(0)
    return int(rank), times / instances, late_reason(group, int(rank))


def late_reason(group: pl.DataFrame, rank: int) -> str | None:
    """Return what made a rank late in the instances where it was the last: compute, host or queue.

    Its lead over the second last splits at its own first valid launch: what it queued after that is queue. Of
    the rest, what its compute since the window's start exceeds the other ranks' is compute; what it stood waiting
    for other collectives longer than they did is queue too; the remainder is host.
    """
    usual = pl.col("busy_ns", "waited_ns").median().name.prefix("usual_")
    others = group.filter(pl.col("rank") != rank).group_by("instance", maintain_order=True).agg(usual)
    own = group.filter((pl.col("rank") == rank) & (pl.col("late_rank") == rank)).join(
        others, on="instance", maintain_order="left"
    )
    known = own.drop_nulls(["lead_ns", "queue_ns", "busy_ns", "usual_busy_ns"])
    if known.is_empty():
        return None
    lead = pl.col("lead_ns").cast(pl.Float64)
    queued = pl.min_horizontal(lead, pl.col("queue_ns").cast(pl.Float64))
    longer, held = (
        (pl.col(name) - pl.col(f"usual_{name}")).clip(0, None) for name in ("busy_ns", "waited_ns")
    )
    computed = pl.min_horizontal(lead - queued, longer)
    carried = pl.min_horizontal(lead - queued - computed, held)
    sums = known.select(
        computed.sum().alias("compute"),
        (lead - queued - computed - carried).sum().alias("host"),
        (queued + carried).sum().alias("queue"),
    ).row(0, named=True)
    return max(("compute", "host", "queue"), key=lambda reason: sums[reason])


def waited_for(group: pl.DataFrame) -> tuple[int, float] | None:
    """Return the rank for which most of the waiting was, and its share of all waiting; None without any.

    Only instances whose lead exceeds 3 x the clock's spread count: a wait within it is for nobody.
    """
    decided = group.filter(pl.col("lead_ns") > LATE_LEAD * pl.col("uncertain_ns"))
    by_rank = (
        decided.group_by("late_rank")
        .agg((pl.col("peer_wait_ns") * pl.col("weight")).sum().alias("waited"))
        .sort(["waited", "late_rank"], descending=[True, False])
    )
    whole = float((group["peer_wait_ns"].fill_null(0) * group["weight"]).sum())
    if by_rank.is_empty() or whole <= 0:
        return None
    rank, waited = by_rank.row(0)
    return int(rank), waited / whole


def is_persistently_late(
    group: pl.DataFrame, late: tuple[int | None, float | None, str | None]
) -> tuple[bool, float | None]:
    """Say whether text may call a rank late, and by how much it was last (median, ns).

    Last in 60 % of its instances, and its median lead over the second last exceeds 3 x the clock's spread.
    """
    rank, share, _ = late
    if rank is None or share is None:
        return False, None
    last = group.filter((pl.col("rank") == rank) & (pl.col("late_rank") == rank))
    lead, spread = last.select(pl.col("lead_ns").median(), pl.col("uncertain_ns").median()).row(0)
    return bool(share >= LATE_SHARE and lead > LATE_LEAD * spread), float(lead)


def mean_uncertainty(group: pl.DataFrame) -> float | None:
    """Return how uncertain the mean split of a group of instances is, ns; None where none is split."""
    known = group["uncertain_ns"].drop_nulls()
    return MEAN_OF_MEDIANS * float(known.mean()) / len(known) ** 0.5 if len(known) else None  # type: ignore[arg-type]
