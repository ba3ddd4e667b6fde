"""Plain English from the same figures as every table (SEMANTICS 7, explanation): contradictions first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abstep.compare.causes import (
    beside_sentences,
    contention_sentences,
    ideal_sentences,
    isolated_sentences,
    path_sentences,
)
from abstep.compare.comparison import Explanation
from abstep.compare.waiting import lateness_sentences, of_phase
from abstep.measure.matching import POINT_TO_POINT
from abstep.model import ExposedKind
from abstep.units import pct_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abstep.compare.comparison import Comparison, SlotRow

CHANGED = ("disappeared", "shrank", "grew", "appeared")
SLOTS_NAMED = 3
LONGER = 1.05
MATTERS = 0.01
NEGLIGIBLE = 0.0005  # of the step: left to the account table


def explanation(comparison: Comparison) -> Explanation:
    """Explain a comparison: headline, sentences, and how much of the step's change the named parts explain."""
    named = [slot for slot in comparison.intervals if slot.delta.verdict in CHANGED]
    unassigned = sum(row.delta for row in comparison.account if row.part == "unassigned")
    explained = None
    if comparison.step_time.delta is not None and comparison.account:
        explained = comparison.step_time.delta - unassigned
    if comparison.no_communication:
        sentences: list[str] = [
            "No communication was found in the traces, so nothing is exposed or overlapped."
        ]
    else:
        sentences = [
            *_contradictions(comparison),
            *_slots(comparison, named),
            *lateness_sentences(comparison),
            *contention_sentences(comparison),
            *beside_sentences(comparison),
            *_accounted(comparison),
            *path_sentences(comparison),
            *ideal_sentences(comparison),
            *isolated_sentences(comparison),
        ]
    return Explanation(
        headline(comparison),
        tuple(dict.fromkeys(sentences)),
        explained,
        unassigned if comparison.account else None,
    )


def headline(comparison: Comparison) -> str:
    """Return the end-to-end verdict in one sentence."""
    delta = comparison.step_time
    if delta.base is None or delta.variant is None or delta.delta is None:
        return "No step time could be compared."
    span = f"{time_text(delta.base)} to {time_text(delta.variant)}"
    change = f"{time_text(delta.delta, sign=True)} ({pct_text(delta.delta_pct, sign=True)})"
    if comparison.comparability.status == "not_comparable":
        failed = [check.id for check in comparison.comparability.checks if check.status == "fail"]
        return f"The runs are not comparable ({', '.join(failed)}), so no verdict: the step took {span}."
    if delta.verdict == "too_few":
        windows = f"{comparison.base.windows_used} and {comparison.variant.windows_used}"
        return (
            f"Too few step windows for a verdict ({windows}); described only: the step took {span}, {change}."
        )
    if delta.verdict in ("faster", "slower"):
        return f"The step is {delta.verdict}: {span}, {change}."
    if delta.verdict == "unchanged":
        return f"The step is unchanged within {time_text(delta.margin)}: {span}, {change}."
    return f"No verdict on the step: {span}, {change}, is inconclusive."


def _contradictions(comparison: Comparison) -> Iterator[str]:
    for note in comparison.warnings:
        if note.id in ("overlap_up_step_slower", "overlap_up_step_unmoved"):
            yield f"{note.message[0].upper()}{note.message[1:]}."
    verdict = comparison.step_time.verdict
    if verdict == "faster":
        yield from _longer_yet_faster(comparison)
    if verdict in ("slower", "unchanged", "inconclusive"):
        yield from _hidden_for_nothing(comparison)


def _longer_yet_faster(comparison: Comparison) -> Iterator[str]:
    rows = {(row.side, row.collective, row.group, row.phase): row for row in comparison.collectives}
    for ours in comparison.collectives:
        theirs = rows.get(("variant", ours.collective, ours.group, ours.phase))
        if (
            ours.side != "base"
            or theirs is None
            or ours.duration <= 0
            or theirs.duration < LONGER * ours.duration
        ):
            continue
        if theirs.exposed < ours.exposed:
            yield (
                f"{ours.collective}{of_phase(ours)} takes longer, {time_text(ours.duration)} to "
                f"{time_text(theirs.duration)} a step, yet the step is faster: less of it is exposed, "
                f"{time_text(ours.exposed)} to {time_text(theirs.exposed)}."
            )


def _hidden_for_nothing(comparison: Comparison) -> Iterator[str]:
    """Exposed time that shrank and changed nothing: it was incidental, or off the dependency path."""
    shrank = [slot for slot in comparison.intervals if slot.delta.verdict in ("shrank", "disappeared")]
    for slot in shrank:
        if slot.kind == ExposedKind.INCIDENTAL:
            yield (
                f"Exposed {slot.label} {slot.delta.verdict} by {time_text(-(slot.delta.delta or 0.0))}, but it was "
                "incidental: no compute waited for it, so hiding it could not shorten the step."
            )
            break
    paths = {row.side: row for row in comparison.path}
    before, after = paths.get("base"), paths.get("variant")
    blocking = [slot for slot in shrank if slot.kind == ExposedKind.BLOCKING]
    if not blocking or before is None or after is None or before.transport is None or after.transport is None:
        return
    gone = -sum(slot.delta.delta or 0.0 for slot in comparison.intervals if slot.kind == ExposedKind.BLOCKING)
    if comparison.step_time.base and gone > MATTERS * comparison.step_time.base:
        on_path = before.transport - after.transport
        if on_path < gone / 2:
            yield (
                f"Blocking exposed time fell by {time_text(gone)}, but transport on the dependency path fell only by "
                f"{time_text(on_path)}: the rest was not on the path."
            )


def _slots(comparison: Comparison, named: list[SlotRow]) -> Iterator[str]:
    named = sorted(named, key=lambda slot: -abs(slot.delta.delta or 0.0))
    for slot in named[:SLOTS_NAMED]:
        delta = slot.delta
        yield (
            f"Exposed {slot.label} {delta.verdict}: {time_text(delta.base)} to {time_text(delta.variant)} a step "
            f"({time_text(delta.delta, sign=True)}){_split(comparison, slot)}."
        )
    if len(named) > SLOTS_NAMED:
        rest = sum(slot.delta.delta or 0.0 for slot in named[SLOTS_NAMED:])
        more = len(named) - SLOTS_NAMED
        yield f"{more} more exposed slot{'' if more == 1 else 's'} changed by {time_text(rest, sign=True)} in all."
    if not named and comparison.comparability.status != "not_comparable" and comparison.intervals:
        if comparison.step_time.verdict == "too_few":
            yield from _described(comparison)
        else:
            yield "No exposed communication interval is shown to have changed."


def _described(comparison: Comparison) -> Iterator[str]:
    """With too few windows: the largest difference as a description, without a verdict word."""
    largest = max(comparison.intervals, key=lambda slot: abs(slot.delta.delta or 0.0))
    delta = largest.delta
    yield (
        f"Largest difference of exposed time: {largest.label}, {time_text(delta.base)} and {time_text(delta.variant)} "
        f"a step ({time_text(delta.delta, sign=True)}){_split(comparison, largest)}; described, not tested."
    )


def _why_unsplit(comparison: Comparison) -> str:
    if any(side.world_size and len(side.ranks) < side.world_size for _, side in comparison.sides):
        return "ranks are missing"
    return "the ranks' clocks could not be put on one, or who waits for whom is not recorded"


def _split(comparison: Comparison, slot: SlotRow) -> str:
    """Say what a slot's change is made of: waiting for a late rank, or transport."""
    split = (slot.base_peer_wait, slot.variant_peer_wait, slot.base_transport, slot.variant_transport)
    if slot.collective == POINT_TO_POINT:
        return "; waiting in a pipeline is its schedule, no sign of a late rank"
    if any(part is None for part in split):
        return f"; waiting for another rank and transport are not separated ({_why_unsplit(comparison)})"
    peer = (slot.variant_peer_wait or 0.0) - (slot.base_peer_wait or 0.0)
    transport = (slot.variant_transport or 0.0) - (slot.base_transport or 0.0)
    if slot.split_uncertain is not None and max(abs(peer), abs(transport)) < slot.split_uncertain:
        return f"; its split is uncertain by {time_text(slot.split_uncertain)}"
    parts = f"{time_text(peer, sign=True)} waiting for another rank and {time_text(transport, sign=True)} transport"
    said = f", of it {parts}"
    if transport > 0 and not _own_transport_grew(comparison, slot, transport):
        said += " (the collective's own transport did not grow: not the network)"
    return said


def _own_transport_grew(comparison: Comparison, slot: SlotRow, exposed: float) -> bool:
    """Whether the slot's collectives themselves take longer to transport, not only stand exposed longer."""
    rows = {
        row.side: row.transport
        for row in comparison.collectives
        if (row.collective, row.group, row.phase) == (slot.collective, slot.group, slot.phase)
    }
    ours, theirs = rows.get("base"), rows.get("variant")
    return ours is None or theirs is None or theirs - ours > exposed / 2


def _accounted(comparison: Comparison) -> Iterator[str]:
    step = comparison.step_time.delta
    if step is None or not comparison.account:
        return
    parts: dict[str, float] = {}
    for row in comparison.account:
        parts[PARTS[row.part]] = parts.get(PARTS[row.part], 0.0) + row.delta
    least = NEGLIGIBLE * (comparison.step_time.base or 0.0)
    shown = [name for name in dict.fromkeys(PARTS.values()) if abs(parts.get(name, 0.0)) > least]
    said = ", ".join(f"{name} {time_text(parts[name], sign=True)}" for name in shown)
    if said:
        yield f"The step's change of {time_text(step, sign=True)} is made of: {said}."


PARTS = {
    "exposed": "exposed communication",
    "contention": "contention",
    "speed": "same work at another speed",
    "added_work": "added and removed work",
    "removed_work": "added and removed work",
    "copy": "copies",
    "idle_end_of_step": "idle",
    "idle_host_late": "idle",
    "idle_stream_wait": "idle",
    "unassigned": "unassigned",
}
