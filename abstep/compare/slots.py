"""Exposed slots matched between two runs (SEMANTICS 5): what makes two exposed intervals the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.compare.sides import CELL
from abstep.compare.signatures import compute_label
from abstep.model import ExposedKind

if TYPE_CHECKING:
    from abstep.compare.sides import Weights

MEAN_OF_MEDIANS = 1.2533  # a mean split over k instances is uncertain by this times one split / sqrt(k)
SLOT_COLUMNS = ("phase", "group", "collective", "kind", "consumer")


def with_slots(parts: pl.DataFrame, renamed: pl.DataFrame | None = None) -> pl.DataFrame:
    """Add `slot` (its id) to exposed parts.

    Args:
        parts: `MeasuredRun.parts`.
        renamed: consumer, matched_consumer: the variant's consumers in the base's words, where they differ.

    """
    if renamed is not None and not renamed.is_empty():
        parts = (
            parts.join(renamed, on="consumer", how="left", maintain_order="left")
            .with_columns(pl.coalesce("matched_consumer", "consumer").alias("consumer"))
            .drop("matched_consumer")
        )
    return parts.with_columns(
        pl.concat_str(
            "phase",
            "group",
            "collective",
            pl.coalesce("consumer", pl.lit(str(ExposedKind.INCIDENTAL))),
            separator="/",
        ).alias("slot"),
    )


def slot_windows(parts: pl.DataFrame) -> pl.DataFrame:
    """Return repeat, step, slot, exposed_ns: exposed time of each slot in each window, summed over ranks."""
    return (
        parts.group_by(*CELL, "slot", maintain_order=True).agg(pl.col("exposed_ns").sum()).sort(*CELL, "slot")
    )


def slot_table(sides: tuple[pl.DataFrame, pl.DataFrame]) -> pl.DataFrame:
    """Return one row a slot of either run: slot, its columns, inferred, in_base, in_variant; sorted by slot.

    Args:
        sides: both runs' parts with `slot`.

    """
    described = [
        parts.group_by("slot", maintain_order=True).agg(
            pl.col(*SLOT_COLUMNS).first(),
            (pl.col("inferred").any()).alias("inferred"),
            pl.lit(value=True).alias(held),
        )
        for parts, held in zip(sides, ("in_base", "in_variant"), strict=True)
    ]
    joined = described[0].join(
        described[1], on="slot", how="full", coalesce=True, suffix="_variant", maintain_order="left"
    )
    return joined.select(
        "slot",
        *(pl.coalesce(column, f"{column}_variant").alias(column) for column in SLOT_COLUMNS),
        (pl.col("inferred").fill_null(value=False) | pl.col("inferred_variant").fill_null(value=False)).alias(
            "inferred"
        ),
        pl.col("in_base").fill_null(value=False),
        pl.col("in_variant").fill_null(value=False),
    ).sort("slot")


def slot_splits(
    parts: pl.DataFrame, instances: pl.DataFrame, weights: Weights
) -> dict[str, tuple[float | None, float | None, float | None]]:
    """Return slot -> (peer wait, transport, uncertainty of these means), a window and rank; null where unsplit."""
    known = parts.join(weights.cells, on=CELL, how="inner", maintain_order="left").join(
        instances.select("row", "uncertain_ns"), on="row", how="left", maintain_order="left"
    )
    split = known.group_by("slot", maintain_order=True).agg(
        *(
            pl.when(pl.col(name).null_count() == 0).then((pl.col(name) * pl.col("weight")).sum()).alias(name)
            for name in ("peer_wait_ns", "transport_ns")
        ),
        (MEAN_OF_MEDIANS * pl.col("uncertain_ns").mean() / pl.col("row").n_unique().sqrt()).alias(
            "uncertain"
        ),
    )
    return {slot: (peer, transport, uncertain) for slot, peer, transport, uncertain in split.iter_rows()}


def slot_independent(parts: pl.DataFrame, instances: pl.DataFrame, weights: Weights) -> dict[str, float]:
    """Return slot -> compute that could have hidden its collectives (SEMANTICS 4), mean a window and rank.

    Each collective counts once, with the compute between its first valid launch and its consumer; slots whose
    collectives have no consumer or no launch record are left out.
    """
    known = instances.drop_nulls("independent_ns").select("row", "independent_ns")
    booked = (
        parts.select(*CELL, "slot", "row")
        .unique()
        .join(weights.cells, on=CELL, how="inner", maintain_order="left")
    )
    summed = booked.join(known, on="row", how="inner", maintain_order="left").group_by(
        "slot", maintain_order=True
    )
    return dict(summed.agg((pl.col("independent_ns") * pl.col("weight")).sum().alias("time")).iter_rows())


def slot_presence(parts: pl.DataFrame, weights: Weights) -> dict[str, float]:
    """Return slot -> share of typical windows in which any rank has any of it."""
    held = parts.filter(pl.col("exposed_ns") > 0).select("slot", *CELL).unique()
    counts = (
        held.join(weights.cells, on=CELL, how="semi", maintain_order="left")
        .group_by("slot", maintain_order=True)
        .len()
    )
    return {slot: count / weights.cells.height for slot, count in counts.iter_rows()}


def slot_label(collective: str, phase: str, consumer: str | None, group: str | None = None) -> str:
    """Return a slot's name in words: what runs, and what waits for it.

    Args:
        collective: its kind.
        phase: of its launch.
        consumer: phase, name and occurrence of what waits; None: nothing.
        group: the group role, where more than one is about.

    """
    what = f"{collective} [{group}]" if group else collective
    if consumer is None:
        return f"{what} of {phase}, nothing waiting (incidental)"
    where, _, name = consumer.partition(" ")
    return f"{what} before {name} in {phase}" if where == phase else f"{what} of {phase} before {name}"


def named_pairs(beside: pl.DataFrame, renamed: pl.DataFrame | None) -> pl.DataFrame:
    """Name what ran beside what: frames by signature and slot, with pair, compute and slot."""
    return (
        with_slots(beside, renamed)
        .with_columns(compute_label().alias("compute"))
        .with_columns(pl.concat_str("compute", "slot", separator=" | ").alias("pair"))
    )


def pair_labels(slots: pl.DataFrame) -> dict[str, str]:
    """Return slot -> its name in words, with its group where more than one is about."""
    several = slots["group"].n_unique() > 1
    return {
        slot: slot_label(collective, phase, consumer, group if several else None)
        for slot, collective, phase, consumer, group in slots.iter_rows()
    }
