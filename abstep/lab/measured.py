"""What a measured run says about its backward: each typical window as the overlap lab's model, and the link's cost."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from abstep.compare.sides import CELL, run_metrics, side, weights
from abstep.compare.statistics import Sides, window_weights
from abstep.compare.statistics.windows_used import choose_windows
from abstep.errors import AbstepError
from abstep.measure.run import CATEGORIES
from abstep.model import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abstep.compare.sides import MeasuredSide, Weights
    from abstep.measure.run import MeasuredRun

REDUCTIONS = ("all_reduce", "reduce_scatter")
LEAST_SHARE = 0.001
"""A collective with less of a window's gradient bytes (a loss, a norm) is left where it is."""
BACKWARD = r"autograd::engine::evaluate_function|Backward"
"""What an operator path of the backward contains; its compute time says when the backward began."""
OVERLAPPING_SHARE = 0.1
"""From this share of collectives that start before the one before them has ended, two streams are assumed."""


class Reduction(NamedTuple):
    """One gradient reduction on one rank. Times ns from the rank's window start.

    Attributes:
        bytes: of the buffer.
        ready: first valid launch.
        start, end: on the device.
        transport: without the wait for late ranks; None where that is not known.

    """

    bytes: int
    ready: int
    start: int
    end: int
    transport: int | None


class RankWindow(NamedTuple):
    """One rank in one window. Times ns from the window's start.

    Attributes:
        rank: its number.
        length: of the window.
        begins: the backward's end less its compute time.
        backward_end: of the backward's compute.
        reductions: in order of their start.

    """

    rank: int
    length: int
    begins: int
    backward_end: int
    reductions: tuple[Reduction, ...]

    @property
    def resumes(self) -> int:
        """Return when the backward is over and everything reduced."""
        return max(self.backward_end, *(one.end for one in self.reductions))


@dataclass(frozen=True)
class MeasuredBackward:
    """A run's backward, window by window.

    Attributes:
        name, label: of the run.
        collective: all_reduce or reduce_scatter.
        windows: a typical window: its ranks.
        shares: a typical window: its share of every mean; they sum to 1.
        step, categories: measured means a window and rank, ns.
        streams: communication streams its reductions ran on.
        late_launch: whether reductions were launched only when the backward had ended.
        left_out: windows that could not be used: not the same reductions on every rank.

    """

    name: str
    label: str
    collective: str
    windows: tuple[tuple[RankWindow, ...], ...]
    shares: tuple[float, ...]
    step: float
    categories: Mapping[str, float]
    streams: int
    late_launch: bool
    left_out: int


def measured_backward(run: MeasuredRun) -> MeasuredBackward:
    """Read a run's backward.

    Args:
        run: the measured run; every rank of it counts.

    Raises:
        AbstepError: it holds no data-parallel backward.

    """
    name = run.cut.tables.name
    whole = side("base", run, sorted(set(run.cut.tables.files["rank"].to_list())))
    if whole.cells.is_empty():
        raise AbstepError(
            f"{name}: no completed step window", "record more active steps in one profiler cycle"
        )
    typical = _typical(whole)
    reductions = _reductions(run)
    frames = _ranks(run, reductions)
    found: dict[tuple[int, int], list[RankWindow]] = {}
    for repeat, step, ranked in frames:
        found.setdefault((repeat, step), []).append(ranked)
    windows, shares = [], []
    for repeat, step, weight in typical.cells.sort(CELL).iter_rows():
        ranks = found.get((repeat, step), [])
        if len(ranks) == len(whole.ranks) and _alike(ranks):
            windows.append(tuple(ranks))
            shares.append(weight)
    if not windows:
        raise AbstepError(
            f"{name}: no window has the same gradient reductions on every rank",
            "trace every rank of a data-parallel run, with a backward in each step",
        )
    total = sum(shares)
    everyone = [ranked for window in windows for ranked in window]
    return MeasuredBackward(
        name=name,
        label=run.cut.tables.label,
        collective=str(reductions["collective"][0]),
        windows=tuple(windows),
        shares=tuple(share / total for share in shares),
        step=sum(typical.total(whole.windows, category) for category in CATEGORIES),
        categories={category: typical.total(whole.windows, category) for category in CATEGORIES},
        streams=_streams(everyone),
        late_launch=all(one.ready >= ranked.backward_end for ranked in everyone for one in ranked.reductions)
        and max(len(ranked.reductions) for ranked in everyone) > 1,
        left_out=typical.cells.height - len(windows),
    )


def _typical(whole: MeasuredSide) -> Weights:
    """Return the typical windows, as a comparison of the run with itself would choose them."""
    metrics = tuple(run_metrics(whole, whole.parts.select(*CELL, pl.lit("").alias("slot"), "exposed_ns")))
    both = Sides(metrics, metrics)
    used = choose_windows(both)
    kept = tuple(tuple(indices.tolist()) for indices in used.kept.base)
    return weights(whole, window_weights(both, Sides(kept, kept), used.compared).base)


def _reductions(run: MeasuredRun) -> pl.DataFrame:
    """Return the instances that reduce gradients: of the role with most bytes among those launched by a backward."""
    name = run.cut.tables.name
    launched = run.instances.filter(pl.col("phase").is_in([str(Phase.BACKWARD), str(Phase.OTHER)]))
    known = launched.filter(pl.col("collective").is_in(REDUCTIONS) & (pl.col("bytes") > 0))
    if known.is_empty():
        raise AbstepError(
            f"{name}: no gradient reduction with recorded bytes was launched by a backward",
            "give a data-parallel run whose traces record collectives' sizes",
        )
    roles = known.group_by("group", "collective").agg(
        pl.col("bytes").sum(), (pl.col("consumer").is_null() | _by_optimizer()).mean().alias("late")
    )
    best = roles.sort(pl.col("late") >= 0.5, "bytes", "group", descending=[True, True, False]).row(
        0, named=True
    )
    gathers = launched.filter(
        (pl.col("collective") == "all_gather") & (pl.col("group") == best["group"]) & (pl.col("bytes") > 0)
    )
    if gathers["bytes"].sum() > LEAST_SHARE * best["bytes"]:
        raise AbstepError(
            f"{name}: its backward gathers parameters (sharded data parallel), which the lab's model does not hold",
            "give a run of replicated data parallel",
        )
    chosen = known.filter((pl.col("group") == best["group"]) & (pl.col("collective") == best["collective"]))
    in_window = pl.col("bytes").sum().over("repeat", "rank", "step")
    return chosen.filter(pl.col("bytes") >= LEAST_SHARE * in_window)


def _by_optimizer() -> pl.Expr:
    return pl.col("consumer").str.starts_with(str(Phase.OPTIMIZER))


def _ranks(run: MeasuredRun, reductions: pl.DataFrame) -> list[tuple[int, int, RankWindow]]:
    """Return (repeat, step, rank window) of every window in which a rank reduced gradients."""
    keys = ("repeat", "rank", "step")
    backward = (
        run.work.filter(pl.col("operator_path").str.contains(BACKWARD))
        .group_by(keys)
        .agg(pl.col("ns").sum().round().cast(pl.Int64).alias("busy"))
    )
    windows = (
        run.windows.select(*keys, pl.col("start_ns").alias("origin"), pl.col("end_ns").alias("until"))
        .join(run.milestones.select(*keys, "backward_end").drop_nulls(), on=keys, how="inner")
        .join(backward, on=keys, how="inner")
        .with_columns((pl.col("backward_end") - pl.col("busy")).clip(0, None).alias("begins"))
    )
    columns = ("bytes", "first_valid_launch", "start_ns", "end_ns", "transport_ns")
    listed = (
        reductions.select(*keys, *columns)
        .sort(*keys, "start_ns", "end_ns")
        .group_by(keys, maintain_order=True)
        .agg(pl.col(columns))
        .join(windows, on=keys, how="inner")
        .sort(keys)
    )
    return [(row["repeat"], row["step"], _rank_window(row)) for row in listed.iter_rows(named=True)]


def _rank_window(row: Mapping[str, object]) -> RankWindow:
    origin = _int(row["origin"])
    found: list[Reduction] = []
    columns = ("bytes", "first_valid_launch", "start_ns", "end_ns", "transport_ns")
    for size, valid, start, end, transport in zip(*(_list(row[name]) for name in columns), strict=True):
        assert size is not None
        assert start is not None
        assert end is not None
        ready = (start if valid is None else valid) - origin
        if found:
            ready = max(ready, found[-1].ready)
        found.append(Reduction(size, ready, start - origin, end - origin, transport))
    return RankWindow(
        _int(row["rank"]),
        _int(row["until"]) - origin,
        _int(row["begins"]),
        _int(row["backward_end"]),
        tuple(found),
    )


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _list(value: object) -> list[int | None]:
    assert isinstance(value, list)
    return value


def _alike(ranks: list[RankWindow]) -> bool:
    """Whether every rank reduced the same buckets, and each compute part lies in its window."""
    sizes = {tuple(one.bytes for one in ranked.reductions) for ranked in ranks}
    return len(sizes) == 1 and all(ranked.backward_end >= 0 for ranked in ranks)


def _streams(ranks: list[RankWindow]) -> int:
    pairs = [low.end > high.start for ranked in ranks for low, high in pairwise(ranked.reductions)]
    return 2 if pairs and sum(pairs) > OVERLAPPING_SHARE * len(pairs) else 1
