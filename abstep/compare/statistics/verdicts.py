"""The word for a difference, and the sentence printed with it (STATISTICS 2.9). First rule that holds.

Not significant is never called unchanged: `unchanged` needs an interval inside the margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from abstep.compare.statistics import special
from abstep.units import time_text

if TYPE_CHECKING:
    from abstep.compare.statistics.types import Unit, Verdict

PRESENT_BEFORE = 0.25
ABSENT_SHARE = 0.05
Kind = Literal["step", "category", "slot", "sum"]


@dataclass(frozen=True)
class Evidence:
    """All that a verdict looks at; times in ns.

    Attributes:
        kind: step time, a category, or an interval or pair (the only ones that appear and disappear).
        base: mean of the base.
        variant: mean of the variant.
        delta: their difference.
        called: whether q (the step: p) is within alpha.
        half_width: of the 1 - 2 alpha interval.
        margin: what counts as no change.
        presence: (windows with it, windows) of the base and of the variant.
        in_blocks: whether it comes and goes in blocks.

    """

    kind: Kind
    base: float
    variant: float
    delta: float
    called: bool
    half_width: float
    margin: float
    presence: tuple[tuple[int, int], tuple[int, int]]
    in_blocks: bool = False


def decide(evidence: Evidence) -> Verdict:
    """Return the verdict of a tested figure."""
    if evidence.in_blocks:
        return "inconclusive"
    if evidence.kind == "slot" and evidence.called:
        base, variant = (count / n for count, n in evidence.presence)
        if evidence.delta < 0 and _gone(base, variant, evidence.base, evidence.variant):
            return "disappeared"
        if evidence.delta > 0 and _gone(variant, base, evidence.variant, evidence.base):
            return "appeared"
    if abs(evidence.delta) + evidence.half_width < evidence.margin:
        return "unchanged"
    if evidence.called and evidence.delta:
        if evidence.kind == "step":
            return "slower" if evidence.delta > 0 else "faster"
        return "grew" if evidence.delta > 0 else "shrank"
    return "inconclusive"


def _gone(before: float, after: float, mean_before: float, mean_after: float) -> bool:
    return before >= PRESENT_BEFORE and after <= ABSENT_SHARE and mean_after <= ABSENT_SHARE * mean_before


def note(
    verdict: Verdict,
    evidence: Evidence,
    *,
    unit: Unit,
    alpha: float,
    n_unchanged: int | None,
    n_decides: int | None,
) -> str:
    """Return the sentence printed with a tested figure's verdict, or ""."""
    if verdict in ("disappeared", "appeared"):
        count, n = evidence.presence[1 if verdict == "disappeared" else 0]
        bound = special.share_upper_bound(count, n, alpha)
        return f"{count} of {n} windows (true rate <= {_percent(bound)})"
    if verdict == "unchanged":
        return "detectable, below delta" if evidence.called else ""
    if verdict != "inconclusive":
        return ""
    if evidence.in_blocks:
        return "comes and goes in blocks; needs repeats"
    level = round(100 * (1 - 2 * alpha))
    text = f"half-width of the {level} % interval {time_text(evidence.half_width)}"
    if n_unchanged is not None:
        more = " (or more repeats)" if unit == "windows" else ""
        text += f"; about {n_unchanged:,} {unit} a side{more} needed to call it unchanged"
    if n_decides is not None and n_decides != n_unchanged:
        text += f"; about {n_decides:,} {unit} a side would decide if it stays as seen"
    return text


def too_few_note(n: tuple[int, int]) -> str:
    """Return the sentence printed where there are too few windows to test."""
    return f"{n[0]} and {n[1]} windows: described only, 5 a side are needed"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.1g} %"
