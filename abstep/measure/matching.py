"""Match one collective across ranks (SEMANTICS 4): by sequence number where it can be trusted, else by order."""

from __future__ import annotations

import polars as pl

TOGETHER = ("all_reduce", "all_gather", "reduce_scatter", "barrier", "all_to_all")
"""Kinds whose ranks complete together: each waits for all."""
FROM_ROOT = ("broadcast", "scatter")
"""Kinds in which each rank waits for the root, and the root for nobody."""
ROOTED = (*FROM_ROOT, "reduce", "gather")
"""Kinds in which each rank is compared with the root only; the root of the last two waits for all."""
POINT_TO_POINT = "send_recv"
GROUP_KEY = ("repeat", "group_key")


def matched(instances: pl.DataFrame) -> pl.DataFrame:
    """Number the instances so that one number is one collective on all its ranks.

    Args:
        instances: repeat, rank, step, row, start_ns, host_launch, collective, direction, group, group_name,
            group_ranks, group_size, peer_rank, seq; one row a collective and rank.

    Returns:
        `instances` with `instance` (Int64, unique over the run), `matched_by` ('sequence' or 'order'), `paired`
        (a send or recv whose other side is known) and `left_out`: without sequence numbers, ranks count differently
        in this step, so that which is which is not
        known (the first step of a capture is counted from its end: leading collectives are cut differently).

    """
    keyed = instances.with_columns(
        pl.concat_str(
            pl.col("group"),
            pl.col("group_name").fill_null("?"),
            pl.col("group_ranks").fill_null("?"),
            separator="|",
        ).alias("group_key"),
        pl.coalesce("host_launch", "start_ns").alias("order"),
    ).sort("repeat", "rank", "step", "order", "start_ns", "row")
    keyed = keyed.with_columns(_counterpart().alias("pair_kind"), _is_paired().alias("paired"))
    keyed = keyed.join(_trusted(keyed), on=GROUP_KEY, how="left", maintain_order="left")
    keyed = _ordinals(keyed)
    identity = pl.when("trusted").then(pl.col("seq")).otherwise("ordinal")
    return (
        keyed.with_columns(
            identity.alias("identity"),
            # matched by order, another size is another collective; all_to_all may differ in size by rank
            pl.when(~pl.col("trusted") & pl.col("collective").is_in(ONE_SIZE)).then("bytes").alias("size"),
            pl.when("trusted").then(pl.lit("sequence")).otherwise(pl.lit("order")).alias("matched_by"),
            (~pl.col("trusted") & pl.col("uneven") & ~pl.col("first_step")).alias("left_out"),
        )
        .with_columns(
            pl.struct("repeat", "step", "group_key", "pair_kind", "identity", "size")
            .rank("dense")
            .cast(pl.Int64)
            .alias("instance"),
        )
        .drop(
            "order",
            "trusted",
            "identity",
            "group_key",
            "pair_kind",
            "ordinal",
            "uneven",
            "first_step",
            "size",
        )
    )


def _counterpart() -> pl.Expr:
    """Name a send and its recv alike: by direction within a group of two, else by both ranks where recorded.

    Other kinds keep their name.
    """
    lower = pl.col("rank") == pl.col("rank").min().over("group_key")
    sends = pl.col("direction") == "send"
    way = pl.when(sends == lower).then(pl.lit("up")).otherwise(pl.lit("down"))
    sender = pl.when(sends).then("rank").otherwise("peer_rank")
    receiver = pl.when(sends).then("peer_rank").otherwise("rank")
    return (
        pl.when(pl.col("direction").is_null())
        .then("collective")
        .when(pl.col("group_size") == PAIR)
        .then(way)
        .otherwise(pl.coalesce(pl.format("{} to {}", sender, receiver), "direction"))
    )


def _is_paired() -> pl.Expr:
    """Say of a send or recv whether its other side is known."""
    return pl.col("direction").is_not_null() & (
        (pl.col("group_size") == PAIR) | pl.col("peer_rank").is_not_null()
    ).fill_null(value=False)


def _trusted(keyed: pl.DataFrame) -> pl.DataFrame:
    """Say of each group whether its sequence numbers can be trusted.

    They rise strictly on every rank, and one number is one kind and size on all ranks.
    """
    rises = (
        keyed.with_columns(
            (pl.col("seq") > pl.col("seq").shift(1))
            .over(*GROUP_KEY, "rank")
            .fill_null(value=True)
            .alias("rises"),
        )
        .group_by(GROUP_KEY)
        .agg((pl.col("rises").all() & (pl.col("seq").null_count() == 0)).alias("rising"))
    )
    same = (
        keyed.drop_nulls("seq")
        .group_by(*GROUP_KEY, "seq")
        .agg((pl.struct("pair_kind", "bytes", "step").n_unique() == 1).alias("same"))
        .group_by(GROUP_KEY)
        .agg(pl.col("same").mean().alias("same"))
    )
    mostly = pl.col("same").fill_null(0.0) >= MOSTLY_SAME
    return rises.join(same, on=GROUP_KEY, how="left").select(
        *GROUP_KEY, (pl.col("rising") & mostly).alias("trusted")
    )


def _ordinals(keyed: pl.DataFrame) -> pl.DataFrame:
    """Count each kind within its group, step and rank; from the end (negative) where ranks' counts differ."""
    own = ("repeat", "step", "group_key", "pair_kind")
    counted = keyed.with_columns(
        pl.int_range(pl.len()).over(*own, "rank").alias("from_start"),
        pl.len().over(*own, "rank").alias("count"),
        (pl.col("step") == pl.col("step").min().over("repeat")).alias("first_step"),
    ).with_columns((pl.col("count").n_unique().over(own) > 1).alias("uneven"))
    return counted.with_columns(
        pl.when("uneven")
        .then(pl.col("from_start") - pl.col("count").cast(pl.Int64))
        .otherwise(pl.col("from_start"))
        .alias("ordinal"),
    ).drop("from_start", "count")


MOSTLY_SAME = 0.99  # one rank that lost or swapped a collective must not cost the whole group its numbers
PAIR = 2
ONE_SIZE = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
