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

    from abstep.measure.arrays import Flags, Int64
    from abstep.measure.links import Links

GAINS = {"window": pl.Int32, "gain_ns": pl.Int64}


def replayed(ranks: Sequence[Links], instances: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """Return how much earlier each window would end if no collective queued behind another.

    Each collective starts on every rank at its first valid launch and takes the transport it was measured to take
    after the last rank's; computation takes as long as measured, and follows what it waits for: its stream, the
    collectives its stream was made to wait for (in the order of theirs), its launch call, and what its host last
    stood still for. A rank that is late stays late. Rooted collectives and those that are unsplit stay where they
    are. Nothing of one step moves another; what closes a window may move past computation that goes on beside it, and
    no window gets shorter than its computation.

    Args:
        ranks: one a rank trace.
        instances: `AcrossRanks.instances`.
        windows: window, start_ns, end_ns, compute_alone, overlapped of completed windows.

    Returns:
        window, gain_ns (0 or more); no row where nothing is known to limit it.

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
    gain = np.concatenate([earlier[own.last + by] for own, by in zip(ranks, shift, strict=False)])
    found = pl.DataFrame(
        {
            "window": pl.Series(np.concatenate([own.window for own in ranks])).cast(pl.Int32),
            "gain_ns": pl.Series(gain, dtype=pl.Int64),
        }
    )
    busy = pl.col("compute_alone") + pl.col("overlapped")
    most = windows.select("window", (pl.col("end_ns") - pl.col("start_ns") - busy).alias("most"))
    return (
        found.filter(pl.col("gain_ns") < FAR)
        .join(most, on="window", how="inner", maintain_order="left")
        .select("window", pl.min_horizontal("gain_ns", "most").alias("gain_ns"))
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

    A node is final, and passes on what it has, once all that limits it has, or when it can't be earlier at all: every
    link is followed once, in all windows at once, in as many rounds as a step's longest chain has links. Collectives
    that ranks launched in different orders limit each other; of what is left then, the least is final.
    """
    links = np.flatnonzero(source != node)
    links = links[np.argsort(source[links], kind="stable")]
    source, node, slack = source[links], node[links], slack[links]
    low = np.searchsorted(source, np.arange(nodes), side="left")
    high = np.searchsorted(source, np.arange(nodes), side="right")
    awaits = np.bincount(node, minlength=nodes)
    earlier = np.full(nodes, FAR, dtype=np.int64)
    earlier[0] = 0
    final: Flags = np.zeros(nodes, dtype=bool)
    passing = np.flatnonzero(awaits == 0)  # what is fixed, and what nothing limits
    while len(passing):
        final[passing] = True
        owner, link = expand(low[passing], high[passing])
        reached = node[link]
        np.minimum.at(earlier, reached, earlier[passing[owner]] + slack[link])
        np.subtract.at(awaits, reached, 1)
        done = (awaits[reached] == 0) | (earlier[reached] == 0)
        passing = np.sort(reached[done & ~final[reached]])
        passing = passing[np.diff(passing, prepend=-1) > 0]  # np.unique takes ten times as long for a few
        if len(passing) == 0:
            left = np.flatnonzero(~final)
            passing = left[earlier[left] == earlier[left].min(initial=FAR)]
    return earlier
