"""Which rank arrives last at a slot's collectives, how often, by how much and why; SEMANTICS 4."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from abstep import units

if TYPE_CHECKING:
    from abstep.compare.comparison import Side

MOSTLY = 0.6  # a rank is called late only if it is last in this share of instances
REASONS = {"compute": "longer compute", "host": "its host launched late", "queue": "its link was still busy"}


class Lateness(NamedTuple):
    """What the instances of one side say.

    Attributes:
        share: rank -> share of instances in which it arrived last.
        rank: the rank that most often did.
        lead: median time by which that rank was behind the second last, ns.
        reason: compute, host or queue, in most of these instances.
        instances: how many there were.
        spread: how far the ranks' clocks agree, ns; None where they were not compared.

    """

    share: dict[int, float]
    rank: int
    lead: float
    reason: str | None
    instances: int
    spread: float | None

    @property
    def named(self) -> bool:
        """Return whether one rank is late often enough, and by more than the clocks' disagreement, to be named."""
        often = self.share.get(self.rank, 0.0) >= MOSTLY
        return often and self.spread is not None and self.lead > 3 * self.spread

    def sentence(self) -> str:
        """Return who arrives last, in words."""
        if self.spread is None:
            return "not known: the ranks' clocks were not compared"
        share = units.share_text(self.share[self.rank])
        if not self.named:
            return f"no rank in particular (rank {self.rank} most often, {share})"
        why = f": {REASONS[self.reason]}" if self.reason in REASONS else ""
        return f"rank {self.rank}, {share} of {self.instances}, by {units.time_text(self.lead)}{why}"


def clock_spread(side: Side) -> float | None:
    """Return how far a side's clocks agree: the largest spread of a rank."""
    return max((row.spread for row in side.clock if row.spread is not None), default=None)


def lateness(instances: pl.DataFrame, spread: float | None) -> Lateness | None:
    """Return who arrives last over some instances, or None where arrivals are not known."""
    known = instances.drop_nulls(["start_ns", "peer_wait_ns"])
    if known.is_empty():
        return None
    ordered = known.sort("peer_wait_ns", "rank", maintain_order=True)
    tops = (
        ordered.group_by(["repeat", "step", "instance"], maintain_order=True)
        .agg(
            pl.col("rank").first(),
            pl.len().alias("ranks"),
            (pl.col("peer_wait_ns").get(1, null_on_oob=True) - pl.col("peer_wait_ns").first()).alias("lead"),
            (pl.col("start_ns").first() - pl.col("first_valid_launch_ns").first()).alias("queue"),
            (pl.col("first_valid_launch_ns").first() - pl.col("host_launch_ns").first()).alias("ready"),
        )
        .filter(pl.col("ranks") > 1)
    )
    counts = dict(tops.group_by("rank").len().sort("len", "rank", descending=[True, False]).iter_rows())
    rank = next(iter(counts))
    of_rank = tops.filter(pl.col("rank") == rank)
    lead = float(of_rank["lead"].median() or 0.0)  # type: ignore[arg-type]
    reasons = of_rank.select(
        pl.when(pl.col("queue") > pl.col("lead") / 2)
        .then(pl.lit("queue"))
        .when(pl.col("ready") <= 0)
        .then(pl.lit("host"))
        .otherwise(pl.lit("compute"))
    ).to_series()
    reason = str(reasons.mode().sort()[0]) if len(reasons) else None
    return Lateness({r: n / tops.height for r, n in counts.items()}, rank, lead, reason, tops.height, spread)
