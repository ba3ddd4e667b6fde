"""Plain English from the same figures as every table (SEMANTICS 7, explanation): contradictions first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abstep.compare.comparison import Explanation
from abstep.model import ExposedKind
from abstep.units import pct_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abstep.compare.comparison import Comparison, SlotRow

CHANGED = ("disappeared", "shrank", "grew", "appeared")
SLOTS_NAMED = 3


def explanation(comparison: Comparison) -> Explanation:
    """Explain a comparison: headline, sentences, and how much of the step's change the named parts explain."""
    named = [slot for slot in comparison.intervals if slot.delta.verdict in CHANGED]
    unassigned = sum(row.delta for row in comparison.account if row.part == "unassigned")
    explained = None
    if comparison.step_time.delta is not None and comparison.account:
        explained = comparison.step_time.delta - unassigned
    return Explanation(
        headline(comparison),
        (*_contradictions(comparison), *_slots(named), *_rest(comparison, named)),
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
        return (
            f"The runs are not comparable ({', '.join(failed)} differ), so no verdict: the step took {span}."
        )
    if delta.verdict == "too_few":
        return (
            f"Too few step windows for a verdict ({delta.n_base} and {delta.n_variant}); described only: the step "
            f"took {span}, {change}."
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
    if verdict in ("faster", "slower", "unchanged", "inconclusive"):
        incidental = [
            slot
            for slot in comparison.intervals
            if slot.kind == ExposedKind.INCIDENTAL and slot.delta.verdict in ("shrank", "disappeared")
        ]
        for slot in incidental[:1] if verdict != "faster" else []:
            yield (
                f"{slot.label} {slot.delta.verdict} by {time_text(-(slot.delta.delta or 0.0))}, but that exposed "
                "time was incidental: no compute waited for it, so hiding it could not shorten the step."
            )


def _slots(named: list[SlotRow]) -> Iterator[str]:
    for slot in named[:SLOTS_NAMED]:
        delta = slot.delta
        yield (
            f"Exposed {slot.label} {delta.verdict}: {time_text(delta.base)} to {time_text(delta.variant)} a step "
            f"({time_text(delta.delta, sign=True)})."
        )
    if len(named) > SLOTS_NAMED:
        rest = sum(slot.delta.delta or 0.0 for slot in named[SLOTS_NAMED:])
        yield f"{len(named) - SLOTS_NAMED} more exposed slots changed by {time_text(rest, sign=True)} in all."


def _rest(comparison: Comparison, named: list[SlotRow]) -> Iterator[str]:
    if comparison.no_communication:
        yield "No communication was found in the traces, so nothing is exposed or overlapped."
        return
    if not named and comparison.comparability.status != "not_comparable" and comparison.intervals:
        yield "No exposed communication interval is shown to have changed."
    exposed = sum(row.delta for row in comparison.account if row.part == "exposed")
    step = comparison.step_time.delta
    if step is not None and comparison.account:
        yield (
            f"Of the step's change of {time_text(step, sign=True)}, exposed communication accounts for "
            f"{time_text(exposed, sign=True)} and everything else for {time_text(step - exposed, sign=True)}."
        )
