"""The report: a comparison for someone who was not there, as Markdown that GitHub shows.

Everything that comes from files or from the user goes through `plain` or `fenced` (see markup).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from abstep.report import changes, evidence, rows, wording
from abstep.report.markup import fenced, plain, table
from abstep.units import ABSENT, delta_text, pct_text, share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.compare.comparison import Comparison, Side

TERMS = {
    "window": "one training step on one rank, from its first device work to the next step's",
    "typical window": "complete, after warm-up and no outlier; figures are means over these and over ranks",
    "exposed": "communication runs and no compute does",
    "blocking": "the next compute waits for the collective: this exposed time costs step time",
    "incidental": "compute pauses for another reason: hiding this exposed time would gain nothing",
    "slot": "one exposed interval, told apart by phase, process group, collective kind and consumer",
    "windows with it": "share of windows in which a slot holds 10 us or more",
    "consumer": "the first compute that must wait for the collective",
    "contention": "how much longer compute takes beside a collective than the same compute takes alone",
    "stretch": "mean duration beside a collective over mean duration alone, in the same run",
    "control": "how the duration of compute that overlaps nothing changed from base to variant",
    "peer wait, transport": "a collective's time until the last rank has arrived, and after that",
    "queue": "a collective could have started, but stood behind another or was launched late",
    "slack": "how much later a collective could have ended for free",
    "tail": "what the outlier windows add to the mean",
    "dependency path": "the chain of work that the end of the step waited for, over all ranks",
    "disappeared, shrank, grew, appeared, faster, slower": "tested: chance alone rarely does this",
    "unchanged": "tested: a change as large as the margin (delta) is ruled out",
    "inconclusive": "neither of these; it does not mean unchanged",
    "below floor, too few": "too small, or too few windows, to be tested",
    "p, q": "how often chance alone would show such a difference; q allows for the number of tests",
    "resident": "the repeats are captures of processes that stayed up",
    ABSENT: "unknown, or not tested",
}


INTRODUCTION = (
    "How one training step of a variant differs from the same step of a baseline, measured on profiler "
    "traces of both. Times are means per step and rank; words are explained under [Terms](#terms)."
)


def markdown(comparison: Comparison, *, command: str, figures: Sequence[tuple[str, str]] = ()) -> str:
    """Return the report.

    Args:
        comparison: what to tell.
        command: the command line that made it, for the reader to repeat.
        figures: alternative text and file name of figures written beside the report.

    """
    sections = (
        ("Warnings", _warnings(comparison)),
        ("Where the difference comes from", [
            *changes.account(comparison), "", *changes.categories(comparison), "", *_overlap(comparison)]),
        ("Exposed communication: what disappeared, shrank, grew, appeared", changes.slots(comparison)),
        ("Contention: compute slowed while collectives ran", changes.contention(comparison)),
        ("Collectives", evidence.collectives(comparison)),
        ("Ranks", evidence.ranks(comparison)),
        ("Dependency path and milestones", evidence.path(comparison)),
        ("Can they be compared?", [*evidence.comparability(comparison), *evidence.unmatched(comparison)]),
        ("Windows", evidence.windows(comparison)),
        ("Statistics", [f"- {plain(sentence)}" for sentence in _statistics(comparison)]),
        ("How to reproduce", _reproduce(comparison, command)),
        ("Terms", [f"- **{term}**: {meaning}." for term, meaning in TERMS.items()]),
    )  # fmt: skip
    lines = _head(comparison, figures)
    for title, body in sections:
        if body:
            lines += ["", f"## {title}", "", *body]
    return "\n".join(line for i, line in enumerate(lines) if line or lines[i - 1]) + "\n"


def _head(comparison: Comparison, figures: Sequence[tuple[str, str]]) -> list[str]:
    base, variant = comparison.base, comparison.variant
    step = rows.shown(comparison, comparison.step_time)
    lines = [f"# Training step: {plain(base.label)} against {plain(variant.label)}", "", INTRODUCTION, ""]
    lines.append(f"**{plain(wording.verdict_sentence(comparison))}**")
    if step.delta is not None:
        lines += ["", f"Step time: {delta_text(step)} ({pct_text(step.delta_pct)})."]
        if step.ci_low is not None:
            level, counted = wording.level(comparison), wording.counted(comparison)
            lines.append(f"The brackets hold the {level} interval; n counts {counted} a side.")
    lines += [plain(sentence) for sentence in wording.power_sentences(comparison)]
    reserve = wording.reservation(comparison)
    if reserve:
        lines += ["", plain(reserve)]
    if comparison.explanation.sentences:
        lines += ["", *(f"- {plain(sentence)}" for sentence in comparison.explanation.sentences)]
    lines += ["", *_facts(comparison)]
    for alternative, name in figures:
        lines += ["", f"![{plain(alternative)}]({quote(name)})"]
    return lines


def _facts(comparison: Comparison) -> list[str]:
    sides = (comparison.base, comparison.variant)
    step = comparison.step_time
    lines = [("label", *(plain(side.label, width=changes.NAME) for side in sides))]
    changed = comparison.comparability.settings_changed
    lines += [
        (f"**{plain(row.key)}** (changed)", plain(_value(row.base)), plain(_value(row.variant)))
        for row in changed
    ]
    lines += [
        ("step time", time_text(step.base), time_text(step.variant)),
        ("ranks traced", *(_ranks(side) for side in sides)),
        ("repeats", *(f"{side.repeats}{' (resident)' if side.resident else ''}" for side in sides)),
        ("windows used", *(f"{side.windows_used} of {side.windows_total}" for side in sides)),
        ("device", *(plain(side.device_name or side.device, width=changes.NAME) for side in sides)),
    ]
    return table(("", "Base", "Variant"), lines)


def _ranks(side: Side) -> str:
    return f"{rows.ranges(side.ranks)}" + (f" of {side.world_size}" if side.world_size is not None else "")


def _value(value: object) -> str:
    """Return a setting as JSON would have it: `true`, not `True`."""
    return ABSENT if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _warnings(comparison: Comparison) -> list[str]:
    return [f"- **{plain(note.id)}**: {plain(note.message)}" for note in comparison.warnings]


def _overlap(comparison: Comparison) -> list[str]:
    said = [] if comparison.no_communication else [wording.overlap_sentence(comparison)]
    shares = [side.unattributed_share for _, side in comparison.sides]
    if any(shares):
        parts = " → ".join(share_text(share) for share in shares)
        said.append(f"Device time that belongs to no step: {parts}.")
    return [" ".join(said)] if said else []


def _statistics(comparison: Comparison) -> list[str]:
    step = rows.shown(comparison, comparison.step_time)
    said = list(wording.statistics_sentences(comparison))
    if step.p_value is not None:
        margin = f"; margin for unchanged {time_text(step.margin)}" if step.margin is not None else ""
        probability = changes.probability(step.p_value)
        said.append(f"Step time: p {'' if probability[0] == '<' else '= '}{probability}{margin}.")
    return said


def _reproduce(comparison: Comparison, command: str) -> list[str]:
    options = comparison.options
    sides = (comparison.base, comparison.variant)
    keys = sorted({key for side in sides for key in side.settings})
    changed = {row.key for row in comparison.comparability.settings_changed}
    settings = [
        (
            f"**{plain(key)}**" if key in changed else plain(key),
            *(plain(_value(side.settings.get(key)), width=changes.NAME) for side in sides),
        )
        for key in keys
    ]
    told = ", ".join(f"{key} {_value(options.get(key))}" for key in ("alpha", "min_effect_pct", "warmup"))
    lines = [*fenced(command, "sh"), ""]
    lines.append(
        f"abstep {plain(comparison.version)}; options: {plain(told)}. Every figure is in `--json FILE`."
    )
    if settings:
        lines += ["", "Settings of the runs, as their run.json has them:", ""]
        lines += table(("Setting", "Base", "Variant"), settings)
    steps = wording.next_steps(comparison)
    if steps:
        lines += ["", "What would say more:", "", *(f"- {plain(step)}" for step in steps)]
    return lines
