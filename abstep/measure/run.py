"""Measure one run: its ranks one by one, then what only all of them together say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from abstep.measure.dictionary import dictionary
from abstep.measure.groups import one_role
from abstep.measure.ideal import ideals
from abstep.measure.path import dependency_paths
from abstep.measure.rank import CATEGORIES, UNATTRIBUTED, RankMeasure, measure_rank
from abstep.measure.ranks import AcrossRanks, across_ranks, split_parts
from abstep.measure.replay import replayed
from abstep.measure.validity import violations
from abstep.windows import CutRun, complete

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from abstep.model import RunTables

__all__ = ["CATEGORIES", "UNATTRIBUTED", "MeasuredRun", "combine", "measure", "without_spans"]
WHERE = ("repeat", "rank", "step")


@dataclass(frozen=True)
class MeasuredRun:
    """What one run says by itself. Times int64 ns; frames sorted by repeat, rank and step.

    Attributes:
        cut: the run's windows and facts; its tables hold spans only where they were asked to be kept.
        windows: window, repeat, rank, file, cycle, step, start_ns, end_ns, own_work and the five categories:
            completed windows only.
        instances: one row a collective and rank launched in a completed window: row, window, repeat, rank,
            step, collective, group, phase, bytes, seq, …, `collectives.instances`'s and `ranks.across_ranks`'s columns.
        parts: one row an exposed part: window, repeat, rank, step, row of the collective, slot columns
            (phase, group, collective, kind, consumer), consumer_row, start_ns, end_ns, exposed_ns, peer_wait_ns,
            transport_ns, inferred.
        work: compute work by signature and window: operator, operator_path, base, shape, count, ns (share of the
            union).
        signatures, beside: compute alone and beside each slot, by signature and window (`contention`).
        resources: how kernels were launched, by signature and rank (`evidence.launch_resources`).
        copies: copies while both ran, by direction and window (`evidence.pair_copies`).
        recorded: threads and copies of each rank (`evidence.recorded_threads`).
        sequences: one usual window's compute in launch order, a repeat and rank (`sequence`).
        forward_shapes: how often each forward operator had which shapes, a rank.
        passes: rank, file, step, passes: forward passes a step.
        attribution: rank, total_ns, outside_ns: activity time, and that outside every step.
        setup: allocations, compilations, tunings in a step (`setup`).
        ranges: time of the host in its outermost annotations in a step (`ranges.host_ranges`).
        idle: idle ns by cause: end_of_step, host_late, stream_wait, unknown.
        milestones: ns from window start.
        delays: start delays (`delays.start_delays`).
        across: the collectives matched across ranks, and the clock that stands on.
        path: the dependency path's time on each rank (`path.dependency_paths`).
        violations: what is wrong in the run itself (`validity.violations`).
        ideal: window, repeat, rank, step, transport_ns, ideal_ns (`ideal.ideals`), gain_ns (`replay.replayed`).
        recorded_edges: the share of files whose waits on collectives were recorded.
        ranks: the ranks' own measures, where spans were kept: names and compute spans.
        spans_of: (repeat, rank) -> that rank's tables, for a screen that shows its spans; None: not at hand.

    """

    cut: CutRun
    windows: pl.DataFrame
    instances: pl.DataFrame
    parts: pl.DataFrame
    work: pl.DataFrame
    signatures: pl.DataFrame
    beside: pl.DataFrame
    resources: pl.DataFrame
    copies: pl.DataFrame
    recorded: pl.DataFrame
    sequences: pl.DataFrame
    forward_shapes: pl.DataFrame
    passes: pl.DataFrame
    attribution: pl.DataFrame
    setup: pl.DataFrame
    ranges: pl.DataFrame
    idle: pl.DataFrame
    milestones: pl.DataFrame
    delays: pl.DataFrame
    across: AcrossRanks
    path: pl.DataFrame
    violations: pl.DataFrame
    ideal: pl.DataFrame
    recorded_edges: float
    ranks: tuple[RankMeasure, ...] = field(default=(), repr=False)
    spans_of: Callable[[int, int], RunTables] | None = field(default=None, repr=False, compare=False)


def measure(run: CutRun, progress: Callable[[int, int], None] | None = None) -> MeasuredRun:
    """Measure a cut run that is all in memory, and keep its spans.

    Args:
        run: the cut run.
        progress: told (ranks done, ranks in all).

    """
    texts = dictionary(run.tables)
    owners = run.tables.files.select("repeat", "rank").unique().sort("repeat", "rank").rows()
    ranks = []
    for done, (repeat, rank) in enumerate(owners, start=1):
        ranks.append(measure_rank(_only(run, repeat, rank), repeat, rank, texts))
        if progress is not None:
            progress(done, len(owners))
    return replace(
        combine(run, ranks),
        ranks=tuple(ranks),
        spans_of=lambda repeat, rank: _only(run, repeat, rank).tables,
    )


def _only(run: CutRun, repeat: int, rank: int) -> CutRun:
    """Return one rank's part of a cut run."""
    own = (pl.col("repeat") == repeat) & (pl.col("rank") == rank)
    tables = run.tables
    files = tables.files.filter(own)["file"]
    return replace(
        run,
        tables=replace(
            tables,
            files=tables.files.filter(own),
            spans=tables.spans.filter(own),
            collectives=tables.collectives.filter(own),
            waits=tables.waits.filter(own),
            host_calls=tables.host_calls.filter(own),
            marks=tables.marks.filter(own),
            threads=tables.threads.filter(own),
            resources=tables.resources.filter(own),
        ),
        windows=run.windows.filter(own),
        marks=run.marks.filter(pl.col("file").is_in(files.implode())),
    )


def without_spans(tables: RunTables) -> RunTables:
    """Return a run's facts without its spans, so that they need not be held."""
    return replace(
        tables,
        spans=tables.spans.clear(),
        collectives=tables.collectives.clear(),
        waits=tables.waits.clear(),
        host_calls=tables.host_calls.clear(),
        marks=tables.marks.clear(),
        threads=tables.threads.clear(),
        resources=tables.resources.clear(),
        names=tables.names.clear(),
        paths=tables.paths.clear(),
    )


def combine(run: CutRun, ranks: Sequence[RankMeasure]) -> MeasuredRun:
    """Put the ranks of a run together.

    Args:
        run: the run's windows (judged across ranks or not) and facts; its spans are not read.
        ranks: every rank's own measures; rows and windows numbered apart.

    """
    frames = one_role([own.frames for own in ranks])
    ranks = [replace(own, frames=found) for own, found in zip(ranks, frames, strict=True)]
    windows = complete(run.windows)
    run = replace(run, windows=windows)
    completed = windows.filter(pl.col("reason").is_null()).drop("reason")
    where = completed.select("window", *WHERE)

    def of(name: str) -> pl.DataFrame:
        """Put together a frame of all ranks, in completed windows only."""
        whole = pl.concat([own.frames[name] for own in ranks])
        return whole.join(where, on="window", how="inner", maintain_order="left")

    def about(name: str) -> pl.DataFrame:
        """Put together a frame that is about each rank as a whole."""
        return pl.concat(
            own.frames[name].with_columns(
                pl.lit(own.repeat, dtype=pl.Int32).alias("repeat"),
                pl.lit(own.rank, dtype=pl.Int32).alias("rank"),
            )
            for own in ranks
        )

    tiles = pl.concat([own.frames["tiles"] for own in ranks])
    completed = completed.join(tiles, on="window", how="left", maintain_order="left").with_columns(
        pl.col(name).fill_null(0) for name in CATEGORIES
    )
    launched = of("instances").sort(*WHERE, "start_ns", "row")
    across = across_ranks(launched, run.tables.files)
    chains = [chain for own in ranks for chain in own.chains]
    recorded = [flag for own in ranks for flag in own.recorded]
    return MeasuredRun(
        cut=run,
        windows=completed,
        instances=across.instances,
        parts=split_parts(of("parts"), across.instances),
        work=of("work"),
        signatures=of("signatures"),
        beside=of("beside"),
        resources=about("resources"),
        copies=of("copies"),
        recorded=about("recorded"),
        sequences=about("sequences"),
        forward_shapes=about("forward_shapes"),
        passes=about("passes"),
        attribution=about("attribution"),
        setup=of("setup"),
        ranges=of("ranges"),
        idle=of("idle"),
        milestones=of("milestones"),
        delays=of("delays"),
        across=across,
        path=dependency_paths(chains, completed, across.instances, across.clock),
        violations=violations(launched, of("early")),
        ideal=ideals(completed, across.instances).join(
            replayed([own for rank in ranks for own in rank.links], across.instances, completed),
            on="window",
            how="left",
            maintain_order="left",
        ),
        recorded_edges=sum(recorded) / len(recorded) if recorded else 0.0,
    )
