"""What work a run does in a step: operators, shapes, bytes, passes (SEMANTICS 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.groups import UNKNOWN_GROUP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.compare.sides import MeasuredSide

SHAPES = "[["
"""Recorded operator shapes start so; a grid does not."""


def signature_table(side: MeasuredSide) -> pl.DataFrame:
    """Return compute work by signature: operator, operator_path, base, shape, count, ns (a window and rank).

    `ns` is a span's share of the union: each instant divided equally among running compute spans.
    """
    windows = max(1, side.windows.height)
    return (
        side.own(side.run.work)
        .group_by("operator", "operator_path", "base", "shape", maintain_order=True)
        .agg((pl.col("count").sum() / windows).alias("count"), (pl.col("ns").sum() / windows).alias("ns"))
        .sort("operator", "operator_path", "base", "shape", nulls_last=True)
    )


KIND = ("collective", "group", "dtype", "reduction")


def told_by_both(base: MeasuredSide, variant: MeasuredSide) -> tuple[str, ...]:
    """Return the parts of a collective's semantics that every collective of both sides has on record."""
    return tuple(
        column
        for column in KIND
        if column == "collective"
        or all(
            not side.instances[column].null_count() and not (side.instances[column] == UNKNOWN_GROUP).any()
            for side in (base, variant)
        )
    )


def collective_kinds(side: MeasuredSide, columns: Sequence[str] = KIND) -> set[tuple[str, ...]]:
    """Return the (kind, group role, dtype, reduction), as far as asked for, of all collectives in completed windows."""
    rows = side.instances.select(columns).unique()
    return {tuple(str(part) for part in row if part is not None) for row in rows.iter_rows()}


def bytes_by_kind(side: MeasuredSide) -> dict[str, float]:
    """Return bytes a window and rank of each kind; a kind any of whose sizes is unknown is left out."""
    windows = max(1, side.windows.height)
    known = side.instances.group_by("collective").agg(
        (pl.col("bytes").sum() / windows).alias("bytes"), pl.col("bytes").null_count().alias("unknown")
    )
    return dict(known.filter(pl.col("unknown") == 0).select("collective", "bytes").iter_rows())


def bytes_by_role(side: MeasuredSide) -> dict[str, float]:
    """Return bytes a window and rank in each group role; empty where any collective's size is unknown."""
    frame = side.instances
    if frame.is_empty() or frame["bytes"].null_count() == frame.height:
        return {}
    windows = max(1, side.windows.height)
    known = frame.group_by("group", maintain_order=True).agg((pl.col("bytes").sum() / windows).alias("bytes"))
    return dict(known.sort("group").iter_rows())


def passes_a_step(side: MeasuredSide) -> float | None:
    """Return forward passes a step (the median over steps); None where none is recorded."""
    passes = side.own(side.run.passes)
    return None if passes.is_empty() else float(np.median(passes["passes"].to_numpy()))


def forward_shapes(side: MeasuredSide) -> dict[str, str] | None:
    """Return the shapes of each forward operator, by its path and occurrence; None where not recorded.

    The most frequent shapes of the run's windows stand for it.
    """
    keys = ("operator", "operator_path", "base", "occurrence")
    shapes = side.run.forward_shapes.filter(
        pl.col("rank").is_in(list(side.ranks)) & pl.col("shape").str.starts_with(SHAPES),
    )
    if shapes.is_empty():
        return None
    common = (
        shapes.group_by(*keys, "shape", maintain_order=True)
        .agg(pl.col("seen").sum())
        .sort(*keys, "seen", "shape", descending=[False, False, False, False, True, False])
        .group_by(keys, maintain_order=True)
        .first()
    )
    return {
        f"{operator or base} #{occurrence} ({path})": shape
        for operator, path, base, occurrence, shape in common.select(*keys, "shape").iter_rows()
    }
