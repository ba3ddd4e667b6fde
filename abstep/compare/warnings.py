"""Warnings of a comparison; ids are RESULT.md's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from abstep.compare.comparison import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abstep.compare.comparison import Comparison, Side
    from abstep.compare.sides import MeasuredSide, Weights
    from abstep.compare.statistics import StatisticsResult

    Pair = tuple[tuple[MeasuredSide, Weights], tuple[MeasuredSide, Weights]]

UNATTRIBUTED_ABOVE = 0.01
A_POINT = 0.01


def warnings(
    comparison: Comparison, pair: Pair, found: StatisticsResult, *, partial: bool
) -> tuple[Note, ...]:
    """Return every warning, in a fixed order.

    Args:
        comparison: the comparison so far.
        pair: both sides.
        found: the statistics.
        partial: whether ranks of one side or repeat were left out.

    """
    notes = [*_overlap(comparison)]
    notes += [Note(each.id, each.message) for each in found.warnings]
    if partial:
        base, variant = comparison.base, comparison.variant
        notes.append(
            Note(
                "partial_ranks",
                f"not every rank is on both sides: figures are over base ranks {_listed(base)} and variant ranks "
                f"{_listed(variant)}",
            ),
        )
    for (name, side), (measured, _) in zip(comparison.sides, pair, strict=True):
        notes += _side_notes(name, side, measured)
    unique = dict.fromkeys(notes)
    return tuple(unique)


def _listed(side: Side) -> str:
    return ", ".join(str(rank) for rank in side.ranks)


def _overlap(comparison: Comparison) -> Iterator[Note]:
    before, after = comparison.base.overlap_of_communication, comparison.variant.overlap_of_communication
    if before is None or after is None or after - before < A_POINT:
        return
    rose = f"overlap rose from {100 * before:.1f} % to {100 * after:.1f} % of communication"
    if comparison.step_time.verdict == "slower":
        yield Note("overlap_up_step_slower", f"{rose}, yet the step is slower: end-to-end time decides")
    elif comparison.step_time.verdict in ("unchanged", "inconclusive"):
        yield Note(
            "overlap_up_step_unmoved", f"{rose}, yet no change of the step is shown: end-to-end time decides"
        )


def _side_notes(name: str, side: Side, measured: MeasuredSide) -> Iterator[Note]:
    run = measured.run
    tables = run.cut.tables
    for problem in tables.problems:
        yield Note(problem.id, f"{name}: {problem.message}")
    if not run.cut.quarantined.is_empty():
        count, time = run.cut.quarantined.select(pl.col("count").sum(), pl.col("time_ns").sum()).row(0)
        yield Note(
            "quarantined",
            f"{name}: {count} activities overrun the next one of their own stream (durations of {time / 1e6:.3f} ms "
            "in all); they are left out",
        )
    if side.unattributed_share is not None and side.unattributed_share > UNATTRIBUTED_ABOVE:
        yield Note(
            "unattributed",
            f"{name}: {100 * side.unattributed_share:.1f} % of activity time belongs to no step: its launch was not "
            "recorded, or lies outside every step",
        )
    shifts = [row.host_device_shift for row in side.clock if row.host_device_shift is not None]
    if shifts:
        yield Note(
            "host_device_shift",
            f"{name}: host times were moved by up to {-min(shifts) / 1e3:.1f} us onto the device clock; first valid "
            "launch and queue are uncertain by as much",
        )
    if not side.host_only and not run.instances.is_empty() and run.recorded_edges < 1:
        yield Note(
            "no_wait_edges",
            f"{name}: stream-wait edges were not recorded in every trace: what waits for what is inferred there "
            "(record with enable_cuda_sync_events)",
        )
    opaque = run.cut.windows.filter(pl.col("reason") == "opaque_graph").height
    if opaque:
        yield Note(
            "opaque_graph",
            f"{name}: {opaque} windows hold graph launches without any device activity and are dropped",
        )
    odd = tables.files.select("path", "odd_events", "odd_example").filter(pl.col("odd_events") > 0)
    if not odd.is_empty():
        path, _, example = odd.row(0)
        yield Note(
            "bad_file",
            f"{name}: {odd['odd_events'].sum()} events could not be read and were skipped, the first in {path}"
            + (f" ({example})" if example else ""),
        )
