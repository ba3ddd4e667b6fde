"""Collectives, ranks and clocks of one side as RESULT.md lists them (SEMANTICS 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.compare.comparison import CollectiveRow
from abstep.compare.sides import CELL
from abstep.compare.slots import MEAN_OF_MEDIANS
from abstep.measure.ranks import bus_factor

if TYPE_CHECKING:
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
LATE_SHARE = 0.60
LATE_LEAD = 3.0


def collective_rows(side: MeasuredSide, weights: Weights) -> list[CollectiveRow]:
    """Return one row a kind, group role and phase: times summed over a window's instances, mean over ranks."""
    exposed = side.parts.group_by("row").agg(pl.col("exposed_ns").sum())
    instances = (
        side.instances.join(weights.cells, on=CELL, how="inner")
        .join(exposed, on="row", how="left", maintain_order="left")
        .with_columns(
            pl.col("exposed_ns").fill_null(0),
            (pl.col("end_ns") - pl.col("start_ns")).alias("duration_ns"),
        )
    )
    rows = []
    for keys, group in sorted(instances.partition_by(KEYS, as_dict=True).items()):
        means = {name: _mean(group, name) for name in SUMMED}
        late = late_rank(group)
        called, lead = is_persistently_late(group, late[0])
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
                busbw_gb_s=_bus_bandwidth(group, collective),
                late_rank=late[0],
                late_share=late[1],
                late_reason=late[2],
                late_called=called,
                late_lead=lead,
                split_uncertain=mean_uncertainty(group),
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


def _bus_bandwidth(group: pl.DataFrame, collective: str) -> float | None:
    """Return factor x S / transport over all instances, decimal GB/s; null when unsplit or alone."""
    known = group.drop_nulls(["bytes", "transport_ns", "expected"]).filter(pl.col("expected") > 1)
    if known.height < group.height or known.is_empty():
        return None
    moved = sum(
        bus_factor(collective, int(size)) * float(total)
        for size, total in known.group_by("expected").agg(pl.col("bytes").sum()).iter_rows()
    )
    transport = float(known["transport_ns"].sum())
    return moved / transport if transport > 0 else None


def late_rank(group: pl.DataFrame) -> tuple[int | None, float | None, str | None]:
    """Return (late_rank, late_share, late_reason) of a group of instances.

    late_rank: the rank that most often arrives last, of instances counted once. late_reason: what its lateness
    is made of: its own longer compute, its host, or its stream still carrying another collective (queue).
    """
    once = group.drop_nulls("late_rank").unique("instance", keep="first", maintain_order=True)
    if once.is_empty():
        return None, None, None
    counts = once.group_by("late_rank").len().sort(["len", "late_rank"], descending=[True, False])
    rank, count = counts.row(0)
    own = group.filter((pl.col("rank") == rank) & (pl.col("late_rank") == rank))
    return int(rank), count / once.height, late_reason(own)


def late_reason(own: pl.DataFrame) -> str | None:
    """Return what made a rank late in the instances where it was the last: compute, host or queue."""
    known = own.drop_nulls(["lead_ns", "queue_ns", "first_valid_launch"])
    if known.is_empty():
        return None
    queued = pl.min_horizontal("lead_ns", "queue_ns").cast(pl.Float64)
    by_compute = (pl.col("producer_end") >= pl.col("host_launch")).fill_null(value=False)
    ready = pl.col("lead_ns") - queued
    sums = known.select(
        queued.sum().alias("queue"),
        ready.filter(by_compute).sum().alias("compute"),
        ready.filter(~by_compute).sum().alias("host"),
    ).row(0, named=True)
    return max(("compute", "host", "queue"), key=lambda reason: sums[reason])


def is_persistently_late(group: pl.DataFrame, rank: int | None) -> tuple[bool, float | None]:
    """Say whether text may call a rank late, and by how much it was last (median, ns).

    Last in 60 % of instances, and its median lead over the second last exceeds 3 x the clock's spread.
    """
    once = group.drop_nulls("late_rank").unique("instance", keep="first", maintain_order=True)
    last = once.filter(pl.col("late_rank") == rank)
    if rank is None or last.is_empty():
        return False, None
    lead, spread = last.select(pl.col("lead_ns").median(), pl.col("uncertain_ns").median()).row(0)
    return bool(last.height >= LATE_SHARE * once.height and lead > LATE_LEAD * spread), float(lead)


def mean_uncertainty(group: pl.DataFrame) -> float | None:
    """Return how uncertain the mean split of a group of instances is, ns; None where none is split."""
    known = group["uncertain_ns"].drop_nulls()
    return MEAN_OF_MEDIANS * float(known.mean()) / len(known) ** 0.5 if len(known) else None  # type: ignore[arg-type]
