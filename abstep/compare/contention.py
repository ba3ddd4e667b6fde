"""What contention grew: compute slowed beside collectives, by (operator, slot) pair (SEMANTICS 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.compare.comparison import ContentionRow, Control
from abstep.compare.sides import CELL
from abstep.compare.signatures import shapes_differ, without_shapes
from abstep.compare.slots import named_pairs, pair_labels
from abstep.compare.statistics import compare_runs
from abstep.measure.contention import SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abstep.compare.sides import MeasuredSide
    from abstep.compare.statistics import Delta, RunMetrics, Sides, StatisticsOptions

ALONE = (*SIGNATURE, "rank")
PAIR = ("compute", "slot")
LEAST_ALONE = 3
RATIO_NOTE = "alone duration taken from the other run, scaled by the run-wide ratio"


@dataclass(frozen=True)
class Contention:
    """Both runs' excess by pair and window, before it is tested.

    Attributes:
        values: a side: repeat, step, pair, excess_ns (Int64, summed over ranks; the base's scaled).
        pairs: pair, compute, collective, slot, and a side's overlap (a window and rank) and stretch.
        control_ratio: variant / base duration of spans whose signature overlaps nothing in either run; None
            where there are none.
        control_by_rank: the same on each rank.
        control: a side: repeat, step, control_ns: the time of those spans, summed over ranks.
        unknown: compute time (variant, a window and rank) beside collectives without any alone sample.
        labels: slot -> its name in words.

    """

    values: tuple[pl.DataFrame, pl.DataFrame]
    pairs: pl.DataFrame
    control_ratio: float | None
    control_by_rank: Mapping[int, float]
    control: tuple[pl.DataFrame, pl.DataFrame]
    unknown: float
    labels: Mapping[str, str]


def contention(
    base: MeasuredSide,
    variant: MeasuredSide,
    typical: tuple[pl.DataFrame, pl.DataFrame],
    renamed: pl.DataFrame | None = None,
) -> Contention:
    """Measure both runs' contention, without selecting by growth.

    Args:
        base: the base.
        variant: the variant.
        typical: a side: repeat, step of its typical windows: only these say what a span takes alone.
        renamed: see `slots.with_slots`.

    """
    quiet, beside = (
        [side.own(getattr(side.run, name)) for side in (base, variant)] for name in ("signatures", "beside")
    )
    if shapes_differ(base, variant):
        quiet, beside = ([without_shapes(own) for own in frames] for frames in (quiet, beside))
    usual = [
        own.join(cells, on=CELL, how="semi", maintain_order="left")
        for own, cells in zip(quiet, typical, strict=True)
    ]
    alone = _alone(usual[0], usual[1])
    values, facts, slots = [], [], []
    sides = zip(("base", "variant"), (base, variant), beside, (None, renamed), typical, strict=True)
    for name, side, own, names, cells in sides:
        paired = named_pairs(own, names).join(
            alone, on=ALONE, how="left", nulls_equal=True, maintain_order="left"
        )
        scale = pl.col("scale") if name == "base" else pl.lit(1.0)
        excess = (pl.col("share_ns") - pl.col(f"alone_{name}") * pl.col("share")) * scale
        known = paired.with_columns(excess.alias("excess")).drop_nulls("excess")
        values.append(
            known.group_by(*CELL, "pair", maintain_order=True)
            .agg(pl.col("excess").sum().round().cast(pl.Int64).alias("excess_ns"))
            .sort(*CELL, "pair"),
        )
        slots.append(paired.select("slot", "collective", "phase", "consumer", "group").unique())
        facts.append(
            _facts(
                name,
                paired.join(cells, on=CELL, how="semi", maintain_order="left"),
                cells.height * len(side.ranks),
            )
        )
    borrowed = pl.any_horizontal(pl.col("borrowed_base", "borrowed_variant").fill_null(value=False))
    pairs = (
        facts[0]
        .join(facts[1], on=("pair", *PAIR, "collective"), how="full", coalesce=True, maintain_order="left")
        .with_columns(borrowed.alias("borrowed"))
        .sort("pair")
    )
    ratio, by_rank, own_control = _control(usual)
    unknown = (
        usual[1]
        .filter(pl.col("overlap_ns") > 0)
        .join(alone.drop_nulls("alone_variant"), on=ALONE, how="anti", nulls_equal=True)
    )
    windows = max(1, typical[1].height * len(variant.ranks))
    return Contention(
        (values[0], values[1]),
        pairs,
        ratio,
        by_rank,
        own_control,
        float(unknown["overlap_ns"].sum()) / windows,
        pair_labels(pl.concat(slots).unique("slot")),
    )


def control(
    found: Contention, metrics: Sides[tuple[RunMetrics, ...]], options: StatisticsOptions
) -> Control | None:
    """Test whether compute that overlaps nothing changed: one family of its own, like a category.

    Args:
        found: what was measured.
        metrics: both runs' metrics, whose windows and steps are used again.
        options: as for the comparison.

    """
    if found.control_ratio is None:
        return None
    sides = []
    for repeats, quiet in zip(metrics, found.control, strict=True):
        values = {(repeat, step): time for repeat, step, time in quiet.iter_rows()}
        own = []
        for number, repeat in enumerate(repeats):
            time = np.array(
                [values.get((number, step), 0) for step in repeat.step_numbers.tolist()], dtype=np.int64
            )
            parts = {"control": time, "rest": repeat.step - time}
            own.append(replace(repeat, categories=parts, intervals={}, contention={}))
        sides.append(own)
    tested = compare_runs(sides[0], sides[1], options)
    return Control(found.control_ratio, found.control_by_rank, tested.categories["control"])


def contention_rows(found: Contention, deltas: Mapping[str, Delta]) -> tuple[ContentionRow, ...]:
    """Return one row a tested pair, largest change first."""
    rows = []
    for row in found.pairs.iter_rows(named=True):
        delta = deltas.get(row["pair"])
        if delta is None:
            continue
        rows.append(
            ContentionRow(
                compute=row["compute"],
                collective=row["collective"],
                slot=row["slot"],
                beside=found.labels[row["slot"]],
                delta=delta,
                base_stretch=row["stretch_base"],
                variant_stretch=row["stretch_variant"],
                base_overlap=row["overlap_base"] or 0.0,
                variant_overlap=row["overlap_variant"] or 0.0,
                control_ratio=found.control_ratio,
                note=RATIO_NOTE if row["borrowed"] else "",
            ),
        )
    return tuple(sorted(rows, key=lambda row: (-abs(row.delta.delta or 0.0), row.compute, row.slot)))


def _alone(base: pl.DataFrame, variant: pl.DataFrame) -> pl.DataFrame:
    """Return each signature's mean alone duration in both runs, borrowed where a run has no samples of its own.

    By rank: ranks differ, and the slow one's alone time is no measure of the others'. In this order: the same
    rank and run; the same rank in the other run, scaled by that rank's ratio; all ranks of the run; all ranks of
    the other run, scaled by the run-wide ratio.

    Returns:
        operator, base, shape, rank, alone_base, alone_variant (ns; null: unknown), scale (variant alone / base
        alone), borrowed.

    """
    # sorted: sums of floats are the same to the last digit only in the same order
    keys = (
        pl.concat([own.select(ALONE).unique() for own in (base, variant)])
        .unique()
        .sort(ALONE, nulls_last=True)
    )
    for name, own in (("base", base), ("variant", variant)):
        for level, columns in (("rank", ALONE), ("run", SIGNATURE)):
            mean = pl.col("alone_ns").sum() / pl.col("alone_count").sum()
            enough = pl.when(pl.col("alone_count").sum() >= LEAST_ALONE).then(mean)
            means = own.group_by(columns, maintain_order=True).agg(
                enough.alias(f"{level}_{name}"), pl.col("alone_count").sum().alias(f"{level}_count_{name}")
            )
            keys = keys.join(means, on=columns, how="left", nulls_equal=True, maintain_order="left")
    keys = keys.with_columns(
        _ratio("rank").over("rank").alias("rank_ratio"), _ratio("run").alias("run_ratio")
    )
    by_rank = (pl.col("rank_variant") / pl.col("rank_ratio"), pl.col("rank_base") * pl.col("rank_ratio"))
    by_run = (pl.col("run_variant") / pl.col("run_ratio"), pl.col("run_base") * pl.col("run_ratio"))
    ratio = pl.col("alone_variant") / pl.col("alone_base")
    return keys.with_columns(
        pl.coalesce("rank_base", by_rank[0], "run_base", by_run[0]).alias("alone_base"),
        pl.coalesce("rank_variant", by_rank[1], "run_variant", by_run[1]).alias("alone_variant"),
        (pl.col("run_base").is_null() | pl.col("run_variant").is_null()).alias("borrowed"),
    ).select(
        *ALONE,
        "alone_base",
        "alone_variant",
        pl.when(pl.col("alone_base") > 0).then(ratio).otherwise(1.0).alias("scale"),
        "borrowed",
    )


def _ratio(level: str) -> pl.Expr:
    """Return variant / base alone duration over the signatures that both runs have alone, weighed by count."""
    both = pl.col(f"{level}_base").is_not_null() & pl.col(f"{level}_variant").is_not_null()
    weight = pl.min_horizontal(f"{level}_count_base", f"{level}_count_variant")
    ours = (pl.col(f"{level}_base") * weight).filter(both).sum()
    theirs = (pl.col(f"{level}_variant") * weight).filter(both).sum()
    return pl.when(ours > 0).then(theirs / ours)


def _facts(name: str, paired: pl.DataFrame, windows: int) -> pl.DataFrame:
    """Overlap and stretch of each pair in one run: means a window and rank, over typical windows."""
    alone = pl.col(f"alone_{name}") * pl.col("long_count")
    known = pl.col(f"alone_{name}") > 0
    expected = alone.filter(known).sum()
    return paired.group_by("pair", *PAIR, "collective", maintain_order=True).agg(
        (pl.col("overlap_ns").sum() / max(1, windows)).alias(f"overlap_{name}"),
        pl.when(expected > 0).then(pl.col("long_ns").filter(known).sum() / expected).alias(f"stretch_{name}"),
        pl.col("borrowed").any().alias(f"borrowed_{name}"),
    )


def _control(
    usual: list[pl.DataFrame],
) -> tuple[float | None, dict[int, float], tuple[pl.DataFrame, pl.DataFrame]]:
    """Measure the signatures that overlap nothing in either run.

    Returns:
        variant / base mean duration, the same by rank, and a side's time of these spans in each window: repeat,
        step, control_ns (Int64, summed over ranks).

    """
    totals = [
        own.group_by(SIGNATURE, maintain_order=True).agg(pl.col("overlap_ns", "count").sum()) for own in usual
    ]
    quiet = (
        totals[0]
        .join(
            totals[1], on=SIGNATURE, how="inner", nulls_equal=True, suffix="_variant", maintain_order="left"
        )
        .filter(
            (pl.col("overlap_ns") == 0)
            & (pl.col("overlap_ns_variant") == 0)
            & (pl.col("count") >= LEAST_ALONE)
        )
        .select(SIGNATURE)
    )
    kept = [
        own.join(quiet, on=SIGNATURE, how="semi", nulls_equal=True, maintain_order="left") for own in usual
    ]
    windows = tuple(
        own.group_by(CELL, maintain_order=True).agg(pl.col("ns").sum().alias("control_ns")).sort(CELL)
        for own in kept
    )
    by_rank = [own.group_by(ALONE, maintain_order=True).agg(pl.col("ns", "count").sum()) for own in kept]
    both = by_rank[0].join(
        by_rank[1], on=ALONE, how="inner", nulls_equal=True, suffix="_variant", maintain_order="left"
    )
    weight = pl.min_horizontal("count", "count_variant")
    sums = (
        both.group_by("rank", maintain_order=True)
        .agg(
            (pl.col("ns") / pl.col("count") * weight).sum().alias("ours"),
            (pl.col("ns_variant") / pl.col("count_variant") * weight).sum().alias("theirs"),
        )
        .filter(pl.col("ours") > 0)
        .sort("rank")
    )
    if sums.is_empty():
        return None, {}, (windows[0], windows[1])
    ratios = {rank: theirs / ours for rank, ours, theirs in sums.iter_rows()}
    return float(sums["theirs"].sum()) / float(sums["ours"].sum()), ratios, (windows[0], windows[1])
