"""What makes two compute spans the same work, without their order (SEMANTICS 5, alignment; 8, compute_work)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from abstep.compare.sides import MeasuredSide

LEVELS = (("operator", "base", "shape"), ("operator_path", "base"), ("operator_path",))
"""Signature, first level that matches; the last one is marked renamed."""


@dataclass(frozen=True)
class MatchedWork:
    """Compute time of both sides split into matched and unmatched, a window and rank (ns).

    Attributes:
        matched: one row a signature that matched: level, operator, base (the base's), base_ns, variant_ns.
        removed: the base's unmatched work: operator, base, ns.
        added: the variant's unmatched work: operator, base, ns.

    """

    matched: pl.DataFrame
    removed: pl.DataFrame
    added: pl.DataFrame


SHAPES = "[["
"""Recorded operator shapes start so; a grid does not."""


def alike(base: pl.DataFrame, variant: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Leave shapes out of both signature tables where only one side recorded them: a grid is no shape."""
    if not one_side_has_shapes(base, variant):
        return base, variant
    return without_shapes(base), without_shapes(variant)


def one_side_has_shapes(base: pl.DataFrame, variant: pl.DataFrame) -> bool:
    """Return whether only one of two signature tables has recorded shapes."""
    recorded = [side["shape"].drop_nulls().str.starts_with(SHAPES).any() for side in (base, variant)]
    return recorded[0] != recorded[1]


def shapes_differ(base: MeasuredSide, variant: MeasuredSide) -> bool:
    """Return whether only one side recorded shapes, from all its compute.

    What ran beside collectives is asked of all compute too: a side where nothing did has recorded shapes all the same.
    """
    return one_side_has_shapes(base.run.signatures, variant.run.signatures)


def without_shapes(side: pl.DataFrame) -> pl.DataFrame:
    """Return a signature table whose shapes are null."""
    return side.with_columns(pl.lit(None, dtype=pl.String).alias("shape"))


def match_work(base: pl.DataFrame, variant: pl.DataFrame) -> MatchedWork:
    """Match two signature tables level by level; counts decide how much of a signature matched.

    Args:
        base: operator, operator_path, base, shape, count, ns (means a window and rank).
        variant: the same.

    """
    left, right = base, variant
    matched = []
    for level, keys in enumerate(LEVELS):
        totals = [
            side.group_by(keys, maintain_order=True).agg(pl.col("count").sum().alias(f"count_{name}"))
            for side, name in ((left, "base"), (right, "variant"))
        ]
        shared = (
            totals[0]
            .join(totals[1], on=keys, how="inner", nulls_equal=True, maintain_order="left")
            .with_columns(
                pl.min_horizontal("count_base", "count_variant").alias("both"),
            )
        )
        parts = []
        for side, name in ((left, "base"), (right, "variant")):
            parts.append(
                side.join(
                    shared.select(*keys, (pl.col("both") / pl.col(f"count_{name}")).alias("part")),
                    on=keys,
                    how="left",
                    nulls_equal=True,
                    maintain_order="left",
                ).with_columns(pl.col("part").fill_null(0.0)),
            )
        took = [
            part.filter(pl.col("part") > 0)
            .group_by(keys, maintain_order=True)
            .agg(
                pl.col("operator", "base").sort_by("operator", "base").first().name.suffix("_shown"),
                (pl.col("ns") * pl.col("part")).sum().alias(name),
            )
            for part, name in zip(parts, ("base_ns", "variant_ns"), strict=True)
        ]
        matched.append(
            took[0]
            .join(
                took[1].select(*keys, "variant_ns"),
                on=keys,
                how="inner",
                nulls_equal=True,
                maintain_order="left",
            )
            .select(
                pl.lit(level, dtype=pl.Int8).alias("level"),
                pl.col("operator_shown").alias("operator"),
                pl.col("base_shown").alias("base"),
                "base_ns",
                "variant_ns",
            ),
        )
        left, right = (_rest(part) for part in parts)
    return MatchedWork(pl.concat(matched), _summed(left), _summed(right))


def matched_share(base: pl.DataFrame, variant: pl.DataFrame) -> float | None:
    """Return the share of compute time on signatures in common (first level), the smaller direction."""
    totals = (float(base["ns"].sum()), float(variant["ns"].sum()))
    if not all(totals):
        return None
    keys = LEVELS[0]
    sums = [
        side.group_by(keys, maintain_order=True).agg(pl.col("count", "ns").sum()) for side in (base, variant)
    ]
    both = (
        sums[0]
        .join(sums[1], on=keys, how="inner", nulls_equal=True, suffix="_variant", maintain_order="left")
        .with_columns(
            pl.min_horizontal("count", "count_variant").alias("shared"),
        )
    )
    ours = float(both.select((pl.col("ns") * pl.col("shared") / pl.col("count")).sum()).item())
    theirs = float(
        both.select((pl.col("ns_variant") * pl.col("shared") / pl.col("count_variant")).sum()).item()
    )
    return min(ours / totals[0], theirs / totals[1])


def _rest(part: pl.DataFrame) -> pl.DataFrame:
    left = 1.0 - pl.col("part")
    return (
        part.with_columns((pl.col("count") * left).alias("count"), (pl.col("ns") * left).alias("ns"))
        .filter(pl.col("count") > 1e-9)
        .drop("part")
    )


def _summed(side: pl.DataFrame) -> pl.DataFrame:
    return (
        side.group_by("operator", "base", maintain_order=True)
        .agg(pl.col("ns").sum())
        .sort("operator", "base")
    )


def compute_label() -> pl.Expr:
    """Name a signature's compute: operator, kernel, and the shapes where they were recorded."""
    same = (pl.col("operator") == pl.col("base")) | (pl.col("operator") == "")
    name = pl.when(same).then("base").otherwise(pl.concat_str("operator", "base", separator=": "))
    shaped = pl.col("shape").str.starts_with("[[").fill_null(value=False)
    return pl.when(shaped).then(pl.concat_str(name, "shape", separator=" ")).otherwise(name)
