"""Collectives across ranks: late rank or slow transport, on one clock (SEMANTICS 4)."""

from __future__ import annotations

import json
from dataclasses import dataclass

import polars as pl

from abstep.measure.matching import FROM_ROOT, PAIR, POINT_TO_POINT, ROOTED, TOGETHER, matched
from abstep.windows.clock import CommonClock, common_clock

BUS_FACTORS = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "all_to_all": 1.0}
"""times (n - 1) / n; nccl-tests' formulas. Kinds not named: gather and scatter as all_gather, others 1."""


@dataclass(frozen=True)
class AcrossRanks:
    """All instances with their split, and the clock it stands on.

    Attributes:
        instances: the run's instances with instance, matched_by, members (traced ranks of it),
            expected (ranks of its group), last_arrival (Int64 ns on the rank's own clock), peer_wait_ns,
            transport_ns, last_rank (whom this rank waited for, itself where for nobody), late_rank (who arrived last
            and was waited for; null for send_recv), lateness_ns (own start after the first rank's, common clock),
            lead_ns (the late rank's start after the second last's), uncertain_ns (of one split); nulls: unsplit.
        clock: the common clock.
        unmatched: how many (instance, rank) lack a partner rank that was traced.

    """

    instances: pl.DataFrame
    clock: CommonClock
    unmatched: pl.DataFrame


def across_ranks(instances: pl.DataFrame, files: pl.DataFrame) -> AcrossRanks:
    """Match, put on one clock and split every instance.

    Args:
        instances: one row a collective and rank (`MeasuredRun.instances`).
        files: repeat, rank, host, host_only, world_size.

    """
    paired = matched(instances)
    ranks = (
        files.group_by("repeat", "rank")
        .agg(pl.col("host").drop_nulls().first(), pl.col("host_only").all())
        .sort("repeat", "rank")
    )
    world = files["world_size"].drop_nulls().max()
    traced = ranks.group_by("repeat").agg(pl.len().alias("traced"))
    paired = paired.join(traced, on="repeat", how="left", maintain_order="left").with_columns(
        pl.len().over("instance").alias("members"),
        pl.when("paired")
        .then(PAIR)
        .otherwise(pl.coalesce("group_size", pl.lit(world, dtype=pl.Int32)))
        .cast(pl.Int32)
        .alias("expected"),
    )
    if _several_groups(files):
        # which of the job's groups a collective without metadata ran in is not known: its members are not either
        nameless = pl.col("group_name").is_null() & pl.col("group_ranks").is_null()
        paired = paired.with_columns(pl.when(~nameless).then("expected").otherwise(0).alias("expected"))
    together = pl.col("collective").is_in(TOGETHER)
    complete = pl.col("members") == pl.col("expected").fill_null(pl.col("traced"))
    ends = paired.filter(together & ~pl.col("left_out") & (pl.col("members") > 1) & _not_first()).select(
        "repeat", "instance", "rank", "end_ns"
    )
    clock = common_clock(ends, ranks)
    spreads = clock.rows.select("repeat", "rank", "spread_ns")
    on_common = clock.on_common(paired, "start_ns").join(
        spreads, on=["repeat", "rank"], how="left", maintain_order="left"
    )
    whole = complete & (pl.col("start_ns_common").null_count().over("instance") == 0)
    across = _split(on_common.with_columns((whole & ~pl.col("left_out") & _divisible()).alias("split")))
    unmatched = _unmatched(across, ranks)
    return AcrossRanks(
        across.drop("start_ns_common", "spread_ns", "traced", "paired", "left_out", "split"), clock, unmatched
    )


def _divisible() -> pl.Expr:
    """Whether it is known who waits for whom: all for all, one for the other, or each for a recorded root."""
    root = pl.col("peer_rank")
    rooted = (
        pl.col("collective").is_in(ROOTED)
        & (root.n_unique().over("instance") == 1)
        & (pl.col("rank") == root).any().over("instance").fill_null(value=False)
    )
    return (pl.col("members") > 1) & (pl.col("collective").is_in(TOGETHER) | pl.col("paired") | rooted)


def _split(instances: pl.DataFrame) -> pl.DataFrame:
    """Divide each instance where `split` says so; see `AcrossRanks.instances`."""
    own = "instance"
    start, rank, spread = pl.col("start_ns_common"), pl.col("rank"), pl.col("spread_ns")
    is_last = start == start.max().over(own)
    last = rank.filter(is_last).min().over(own)
    second = start.sort(descending=True).get(1, null_on_oob=True).over(own)
    is_root = rank == pl.col("peer_rank")
    from_root = pl.col("collective").is_in(FROM_ROOT)
    root_start = start.filter(is_root).first().over(own)
    # whom a rank waits for: the last of all; but in a rooted collective the others wait for the root only
    waits_for = (
        pl.when(~pl.col("collective").is_in(ROOTED) | (is_root & ~from_root))
        .then(last)
        .when(is_root | (start >= root_start))
        .then("rank")
        .otherwise("peer_rank")
    )
    found = instances.with_columns(pl.when("split").then(waits_for).alias("last_rank"))
    waited = found.select(
        own, rank.alias("last_rank"), start.alias("last_start"), spread.alias("last_spread")
    )
    duration = pl.col("end_ns") - pl.col("start_ns")
    wait = (pl.col("last_start") - start).clip(0, None)
    # waiting in a pipeline is its schedule, never evidence of a late rank; nobody waits for who only receives
    blamed = (pl.col("collective") != POINT_TO_POINT) & (~from_root | (last == pl.col("peer_rank")))
    return (
        found.join(waited, on=[own, "last_rank"], how="left", maintain_order="left")
        .with_columns(
            pl.when("split").then(pl.min_horizontal(duration, wait)).alias("peer_wait_ns"),
            pl.when("split").then(pl.col("start_ns") + wait).alias("last_arrival"),
            pl.when(pl.col("split") & blamed).then(last).alias("late_rank"),
            pl.when("split").then(start - start.min().over(own)).alias("lateness_ns"),
            pl.when("split").then(start.max().over(own) - second).alias("lead_ns"),
            pl.when("split")
            .then((spread.pow(2) + pl.col("last_spread").pow(2)).sqrt())
            .alias("uncertain_ns"),
        )
        .with_columns((duration - pl.col("peer_wait_ns")).alias("transport_ns"))
        .drop("last_start", "last_spread")
    )


def _unmatched(instances: pl.DataFrame, ranks: pl.DataFrame) -> pl.DataFrame:
    """Count the (instance, rank) whose other ranks were traced and yet do not show it: collective, group, count."""
    matchable = pl.col("collective").is_in([*TOGETHER, *ROOTED]) | pl.col("paired")
    traced = ranks.select("repeat", pl.col("rank").alias("member"))
    groups = instances.select("repeat", "group_ranks").drop_nulls().unique()
    here = (
        groups.with_columns(pl.col("group_ranks").str.split(",").cast(pl.List(pl.Int32)).alias("member"))
        .explode("member")
        .join(traced, on=["repeat", "member"], how="semi")
        .group_by("repeat", "group_ranks")
        .agg(pl.len().alias("here"))
    )
    partner = instances.select("repeat", pl.col("peer_rank").alias("member")).join(
        traced.with_columns(pl.lit(PAIR).alias("both")),
        on=["repeat", "member"],
        how="left",
        maintain_order="left",
    )["both"]
    lacking = (
        instances.with_columns(partner)
        .join(here, on=["repeat", "group_ranks"], how="left", maintain_order="left")
        .filter(matchable)
        .with_columns(
            pl.when(pl.col("paired") & pl.col("peer_rank").is_not_null())
            .then(pl.col("both").fill_null(1))
            .otherwise(pl.coalesce("here", pl.min_horizontal("expected", "traced")))
            .alias("findable"),
        )
        .filter((pl.col("members") < pl.col("findable")) | pl.col("left_out"))
    )
    return lacking.group_by("collective", "group").agg(pl.len().alias("count")).sort("collective", "group")


def split_parts(parts: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """Divide every exposed part into peer wait and transport (SEMANTICS 5).

    Args:
        parts: exposed parts with `row` of their collective, start_ns, end_ns, exposed_ns.
        instances: `AcrossRanks.instances`.

    Returns:
        `parts` with peer_wait_ns and transport_ns (Int64; null where unsplit): the part of the stretch before
        the last arrival is peer wait, at the collective's share of it.

    """
    arrivals = instances.select("row", "last_arrival")
    length = pl.col("end_ns") - pl.col("start_ns")
    waiting = (pl.min_horizontal("end_ns", "last_arrival") - pl.col("start_ns")).clip(0, None)
    return (
        parts.join(arrivals, on="row", how="left", maintain_order="left")
        .with_columns(
            pl.when(pl.col("last_arrival").is_not_null())
            .then((pl.col("exposed_ns") * waiting / length.clip(1, None)).round().cast(pl.Int64))
            .alias("peer_wait_ns"),
        )
        .with_columns((pl.col("exposed_ns") - pl.col("peer_wait_ns")).alias("transport_ns"))
        .drop("last_arrival")
    )


def _several_groups(files: pl.DataFrame) -> bool:
    """Whether the job is recorded to have process groups with different members."""
    members = {
        json.dumps(group["ranks"])
        for text in files["groups"].drop_nulls().unique()
        for group in json.loads(text)
        if isinstance(group, dict) and group.get("pg_size") not in (0, 1) and group.get("ranks")
    }
    return len(members) > 1


def _not_first() -> pl.Expr:
    """Leave out each group's first collectives of a capture: ranks begin it at different moments."""
    return pl.col("start_ns") > pl.col("start_ns").min().over("repeat", "rank", "group", "group_name")


def bus_factor(collective: str, size: int) -> float:
    """Return nccl-tests' factor for a kind over `size` ranks."""
    share = (size - 1) / size if size > 0 else 0.0
    if collective in BUS_FACTORS:
        return BUS_FACTORS[collective] * share
    if collective in ("gather", "scatter"):
        return share
    return 1.0
