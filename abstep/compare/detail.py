"""Frames behind a comparison, made on demand when a screen drills into it (`comparison.Detail`)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from abstep.compare.signatures import compute_label, shapes_differ, without_shapes
from abstep.measure.dictionary import dictionary
from abstep.measure.run import CATEGORIES
from abstep.measure.work import IDS, by_signature
from abstep.model import Kind

if TYPE_CHECKING:
    from abstep.compare.sides import MeasuredSide, Weights
    from abstep.measure.dictionary import Dictionary
    from abstep.model import RunTables

    Pair = tuple[tuple[MeasuredSide, Weights], tuple[MeasuredSide, Weights]]


RANKS_HELD = 8
"""Rank traces held in memory at once: both sides of a few ranks."""


class PairDetail:
    """Both measured sides, asked for one slot, window or rank at a time."""

    def __init__(self, pair: Pair, parts: tuple[pl.DataFrame, pl.DataFrame]) -> None:
        self._sides = {measured.name: (measured, weights) for measured, weights in pair}
        self._parts = dict(zip(self._sides, parts, strict=True))
        self._held: dict[tuple[str, int, int], RunTables] = {}
        self._texts: dict[tuple[str, int, int], Dictionary] = {}

    def slot_windows(self, slot: str) -> pl.DataFrame:
        """Return side, repeat, step, rank, exposed_ns, typical: one row a window and rank, 0 where absent."""
        frames = []
        for name, (measured, weights) in self._sides.items():
            exposed = (
                self._parts[name]
                .filter(pl.col("slot") == slot)
                .group_by("repeat", "step", "rank")
                .agg(pl.col("exposed_ns").sum())
            )
            frames.append(
                measured.windows.select("repeat", "step", "rank")
                .join(exposed, on=["repeat", "step", "rank"], how="left")
                .join(
                    weights.cells.select("repeat", "step", typical=pl.lit(value=True)),
                    on=["repeat", "step"],
                    how="left",
                )
                .select(
                    pl.lit(name).alias("side"),
                    "repeat",
                    "step",
                    "rank",
                    pl.col("exposed_ns").fill_null(0),
                    pl.col("typical").fill_null(value=False),
                )
                .sort("repeat", "step", "rank"),
            )
        return pl.concat(frames)

    def slot_instances(self, slot: str) -> pl.DataFrame:
        """Return the collectives whose exposed time was booked to a slot, on all their ranks (`comparison.Detail`)."""
        frames = []
        for name, (measured, _) in self._sides.items():
            booked = (
                self._parts[name]
                .filter(pl.col("slot") == slot)
                .group_by("row")
                .agg(pl.col("exposed_ns").sum())
            )
            of_slot = measured.instances.join(booked, on="row", how="semi", maintain_order="left")["instance"]
            rows = measured.instances.filter(pl.col("instance").is_in(of_slot.implode())).join(
                booked, on="row", how="left"
            )
            frames.append(_on_common_clock(name, measured, rows))
        return pl.concat(frames)

    def _window(self, side: str, repeat: int, step: int, rank: int) -> tuple[int, int, int]:
        windows = self._sides[side][0].windows.filter(
            (pl.col("repeat") == repeat) & (pl.col("step") == step) & (pl.col("rank") == rank),
        )
        if windows.is_empty():
            raise KeyError((side, repeat, step, rank))
        return windows.select("file", "start_ns", "end_ns").row(0)

    def lanes(self, side: str, repeat: int, step: int, rank: int) -> pl.DataFrame:
        """Return the spans in one window: kind (Int8), name, stream, start_ns, end_ns from window start."""
        file, start, end = self._window(side, repeat, step, rank)
        tables = self._tables(side, repeat, rank)
        return (
            tables.spans.filter(
                (pl.col("file") == file) & (pl.col("end_ns") > start) & (pl.col("start_ns") < end)
            )
            .join(tables.names, on="name", how="left")
            .select(
                "kind",
                pl.col("text").alias("name"),
                "stream",
                (pl.max_horizontal("start_ns", pl.lit(start)) - start).alias("start_ns"),
                (pl.min_horizontal("end_ns", pl.lit(end)) - start).alias("end_ns"),
            )
            .sort("start_ns", "end_ns")
        )

    def pair_spans(self, side: str, repeat: int, step: int, rank: int, compute: str) -> pl.DataFrame:
        """Return the spans of a contention pair's compute in one window: name, start_ns, end_ns from window start."""
        file, start, end = self._window(side, repeat, step, rank)
        tables = self._tables(side, repeat, rank)
        own = tables.spans.filter(
            (pl.col("file") == file)
            & (pl.col("kind") == int(Kind.COMPUTE))
            & (pl.col("end_ns") > start)
            & (pl.col("start_ns") < end)
        ).with_row_index("number")
        key = (side, repeat, rank)
        if key not in self._texts:
            self._texts = {key: dictionary(tables)}
        named = by_signature(own.select("number", *IDS), self._texts[key])
        labelled = (without_shapes(named) if self._bare else named).with_columns(
            compute_label().alias("compute")
        )
        return (
            own.join(
                labelled.filter(pl.col("compute") == compute), on="number", how="semi", maintain_order="left"
            )
            .join(tables.names, on="name", how="left")
            .select(
                pl.col("text").alias("name"),
                (pl.max_horizontal("start_ns", pl.lit(start)) - start).alias("start_ns"),
                (pl.min_horizontal("end_ns", pl.lit(end)) - start).alias("end_ns"),
            )
            .sort("start_ns", "end_ns")
        )

    @cached_property
    def _bare(self) -> bool:
        """Whether the pairs' compute is named without shapes: only one side recorded them."""
        base, variant = (measured for measured, _ in self._sides.values())
        return shapes_differ(base, variant)

    def _tables(self, side: str, repeat: int, rank: int) -> RunTables:
        """Return one rank's tables, held while screens look at that side, repeat and rank."""
        key = (side, repeat, rank)
        if key not in self._held:
            spans_of = self._sides[side][0].run.spans_of
            if spans_of is None:
                raise KeyError(key)
            if len(self._held) >= RANKS_HELD:
                self._held.pop(next(iter(self._held)))
            self._held[key] = spans_of(repeat, rank)
        return self._held[key]

    def exposed(self, side: str, repeat: int, step: int, rank: int) -> pl.DataFrame:
        """Return the exposed stretches of one window: slot, kind, start_ns, end_ns, exposed_ns, consumer."""
        _, start, _ = self._window(side, repeat, step, rank)
        return (
            self._parts[side]
            .filter((pl.col("repeat") == repeat) & (pl.col("step") == step) & (pl.col("rank") == rank))
            .select(
                "slot",
                "kind",
                pl.col("start_ns") - start,
                pl.col("end_ns") - start,
                "exposed_ns",
                "peer_wait_ns",
                "transport_ns",
                "consumer",
            )
            .sort("start_ns", "slot")
        )

    def windows(self) -> pl.DataFrame:
        """Return side, repeat, step, rank, length_ns, the five categories (ns), reason (null: typical)."""
        frames = []
        for name, (measured, weights) in self._sides.items():
            every = measured.run.cut.windows.select(
                "window",
                "repeat",
                "step",
                "rank",
                (pl.col("end_ns") - pl.col("start_ns")).alias("length_ns"),
                "reason",
            )
            frames.append(
                every.join(measured.windows.select("window", *CATEGORIES), on="window", how="left")
                .join(
                    weights.cells.select("repeat", "step", typical=pl.lit(value=True)),
                    on=["repeat", "step"],
                    how="left",
                )
                .select(
                    pl.lit(name).alias("side"),
                    "repeat",
                    "step",
                    "rank",
                    "length_ns",
                    *CATEGORIES,
                    pl.when("typical")
                    .then(None)
                    .otherwise(pl.col("reason").fill_null("not typical"))
                    .alias("reason"),
                )
                .sort("repeat", "step", "rank"),
            )
        return pl.concat(frames)

    def matched_windows(self, slot: str | None) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return ((repeat, step) of base, (repeat, step) of variant) that show a slot best; None without.

        Each side's typical window whose value (the slot's exposed time, or the step's length) lies nearest to
        that side's mean: the same step of both where that is as near.
        """
        found = []
        for name, (measured, weights) in self._sides.items():
            if slot is None:
                values = measured.windows.with_columns((pl.col("end_ns") - pl.col("start_ns")).alias("value"))
            else:
                values = (
                    self.slot_windows(slot).filter(pl.col("side") == name).rename({"exposed_ns": "value"})
                )
            typical = (
                values.join(weights.cells, on=["repeat", "step"], how="inner")
                .group_by("repeat", "step")
                .agg(pl.col("value").sum())
            )
            if typical.is_empty():
                return None
            nearest = (pl.col("value") - pl.col("value").mean()).abs()
            found.append(typical.sort(nearest, "repeat", "step").select("repeat", "step").row(0))
        return found[0], found[1]


def _on_common_clock(name: str, measured: MeasuredSide, rows: pl.DataFrame) -> pl.DataFrame:
    """Put instances' times on the common clock, from the window's start on the lowest rank.

    Where a rank's offset is not known its own clock stands in: the split is null there, and screens say so.
    """
    clock = measured.run.across.clock
    times = ("host_launch", "first_valid_launch", "start_ns", "end_ns", "last_arrival", "consumer_start")
    placed = clock.on_common(rows, *times)
    windows = clock.on_common(measured.windows, "start_ns").sort("rank")
    lowest = windows.group_by("repeat", "step", maintain_order=True).agg(
        pl.coalesce("start_ns_common", "start_ns").first().alias("origin")
    )
    order = pl.col("instance").rank("dense").over("repeat", "step").cast(pl.Int64)
    return (
        placed.join(lowest, on=["repeat", "step"], how="left")
        .with_columns(order.alias("order"))
        .select(
            pl.lit(name).alias("side"),
            "repeat",
            "step",
            "instance",
            pl.format("{} #{}", "collective", "order").alias("label"),
            "rank",
            *(
                (pl.coalesce(f"{column}_common", column) - pl.col("origin")).alias(
                    f"{column.removesuffix('_ns')}_ns"
                )
                for column in times[:5]
            ),
            "queue_ns",
            "peer_wait_ns",
            "transport_ns",
            "consumer",
            (pl.coalesce("consumer_start_common", "consumer_start") - pl.col("origin")).alias(
                "consumer_start_ns"
            ),
            "slack_ns",
            pl.col("exposed_ns").fill_null(0),
        )
        .sort("repeat", "step", "instance", "rank")
    )
