"""Collectives slowed by concurrent compute: at equal bytes, beside compute and alone (SEMANTICS 6, the reverse)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.compare.comparison import BesideCompute
from abstep.compare.sides import CELL
from abstep.measure.ranks import bus_factor

if TYPE_CHECKING:
    from abstep.compare.sides import MeasuredSide, Weights

KEYS = ("collective", "group", "phase", "bytes")
LEAST = 3
HALF = 0.5


def beside_compute(side: MeasuredSide, weights: Weights) -> list[BesideCompute]:
    """Return one row a kind, group role, phase and size that has instances both beside compute and alone.

    beside: compute ran for at least half of the instance; alone: at no moment of it.
    """
    duration = pl.col("end_ns") - pl.col("start_ns")
    instances = (
        side.instances.join(weights.cells.select(CELL), on=CELL, how="semi", maintain_order="left")
        .with_columns(duration.alias("duration_ns"))
        .with_columns(
            pl.when(pl.col("hidden_ns") == 0)
            .then(pl.lit("alone"))
            .when(pl.col("hidden_ns") >= HALF * pl.col("duration_ns"))
            .then(pl.lit("beside"))
            .alias("how"),
        )
        .drop_nulls(["how", "bytes"])  # sizes that are not known are not known to be equal
    )
    rows = []
    for keys, group in sorted(
        instances.partition_by(KEYS, as_dict=True).items(), key=lambda item: str(item[0])
    ):
        parts = {how: group.filter(pl.col("how") == how) for how in ("alone", "beside")}
        if any(part.height < LEAST for part in parts.values()):
            continue
        collective, role, phase, size = keys
        means = {how: _means(part, str(collective), size) for how, part in parts.items()}
        rows.append(
            BesideCompute(
                side=side.name,
                collective=str(collective),
                group=str(role),
                phase=str(phase),
                bytes=None if size is None else int(size),
                alone_count=parts["alone"].height,
                beside_count=parts["beside"].height,
                alone_duration=means["alone"][0],
                beside_duration=means["beside"][0],
                alone_transport=means["alone"][1],
                beside_transport=means["beside"][1],
                alone_busbw_gb_s=means["alone"][2],
                beside_busbw_gb_s=means["beside"][2],
            ),
        )
    return rows


def _means(part: pl.DataFrame, collective: str, size: object) -> tuple[float, float | None, float | None]:
    """Return mean duration, transport and bus bandwidth; the last two None where any instance is unsplit."""
    duration = float(part["duration_ns"].sum()) / part.height
    if part["transport_ns"].null_count():
        return duration, None, None
    transport = float(part["transport_ns"].sum()) / part.height
    ranks = part["expected"].drop_nulls().unique()
    if not isinstance(size, int) or len(ranks) != 1 or ranks[0] < 2 or transport <= 0:
        return duration, transport, None
    return duration, transport, bus_factor(collective, int(ranks[0])) * size / transport
