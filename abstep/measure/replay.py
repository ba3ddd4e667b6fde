"""Replay steps with every collective at its first valid launch: the dependency-respecting bound (SEMANTICS 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.dependencies import FAR
from abstep.measure.expand import expand
from abstep.measure.links import FIXED
from abstep.measure.matching import ROOTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.measure.arrays import Int64
    from abstep.measure.links import Links

GAINS = {"window": pl.Int32, "gain_ns": pl.Int64}


def replayed(ranks: Sequence[Links], instances: pl.DataFrame) -> pl.DataFrame:
    """Return how much earlier each window would end if no collective queued behind another.

    Each collective starts on every rank at its first valid launch and takes the transport it was measured to take
    after the last rank's; computation takes as long as measured, and follows what it waits for: its stream, the
    collectives its stream was made to wait for (in the order of theirs), its launch call, and what its host last
    stood still for. A rank that is late stays late. Rooted collectives and those that are unsplit stay where they
    are. Nothing of one step moves another.

    Args:
        ranks: one a rank trace.
        instances: `AcrossRanks.instances`.

    Returns:
        window, gain_ns (0 or more; null where nothing is known to limit it).

    """
    if not ranks:
        return pl.DataFrame(schema=GAINS)
    shift = np.cumsum([1, *(own.nodes for own in ranks)])
    source, node, slack = (
        np.concatenate(part)
        for part in zip(
            *(
                (np.where(own.source == FIXED, 0, own.source + by), own.node + by, own.slack)
                for own, by in zip(ranks, shift, strict=False)
            ),
            strict=True,
        )
    )
    of_collectives, nodes = _collectives(ranks, shift, instances)
    source, node, slack = (
        np.concatenate(pair) for pair in zip((source, node, slack), of_collectives, strict=True)
    )
    earlier = _earlier(source, node, slack, nodes)
    windows = np.concatenate([own.window for own in ranks])
    gain = np.concatenate([earlier[own.last + by] for own, by in zip(ranks, shift, strict=False)])
    known = gain < FAR
    values = pl.Series(gain, dtype=pl.Int64)
    return pl.DataFrame({"window": windows, "gain_ns": values}).select(
        pl.col("window").cast(pl.Int32), pl.when(pl.Series(known)).then("gain_ns").alias("gain_ns")
    )


def _collectives(
    ranks: Sequence[Links], shift: Int64, instances: pl.DataFrame
) -> tuple[tuple[Int64, Int64, Int64], int]:
    """Link collectives across ranks: one node an instance, limited by all its ranks; its rows are limited by it."""
    moves = instances.filter(
        pl.col("last_arrival").is_not_null() & ~pl.col("collective").is_in(ROOTED)
    ).select("row", pl.col("instance").rank("dense").cast(pl.Int64).alias("instance"), "last_arrival")
    rows = np.concatenate([own.row for own in ranks])
    own_node = np.concatenate([own.own + by for own, by in zip(ranks, shift, strict=False)])
    table = pl.DataFrame({"row": pl.Series(rows).cast(pl.Int32)}).join(
        moves, on="row", how="left", maintain_order="left"
    )
    first = int(shift[-1]) - 1
    number = table["instance"].fill_null(0).to_numpy()
    of_instance = np.where(number > 0, first + number, 0)
    arrival = table["last_arrival"].fill_null(0).to_numpy()
    begins = np.cumsum([0, *(len(own.row) for own in ranks)])
    member = np.concatenate([own.member + by for own, by in zip(ranks, begins, strict=False)])
    limit = np.concatenate(
        [np.where(own.limit == FIXED, 0, own.limit + by) for own, by in zip(ranks, shift, strict=False)]
    )
    at = np.concatenate([own.at for own in ranks])
    matched = of_instance[member] > 0
    member, limit, at = member[matched], limit[matched], at[matched]
    links = (
        np.concatenate([limit, of_instance]),
        np.concatenate([of_instance[member], own_node]),
        np.concatenate([np.maximum(arrival[member] - at, 0), np.zeros(len(own_node), dtype=np.int64)]),
    )
    return links, first + 1 + int(number.max(initial=0))


def _earlier(source: Int64, node: Int64, slack: Int64, nodes: int) -> Int64:
    """Return how much earlier each node can be: its shortest path from what is fixed (node 0); FAR: unlimited.

    Each round passes on what the round before improved, in all windows at once: as many rounds as a step's longest
    chain of links has, not as there are links.
    """
    order = np.argsort(source, kind="stable")
    source, node, slack = source[order], node[order], slack[order]
    low = np.searchsorted(source, np.arange(nodes), side="left")
    high = np.searchsorted(source, np.arange(nodes), side="right")
    earlier = np.full(nodes, FAR, dtype=np.int64)
    earlier[0] = 0
    improved: Int64 = np.zeros(1, dtype=np.int64)
    while len(improved):
        owner, link = expand(low[improved], high[improved])
        reached, found = node[link], earlier[improved[owner]] + slack[link]
        better = found < earlier[reached]
        reached = reached[better]
        np.minimum.at(earlier, reached, found[better])
        improved = np.unique(reached)
    return earlier
