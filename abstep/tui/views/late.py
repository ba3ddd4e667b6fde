"""Which rank arrives last at a slot's collectives, how often and by how much; why is what the comparison found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from abstep import units

if TYPE_CHECKING:
    from abstep.compare.comparison import Comparison, SlotRow

MOSTLY = 0.6  # a rank is called late only if it is last in this share of instances
REASONS = {
    "compute": "its compute ends later",
    "host": "its host launches later",
    "queue": "its stream is still busy",
}
PIPELINED = "the pipeline's schedule, no sign of a late rank"


class Lateness(NamedTuple):
    """What the instances of one side say.

    Attributes:
        share: rank -> share of instances in which it arrived last.
        rank: the rank that most often did.
        lead: median time by which that rank was behind the second last, ns.
        instances: how many there were.
        spread: how far the ranks' clocks agree, ns; None where they were not compared.

    """

    share: dict[int, float]
    rank: int
    lead: float
    instances: int
    spread: float | None

    @property
    def named(self) -> bool:
        """Return whether one rank is late often enough, and by more than the clocks' disagreement, to be named."""
        often = self.share.get(self.rank, 0.0) >= MOSTLY
        return often and self.spread is not None and self.lead > 3 * self.spread

    def sentence(self, reason: str) -> str:
        """Return who arrives last, in words."""
        if self.spread is None:
            return "not known: the ranks' clocks were not compared"
        share = units.share_text(self.share[self.rank])
        if not self.named:
            return f"no rank in particular (rank {self.rank} most often, {share})"
        why = f": {reason}" if reason else ""
        return f"rank {self.rank}, {share} of {self.instances}, by {units.time_text(self.lead)}{why}"


def clock_spread(comparison: Comparison, side: str) -> float | None:
    """Return how far a side's clocks agree: the largest spread of a rank."""
    rows = dict(comparison.sides)[side].clock
    return max((row.spread for row in rows if row.spread is not None), default=None)


def reason_of(comparison: Comparison, side: str, slot: SlotRow, rank: int) -> str:
    """Return why a rank is late in collectives of a slot's kind, or "" where the comparison names another or none."""
    for row in comparison.collectives:
        kind = (row.side, row.collective, row.group, row.phase)
        if kind != (side, slot.collective, slot.group, slot.phase) or row.late_rank != rank:
            continue
        if row.pipelined:
            return PIPELINED
        if row.late_called and row.late_range is not None:
            return f"its host is longer in {units.name_text(row.late_range[0], width=40)}"
        if row.late_called:
            return REASONS.get(row.late_reason or "", "")
    return ""


def lateness(instances: pl.DataFrame, spread: float | None) -> Lateness | None:
    """Return who arrives last over some instances, or None where that is not known.

    The last rank waits for nobody; where none of the ranks given waited for nobody, it is not among them.
    """
    known = instances.drop_nulls(["start_ns", "peer_wait_ns"])
    if known.is_empty():
        return None
    tops = (
        known.sort("peer_wait_ns", "rank", maintain_order=True)
        .group_by(["repeat", "step", "instance"], maintain_order=True)
        .agg(
            pl.col("rank").first(),
            pl.col("peer_wait_ns").first().alias("wait"),
            pl.col("peer_wait_ns").get(1, null_on_oob=True).alias("lead"),
        )
        .filter(pl.col("lead").is_not_null() & (pl.col("wait") <= 0))
    )
    if tops.is_empty():
        return None
    counts = dict(tops.group_by("rank").len().sort("len", "rank", descending=[True, False]).iter_rows())
    rank = next(iter(counts))
    lead = float(tops.filter(pl.col("rank") == rank)["lead"].median() or 0.0)  # type: ignore[arg-type]
    return Lateness({r: n / tops.height for r, n in counts.items()}, rank, lead, tops.height, spread)
