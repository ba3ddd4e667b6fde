"""Describe communication spans: collective kind, process-group role, bytes (SEMANTICS 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.measure.evidence import kernel_size
from abstep.measure.matching import POINT_TO_POINT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abstep.windows import CutRun

UNKNOWN_GROUP = "unknown group"
DIRECTIONS = ("send", "recv")


def described_collectives(run: CutRun) -> pl.DataFrame:
    """Return one row a communication span.

    Returns:
        row, collective (a send and a recv are both send_recv), direction (send, recv; null for the rest), source,
        role (the description or name), group (the role, with the size where two sizes share it on this rank;
        `one_role` makes it so on every rank), blocks, threads and channels of its kernel (`evidence.kernel_size`),
        group_name, group_ranks, group_size, seq, bytes (summed over a coalesced kernel's records), records, dtype,
        reduction, peer_rank (the root, or the other side of a send or recv). Null where not recorded.

    """
    spans = kernel_size(run.tables)
    said = run.tables.collectives.group_by("file", "span", maintain_order=True).agg(
        pl.col(
            "collective",
            "source",
            "group_name",
            "group_desc",
            "group_size",
            "group_ranks",
            "seq",
            "dtype",
            "reduction",
        ).first(),
        pl.when(pl.col("bytes").count() == pl.len()).then(pl.col("bytes").sum()).first().alias("bytes"),
        pl.len().alias("records"),
        # a coalesced kernel's records may name several
        pl.when(pl.len() == 1).then(pl.col("peer").first()).alias("peer"),
    )
    known = (
        spans.join(said, on=["file", "span"], how="left", maintain_order="left")
        .with_columns(pl.col("collective").fill_null("unknown"), pl.col("source").fill_null("name"))
        .with_columns(
            # a collective without metadata runs in the group whose others share its stream
            pl.col(column).fill_null(pl.col(column).drop_nulls().mode().sort().first().over("file", "stream"))
            for column in ("group_name", "group_desc", "group_size", "group_ranks")
        )
    )
    role = pl.coalesce("group_desc", pl.concat_str(pl.lit("group "), "group_name"))
    directed = pl.col("collective").is_in(DIRECTIONS)
    known = known.with_columns(
        role.alias("group"),
        role.alias("role"),
        pl.when(directed).then("collective").alias("direction"),
        pl.when(directed).then(pl.lit(POINT_TO_POINT)).otherwise("collective").alias("collective"),
        _peer_rank(run.tables.files["world_size"].drop_nulls().max()).alias("peer_rank"),
    )
    sizes = (
        known.drop_nulls("group")
        .group_by("group")
        .agg(pl.col("group_size").drop_nulls().n_unique().alias("sizes"))
    )
    return (
        known.join(sizes, on="group", how="left", maintain_order="left")
        .with_columns(
            pl.when(pl.col("sizes") > 1)
            .then(pl.format("{} ({} ranks)", "group", pl.col("group_size").cast(pl.String).fill_null("?")))
            .otherwise("group")
            .fill_null(UNKNOWN_GROUP)
            .alias("group"),
        )
        .drop("sizes", "file", "span", "stream", "group_desc", "peer")
        .sort("row")
    )


def _peer_rank(world: object) -> pl.Expr:
    """Return the job's rank of what is recorded as a rank within the group; null where the group's are not known."""
    ranks = pl.col("group_ranks").str.split(",")
    whole_job = pl.col("group_ranks").is_null() & (pl.col("group_size") == pl.lit(world, dtype=pl.Int32))
    return (
        pl.when(whole_job)
        .then("peer")
        .otherwise(ranks.list.get(pl.col("peer"), null_on_oob=True).cast(pl.Int32, strict=False))
    )


def one_role(frames: Sequence[Mapping[str, pl.DataFrame]]) -> list[dict[str, pl.DataFrame]]:
    """Give a role its size on every rank where two sizes share it on any: a rank may be in only one of them.

    Args:
        frames: every rank's, by name; `instances` tells the roles.

    Returns:
        the same frames, `group` renamed in all that have it.

    """
    told = pl.concat(own["instances"].select("role", "group", "group_size") for own in frames)
    sizes = (
        told.drop_nulls("role").group_by("role").agg(pl.col("group_size").drop_nulls().n_unique().alias("n"))
    )
    shared = sizes.filter(pl.col("n") > 1)["role"]
    renamed = []
    for own in frames:
        bare = own["instances"].filter(
            (pl.col("group") == pl.col("role")) & pl.col("role").is_in(shared.implode())
        )
        names = {
            role: f"{role} ({size} ranks)"
            for role, size in bare.select("role", "group_size").drop_nulls().rows()
        }
        renamed.append(
            {
                name: frame.with_columns(pl.col("group").replace(names))
                if names and "group" in frame.columns
                else frame
                for name, frame in own.items()
            }
        )
    return renamed
