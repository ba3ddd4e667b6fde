"""A run against itself: what differs between odd and even windows and between repeats, and what could be shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from abstep.compare.sides import run_metrics, side
from abstep.compare.slots import slot_label, slot_table, slot_windows, with_slots
from abstep.compare.statistics import StatisticsOptions, check_run
from abstep.errors import TraceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abstep.compare.sides import MeasuredSide
    from abstep.compare.statistics import CheckResult
    from abstep.measure.run import MeasuredRun

MOST_SLOTS = 5


@dataclass(frozen=True)
class SelfCheck:
    """What a run shows of itself (STATISTICS, `abstep check`).

    Attributes:
        name, label: the run's.
        repeats: how many it has.
        windows: how many of its windows are typical, and how many there are.
        step: mean step, ns; None without windows.
        detectable: the smallest change of the step these windows would have shown four times in five, ns.
        found: the statistics' findings and warnings.
        labels: slot -> its name in words.
        slots: largest slots: label, mean ns, smallest change they could show (None: none).

    """

    name: str
    label: str
    repeats: int
    windows: tuple[int, int]
    step: float | None
    detectable: float | None
    found: CheckResult
    labels: Mapping[str, str]
    slots: tuple[tuple[str, float, float | None], ...]


def self_check(run: MeasuredRun, options: StatisticsOptions | None = None) -> SelfCheck:
    """Check one run.

    Raises:
        TraceError: it has no completed step window.

    """
    ranks = sorted(set(run.cut.tables.files["rank"].to_list()))
    whole = side("base", run, ranks)
    if whole.cells.is_empty():
        raise TraceError(
            f"{run.cut.tables.name}: no completed step window",
            "record more active steps in one profiler cycle: the last one of a cycle has no end",
        )
    parts = with_slots(whole.parts)
    metrics = tuple(run_metrics(whole, slot_windows(parts)))
    found = check_run(metrics, options or StatisticsOptions())
    itself = found.against_itself
    table = slot_table((parts, parts))
    labels = {
        row["slot"]: slot_label(row["collective"], row["phase"], row["consumer"])
        for row in table.iter_rows(named=True)
    }
    named = tuple(replace(one, message=_worded(one.message, labels)) for one in found.findings)
    largest = sorted(itself.intervals.items(), key=lambda item: (-(item[1].base or 0.0), item[0]))
    return SelfCheck(
        name=run.cut.tables.name,
        label=run.cut.tables.label,
        repeats=whole.repeats,
        windows=(sum(len(kept) for kept in itself.kept.base), _all_windows(whole)),
        step=itself.step_time.base,
        detectable=itself.step_time.smallest_detectable,
        found=replace(found, findings=named),
        labels=labels,
        slots=tuple(
            (labels[slot], delta.base or 0.0, delta.smallest_detectable)
            for slot, delta in largest[:MOST_SLOTS]
            if delta.base
        ),
    )


def _worded(message: str, labels: Mapping[str, str]) -> str:
    """Put slots' names in words where a sentence holds their ids."""
    for slot in sorted(labels, key=len, reverse=True):
        message = message.replace(slot, labels[slot])
    return message


def _all_windows(whole: MeasuredSide) -> int:
    return whole.run.cut.windows.select("repeat", "step").n_unique()
