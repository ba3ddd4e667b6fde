"""An account of the step time that adds up exactly (SEMANTICS 7, accounting)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.compare.comparison import AccountRow
from abstep.compare.signatures import alike, match_work

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abstep.compare.comparison import ContentionRow, SlotRow
    from abstep.compare.sides import MeasuredSide, Weights
    from abstep.compare.statistics import Delta

    Pair = tuple[tuple[MeasuredSide, Weights], tuple[MeasuredSide, Weights]]

IDLE_PARTS = {
    "end_of_step": ("idle_end_of_step", "device idle after the step's last activity"),
    "host_late": ("idle_host_late", "device idle, host late to launch"),
    "stream_wait": ("idle_stream_wait", "device idle, stream waiting"),
    "unknown": ("unassigned", "device idle, cause not recorded"),
}


def account(
    pair: Pair,
    step_time: Delta,
    categories: Mapping[str, Delta],
    slots: Sequence[SlotRow],
    contention: Sequence[ContentionRow],
) -> tuple[AccountRow, ...]:
    """Regroup the change of the step: every nanosecond in one line, what cannot be assigned in its own.

    Args:
        pair: both sides with their window weights.
        step_time: the step's delta.
        categories: the five categories' deltas.
        slots: all exposed slots.
        contention: all tested pairs.

    Returns:
        Rows whose `delta` sum to the step's; exposed rows first, by size.

    """
    if step_time.delta is None:
        return ()
    rows = [
        AccountRow("exposed", slot.label, slot.delta.delta, slot.delta.base, slot.delta.variant, slot.id)
        for slot in sorted(slots, key=lambda slot: -abs(slot.delta.delta or 0.0))
        if slot.delta.delta is not None
    ]
    rows += _compute(pair, contention)
    copy = categories["copy_only"]
    if copy.delta is not None:
        rows.append(AccountRow("copy", "copies and memsets alone", copy.delta, copy.base, copy.variant))
    rows += _idle(pair)
    left = step_time.delta - sum(row.delta for row in rows)
    rows.append(AccountRow("unassigned", "unassigned", left))
    return tuple(rows)


def _compute(pair: Pair, contention: Sequence[ContentionRow]) -> list[AccountRow]:
    """Split the change of compute busy time: contention, speed, added and removed work."""
    tables = [work_table(*each) for each in pair]
    work = match_work(*alike(*tables))
    ours, theirs = float(work.matched["base_ns"].sum()), float(work.matched["variant_ns"].sum())
    grown = sum(row.delta.delta for row in contention if row.delta.delta is not None)
    rows = []
    if contention:
        rows.append(AccountRow("contention", "compute slowed beside communication", grown))
    rows.append(AccountRow("speed", "same work at another speed", theirs - ours - grown, ours, theirs))
    rows += [
        AccountRow("added_work", _operator(operator, base), ns, 0.0, ns)
        for operator, base, ns in work.added.sort("ns", descending=True).iter_rows()
    ]
    rows += [
        AccountRow("removed_work", _operator(operator, base), -ns, ns, 0.0)
        for operator, base, ns in work.removed.sort("ns", descending=True).iter_rows()
    ]
    return rows


def _operator(operator: str, base: str) -> str:
    return f"{operator}: {base}" if operator and operator != base else base


def work_table(side: MeasuredSide, weights: Weights) -> pl.DataFrame:
    """Return compute work of the typical windows by signature: count and ns, a window and rank."""
    keys = ("operator", "operator_path", "base", "shape")
    return (
        side.own(side.run.work)
        .join(weights.cells, on=["repeat", "step"], how="inner", maintain_order="left")
        .group_by(keys, maintain_order=True)
        .agg((pl.col("count") * pl.col("weight")).sum(), (pl.col("ns") * pl.col("weight")).sum())
        .sort(keys, nulls_last=True)
    )


def _idle(pair: Pair) -> list[AccountRow]:
    causes = []
    for side, weights in pair:
        idle = side.own(side.run.idle)
        causes.append({cause: weights.total(idle, cause) for cause in IDLE_PARTS})
    ours, theirs = causes
    return [
        AccountRow(part, label, theirs[cause] - ours[cause], ours[cause], theirs[cause])
        for cause, (part, label) in IDLE_PARTS.items()
        if cause != "unknown" or ours[cause] or theirs[cause]
    ]
