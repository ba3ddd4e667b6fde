"""The two runs side by side: the ranks both have, and the weight of each window in every printed figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.compare.statistics import RunMetrics
from abstep.measure.run import CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from abstep.measure.run import MeasuredRun

SIDES = ("base", "variant")
CELL = ("repeat", "step")
"""The unit of the statistics: one step of one repeat, ranks collapsed (STATISTICS 1)."""


@dataclass(frozen=True)
class MeasuredSide:
    """One run, restricted to the ranks that are compared.

    Attributes:
        name: 'base' or 'variant'.
        run: what was measured, all ranks.
        ranks: the ranks compared, ascending.
        windows, parts, instances: the run's frames, only these ranks.
        cells: repeat, step of every completed window, sorted: the rows of every metric.

    """

    name: str
    run: MeasuredRun
    ranks: tuple[int, ...]
    windows: pl.DataFrame
    parts: pl.DataFrame
    instances: pl.DataFrame
    cells: pl.DataFrame

    def own(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of a frame with `rank` that are about the compared ranks."""
        return frame.filter(pl.col("rank").is_in(list(self.ranks)))

    @property
    def repeats(self) -> int:
        """How many repeats the run has, with or without completed windows."""
        return len(self.run.cut.tables.repeat_paths)


@dataclass(frozen=True)
class Weights:
    """How much each window counts in a printed mean; STATISTICS 2.3.

    Attributes:
        cells: repeat, step, weight: weight times the sum over ranks, summed, is the mean a window and rank.
        ranks: how many ranks the sums are over.

    """

    cells: pl.DataFrame
    ranks: int

    def mean(self, frame: pl.DataFrame, value: str, *by: str) -> pl.DataFrame:
        """Return `by` columns and the mean of `value` a window and rank; absent windows count as 0.

        Args:
            frame: repeat, step, the `by` columns and `value`: any number of rows a window.
            value: the column to sum in a window.
            by: what to group by.

        """
        weighed = frame.join(self.cells, on=CELL, how="inner", maintain_order="left").with_columns(
            (pl.col(value) * pl.col("weight")).alias(value),
        )
        if by:
            return weighed.group_by(by, maintain_order=True).agg(pl.col(value).sum()).sort(by)
        return weighed.select(pl.col(value).sum())

    def total(self, frame: pl.DataFrame, value: str) -> float:
        """Return the mean of `value` a window and rank."""
        return float(self.mean(frame, value).item() or 0.0)


def compared_ranks(base: MeasuredRun, variant: MeasuredRun) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Return the ranks to compare on each side, and whether some are left out.

    The ranks that every repeat of both sides has; where there are none, each side's own.
    """
    held = [
        set(group["rank"].to_list())
        for run in (base, variant)
        for group in run.cut.tables.files.partition_by("repeat")
    ]
    common = set.intersection(*held) if held else set()
    every = set.union(*held) if held else set()
    if common:
        ranks = tuple(sorted(common))
        return ranks, ranks, common != every
    own = tuple(tuple(sorted(set(run.cut.tables.files["rank"].to_list()))) for run in (base, variant))
    return own[0], own[1], True


def side(name: str, run: MeasuredRun, ranks: Sequence[int]) -> MeasuredSide:
    """Restrict a measured run to the compared ranks."""
    chosen = pl.col("rank").is_in(list(ranks))
    windows = run.windows.filter(chosen)
    return MeasuredSide(
        name,
        run,
        tuple(ranks),
        windows,
        run.parts.filter(chosen),
        run.instances.filter(chosen),
        windows.select(CELL).unique().sort(CELL),
    )


def run_metrics(
    measured: MeasuredSide, slots: pl.DataFrame, pairs: pl.DataFrame | None = None
) -> list[RunMetrics]:
    """Return one `RunMetrics` a repeat: integer ns summed over ranks (STATISTICS 2.1).

    Args:
        measured: one side.
        slots: repeat, step, slot, exposed_ns.
        pairs: repeat, step, pair, excess_ns; None without contention.

    """
    windows = (
        measured.windows.with_columns((pl.col("end_ns") - pl.col("start_ns")).alias("length"))
        .group_by(CELL, maintain_order=True)
        .agg(pl.col("length", *CATEGORIES).sum())
        .sort(CELL)
    )
    by_slot = _columns(windows, slots, "slot", "exposed_ns")
    by_pair = _columns(windows, pairs, "pair", "excess_ns") if pairs is not None else {}
    repeat = windows["repeat"].to_numpy()
    metrics = []
    for number in range(measured.repeats):
        own = repeat == number
        metrics.append(
            RunMetrics(
                step_numbers=windows["step"].to_numpy()[own].astype(np.int64),
                ranks=len(measured.ranks),
                step=windows["length"].to_numpy()[own],
                categories={name: windows[name].to_numpy()[own] for name in CATEGORIES},
                intervals={slot: values[own] for slot, values in by_slot.items()},
                contention={pair: values[own] for pair, values in by_pair.items()},
            ),
        )
    return metrics


def _columns(
    windows: pl.DataFrame, long: pl.DataFrame, key: str, value: str
) -> Mapping[str, NDArray[np.int64]]:
    """Spread a long frame into one int64 column a key, 0 where absent, in the order of `windows`."""
    cells = windows.select(CELL).with_row_index("cell")
    placed = (
        long.group_by(*CELL, key, maintain_order=True)
        .agg(pl.col(value).sum())
        .join(cells, on=CELL, how="inner", maintain_order="left")
        .sort(key)
    )
    columns = {}
    for (name,), frame in placed.partition_by(key, as_dict=True, maintain_order=True).items():
        column = np.zeros(len(cells), dtype=np.int64)
        column[frame["cell"].to_numpy()] = frame[value].to_numpy()
        columns[str(name)] = column
    return columns


def weights(measured: MeasuredSide, by_repeat: Sequence[NDArray[np.float64]]) -> Weights:
    """Put the statistics' window weights beside the windows they belong to.

    Args:
        measured: one side.
        by_repeat: a repeat, (n,) weights in step order (`statistics.window_weights`).

    """
    cells = measured.cells.with_columns(
        pl.Series("weight", np.concatenate(by_repeat) if by_repeat else np.zeros(0), dtype=pl.Float64),
    )
    return Weights(cells.filter(pl.col("weight") > 0), len(measured.ranks))
