"""Collectives, ranks and clocks of one side as RESULT.md lists them (SEMANTICS 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.compare.comparison import CollectiveRow
from abstep.compare.lateness import lateness, longer_range, waited_for
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
        late = lateness(group)
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
                late_rank=late.rank,
                late_share=late.share,
                late_reason=late.reason,
                late_called=late.called,
                pipelined=late.pipelined,
                late_range=longer_range(side, weights, group, late),
                late_sure=late.sure,
                waited_for=None if late.rank is None or late.pipelined else waited_for(group),
                late_lead=late.lead,
                late_wait=None
                if late.rank is None
                else _mean(_waiting_for(group, late.rank), "peer_wait_ns"),
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


def _waiting_for(group: pl.DataFrame, rank: int) -> pl.DataFrame:
    return group.filter(pl.col("last_rank") == rank)


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


def mean_uncertainty(group: pl.DataFrame) -> float | None:
    """Return how uncertain the mean split of a group of instances is, ns; None where none is split."""
    known = group["uncertain_ns"].drop_nulls()
    return MEAN_OF_MEDIANS * float(known.mean()) / len(known) ** 0.5 if len(known) else None  # type: ignore[arg-type]
