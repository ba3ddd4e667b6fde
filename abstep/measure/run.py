"""Measure one run: every completed window's categories, exposed parts and collectives, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from abstep.measure.categories import categories
from abstep.measure.chain import chain
from abstep.measure.collectives import instances
from abstep.measure.contention import BESIDE, beside, compute_spans
from abstep.measure.dependencies import dependencies
from abstep.measure.exposed import exposed_parts
from abstep.measure.groups import described_collectives
from abstep.measure.ideal import ideals
from abstep.measure.idle import IDLE, idle_causes
from abstep.measure.milestones import milestones
from abstep.measure.names import named_spans
from abstep.measure.path import dependency_paths
from abstep.measure.ranks import across_ranks, split_parts
from abstep.measure.timeline import timelines
from abstep.measure.validity import violations
from abstep.measure.work import compute_work, described_work, forward_shapes
from abstep.model import Category, ExposedKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from abstep.measure.ranks import AcrossRanks
    from abstep.windows import CutRun

CATEGORIES = tuple(str(category) for category in Category)
SLOT = ("phase", "group", "collective", "kind", "consumer")
UNATTRIBUTED = "(unattributed)"


@dataclass(frozen=True)
class MeasuredRun:
    """What one run says by itself. Times int64 ns; frames sorted by their first columns.

    Attributes:
        cut: the run's windows and tables.
        windows: window, repeat, rank, file, cycle, step, start_ns, end_ns, own_work and the five categories:
            completed windows only.
        instances: one row a collective and rank launched in a completed window: row, window, repeat, rank,
            step, collective, group, phase, bytes, seq, …, and `collectives.instances`'s columns.
        parts: one row an exposed part: window, repeat, rank, step, row of the collective, slot columns
            (phase, group, collective, kind, consumer), consumer_row, start_ns, end_ns, exposed_ns, inferred.
        names: row -> phase, anchor, range_label.
        work: compute work by signature and window: repeat, rank, step, operator, operator_path, base, shape,
            count, ns (share of the union).
        forward_shapes: rank, operator, base, occurrence, shape of forward operators.
        idle: repeat, rank, step and idle ns by cause: end_of_step, host_late, stream_wait, unknown.
        milestones: repeat, rank, step and the milestones, ns from window start.
        across: the collectives matched across ranks, and the clock that stands on.
        beside: row, collective_row, overlap_ns: compute spans that ran beside collectives.
        compute: compute spans of completed windows with their overlap (`contention.compute_spans`).
        path: the dependency path's time on each rank (`path.dependency_paths`).
        violations: what is wrong in the run itself (`validity.violations`).
        ideal: repeat, rank, step, transport_ns, ideal_ns (`ideal.ideals`).
        recorded_edges: the share of files whose waits on collectives were recorded.

    """

    cut: CutRun
    windows: pl.DataFrame
    instances: pl.DataFrame
    parts: pl.DataFrame
    names: pl.DataFrame
    work: pl.DataFrame
    forward_shapes: pl.DataFrame
    idle: pl.DataFrame
    milestones: pl.DataFrame
    across: AcrossRanks
    beside: pl.DataFrame
    compute: pl.DataFrame
    path: pl.DataFrame
    violations: pl.DataFrame
    ideal: pl.DataFrame
    recorded_edges: float


def measure(run: CutRun, progress: Callable[[int, int], None] | None = None) -> MeasuredRun:
    """Measure a cut run.

    Args:
        run: the cut run.
        progress: told (rank traces done, rank traces in all).

    """
    names = named_spans(run)
    described = described_collectives(run)
    waits = run.tables.waits.partition_by("file", as_dict=True)
    calls = run.tables.host_calls.partition_by("file", as_dict=True)
    no_waits, no_calls = run.tables.waits.clear(), run.tables.host_calls.clear()
    tiles, found, parts, recorded, work, idle, together, chains = [], [], [], [], [], [], [], []
    total = run.tables.files.height
    for done, line in enumerate(timelines(run, names.filter("packing")["row"]), start=1):
        host_calls = calls.get((line.file,), no_calls)
        needs = dependencies(line, waits.get((line.file,), no_waits), host_calls)
        chains.append(chain(line, needs, host_calls))
        tiles.append(categories(line))
        found.append(instances(line, needs))
        parts.append(exposed_parts(line, needs))
        recorded.append(needs.recorded)
        work.append(compute_work(line))
        idle.append(idle_causes(line))
        together.append(beside(line))
        if progress is not None:
            progress(done, total)
    windows = run.completed.drop("reason")
    if tiles:
        windows = windows.join(pl.concat(tiles), on="window", how="left", maintain_order="left")
    else:
        windows = windows.with_columns(pl.lit(0, dtype=pl.Int64).alias(name) for name in CATEGORIES)
    where = windows.select("window", "repeat", "rank", "step")
    collectives = pl.concat(found) if found else instances_schema()
    launched = (
        collectives.join(where, on="window", how="inner", maintain_order="left")
        .join(described, on="row", how="left", maintain_order="left")
        .join(names.select("row", "phase"), on="row", how="left", maintain_order="left")
        .with_columns(pl.col("phase").fill_null("other"))
        .join(
            names.select(pl.col("row").alias("consumer_row"), pl.col("anchor").alias("consumer")),
            on="consumer_row",
            how="left",
            maintain_order="left",
        )
        .sort("repeat", "rank", "step", "start_ns", "row")
    )
    pairs = pl.concat(together) if together else pl.DataFrame(schema=BESIDE)
    across = across_ranks(launched, run.tables.files)
    return MeasuredRun(
        cut=run,
        windows=windows,
        instances=across.instances,
        parts=split_parts(_booked(parts, where, described, names), across.instances),
        names=names,
        work=described_work(run, work, where),
        forward_shapes=forward_shapes(run, names),
        idle=pl.concat(idle).join(where, on="window", how="inner") if idle else pl.DataFrame(schema=IDLE),
        milestones=milestones(run, names, launched),
        across=across,
        beside=pairs,
        compute=compute_spans(run, pairs, where),
        path=dependency_paths(chains, windows, across.instances, across.clock),
        ideal=ideals(windows, across.instances),
        violations=violations(run, launched, names),
        recorded_edges=sum(recorded) / len(recorded) if recorded else 0.0,
    )


def instances_schema() -> pl.DataFrame:
    """Return an empty frame of `collectives.instances`'s columns."""
    from abstep.measure.collectives import INSTANCES  # noqa: PLC0415  only where there is no rank trace at all

    return pl.DataFrame(schema=INSTANCES)


def _booked(
    parts: list[pl.DataFrame], where: pl.DataFrame, described: pl.DataFrame, names: pl.DataFrame
) -> pl.DataFrame:
    """Give every exposed part the slot it belongs to (SEMANTICS 5)."""
    from abstep.measure.exposed import PARTS  # noqa: PLC0415  only where there is no rank trace at all

    every = pl.concat(parts) if parts else pl.DataFrame(schema=PARTS)
    return (
        every.join(where, on="window", how="inner", maintain_order="left")
        .rename({"collective_row": "row"})
        .join(described.select("row", "collective", "group"), on="row", how="left", maintain_order="left")
        .join(names.select("row", "phase"), on="row", how="left", maintain_order="left")
        .join(
            names.select(
                pl.col("row").alias("consumer_row"),
                pl.col("anchor").alias("consumer"),
                pl.col("phase").alias("consumer_phase"),
            ),
            on="consumer_row",
            how="left",
            maintain_order="left",
        )
        .with_columns(
            pl.col("phase").fill_null("other"),
            pl.col("collective").fill_null("unknown"),
            pl.col("group").fill_null("unknown group"),
            pl.when("blocking")
            .then(pl.lit(str(ExposedKind.BLOCKING)))
            .otherwise(pl.lit(str(ExposedKind.INCIDENTAL)))
            .alias("kind"),
            pl.when("blocking").then(pl.col("consumer").fill_null(UNATTRIBUTED)).alias("consumer"),
        )
    )
