"""What was recorded beside contention: how kernels were launched, which copies ran, which threads computed.

Evidence, never a cause (SEMANTICS 6). Launch configurations are taken as recorded (schema.sql, `resources`); copies
are measured, in ns. What was not recorded is null.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from abstep.measure.busy import Busy
from abstep.measure.contention import SIGNATURE, SLOT, slots_of
from abstep.measure.work import IDS, by_signature
from abstep.model import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abstep.measure.dictionary import Dictionary
    from abstep.measure.timeline import Timeline
    from abstep.model import RunTables
    from abstep.windows import CutRun

NCCL_KERNEL = re.compile(r"^(?:void )?nccl(?:Dev)?Kernel_")
"""Device kernels of NCCL and RCCL that run one thread block a channel (not their symmetric-memory kernels)."""
DIRECTIONS = {"HtoD": r"HtoD|HostToDevice", "DtoH": r"DtoH|DeviceToHost", "DtoD": r"DtoD|DeviceToDevice"}
OTHER_COPY = "other"
COMPUTE = ("registers", "shared_bytes", "occupancy_pct")
"""Of `resources`, what says how much of the device a compute kernel takes."""
COLLECTIVE = ("blocks", "threads", "channels")
COPIES = {"row": pl.Int32, "collective_row": pl.Int32, "direction": pl.String, "copies_ns": pl.Int64}
RECORDED = {"compute_threads": pl.Int32, "collective_threads": pl.Int32, "copies": pl.Int32}


def kernel_size(tables: RunTables) -> pl.DataFrame:
    """Return how large each communication span's kernel is: row, file, span, stream, COLLECTIVE (Int32).

    blocks: thread blocks of its grid; threads: of a block; channels: blocks, where the kernel is one of NCCL's
    (or RCCL's) own device kernels, which run a block a channel.
    """
    nccl = [name for name, text in tables.names.select("name", "text").iter_rows() if NCCL_KERNEL.match(text)]
    sizes = tables.resources.select("file", "resource", "blocks", "threads")
    return (
        tables.spans.filter(pl.col("kind") == int(Kind.COMMUNICATION))
        .select("row", "file", "span", "stream", "name", "resource")
        .join(sizes, on=["file", "resource"], how="left", maintain_order="left")
        .with_columns(pl.when(pl.col("name").is_in(nccl)).then("blocks").alias("channels"))
        .drop("name", "resource")
    )


def launch_resources(run: CutRun, texts: Dictionary) -> pl.DataFrame:
    """Return how the compute kernels of each signature were launched, over all windows of a rank.

    Args:
        run: the rank's cut tables.
        texts: the dictionary.

    Returns:
        SIGNATURE, ns (time of its kernels), occupancy_ns (occupancy_pct x ns, summed) and, of each of COMPUTE,
        NAME_low and NAME_high: the smallest and largest; null where any of the kernels has none recorded.

    """
    launched = run.tables.resources.select("file", "resource", *COMPUTE)
    seen = (
        run.tables.spans.filter((pl.col("kind") == int(Kind.COMPUTE)) & pl.col("window").is_not_null())
        .group_by("file", "resource", *IDS, maintain_order=True)
        .agg((pl.col("end_ns") - pl.col("start_ns")).sum().alias("ns"))
        .join(launched, on=["file", "resource"], how="left")
    )
    filled = pl.when(pl.col("occupancy_pct").null_count() == 0).then(
        (pl.col("occupancy_pct") * pl.col("ns")).sum()
    )
    ranges = [pl.col("ns").sum(), filled.alias("occupancy_ns")]
    ranges += [end for name in COMPUTE for end in _range(name)]
    return by_signature(seen, texts).group_by(SIGNATURE).agg(ranges).sort(SIGNATURE, nulls_last=True)


def _range(name: str) -> tuple[pl.Expr, pl.Expr]:
    every = pl.when(pl.col(name).null_count() == 0)
    return (
        every.then(pl.col(name).min()).alias(f"{name}_low"),
        every.then(pl.col(name).max()).alias(f"{name}_high"),
    )


def copy_directions(tables: RunTables) -> dict[str, list[int]]:
    """Return the names of the run's copies by direction: HtoD, DtoH, DtoD, other."""
    used = tables.spans.filter(pl.col("kind") == int(Kind.COPY))["name"].unique()
    texts = tables.names.filter(pl.col("name").is_in(used.implode()))
    found: dict[str, list[int]] = {}
    for name, text in texts.select("name", "text").sort("name").iter_rows():
        direction = next((key for key, said in DIRECTIONS.items() if re.search(said, text)), OTHER_COPY)
        found.setdefault(direction, []).append(name)
    return found


def copies_beside(line: Timeline, pairs: pl.DataFrame, directions: Mapping[str, list[int]]) -> pl.DataFrame:
    """Return how long copies ran too while a compute span and a collective did, where they did at all.

    Args:
        line: one rank trace.
        pairs: `contention.beside` of it.
        directions: `copy_directions`.

    Returns:
        row, collective_row, direction, copies_ns: time in which at least one copy of that direction ran.

    """
    copies = line.of(Kind.COPY)
    start, length = pairs["start_ns"].to_numpy(), pairs["overlap_ns"].to_numpy()
    found = []
    for direction, names in directions.items():
        own = copies[np.isin(line.name[copies], names)]
        if len(own) == 0 or len(start) == 0:
            continue
        busy = Busy(line.start[own], line.end[own]).between(start, start + length)
        there = np.flatnonzero(busy)
        found.append(
            pairs[there].select(
                "row",
                "collective_row",
                pl.lit(direction).alias("direction"),
                pl.Series("copies_ns", busy[there], dtype=pl.Int64),
            )
        )
    return pl.concat(found) if found else pl.DataFrame(schema=COPIES)


def pair_copies(
    spans: pl.DataFrame, copies: pl.DataFrame, instances: pl.DataFrame, texts: Dictionary
) -> pl.DataFrame:
    """Return copies beside what ran beside which slot in each window: window, SIGNATURE, SLOT, direction, copies_ns.

    Only where there were any. Counted like `contention.signatures_beside`'s overlap_ns: of every collective.

    Args:
        spans: `contention.compute_spans`.
        copies: `copies_beside` of all rank traces.
        instances: row, phase, group, collective, consumer of the collectives.
        texts: the dictionary.

    """
    own = spans.filter(pl.col("row").is_in(copies["row"].unique().implode())).select("row", "window", *IDS)
    keys = ("window", *SIGNATURE, *SLOT, "direction")
    summed = (
        copies.join(slots_of(instances), on="collective_row", how="inner", maintain_order="left")
        .join(own, on="row", how="inner", maintain_order="left")
        .group_by("window", *IDS, *SLOT, "direction", maintain_order=True)
        .agg(pl.col("copies_ns").sum())
    )
    return (
        by_signature(summed, texts)
        .group_by(keys, maintain_order=True)
        .agg(pl.col("copies_ns").sum())
        .sort(keys, nulls_last=True)
    )


def recorded_threads(run: CutRun) -> pl.DataFrame:
    """Return one row about a rank: compute_threads, collective_threads (host-only runs; else null) and copies.

    compute_threads: threads whose operators are its compute; collective_threads: threads on which its
    collectives progressed. copies: how many copies its traces hold; null for host-only runs.
    """
    own = run.tables.spans.filter(pl.col("window").is_not_null())
    host_only = bool(run.tables.files["host_only"].all())

    def threads(kind: Kind) -> int | None:
        return own.filter(pl.col("kind") == int(kind))["stream"].n_unique() if host_only else None

    copies = None if host_only else run.tables.spans.filter(pl.col("kind") == int(Kind.COPY)).height
    row = (threads(Kind.COMPUTE), threads(Kind.COMMUNICATION), copies)
    return pl.DataFrame([row], schema=RECORDED, orient="row")
