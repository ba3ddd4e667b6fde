"""Sentences about who waits for whom: a late rank, a pipeline's schedule, or transport (SEMANTICS 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abstep.measure.matching import FROM_ROOT, POINT_TO_POINT, ROOTED
from abstep.model import Phase
from abstep.units import name_text, pct_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abstep.compare.comparison import CollectiveRow, Comparison

MATTERS = 0.01  # of the step: less is not worth a sentence
MOST_OF_IT = 0.60
MUCH_MORE = 5  # times: below, both changed
DOING = {
    "compute": "its own compute ends later",
    "host": "its host launches later (data loading, Python, or another process)",
    "queue": "its stream still carries, or waited for, another collective",
}


def lateness_sentences(comparison: Comparison) -> Iterator[str]:
    """Name the rank others wait for on each side, how late it is and what it was doing instead."""
    for side in ("base", "variant"):
        own = [row for row in comparison.collectives if row.side == side]
        step = comparison.step_time.base if side == "base" else comparison.step_time.variant
        rows = [row for row in own if row.late_called]
        yield from _pipelined(side, own, step)
        if not rows:
            yield from _waited_for(side, own, step)
            continue
        row = max(rows, key=lambda row: (row.late_reason != "queue", row.late_wait or 0.0, row.collective))
        if not step or (row.late_wait or 0.0) < MATTERS * step:
            continue
        yield _late(side, row)
    yield from _what_waited(comparison)


def _waited_for(side: str, rows: list[CollectiveRow], step: float | None) -> Iterator[str]:
    """Name the rank that most waiting was for, where none is last often enough to be called late."""
    waiting = [row for row in rows if row.waited_for is not None and row.waited_for[1] >= MOST_OF_IT]
    if not waiting or not step:
        return
    row = max(waiting, key=lambda row: (row.peer_wait or 0.0, row.collective))
    if (row.peer_wait or 0.0) < MATTERS * step or row.waited_for is None:
        return
    rank, share = row.waited_for
    yield (
        f"In the {side}, {pct_text(100 * share, sign=False)} of the waiting in {named_row(row)}, "
        f"{time_text(row.peer_wait)} a step (mean over ranks), was for rank {rank}."
    )


def _pipelined(side: str, rows: list[CollectiveRow], step: float | None) -> Iterator[str]:
    """Say where ranks wait for one that was itself held in sends and receives: nobody is late there."""
    waits = [
        row
        for row in rows
        if row.pipelined and row.late_sure and step and (row.peer_wait or 0.0) >= MATTERS * step
    ]
    for row in sorted(waits, key=lambda row: -(row.peer_wait or 0.0))[:1]:
        yield (
            f"In the {side}, the waiting in {named_row(row)}, {time_text(row.peer_wait)} a step "
            f"(mean over ranks), follows the pipeline's schedule: rank {row.late_rank} arrives last, "
            f"{pct_text(100 * (row.late_share or 0.0), sign=False)} of the time, because it was held in "
            f"{POINT_TO_POINT}, which is no sign of a late rank."
        )


def _late(side: str, row: CollectiveRow) -> str:
    doing = DOING.get(row.late_reason or "", "why is not recorded")
    if row.late_range is not None:
        name, longer = row.late_range
        doing = (
            f"its host is {time_text(longer)} a step longer in {name_text(name, width=60)} than the others'"
        )
    to_root = row.collective in ROOTED and row.collective not in FROM_ROOT
    who = "the root waits for it" if to_root else "the other ranks wait for it"
    return (
        f"In the {side}, rank {row.late_rank} arrives last in {pct_text(100 * (row.late_share or 0.0), sign=False)} of "
        f"{row.collective} instances{of_phase(row)}, by {time_text(row.late_lead)} (median), because {doing}: "
        f"{who}, {time_text(row.late_wait)} a step (mean over ranks)."
    )


def _what_waited(comparison: Comparison) -> Iterator[str]:
    """Say whether waiting for another rank or transport changed, summed over all collectives."""
    sums: dict[tuple[str, str], float | None] = {}
    # what follows the schedule on either side is left out of both, or leaving it out would be the change
    scheduled = {_key(row) for row in comparison.collectives if row.pipelined}
    for name in ("peer_wait", "transport"):
        for side in ("base", "variant"):
            values = [
                getattr(row, name)
                for row in comparison.collectives
                if row.side == side and row.collective != POINT_TO_POINT and _key(row) not in scheduled
            ]
            sums[side, name] = None if not values or any(value is None for value in values) else sum(values)
    ours, theirs = sums["base", "peer_wait"], sums["variant", "peer_wait"]
    before, after = sums["base", "transport"], sums["variant", "transport"]
    step = comparison.step_time.base
    if ours is None or theirs is None or before is None or after is None or not step:
        return
    waited, moved = theirs - ours, after - before
    if max(abs(waited), abs(moved)) < MATTERS * step or not anything_changed(comparison):
        return
    if abs(waited) >= abs(moved):
        what = (
            "waiting for a late rank, not transport, is what changed"
            if abs(moved) < abs(waited) / MUCH_MORE
            else "both changed"
        )
    else:
        what = (
            "transport, not waiting for a late rank, is what changed"
            if abs(waited) < abs(moved) / MUCH_MORE
            else "both changed"
        )
    all_of = "all other collectives" if scheduled else "all collectives"
    yield (
        f"Over {all_of}, waiting for another rank went from {time_text(ours)} to {time_text(theirs)} a step and "
        f"transport from {time_text(before)} to {time_text(after)}: {what}."
    )


def _key(row: CollectiveRow) -> tuple[str, str, str]:
    return row.collective, row.group, row.phase


def anything_changed(comparison: Comparison) -> bool:
    """Whether the step or any slot is shown to differ, or nothing could be tested: else a difference is noise."""
    if comparison.step_time.verdict in ("faster", "slower", "too_few", None):
        return True
    return any(
        slot.delta.verdict in ("disappeared", "shrank", "grew", "appeared") for slot in comparison.intervals
    )


def named_row(row: CollectiveRow) -> str:
    """Return a kind and its phase in words."""
    return f"{row.collective}{of_phase(row)}"


def of_phase(row: CollectiveRow) -> str:
    """Return the phase in words, to stand behind the kind."""
    return " outside the phases" if row.phase == Phase.OTHER else f" of the {row.phase}"
