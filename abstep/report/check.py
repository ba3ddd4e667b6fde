"""`abstep check` in words: what a run shows of itself."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from abstep.units import ABSENT, in_ascii, name_text, pct_text, time_text

if TYPE_CHECKING:
    from abstep.compare.selfcheck import SelfCheck

WIDTH = 80


def check_text(check: SelfCheck, *, unicode: bool = True) -> str:
    """Return the page that `abstep check` prints.

    Args:
        check: the run against itself.
        unicode: False for plain ASCII.

    """
    used, total = check.windows
    repeats = f"{check.repeats} repeat{'s' if check.repeats != 1 else ''}"
    lines = [f"{name_text(check.label)} against itself: {used} of {total} windows used, {repeats}", ""]
    if check.step is None:
        lines.append("No window is left to describe.")
    elif check.detectable is None:
        lines += _wrapped(
            f"A step takes {time_text(check.step)}; too few windows to say what they could show."
        )
    else:
        share = pct_text(100.0 * check.detectable / check.step, sign=False)
        lines += _wrapped(
            f"A step takes {time_text(check.step)}. Compared with as many windows of another run, a change of "
            f"{time_text(check.detectable)} ({share} of the step) would be seen four times in five."
        )
    lines += ["", "What differs within the run"]
    findings = [finding.message for finding in check.found.findings]
    lines += [line for text in findings for line in _wrapped(text, "- ")]
    if not findings:
        lines += _wrapped(_nothing(check), "- ")
    if check.slots:
        lines += ["", "Exposed slots, and the change that would be seen in them"]
        for label, mean, detectable in check.slots:
            seen = ABSENT if detectable is None else f"a change of {time_text(detectable)} would be seen"
            lines += _wrapped(f"{name_text(label)}: {time_text(mean)} a step; {seen}", "- ")
    warnings = [f"{warning.id}: {warning.message}" for warning in check.found.against_itself.warnings]
    if warnings:
        lines += ["", "Warnings", *(line for text in warnings for line in _wrapped(text, "! "))]
    text = "\n".join(lines) + "\n"
    return text if unicode else in_ascii(text)


def _nothing(check: SelfCheck) -> str:
    several = check.found.repeats > 1
    if check.found.pairs < 2 and not several:
        return "Too few windows to ask: record at least five in a repeat."
    compared = [f"{check.found.pairs} pairs of neighbouring windows"] if check.found.pairs else []
    compared += [f"{check.found.repeats} repeats"] if several else []
    agree = ["odd and even steps agree"] if check.found.pairs else []
    agree += ["the repeats agree"] if several else []
    return f"Nothing, in {' and '.join(compared)}: {', and '.join(agree)}."


def _wrapped(text: str, mark: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark))
