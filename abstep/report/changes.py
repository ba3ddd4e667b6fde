"""The report's sections on what changed: account, categories, exposed slots, contention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abstep.compare import recorded
from abstep.report import rows, wording
from abstep.report.markup import fold, plain, table
from abstep.units import (
    ABSENT,
    delta_text,
    glyph,
    n_text,
    pair_text,
    ratio_text,
    same_unit,
    share_text,
    time_text,
    value_text,
    word,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.compare.comparison import Comparison, ContentionRow, SlotRow
    from abstep.compare.statistics.types import Delta

ACCOUNT_ROWS = 30
PAIRS_SHOWN = 15
MOST_ROWS = 60
RECORDED = (
    "Base → variant, one figure where both read the same; a range where kernels differ; - is not recorded, or for "
    "copies that the two never ran beside each other. Occupancy is the profiler's estimate from the launch, a mean by "
    "time. Channels are the thread blocks of NCCL's and RCCL's own device kernels, which run one a channel. Copies: "
    "time a step in which such a copy ran too while the compute and the collective did."
)
NAME = 100
"""Longest name in a cell; the result file has it whole."""


def account(comparison: Comparison) -> list[str]:
    """Return where the difference comes from: rows that add up to the step's difference, as printed."""
    found = rows.account(comparison, ACCOUNT_ROWS)
    if found is None:
        return ["Unknown: step time has no difference to account for."]
    unit = found.deltas.unit
    lines = []
    for (row, label), steps in zip(found.rows, found.deltas.rows, strict=True):
        part = wording.PARTS.get(row.part, plain(row.part)) if row else ""
        text = plain(label, width=NAME)
        lines.append((part, "" if text == part else text, unit.steps(steps, sign=True)))
    lines.append(("**step time**", "", f"**{unit.steps(found.deltas.total, sign=True)}**"))
    return table(("Part", "What", f"Difference, {unit.name}"), lines, right=(2,))


def categories(comparison: Comparison) -> list[str]:
    """Return what fills a step on both sides: five categories that tile it."""
    found = rows.categories(comparison)
    if found is None:
        return []
    unit, lines = found.base.unit, []
    columns = zip(found.base.rows, found.variant.rows, found.delta.rows, strict=True)
    for row, (base, variant, delta) in zip(rows.decomposition(comparison), columns, strict=True):
        shown = rows.shown(comparison, row.delta)
        name = wording.CATEGORIES.get(row.category, plain(row.category))
        lines.append(
            (name, unit.steps(base), unit.steps(variant), unit.steps(delta, sign=True), verdict(shown))
        )
    total = (
        unit.steps(found.base.total),
        unit.steps(found.variant.total),
        unit.steps(found.delta.total, sign=True),
    )
    step = verdict(rows.shown(comparison, comparison.step_time))
    bold = [f"**{number}**" for number in total]
    lines.append(("**step**", bold[0], bold[1], bold[2], step))
    numbers = [f"{name}, {unit.name}" for name in ("Base", "Variant", "Difference")]
    return table(("In a step", *numbers, "Verdict"), lines, right=(1, 2, 3))


def verdict(delta: Delta) -> str:
    """Return glyph and word; "-" where no word is given."""
    return ABSENT if delta.verdict is None else f"{glyph(delta.verdict)} {word(delta.verdict)}"


def probability(value: float | None) -> str:
    """Return a p or q value with two significant digits."""
    if value is None:
        return ABSENT
    return "<0.0001" if value < 0.0001 else f"{value:.2g}"


def slots(comparison: Comparison) -> list[str]:
    """Return the slots whose exposed time changed, then the others folded."""
    if comparison.no_communication:
        return [wording.NO_COMMUNICATION]
    if not comparison.intervals:
        return ["No communication was exposed in either run."]
    found = rows.slots(comparison)
    lines = []
    called = [row for _, of_word in found.called for row in of_word]
    if called:
        words = ", ".join(f"{len(of_word)} {name}" for name, of_word in found.called)
        lines += [
            f"Of {len(comparison.intervals)} exposed slots, {words}.",
            "",
            *_slot_table(comparison, called),
        ]
    else:
        why = (
            " (no verdicts are given, see above)" if comparison.step_time.verdict in (None, "too_few") else ""
        )
        lines.append(f"No slot is called changed{why}. The largest differences:")
        lines += ["", *_slot_table(comparison, found.rest[:10])]
    rest = found.rest if called else found.rest[10:]
    if rest:
        total = time_text(found.rest_delta if called else rows.together(rest), sign=True)
        count = f"{len(rest)} other slot{'' if len(rest) == 1 else 's'}, together {total}"
        lines += ["", *fold(count, _slot_table(comparison, rest[:MOST_ROWS]) + left_out(len(rest)))]
    lines += ["", *_made_of((called or list(found.rest))[:MOST_ROWS])]
    return lines


def left_out(count: int) -> list[str]:
    """Return the line that says how many rows a table leaves to the result file."""
    return ["", f"{count - MOST_ROWS} more rows are in the result file."] if count > MOST_ROWS else []


def _slot_table(comparison: Comparison, found: Sequence[SlotRow]) -> list[str]:
    lines = []
    for row in found:
        delta = rows.shown(comparison, row.delta)
        seen = f"{share_text(row.base_presence)} → {share_text(row.variant_presence)}"
        lines.append((
            verdict(delta), plain(row.label, width=NAME), row.kind, pair_text(delta.base, delta.variant),
            value_text(delta), n_text(delta).removeprefix("n="), probability(delta.q_value), seen, plain(delta.note),
        ))  # fmt: skip
    heads = ("Verdict", "Slot", "Kind", "Base → variant", _interval(comparison, "Difference"), "n", "q")
    return table((*heads, "Windows with it", "Remark"), lines)


def _interval(comparison: Comparison, name: str) -> str:
    """Return the head of a column of differences: with the intervals' level, where there are any."""
    tested = rows.shown(comparison, comparison.step_time).verdict in wording.TESTED
    return f"{name} [{wording.level(comparison)} interval]" if tested else name


def _consumer(row: SlotRow) -> str:
    name = plain(row.consumer, width=NAME) if row.consumer else ABSENT
    return f"{name} (inferred)" if row.inferred else name


def uncertain(figure: str, by: float | None) -> str:
    """Return a printed split of peer wait and transport with how far the clocks leave it open (SEMANTICS 4)."""
    return f"{figure} ± {time_text(by)}" if by and figure != ABSENT else figure


def _wider(row: SlotRow) -> str:
    low, high = row.delta.fcr_low, row.delta.fcr_high
    unit = same_unit((low, high))
    return (
        ABSENT
        if low is None
        else f"[{unit.number(low, sign=True)}, {unit.number(high, sign=True)}] {unit.name}"
    )


def _made_of(found: Sequence[SlotRow]) -> list[str]:
    wider = any(row.delta.fcr_low is not None for row in found)
    lines = [
        (
            plain(row.label, width=NAME), f"{plain(row.collective)}, {plain(row.group, width=NAME)}",
            _consumer(row), *([_wider(row)] if wider else []),
            uncertain(pair_text(row.base_peer_wait, row.variant_peer_wait), row.split_uncertain),
            uncertain(pair_text(row.base_transport, row.variant_transport), row.split_uncertain),
            pair_text(row.base_independent, row.variant_independent), "yes" if row.matched else "no",
        )
        for row in found
    ]  # fmt: skip
    heads = ("Slot", "Collective, group", "Consumer", *(["Wider interval"] if wider else []))
    heads += ("Peer wait", "Transport")
    whole = table((*heads, "Compute that could hide it", "In both runs"), lines)
    if wider:
        whole += ["", "The wider interval allows for these slots having been picked for their change."]
    return fold("What these slots are made of (base → variant)", whole)


def contention(comparison: Comparison) -> list[str]:
    """Return compute slowed while collectives ran, largest growth first."""
    if comparison.no_communication:
        return []
    if not comparison.contention:
        return ["None was measured.", *_start_delay(comparison)]
    found = rows.pairs(comparison, PAIRS_SHOWN)
    total = time_text(rows.together(comparison.contention), sign=True)
    lines = [f"Growth of all {len(comparison.contention)} pairs together: {total} a step.", ""]
    if comparison.control is not None:
        control = delta_text(rows.shown(comparison, comparison.control.delta))
        ratio = ratio_text(comparison.control.ratio)
        lines += [f"Compute that overlaps no collective in either run: {ratio} as long, {control}.", ""]
    lines += _contention_table(comparison, found.told)
    if found.rest:
        count = f"{len(found.rest)} other pair{'' if len(found.rest) == 1 else 's'}"
        whole = _contention_table(comparison, found.rest[:MOST_ROWS]) + left_out(len(found.rest))
        lines += ["", *fold(f"{count}, together {time_text(rows.together(found.rest), sign=True)}", whole)]
    return lines + _recorded(comparison, found.told) + _start_delay(comparison)


def _recorded(comparison: Comparison, found: Sequence[ContentionRow]) -> list[str]:
    """Return what the traces and run.json recorded beside these pairs: evidence for the reader, not causes."""
    lines = [plain(sentence) for sentence in recorded.host_sentences(comparison)]
    lines = ["", *lines] if lines else []
    told = [(row, {fact.label: fact.both for fact in recorded.launch_facts(row)}) for row in found]
    labels = list(dict.fromkeys(label for _, facts in told for label in facts))
    copies = [
        [f"{fact.label.removeprefix('copies')} {fact.both}".strip() for fact in recorded.copy_facts(row)]
        for row in found
    ]
    if not labels and not any(copies):
        return lines
    heads = ("Compute", "Beside", *(label[0].upper() + label[1:] for label in labels), "Copies beside both")
    cells = [
        (
            plain(row.compute, width=NAME), plain(row.beside, width=NAME),
            *(facts.get(label, ABSENT) for label in labels),
            "; ".join(copied) or ABSENT,
        )
        for (row, facts), copied in zip(told, copies, strict=True)
    ]  # fmt: skip
    whole = [*table(heads, cells), "", RECORDED]
    return [*lines, "", *fold("Recorded of these pairs: evidence, not causes", whole)]


def _start_delay(comparison: Comparison) -> list[str]:
    """Say how much later than usual compute started beside collectives: blocked, not slowed."""
    one, other = comparison.base.start_delay, comparison.variant.start_delay
    if one is None and other is None:
        return []
    what = "Start delay of compute that was queued while a collective ran, a step"
    return [
        "",
        f"{what}: {pair_text(one, other)}. It waits to start, it does not run slower: no part of contention.",
    ]


def _contention_table(comparison: Comparison, found: Sequence[ContentionRow]) -> list[str]:
    lines = []
    for row in found:
        delta = rows.shown(comparison, row.delta)
        lines.append((
            verdict(delta), plain(row.compute, width=NAME),
            plain(row.beside, width=NAME), pair_text(delta.base, delta.variant), value_text(delta),
            f"{ratio_text(row.base_stretch)} → {ratio_text(row.variant_stretch)}",
            pair_text(row.base_overlap, row.variant_overlap), ratio_text(row.control_ratio),
            plain("; ".join(note for note in (delta.note, row.note) if note)),
        ))  # fmt: skip
    heads = ("Verdict", "Compute", "Beside", "Excess", _interval(comparison, "Growth"), "Stretch")
    return table((*heads, "Overlapped time", "Control", "Remark"), lines)
