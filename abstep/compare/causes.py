"""Sentences that name a cause: a late rank, contention, the dependency path. Causes are not invented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abstep.compare.across import POINT_TO_POINT
from abstep.compare.recorded import evidence_sentences
from abstep.units import bytes_text, pct_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abstep.compare.comparison import CollectiveRow, Comparison, ContentionRow

MATTERS = 0.01  # of the step: less is not worth a sentence
PAIRS_NAMED = 2
MOST_OF_IT = 0.60
CONTROL = 0.01
LONGER = 0.10  # beside compute against alone: less is not worth a sentence
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
        if not rows:
            yield from _waited_for(side, own, step)
            continue
        row = max(rows, key=lambda row: (row.late_reason != "queue", row.peer_wait or 0.0, row.collective))
        if not step or (row.peer_wait or 0.0) < MATTERS * step:
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
        f"In the {side}, {pct_text(100 * share, sign=False)} of the waiting in {row.collective} of the {row.phase}, "
        f"{time_text(row.peer_wait)} a step (mean over ranks), was for rank {rank}."
    )


def _late(side: str, row: CollectiveRow) -> str:
    doing = DOING.get(row.late_reason or "", "why is not recorded")
    return (
        f"In the {side}, rank {row.late_rank} arrives last in {pct_text(100 * (row.late_share or 0.0), sign=False)} of "
        f"{row.collective} instances of the {row.phase}, by {time_text(row.late_lead)} (median), because {doing}: the "
        f"other ranks wait for it, {time_text(row.peer_wait)} a step (mean over ranks)."
    )


def _what_waited(comparison: Comparison) -> Iterator[str]:
    """Say whether waiting for another rank or transport changed, summed over all collectives."""
    sums: dict[tuple[str, str], float | None] = {}
    for name in ("peer_wait", "transport"):
        for side in ("base", "variant"):
            values = [
                getattr(row, name)
                for row in comparison.collectives
                if row.side == side and row.collective not in POINT_TO_POINT
            ]
            sums[side, name] = None if not values or any(value is None for value in values) else sum(values)
    ours, theirs = sums["base", "peer_wait"], sums["variant", "peer_wait"]
    before, after = sums["base", "transport"], sums["variant", "transport"]
    step = comparison.step_time.base
    if ours is None or theirs is None or before is None or after is None or not step:
        return
    waited, moved = theirs - ours, after - before
    if max(abs(waited), abs(moved)) < MATTERS * step or not _anything_changed(comparison):
        return
    if abs(waited) >= abs(moved):
        what = (
            "waiting for a late rank, not transport, is what changed"
            if abs(moved) < abs(waited) / 2
            else "both changed"
        )
    else:
        what = (
            "transport, not waiting for a late rank, is what changed"
            if abs(waited) < abs(moved) / 2
            else "both changed"
        )
    yield (
        f"Over all collectives, waiting for another rank went from {time_text(ours)} to {time_text(theirs)} a step and "
        f"transport from {time_text(before)} to {time_text(after)}: {what}."
    )


def _anything_changed(comparison: Comparison) -> bool:
    """Whether the step or any slot is shown to differ, or nothing could be tested: else a difference is noise."""
    if comparison.step_time.verdict in ("faster", "slower", "too_few", None):
        return True
    return any(
        slot.delta.verdict in ("disappeared", "shrank", "grew", "appeared") for slot in comparison.intervals
    )


def contention_sentences(comparison: Comparison) -> Iterator[str]:
    """Name the pairs whose contention changed, or a slowdown that also hits what overlaps nothing."""
    changed = [
        row
        for row in comparison.contention
        if row.delta.verdict in ("grew", "appeared", "shrank", "disappeared")
    ]
    total = sum(row.delta.delta or 0.0 for row in comparison.contention)
    step = comparison.step_time.base or 0.0
    if changed or (step and abs(total) > MATTERS * step):
        word = "grew" if total > 0 else "fell"
        named = "; ".join(_pair(row) for row in changed[:PAIRS_NAMED])
        yield (
            f"Contention {word} by {time_text(abs(total))} a step: compute ran longer beside collectives than alone"
            + (f" ({named})." if named else "; no pair of it is shown to have changed.")
        )
        yield from evidence_sentences(comparison)
    before, after = comparison.base.start_delay or 0.0, comparison.variant.start_delay or 0.0
    if step and abs(after - before) > MATTERS * step:
        yield (
            f"Compute queued behind nothing but a running collective started {time_text(before)} later than usual a "
            f"step in the base and {time_text(after)} in the variant: a start delay, apart from contention."
        )
    yield from _control_sentences(comparison)


def beside_sentences(comparison: Comparison) -> Iterator[str]:
    """Say how much longer collectives take beside compute than alone, at equal bytes, where both were seen."""
    for row in comparison.beside_compute:
        alone, beside = row.alone_transport, row.beside_transport
        what = "transport"
        if alone is None or beside is None:
            alone, beside, what = row.alone_duration, row.beside_duration, "duration"
        if alone is None or beside is None or not alone or abs(beside / alone - 1) < LONGER:
            continue
        size = "" if row.bytes is None else f" of {bytes_text(row.bytes)}"
        yield (
            f"In the {row.side}, {row.collective}{size} has {time_text(beside)} of {what} beside compute and "
            f"{time_text(alone)} alone ({beside / alone:.2f} times)."
        )


def _control_sentences(comparison: Comparison) -> Iterator[str]:
    """Say whether compute that overlaps nothing slowed too: everywhere, or on one rank."""
    control = comparison.control
    if control is None or control.delta.verdict not in ("grew", "shrank") or abs(control.ratio - 1) < CONTROL:
        return
    way = "longer" if control.ratio > 1 else "shorter"
    others = sorted(control.by_rank.items(), key=lambda item: abs(item[1] - 1))
    if len(others) > 1 and abs(others[-2][1] - 1) < CONTROL:
        rank, ratio = others[-1]
        yield (
            f"On rank {rank} alone, compute that overlaps no collective took "
            f"{pct_text(100 * abs(ratio - 1), sign=False)} {way}: that rank's speed, not contention."
        )
        return
    what = "slowdown" if control.ratio > 1 else "speed-up"
    yield (
        f"Compute that overlaps no collective in either run took {pct_text(100 * abs(control.ratio - 1), sign=False)} "
        f"{way}: a global {what} (clock, power, another process), counted as speed, not as contention."
    )


def ideal_sentences(comparison: Comparison) -> Iterator[str]:
    """Say how far the variant's step is from what it could be at best, and what lies between."""
    bounds, step = comparison.variant.bounds, comparison.step_time.variant
    if (
        bounds is None
        or not step
        or step - bounds.together < MATTERS * step
        or not _anything_changed(comparison)
    ):
        return
    causes = sorted(bounds.kept_by.items(), key=lambda item: -item[1])
    said = ", ".join(f"{KEPT_BY[name]} {time_text(time)}" for name, time in causes if time >= MATTERS * step)
    if said:
        yield (
            f"If compute and communication, each as long as measured (contention included), started together, the "
            f"variant's step would take {time_text(bounds.together)}; what keeps it from there: {said}."
        )


KEPT_BY = {
    "late_readiness": "late ranks",
    "serialization": "queueing behind other collectives",
    "tail": "communication after the backward",
    "exposed_before_other_work": "communication before other work",
    "idle": "idle",
    "other": "the rest",
}


def isolated_sentences(comparison: Comparison) -> Iterator[str]:
    """Say what a collective takes alone, and the most an isolated gain could give the step."""
    rows = [row for row in comparison.collectives if row.side == "variant" and row.isolated is not None]
    if not rows:
        return
    for row in rows:
        yield (
            f"{row.collective} of {row.phase}: isolated {time_text(row.isolated)} a step, beside the step's work "
            f"{time_text(row.transport if row.transport is not None else row.duration)} of "
            f"{'transport' if row.transport is not None else 'duration'}; an isolated figure does not replace it."
        )
    path = next((row for row in comparison.path if row.side == "variant"), None)
    on_path = None if path is None else path.transport
    kinds = {row.collective for row in rows}
    for slot in comparison.intervals:
        if slot.collective not in kinds or not slot.delta.variant:
            continue
        if slot.kind == "incidental":
            yield f"A faster {slot.collective} gains the step nothing on {slot.label}: 0 us of it is waited for."
        elif slot.variant_transport is not None and on_path is not None:
            most = min(slot.variant_transport, on_path)
            yield (
                f"A faster {slot.collective} gains the step at most {time_text(most)} on {slot.label}: its blocking "
                "transport on the dependency path."
            )


def _pair(row: ContentionRow) -> str:
    stretch = "" if row.variant_stretch is None else f", {row.variant_stretch:.2f} times its alone duration"
    phase = row.slot.partition("/")[0]
    growth = time_text(row.delta.delta, sign=True)
    return f"{row.compute.partition(': ')[0]} beside {row.collective} of {phase} {growth}{stretch}"


def path_sentences(comparison: Comparison) -> Iterator[str]:
    """Set the dependency path's change beside the account's, and say so where they disagree."""
    paths = {row.side: row for row in comparison.path}
    before, after = paths.get("base"), paths.get("variant")
    step = comparison.step_time.base
    if before is None or after is None or before.compute is None or after.compute is None or not step:
        return
    changes = {
        kind: (getattr(after, kind) or 0.0) - (getattr(before, kind) or 0.0)
        for kind in ("compute", "transport", "host", "idle")
    }
    if max(abs(change) for change in changes.values()) < MATTERS * step:
        return
    said = ", ".join(f"{kind} {time_text(change, sign=True)}" for kind, change in changes.items())
    yield f"On the dependency path: {said}."
    exposed = sum(row.delta for row in comparison.account if row.part == "exposed")
    transport = changes["transport"]
    apart = abs(exposed - transport)
    if apart > max(MATTERS * step, abs(exposed) / 2):
        yield (
            f"Account and path disagree by {time_text(apart)}: exposed communication changed by "
            f"{time_text(exposed, sign=True)} over all ranks, transport on the path by "
            f"{time_text(transport, sign=True)}; the rest is waiting, or lies on ranks that were not on the path."
        )
