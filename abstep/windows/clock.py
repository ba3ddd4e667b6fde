"""One clock for all ranks of a repeat, from collectives that complete together (SEMANTICS 4, common clock)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDS = 20
LEAST_INSTANCES = 5
DRIFT_INSTANCES = 20
DRIFT_SPAN_NS = 5_000_000_000
DRIFT_GAIN = 0.80
MAD_TO_SPREAD = 1.4826
ONE_HOST_SPREAD_NS = 100_000.0
THEIL_SEN_AT_MOST = 600  # points; slopes of all pairs of these


@dataclass(frozen=True)
class CommonClock:
    """How each rank's clock stands against the lowest traced rank's.

    Attributes:
        rows: repeat, rank, offset_ns (Float64; null where it could not be measured), drift_ppm (null: none
            fitted), spread_ns, middle_ns (where drift is 0), instances, method ('collectives', 'shared',
            'one_host', 'none').

    """

    rows: pl.DataFrame

    def on_common(self, frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
        """Return `frame` (repeat, rank) with the named times moved onto the common clock, Int64 ns.

        New columns are named `<column>_common`; null where the rank's offset is unknown. Only the shift is
        rounded: absolute times do not fit a float to the nanosecond.
        """
        moved = frame.join(self.rows, on=["repeat", "rank"], how="left", maintain_order="left")
        return moved.with_columns(
            (pl.col(column) - _shift(column).round().cast(pl.Int64)).alias(f"{column}_common")
            for column in columns
        ).drop("offset_ns", "drift_ppm", "middle_ns", "instances", "method", "spread_ns")


def _shift(column: str) -> pl.Expr:
    """By how much a time on a rank's clock is ahead of the common one, Float64 ns."""
    since = (pl.col(column) - pl.col("middle_ns")).cast(pl.Float64)
    return pl.col("offset_ns") + since * pl.col("drift_ppm").fill_null(0.0) / 1e6


SCHEMA = {
    "repeat": pl.Int32,
    "rank": pl.Int32,
    "offset_ns": pl.Float64,
    "drift_ppm": pl.Float64,
    "spread_ns": pl.Float64,
    "middle_ns": pl.Int64,
    "instances": pl.Int32,
    "method": pl.String,
}


def common_clock(ends: pl.DataFrame, ranks: pl.DataFrame) -> CommonClock:
    """Measure the clocks of every repeat.

    Args:
        ends: repeat, instance, rank, end_ns: matched collectives that complete together, each group's first
            left out.
        ranks: repeat, rank, host (null: unknown), host_only: every traced rank.

    """
    by_repeat = ends.partition_by("repeat", as_dict=True)
    found = []
    for (repeat,), group in (
        ranks.sort("repeat", "rank").partition_by("repeat", as_dict=True, maintain_order=True).items()
    ):
        own = by_repeat.get((repeat,))
        found += _repeat_clock(int(repeat), group, own)
    return CommonClock(pl.DataFrame(found, schema=SCHEMA, orient="row"))


def _repeat_clock(repeat: int, group: pl.DataFrame, ends: pl.DataFrame | None) -> list[tuple[object, ...]]:
    ranks = group["rank"].to_numpy()
    one_host = group["host"].null_count() == 0 and group["host"].n_unique() == 1
    shared = one_host and bool(group["host_only"].all())
    matrix, middle = _matrix(ends, ranks)
    offset = _alternating_medians(matrix)
    count = np.sum(~np.isnan(matrix), axis=0) if matrix.size else np.zeros(len(ranks), dtype=np.int64)
    rows: list[tuple[object, ...]] = []
    for at, rank in enumerate(ranks):
        enough = at == 0 or count[at] >= LEAST_INSTANCES
        if shared:
            spread = (
                _spread(_residuals(matrix, np.zeros(len(ranks)))[:, at]) if count[at] else ONE_HOST_SPREAD_NS
            )
            rows.append((repeat, int(rank), 0.0, None, spread, middle, int(count[at]), "shared"))
        elif enough and count.max(initial=0) >= LEAST_INSTANCES and not np.isnan(offset[at]):
            residuals = _residuals(matrix, offset)[:, at]
            drift, spread = _drift(residuals, matrix[:, at])
            rows.append(
                (repeat, int(rank), float(offset[at]), drift, spread, middle, int(count[at]), "collectives")
            )
        elif one_host:
            rows.append(
                (repeat, int(rank), 0.0, None, ONE_HOST_SPREAD_NS, middle, int(count[at]), "one_host")
            )
        else:
            rows.append((repeat, int(rank), None, None, None, middle, int(count[at]), "none"))
    return rows


def _matrix(ends: pl.DataFrame | None, ranks: NDArray[np.int32]) -> tuple[NDArray[np.float64], int]:
    """Ends as (instances, ranks) relative to their middle, NaN where a rank has none."""
    if ends is None or ends.is_empty():
        return np.zeros((0, len(ranks))), 0
    middle = int(ends["end_ns"].sort()[ends.height // 2])
    instance = np.unique(ends["instance"].to_numpy(), return_inverse=True)[1]
    column = np.searchsorted(ranks, ends["rank"].to_numpy())
    matrix = np.full((int(instance.max()) + 1, len(ranks)), np.nan)
    matrix[instance, column] = (ends["end_ns"] - middle).to_numpy()
    return matrix[np.sum(~np.isnan(matrix), axis=1) > 1], middle


def _alternating_medians(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve end[i, r] = c[i] + o[r]; a rank that no chain of groups joins to the lowest stays NaN."""
    ranks = matrix.shape[1]
    if not len(matrix):
        return np.where(np.arange(ranks) == 0, 0.0, np.nan)
    offset = _chained(matrix)
    reached = ~np.isnan(offset)
    joined = matrix[:, reached]
    joined = joined[np.sum(~np.isnan(joined), axis=1) > 1]
    found = offset[reached]
    for _ in range(ROUNDS if len(joined) else 0):
        instance = np.nanmedian(joined - found, axis=1)
        found = np.nanmedian(joined - instance[:, None], axis=0)
        found -= found[0]
    offset[reached] = found
    return offset


def _chained(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """First guess: go from the lowest rank through groups that overlap; medians then start near their answer."""
    there = ~np.isnan(matrix)
    offset = np.full(matrix.shape[1], np.nan)
    offset[0] = 0.0
    while True:
        known = ~np.isnan(offset)
        touched = np.any(there & known, axis=1)
        fresh = np.flatnonzero(np.any(there[touched], axis=0) & ~known)
        if len(fresh) == 0:
            return offset
        instance = np.nanmedian((matrix - offset)[touched][:, known], axis=1)
        for rank in fresh:
            apart = matrix[touched, rank] - instance
            offset[rank] = np.nanmedian(apart)


def _residuals(matrix: NDArray[np.float64], offset: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is left of each end after its instance and its rank's offset; NaN where either is not known."""
    moved = matrix - offset
    known = np.any(~np.isnan(moved), axis=1)
    moved[known] -= np.nanmedian(moved[known], axis=1)[:, None]
    return moved


def _spread(residuals: NDArray[np.float64]) -> float:
    known = residuals[~np.isnan(residuals)]
    return (
        float(MAD_TO_SPREAD * np.median(np.abs(known - np.median(known))))
        if len(known)
        else ONE_HOST_SPREAD_NS
    )


def _drift(residuals: NDArray[np.float64], when: NDArray[np.float64]) -> tuple[float | None, float]:
    """Fit drift where it is well supported and lowers the spread by a fifth; Theil-Sen."""
    known = ~np.isnan(residuals)
    value, time = residuals[known], when[known]
    before = _spread(value)
    if len(value) < DRIFT_INSTANCES or np.ptp(time) < DRIFT_SPAN_NS:
        return None, before
    chosen = np.unique(np.linspace(0, len(value) - 1, min(len(value), THEIL_SEN_AT_MOST)).astype(int))
    order = chosen[np.argsort(time[chosen])]
    left, right = np.triu_indices(len(order), k=1)
    apart = time[order][right] - time[order][left]
    slopes = (value[order][right] - value[order][left])[apart > 0] / apart[apart > 0]
    slope = float(np.median(slopes))
    after = _spread(value - slope * time)
    return (slope * 1e6, after) if after <= DRIFT_GAIN * before else (None, before)
