"""What is read from the runs about one slot: its windows, each rank's part, and who arrives last."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from abstep.tui.nav import Window
from abstep.tui.views.late import Lateness, lateness

if TYPE_CHECKING:
    from abstep.compare.comparison import Detail

SIDES = ("base", "variant")


class RankRow(NamedTuple):
    """One rank's part in a slot: mean ns a window on each side, and how often it arrived last."""

    rank: int
    base: float | None
    variant: float | None
    base_wait: float | None
    variant_wait: float | None
    base_last: float | None
    variant_last: float | None

    @property
    def delta(self) -> float | None:
        """Return variant - base."""
        return None if self.base is None or self.variant is None else self.variant - self.base


class WindowRow(NamedTuple):
    """One window's exposed time in a slot, mean over ranks."""

    window: Window
    exposed: float
    highest: float
    rank: int
    typical: bool


class Evidence(NamedTuple):
    """What is read from the runs about a slot."""

    values: dict[str, list[float]]
    ranks: list[RankRow]
    windows: list[WindowRow]
    late: dict[str, Lateness | None]


def evidence(detail: Detail, slot: str, spread: dict[str, float | None]) -> Evidence:
    """Read a slot's windows and collectives."""
    frame = detail.slot_windows(slot)
    instances = detail.slot_instances(slot)
    typical = frame.filter(pl.col("typical"))
    means = (
        typical.group_by("side", "repeat", "step")
        .agg(pl.col("exposed_ns").mean())
        .sort("side", "repeat", "step")
    )
    values = {side: means.filter(pl.col("side") == side)["exposed_ns"].to_list() for side in SIDES}
    by_rank = {
        (side, rank): mean
        for side, rank, mean in typical.group_by("side", "rank").agg(pl.col("exposed_ns").mean()).iter_rows()
    }
    used = instances.join(
        typical.select("side", "repeat", "step").unique(), on=["side", "repeat", "step"], how="semi"
    )
    waits = {
        (side, rank): wait
        for side, rank, wait in used.group_by("side", "rank").agg(pl.col("peer_wait_ns").mean()).iter_rows()
    }
    late = {side: lateness(used.filter(pl.col("side") == side), spread[side]) for side in SIDES}
    ranks = sorted({rank for _, rank in by_rank})
    rows = [
        RankRow(
            rank,
            *(by_rank.get((side, rank)) for side in SIDES),
            *(waits.get((side, rank)) for side in SIDES),
            *(found.share.get(rank, 0.0) if (found := late[side]) else None for side in SIDES),
        )
        for rank in ranks
    ]
    windows = (
        frame.sort("exposed_ns", descending=True, maintain_order=True)
        .group_by("side", "repeat", "step", maintain_order=True)
        .agg(
            pl.col("exposed_ns").mean().alias("mean"), pl.col("exposed_ns").first(), pl.col("rank").first(),
            pl.col("typical").all(),
        )
        .sort("side", "repeat", "step")
    )  # fmt: skip
    listed = [
        WindowRow(Window(s, r, n), mean, most, rank, ok)
        for s, r, n, mean, most, rank, ok in windows.iter_rows()
    ]
    return Evidence(values, rows, listed, late)
