"""A prediction in text: what changes, predicted beside measured, and the assumptions it stands on."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from abstep.lab.assumptions import buckets_text
from abstep.lab.overlap import Parts
from abstep.lab.overlap_text import CATEGORIES, CONSTRAINT_WORDS, headline, timeline, verdict_of
from abstep.lab.predict import replay_error
from abstep.units import ABSENT, count_text, name_text, pct_text, same_unit, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abstep.lab.against import Against
    from abstep.lab.predict import Change, Prediction

WORDS = {**CATEGORIES, "copy_only": "copies alone"}
COLUMN = 11


def prediction_text(
    prediction: Prediction,
    change: Change,
    beside: Against | None,
    width: int = 80,
    *,
    ascii: bool = False,  # noqa: A002
) -> str:
    """Return a prediction as text.

    Args:
        prediction: what to tell.
        change: what was asked.
        beside: the measured variant; None without one.
        width: columns.
        ascii: no glyphs beyond ASCII.

    """
    lines: list[str] = []
    for title, body in _sections(prediction, change, beside, width, ascii=ascii):
        lines += ["", title, *body] if lines else [title, *body]
    return "\n".join(lines) + "\n"


def asked(prediction: Prediction, change: Change) -> str:
    """Return what was asked in words."""
    said = []
    if change.bucket_mb is not None:
        said.append(f"bucket_cap_mb {count_text(change.bucket_mb)}")
    if change.late_launch is not None:
        said.append("launched after the backward" if change.late_launch else "launched as buckets fill")
    if change.streams is not None:
        said.append(f"{change.streams} communication stream{'s' if change.streams > 1 else ''}")
    if change.launch_us is not None:
        said.append(f"launch cost {time_text(1000 * change.launch_us)}")
    if change.bandwidth is not None:
        said.append(f"bus bandwidth {count_text(change.bandwidth)} GB/s")
    return f"{', '.join(said) or 'nothing changed'}: {buckets_text(prediction.buckets)}"


def _sections(
    prediction: Prediction,
    change: Change,
    beside: Against | None,
    width: int,
    *,
    ascii: bool,  # noqa: A002
) -> Iterator[tuple[str, list[str]]]:
    measured = prediction.measured
    base, step = measured.step, prediction.step
    verdict = verdict_of(round(base), round(step), ("faster", "slower"))
    yield (
        "\n".join(_fold(f"Predicted from {name_text(measured.label)}: {asked(prediction, change)}", width)),
        _fold(headline(base, step, verdict), width, "  "),
    )
    if beside is not None:
        said = [line for sentence in beside.told() for line in _fold(name_text(sentence), width, "- ")]
        yield "Against the measured variant", said
    yield _table(prediction, beside)
    yield "Timelines of one window, changed", timeline(prediction.sample[1], width, ascii=ascii)
    yield (
        "Why not the ideal",
        [line for sentence in _why(prediction) for line in _fold(sentence, width, "- ")],
    )
    error = replay_error(prediction)
    share = pct_text(100 * abs(error) / base if base else None, sign=False)
    assumed = (
        *prediction.assumptions,
        f"Played as it was, the model's step is off by {time_text(error, sign=True)} ({share} of the step).",
    )
    yield "Assumptions", [line for sentence in assumed for line in _fold(sentence, width, "- ")]


def _table(prediction: Prediction, beside: Against | None) -> tuple[str, list[str]]:
    measured = prediction.measured
    unit = same_unit((measured.step, prediction.step), digits=4)
    names = ["base", "predicted", "change"] + (["measured"] if beside is not None else [])
    rows = []
    for part in (*measured.categories, "step"):
        base = measured.step if part == "step" else measured.categories[part]
        delta = prediction.delta(part) if part in Parts.__dataclass_fields__ else 0.0
        cells = [unit.number(base), unit.number(base + delta), unit.number(delta, sign=True)]
        if beside is not None:
            found = beside.variant(part)
            cells.append(ABSENT if found is None else unit.number(found))
        rows.append(f"  {WORDS.get(part, part):<34}" + "".join(f"{cell:>{COLUMN}}" for cell in cells))
    head = f"{f'What fills a step ({unit.name})':<36}" + "".join(f"{name:>{COLUMN}}" for name in names)
    return head, rows


def _why(prediction: Prediction) -> list[str]:
    gap = float(prediction.predicted.step) - prediction.ideal
    said = [f"The ideal of the changed step is {time_text(prediction.ideal)}, {time_text(gap)} less."]
    shares = sorted(prediction.gap.items(), key=lambda row: -abs(row[1]))
    named = [f"{name} {time_text(value, sign=True)}" for name, value in shares if abs(value) >= 50]
    if prediction.binding is None or not named:
        return [*said, "Nothing binds."]
    return [*said, f"Between them: {', '.join(named)}.", f"Binding: {CONSTRAINT_WORDS[prediction.binding]}."]


def _fold(text: str, width: int, first: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
