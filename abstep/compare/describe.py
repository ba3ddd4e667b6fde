"""What each side of a comparison is: windows, clocks, milestones, ranks (RESULT: base, variant, ranks)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.compare.comparability import settings_of
from abstep.compare.comparison import ClockRow, Dropped, Milestones, PathRow, RankRow, Side, ValidityRow
from abstep.compare.evidence import cores, threads_by_rank
from abstep.measure.matching import POINT_TO_POINT
from abstep.measure.milestones import MILESTONES
from abstep.measure.run import CATEGORIES
from abstep.windows.host_clock import REPORTED_BELOW_NS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.compare.sides import MeasuredSide, Weights
    from abstep.compare.statistics import Dropped as StatisticsDropped

NOT_RECORDED = (None, None)


def described_side(
    measured: MeasuredSide,
    weights: Weights,
    kept: Sequence[Sequence[int]],
    dropped: Sequence[Sequence[StatisticsDropped]],
    warmup: int,
) -> Side:
    """Describe one side.

    Args:
        measured: the side.
        weights: its windows' weights.
        kept: a repeat: indices of the typical windows.
        dropped: a repeat: what the statistics left out.
        warmup: windows dropped at the start of every repeat.

    """
    _ = warmup
    run = measured.run
    tables = run.cut.tables
    files = measured.own(tables.files)
    means = {name: weights.total(measured.windows, name) for name in CATEGORIES}
    communication = means["overlapped"] + means["exposed"]
    compute = means["compute_alone"] + means["overlapped"]
    used = weights.cells
    world = files["world_size"].drop_nulls()
    return Side(
        name=tables.name,
        label=tables.label,
        world_size=int(world.max()) if len(world) else None,  # type: ignore[arg-type]
        ranks=measured.ranks,
        repeats=measured.repeats,
        device="/".join(files["device"].unique().sort().to_list()),
        device_name="/".join(files["device_name"].drop_nulls().unique().sort().to_list()) or None,
        host_only=bool(files["host_only"].all()),
        windows_total=run.cut.windows.select("repeat", "step").n_unique(),
        windows_used=sum(len(repeat) for repeat in kept),
        steps_used=tuple(sorted(used["step"].unique().to_list())),
        dropped=_dropped(measured, dropped),
        clock=_clocks(measured),
        settings=settings_of(measured),
        resident=any(bool(recorded.get("resident")) for recorded in tables.recorded),
        unattributed_share=unattributed_share(measured),
        overlap_of_communication=means["overlapped"] / communication if communication else None,
        overlap_of_compute=means["overlapped"] / compute if compute and communication else None,
        milestones=_milestones(measured, weights),
        start_delay=_start_delay(measured, weights),
        ideal=_ideal(measured, weights),
        cores=cores(tables),
    )


def rank_rows(measured: MeasuredSide, weights: Weights) -> list[RankRow]:
    """Return each compared rank's categories, means of the typical windows."""
    count = len(measured.ranks)
    by_category = {
        name: dict(
            weights.mean(measured.windows.select("repeat", "step", "rank", name), name, "rank").iter_rows()
        )
        for name in CATEGORIES
    }
    waited = _per_rank(measured, weights, "peer_wait_ns")
    lateness = _mean_lateness(measured, weights)
    threads = threads_by_rank(measured)
    return [
        RankRow(
            side=measured.name,
            rank=rank,
            peer_wait=waited.get(rank),
            lateness=lateness.get(rank),
            compute_threads=threads.get(rank, NOT_RECORDED)[0],
            collective_threads=threads.get(rank, NOT_RECORDED)[1],
            **{name: count * by_category[name].get(rank, 0.0) for name in CATEGORIES},
        )
        for rank in measured.ranks
    ]


def _per_rank(measured: MeasuredSide, weights: Weights, value: str) -> dict[int, float]:
    """Return a value of the instances summed over a window, mean a window on each rank; only where all have it."""
    instances = measured.instances
    if instances.is_empty() or instances[value].null_count():
        return {}
    means = weights.mean(instances.select("repeat", "step", "rank", value), value, "rank")
    return {rank: len(measured.ranks) * mean for rank, mean in means.iter_rows()}


def _mean_lateness(measured: MeasuredSide, weights: Weights) -> dict[int, float]:
    """Return each rank's mean arrival after the first rank's, over split instances of typical windows."""
    known = (
        measured.instances.filter(pl.col("collective") != POINT_TO_POINT)
        .drop_nulls("lateness_ns")
        .join(weights.cells, on=["repeat", "step"], how="inner", maintain_order="left")
    )
    means = known.group_by("rank", maintain_order=True).agg(
        ((pl.col("lateness_ns") * pl.col("weight")).sum() / pl.col("weight").sum()).alias("mean")
    )
    return dict(means.sort("rank").iter_rows())


def unattributed_share(measured: MeasuredSide) -> float | None:
    """Return the share of activity time that belongs to no step: no launch record, or launched outside any."""
    own = measured.own(measured.run.attribution)
    total, outside = own.select(pl.col("total_ns", "outside_ns").sum()).row(0)
    return outside / total if total else None


def _dropped(measured: MeasuredSide, later: Sequence[Sequence[StatisticsDropped]]) -> tuple[Dropped, ...]:
    windows = measured.run.cut.windows
    ranks = windows["rank"].n_unique()
    cut = (
        windows.drop_nulls("reason")
        .group_by("repeat", "step", "reason", maintain_order=True)
        .agg(pl.col("rank").sort())
        .sort("repeat", "step", "reason")
    )
    rows = []
    for repeat, step, reason, held in cut.iter_rows():
        if len(held) == ranks:
            rows.append(Dropped(repeat, None, step, reason))
        else:
            rows += [Dropped(repeat, rank, step, reason) for rank in held]
    rows += [
        Dropped(repeat, None, each.step, each.reason) for repeat, own in enumerate(later) for each in own
    ]
    return tuple(
        sorted(rows, key=lambda row: (row.repeat, row.step, -1 if row.rank is None else row.rank, row.reason))
    )


def _clocks(measured: MeasuredSide) -> tuple[ClockRow, ...]:
    shifts = (
        measured.own(measured.run.cut.tables.files)
        .join(measured.run.cut.shifts.shifts, on="file", how="left", maintain_order="left")
        .group_by("repeat", "rank", maintain_order=True)
        .agg(pl.col("shift_ns").min())
        .sort("repeat", "rank")
    )
    clocks = measured.run.across.clock.rows.select("repeat", "rank", "offset_ns", "drift_ppm", "spread_ns")
    rows = shifts.join(clocks, on=["repeat", "rank"], how="left", maintain_order="left")
    return tuple(
        ClockRow(
            repeat=repeat,
            rank=rank,
            offset=offset,
            drift_ppm=drift,
            spread=spread,
            host_device_shift=float(shift) if shift is not None and shift < REPORTED_BELOW_NS else None,
        )
        for repeat, rank, shift, offset, drift, spread in rows.iter_rows()
    )


def path_row(measured: MeasuredSide, weights: Weights) -> PathRow:
    """Return the dependency path's time by kind, mean over the typical steps whose path could be walked."""
    walked = measured.run.path.join(weights.cells, on=["repeat", "step"], how="inner", maintain_order="left")
    cells = walked.unique(["repeat", "step"])
    weight = float(cells["weight"].sum())
    if not weight:
        return PathRow(measured.name, None, None, None, None, {})
    means = {
        kind: float((walked[f"{kind}_ns"] * walked["weight"]).sum()) / weight
        for kind in ("compute", "transport", "host", "idle")
    }
    length = pl.sum_horizontal("compute_ns", "transport_ns", "host_ns", "idle_ns") * pl.col("weight")
    by_rank = dict(
        walked.group_by("rank", maintain_order=True).agg(length.sum().alias("time")).sort("rank").iter_rows()
    )
    whole = sum(by_rank.values())
    shares = {rank: (by_rank.get(rank, 0.0) / whole if whole else 0.0) for rank in measured.ranks}
    return PathRow(measured.name, **means, ranks=shares)


def validity_rows(measured: MeasuredSide) -> list[ValidityRow]:
    """Return what is wrong in a run; one row `pass` for each check that found nothing (SEMANTICS 9)."""
    rows = [
        ValidityRow(
            row["id"],
            measured.name,
            row["status"],
            row["rank"],
            row["step"],
            row["collective"],
            row["message"],
        )
        for row in measured.run.violations.iter_rows(named=True)
    ]
    found = {row.id for row in rows}
    for identifier in ("collective_order", "early_consumption", "complete_set"):
        if identifier in found:
            continue
        judged = not (identifier == "early_consumption" and measured.run.cut.tables.files["host_only"].all())
        message = "" if judged else "not judged: a progress range on the host may end after its waiter ran on"
        rows.append(
            ValidityRow(identifier, measured.name, "pass" if judged else "unknown", None, None, None, message)
        )
    return rows


def _ideal(measured: MeasuredSide, weights: Weights) -> float | None:
    own = measured.own(measured.run.ideal).join(
        weights.cells, on=["repeat", "step"], how="inner", maintain_order="left"
    )
    if own.is_empty() or own["ideal_ns"].null_count():
        return None
    return float((own["ideal_ns"] * own["weight"]).sum())


def _start_delay(measured: MeasuredSide, weights: Weights) -> float | None:
    """Return ns a window and rank; None where nothing was beside a collective or the usual gap is unknown."""
    own = measured.own(measured.run.delays).join(
        weights.cells, on=["repeat", "step"], how="inner", maintain_order="left"
    )
    if own.is_empty() or own["delay_ns"].null_count() or not own["beside"].sum():
        return None
    return float((own["delay_ns"] * own["weight"]).sum())


def _milestones(measured: MeasuredSide, weights: Weights) -> Milestones:
    own = measured.own(measured.run.milestones).join(
        weights.cells, on=["repeat", "step"], how="inner", maintain_order="left"
    )
    means = {}
    for name in MILESTONES:
        known = own.drop_nulls(name)
        weight = float(known["weight"].sum())
        means[name] = float((known[name] * known["weight"]).sum()) / weight if weight else None
    return Milestones(**means)
