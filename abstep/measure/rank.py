"""Measure the rank traces of one rank: all that needs no other rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from abstep.measure.categories import categories
from abstep.measure.chain import Chain, chain
from abstep.measure.collectives import INSTANCES, instances, producers
from abstep.measure.contention import BESIDE, beside, compute_spans, signatures, signatures_beside
from abstep.measure.delays import DELAYS, start_delays
from abstep.measure.dependencies import dependencies
from abstep.measure.evidence import (
    COPIES,
    copies_beside,
    copy_directions,
    launch_resources,
    pair_copies,
    recorded_threads,
)
from abstep.measure.exposed import PARTS, exposed_parts
from abstep.measure.groups import described_collectives
from abstep.measure.idle import IDLE, idle_causes
from abstep.measure.links import Links, links
from abstep.measure.milestones import milestones
from abstep.measure.names import Names, named
from abstep.measure.passes import forward_passes
from abstep.measure.ranges import host_ranges
from abstep.measure.sequence import sequence
from abstep.measure.setup import setup
from abstep.measure.stops import stops
from abstep.measure.timeline import timelines
from abstep.measure.validity import early_reads
from abstep.measure.work import compute_work, described_work, forward_shapes
from abstep.model import Category, ExposedKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abstep.measure.dictionary import Dictionary
    from abstep.windows import CutRun

CATEGORIES = tuple(str(category) for category in Category)
UNATTRIBUTED = "(unattributed)"
TILES = {"window": pl.Int32, **dict.fromkeys(CATEGORIES, pl.Int64)}


@dataclass(frozen=True)
class RankMeasure:
    """One rank's measures.

    Attributes:
        repeat, rank: whose.
        frames: by name; each has `window`, or is about the rank as a whole.
        chains: one a rank trace, for the dependency path.
        links: one a rank trace, for the dependency-respecting bound.
        recorded: a rank trace, whether stream-wait edges were recorded.
        names: of its spans.
        compute: `contention.compute_spans`.

    """

    repeat: int
    rank: int
    frames: dict[str, pl.DataFrame]
    chains: tuple[Chain, ...]
    links: tuple[Links, ...]
    recorded: tuple[bool, ...]
    names: Names
    compute: pl.DataFrame

    def without_spans(self) -> RankMeasure:
        """Return the same without a row for every span, for a run whose ranks are measured one by one."""
        return replace(
            self, names=replace(self.names, spans=self.names.spans.clear()), compute=self.compute.clear()
        )


def measure_rank(run: CutRun, repeat: int, rank: int, texts: Dictionary) -> RankMeasure:
    """Measure one rank of one repeat.

    Args:
        run: its cut tables, no other rank's.
        repeat: its repeat.
        rank: its rank.
        texts: the run's dictionary, or the rank's.

    """
    names = named(run, texts)
    described = described_collectives(run)
    # a kernel that is only called SendRecv may be an all_to_all: not known to be a pipeline's
    passed = described.filter(pl.col("direction").is_not_null())["row"].to_numpy()
    waits = run.tables.waits.partition_by("file", as_dict=True)
    calls = run.tables.host_calls.partition_by("file", as_dict=True)
    threads = run.tables.threads.partition_by("file", as_dict=True)
    no_threads = run.tables.threads.clear()
    no_waits, no_calls = run.tables.waits.clear(), run.tables.host_calls.clear()
    tiles, found, parts, recorded, work, idle, together, chains = [], [], [], [], [], [], [], []
    delays, limits, copied = [], [], []
    directions = copy_directions(run.tables)
    for line in timelines(run, names.packing):
        host_calls = calls.get((line.file,), no_calls)
        needs = dependencies(line, waits.get((line.file,), no_waits), host_calls)
        chains.append(chain(line, needs, host_calls))
        own_threads = threads.get((line.file,), no_threads)
        produced = producers(line, needs)
        limits.append(links(line, needs, produced, chains[-1], stops(line, host_calls, own_threads)))
        tiles.append(categories(line))
        found.append(instances(line, needs, produced, passed))
        parts.append(exposed_parts(line, needs))
        recorded.append(needs.recorded)
        work.append(compute_work(line))
        idle.append(idle_causes(line))
        delays.append(start_delays(line, needs))
        together.append(beside(line))
        copied.append(copies_beside(line, together[-1], directions))
    collectives = _joined(found, INSTANCES)
    exposed = _joined(parts, PARTS)
    pairs = _joined(together, BESIDE)
    spoken = names.of(
        pl.concat(
            [
                collectives["row"],
                collectives["consumer_row"],
                exposed["collective_row"],
                exposed["consumer_row"],
            ]
        )
        .drop_nulls()
        .unique()
    )
    launched = _described(collectives, described, spoken)
    compute = compute_spans(run, pairs)
    frames = {
        "tiles": _joined(tiles, TILES),
        "instances": launched,
        "parts": _booked(exposed, described, spoken),
        "work": described_work(run, work, texts),
        "signatures": signatures(compute, texts),
        "beside": signatures_beside(compute, pairs, launched, texts),
        "resources": launch_resources(run, texts),
        "copies": pair_copies(compute, _joined(copied, COPIES), launched, texts),
        "recorded": recorded_threads(run),
        "idle": _joined(idle, IDLE),
        "delays": _joined(delays, DELAYS),
        "milestones": milestones(run, names, launched),
        "early": early_reads(run, launched, names),
        "sequences": sequence(run, names, texts),
        "forward_shapes": forward_shapes(run, names, texts),
        "passes": forward_passes(run),
        "attribution": _attribution(run),
        "setup": setup(run),
        "ranges": host_ranges(run),
    }
    return RankMeasure(repeat, rank, frames, tuple(chains), tuple(limits), tuple(recorded), names, compute)


def _joined(frames: list[pl.DataFrame], schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    return pl.concat(frames) if frames else pl.DataFrame(schema=pl.Schema(schema))


def _described(collectives: pl.DataFrame, described: pl.DataFrame, spoken: pl.DataFrame) -> pl.DataFrame:
    """Say of every instance what it is, its phase and what consumes it."""
    consumers = spoken.select(pl.col("row").alias("consumer_row"), pl.col("anchor").alias("consumer"))
    return (
        collectives.join(described, on="row", how="left", maintain_order="left")
        .join(spoken.select("row", "phase"), on="row", how="left", maintain_order="left")
        .with_columns(pl.col("phase").fill_null("other"))
        .join(consumers, on="consumer_row", how="left", maintain_order="left")
    )


def _booked(parts: pl.DataFrame, described: pl.DataFrame, spoken: pl.DataFrame) -> pl.DataFrame:
    """Give every exposed part the slot it belongs to (SEMANTICS 5)."""
    consumers = spoken.select(pl.col("row").alias("consumer_row"), pl.col("anchor").alias("consumer"))
    kind = pl.when("blocking").then(pl.lit(str(ExposedKind.BLOCKING)))
    return (
        parts.rename({"collective_row": "row"})
        .join(described.select("row", "collective", "group"), on="row", how="left", maintain_order="left")
        .join(spoken.select("row", "phase"), on="row", how="left", maintain_order="left")
        .join(consumers, on="consumer_row", how="left", maintain_order="left")
        .with_columns(
            pl.col("phase").fill_null("other"),
            pl.col("collective").fill_null("unknown"),
            pl.col("group").fill_null("unknown group"),
            kind.otherwise(pl.lit(str(ExposedKind.INCIDENTAL))).alias("kind"),
            pl.when("blocking").then(pl.col("consumer").fill_null(UNATTRIBUTED)).alias("consumer"),
        )
    )


def _attribution(run: CutRun) -> pl.DataFrame:
    """Return total_ns of the rank's activities and outside_ns of those that belong to no step."""
    length = pl.col("end_ns") - pl.col("start_ns")
    return run.tables.spans.select(
        length.sum().alias("total_ns"), length.filter(pl.col("window").is_null()).sum().alias("outside_ns")
    )
