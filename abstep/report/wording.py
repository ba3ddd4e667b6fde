"""The sentences that summary and report share: verdict, comparability, windows, what to do next.

Each is made from the comparison's own figures; "not significant" is never worded as "unchanged"
(STATISTICS 2.9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from abstep.report.rows import dropped_counts, not_comparable, shown
from abstep.units import count_text, n_text, name_text, pct_text, same_unit, share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abstep.compare.comparison import Comparison, Side

CATEGORIES = {
    "compute_alone": "compute alone",
    "overlapped": "compute and communication at once",
    "exposed": "communication exposed",
    "copy_only": "copies alone",
    "idle": "idle",
}
PARTS = {
    "exposed": "exposed",
    "contention": "contention",
    "speed": "speed",
    "added_work": "added work",
    "removed_work": "removed work",
    "copy": "copies",
    "idle_end_of_step": "idle",
    "idle_host_late": "idle",
    "idle_stream_wait": "idle",
    "unassigned": "unassigned",
}
REASONS = {
    "warm-up": "warm-up",
    "last_in_cycle": "last in its profiler cycle (no end recorded)",
    "outlier": "outlier (counted in the tail)",
    "incomplete": "incomplete",
    "opaque_graph": "CUDA graph without its kernels",
    "ratio": "far more windows than the other side",
}
TESTED = frozenset({"faster", "slower", "unchanged", "inconclusive"})
"""Verdicts of step time that come from a test."""
STATUS = {
    "comparable": "Comparable.",
    "qualified": "Comparable with reservations: what differs is listed and qualifies every verdict.",
    "not_comparable": "Not comparable: the figures describe each run, and no verdict is given.",
}
RESIDENT = (
    "These repeats are captures of processes that stayed up: launch-to-launch differences are not covered."
)
NO_COMMUNICATION = (
    "No communication was found in these traces, so there is nothing exposed and no contention to compare."
)
UNSPLIT = (
    "Peer wait and transport are not separated here (not every rank was traced, the clocks could not be aligned, or "
    "a root is not recorded), so none of these times may be read as network time."
)


def verdict_sentence(comparison: Comparison) -> str:
    """Return what happened to step time in one sentence: the explanation's headline, or one like it."""
    if comparison.explanation.headline:
        return comparison.explanation.headline
    step = comparison.step_time
    if step.base is None or step.variant is None or step.delta is None:
        return "No verdict: no windows can be compared."
    unit = same_unit((step.base, step.variant))
    steps = f"{unit.number(step.base)} and {unit.text(step.variant)} a step"
    verdict = shown(comparison, step).verdict
    if not_comparable(comparison):
        failed = ", ".join(name_text(c.id) for c in comparison.comparability.checks if c.status == "fail")
        why = f" ({failed})" if failed else ""
        return f"No verdict: the runs are not comparable{why}. {steps}, described only."
    if verdict in ("faster", "slower"):
        change = f"{time_text(abs(step.delta))} ({pct_text(abs(step.delta_pct or 0.0), sign=False)})"
        now = f"{unit.text(step.variant)} instead of {unit.text(step.base)}"
        return f"{verdict.capitalize()}: a step takes {now}, {change} {'less' if step.delta < 0 else 'more'}."
    if verdict in ("unchanged", "inconclusive"):
        return f"{verdict.capitalize()}: {steps}, a difference of {time_text(step.delta, sign=True)}."
    if verdict == "too_few":
        return f"Too few windows for a verdict ({n_text(step)}): {steps}, described only."
    return f"No verdict: {steps}, described only."


def _option(options: Mapping[str, Any], key: str) -> float | None:
    value = options.get(key)
    return float(value) if isinstance(value, (int, float)) else None


def level(comparison: Comparison) -> str:
    """Return the intervals' level: `95 %`."""
    alpha = _option(comparison.options, "alpha")
    return f"{count_text(100 * (1 - (0.05 if alpha is None else alpha)))} %"


def counted(comparison: Comparison, count: int | None = None) -> str:
    """Return what n counts, `windows` or `repeats`; with a count, both."""
    unit = "repeat" if comparison.unit.startswith("repeat") else "window"
    return f"{unit}s" if count is None else f"{count} {unit}{'' if count == 1 else 's'}"


def power_sentences(comparison: Comparison) -> list[str]:
    """Return what an undecided word means, what these windows could show, and what would decide."""
    step = shown(comparison, comparison.step_time)
    said = []
    margin = count_text(_option(comparison.options, "min_effect_pct"))
    if step.verdict == "unchanged":
        said.append(f"A change of {margin} % of the step or more is ruled out.")
    elif step.verdict == "inconclusive":
        said.append(
            f"The difference may be chance, and a change of {margin} % of the step or more is not ruled out: "
            "inconclusive does not mean unchanged."
        )
    if step.note:
        said.append(name_text(step.note[:1].upper() + step.note[1:]).rstrip(".") + ".")
    if step.smallest_detectable is not None and step.base and step.verdict in TESTED:
        share = share_text(step.smallest_detectable / step.base)
        said.append(
            f"A change of {time_text(step.smallest_detectable)} ({share} of the step) would have been seen "
            "four times in five."
        )
    if step.verdict == "inconclusive" and not step.note:
        if step.n_decides:
            said.append(
                f"About {counted(comparison, step.n_decides)} a side would decide, if the difference is real."
            )
        if step.n_unchanged:
            said.append(
                f"About {counted(comparison, step.n_unchanged)} a side could show that nothing changed."
            )
    return said


def statistics_sentences(comparison: Comparison) -> list[str]:
    """Return what must be said beside the intervals: what n counts, what they do and don't cover."""
    said = [f"n counts {counted(comparison)} a side."]
    if shown(comparison, comparison.step_time).verdict in TESTED:
        said = [f"Intervals in brackets are {level(comparison)}; n counts {counted(comparison)} a side."]
    said += [name_text(sentence) for sentence in comparison.sentences]
    if comparison.pairing:
        said.append(f"Step time and categories: {name_text(comparison.pairing)}.")
    resident = comparison.base.resident or comparison.variant.resident
    if resident and not any("launch-to-launch" in sentence for sentence in said):
        said.append(RESIDENT)
    return said


def reservation(comparison: Comparison) -> str:
    """Return what keeps the runs from being comparable without reserve; "" when nothing does."""
    found = comparison.comparability
    if found.status == "comparable":
        return ""
    names = [check.id for check in found.checks if check.status in ("warn", "fail")]
    status = STATUS.get(found.status, found.status)
    return name_text(f"{status} Differs: {', '.join(names)}." if names else status)


def windows_sentence(side: Side, steps: str = "") -> str:
    """Return how many windows of a side are used, which steps, and why the others are not."""
    left = "; ".join(
        f"{count} {REASONS.get(name, name_text(name))}" for name, count in dropped_counts(side).items()
    )
    used = f"{side.windows_used} of {side.windows_total} windows used" + (
        f" (steps {steps})" if steps else ""
    )
    return f"{used}. Dropped: {left}." if left else f"{used}."


def overlap_sentence(comparison: Comparison) -> str:
    """Return overlap with its two denominators named; it carries no good or bad (SEMANTICS 3)."""
    base, variant = comparison.base, comparison.variant
    pairs = [
        f"{share_text(before)} → {share_text(after)}"
        for before, after in (
            (base.overlap_of_communication, variant.overlap_of_communication),
            (base.overlap_of_compute, variant.overlap_of_compute),
        )
    ]
    return f"Overlap: {pairs[0]} of communication time, {pairs[1]} of compute time."


def unsplit(comparison: Comparison) -> bool:
    """Return whether some side's collectives are not separated into peer wait and transport."""
    return any(row.transport is None for row in comparison.collectives)


def next_steps(comparison: Comparison) -> list[str]:
    """Return what the user can do about what these runs could not show."""
    warned = {note.id for note in comparison.warnings}
    step = comparison.step_time
    said = []
    if not_comparable(comparison):
        said.append("Record both sides with the same work, ranks and devices, changing one setting only.")
    elif step.verdict == "too_few" or "too_few_windows" in warned:
        said.append(
            "Record more: at least 5 windows a side after warm-up (better 20 or more), "
            "or at least 2 repeats a side."
        )
    elif step.verdict == "inconclusive":
        said.append("Record more windows, or more repeats, to decide.")
    one = min(comparison.base.repeats, comparison.variant.repeats) < 2
    if one and not not_comparable(comparison):
        said.append(
            "Record at least 2 repeats a side, in turn (base, variant, base, variant): only these show "
            "how much one launch differs from the next."
        )
    every = all(side.world_size and len(side.ranks) >= side.world_size for _, side in comparison.sides)
    if unsplit(comparison) and not every:
        said.append("Trace every rank to tell waiting for a late rank from transport.")
    return said
