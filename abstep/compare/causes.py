"""Sentences that name a cause: contention, the dependency path, what keeps a step long. Causes are not invented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abstep.compare.recorded import PAIRS_NAMED, evidence_sentences
from abstep.compare.waiting import MATTERS, anything_changed, named_row
from abstep.units import bytes_text, pct_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abstep.compare.comparison import Comparison, ContentionRow

CONTROL = 0.01
LONGER = 0.10  # beside compute against alone: less is not worth a sentence


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
            f"Contention {word} by {time_text(abs(total))} a step (compute's time beside collectives, beyond what it "
            "takes alone)" + (f": {named}." if named else "; no pair of it is shown to have changed.")
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
    if bounds is None or not step or not anything_changed(comparison):
        return
    causes = sorted(bounds.kept_by.items(), key=lambda item: -item[1])
    said = ", ".join(f"{KEPT_BY[name]} {time_text(time)}" for name, time in causes if time >= MATTERS * step)
    if said and step - bounds.together >= MATTERS * step:
        yield (
            f"If compute and communication, each as long as measured (contention included), started together, the "
            f"variant's step would take {time_text(bounds.together)}; what keeps it from there: {said}."
        )
    replayed = bounds.at_first_valid_launch
    if replayed is not None and step - replayed >= MATTERS * step:
        yield (
            f"With no collective behind another, each at its first valid launch and as long as measured, and all else "
            f"following what it waits for, the variant's step would take {time_text(replayed)} "
            f"({time_text(replayed - step, sign=True)})."
        )


KEPT_BY = {
    "late_readiness": "late ranks",
    "pipeline": "waiting in the pipeline",
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
            f"{named_row(row)}: isolated {time_text(row.isolated)} a step, beside the step's work "
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
    growth = time_text(row.delta.delta, sign=True)
    return f"{row.compute.partition(': ')[0]} beside {row.beside} {growth}{stretch}"


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
    if anything_changed(comparison) and apart > max(MATTERS * step, abs(exposed) / 2):
        yield (
            f"Account and path disagree by {time_text(apart)}: exposed communication changed by "
            f"{time_text(exposed, sign=True)} over all ranks, transport on the path by "
            f"{time_text(transport, sign=True)} (what is exposed need not be on the path, and the path may "
            "run through hidden transport)."
        )
