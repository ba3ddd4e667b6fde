"""What was recorded of both runs beside contention: evidence for a reader, never a cause (SEMANTICS 6)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from abstep.compare.rows import Cores, PairEvidence
from abstep.compare.sides import CELL
from abstep.compare.signatures import compute_label, shapes_differ, without_shapes
from abstep.compare.slots import named_pairs, with_slots
from abstep.measure.evidence import COLLECTIVE, COMPUTE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abstep.compare.rows import ContentionRow
    from abstep.compare.sides import MeasuredSide
    from abstep.model import RunTables

CORES = ("cores",)
THREADS = ("threads_per_rank", "omp_num_threads")
PINNING = ("pinning",)


def with_evidence(
    rows: Sequence[ContentionRow],
    sides: tuple[MeasuredSide, MeasuredSide],
    typical: tuple[pl.DataFrame, pl.DataFrame],
    renamed: pl.DataFrame | None = None,
) -> tuple[ContentionRow, ...]:
    """Return the pairs with what each side recorded of them.

    A side that has the kernels but never one beside the other tells their launch configurations all the same.

    Args:
        rows: the pairs.
        sides: base, variant.
        typical: a side: repeat, step of its typical windows; copies are means of these, a window and rank.
        renamed: see `slots.with_slots`.

    """
    bare = shapes_differ(*sides)
    told = []
    for side, cells, names in zip(sides, typical, (None, renamed), strict=True):
        launched, copied = (side.own(frame) for frame in (side.run.resources, side.run.copies))
        if bare:
            launched, copied = without_shapes(launched), without_shapes(copied)
        launched = launched.with_columns(compute_label().alias("compute"))
        compute = _ranges(launched, "compute", COMPUTE)
        means = _mean_occupancy(launched)
        sizes = [pl.col(name).alias(f"{name}_{end}") for name in COLLECTIVE for end in ("low", "high")]
        slots = _ranges(with_slots(side.instances, names).with_columns(sizes), "slot", COLLECTIVE)
        copies = _copies(
            side,
            named_pairs(copied.join(cells, on=CELL, how="semi", maintain_order="left"), names),
            cells.height,
        )
        told.append((compute, means, slots, copies))

    def of(row: ContentionRow, side: int) -> PairEvidence:
        compute, means, slots, copies = told[side]
        overlap = (row.base_overlap, row.variant_overlap)[side]
        known = compute.get(row.compute, {}) | slots.get(row.slot, {})
        beside = copies.get((row.compute, row.slot), {}) if copies is not None and overlap else None
        return PairEvidence(**known, occupancy_mean_pct=means.get(row.compute), copies=beside)

    return tuple(replace(row, base_evidence=of(row, 0), variant_evidence=of(row, 1)) for row in rows)


def cores(tables: RunTables) -> Cores:
    """Return what a run's run.json says of its cores and threads; None where it does not, or its repeats differ."""
    said = [
        {key.lower(): value for place in places for key, value in place.items()}
        for places in zip(tables.recorded, tables.settings, tables.environment, strict=True)
    ]
    pinned = _agreed(said, PINNING)
    return Cores(
        _whole(_agreed(said, CORES)),
        _whole(_agreed(said, THREADS)),
        pinned if isinstance(pinned, str) and pinned else None,
    )


def threads_by_rank(side: MeasuredSide) -> dict[int, tuple[int | None, int | None]]:
    """Return each rank's compute threads and collective threads, the most of any repeat; None: no host-only run."""
    most = side.own(side.run.recorded).group_by("rank").max()
    return {
        rank: (compute, collective)
        for rank, compute, collective in most.select(
            "rank", "compute_threads", "collective_threads"
        ).iter_rows()
    }


def _ranges(frame: pl.DataFrame, key: str, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return, by key and name, the smallest and largest of ranges; None where one of them is unknown."""
    every = {name: pl.when(pl.col(f"{name}_low").null_count() == 0) for name in names}
    ends = [
        end
        for name, known in every.items()
        for end in (
            known.then(pl.col(f"{name}_low").min()).alias(f"least_{name}"),
            known.then(pl.col(f"{name}_high").max()).alias(f"most_{name}"),
        )
    ]
    return {
        row[key]: {
            name: None if row[f"least_{name}"] is None else (row[f"least_{name}"], row[f"most_{name}"])
            for name in names
        }
        for row in frame.group_by(key).agg(ends).iter_rows(named=True)
    }


def _mean_occupancy(launched: pl.DataFrame) -> dict[str, float | None]:
    """Return the mean occupancy of each compute's kernels, percent, by their time; None where any is unknown."""
    filled = pl.col("occupancy_ns")
    mean = pl.when((filled.null_count() == 0) & (pl.col("ns").sum() > 0)).then(
        filled.sum() / pl.col("ns").sum()
    )
    return dict(launched.group_by("compute", maintain_order=True).agg(mean.alias("mean")).iter_rows())


def _copies(
    side: MeasuredSide, copied: pl.DataFrame, windows: int
) -> dict[tuple[str, str], dict[str, float]] | None:
    """Return mean ns a window and rank by (compute, slot) and direction; None where the traces hold no copy at all."""
    if not side.own(side.run.recorded)["copies"].sum():
        return None
    mean = pl.col("copies_ns").sum() / max(1, windows * len(side.ranks))
    found: dict[tuple[str, str], dict[str, float]] = {}
    summed = (
        copied.group_by("compute", "slot", "direction", maintain_order=True)
        .agg(mean)
        .sort("compute", "slot", "direction")
    )
    for compute, slot, direction, time in summed.iter_rows():
        found.setdefault((compute, slot), {})[direction] = time
    return found


def _agreed(said: Sequence[Mapping[str, Any]], keys: tuple[str, ...]) -> object:
    """Return the value all repeats give the first of these keys that they have."""
    values = [next((own[key] for key in keys if key in own), None) for own in said]
    return values[0] if values and all(value == values[0] for value in values) else None


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
