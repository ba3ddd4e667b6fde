"""Small SVG figures for the report: the account as a waterfall, and the step times of both sides.

Plain SVG with title and description for screen readers, the reader's own fonts, and colours that differ in
lightness as well; more time is also hatched, so nothing hangs on colour. The same comparison gives the same
bytes.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from abstep.report import rows, wording
from abstep.units import cells, name_text, same_unit, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.compare.comparison import Comparison

WIDTH, ROW, LABEL, NUMBER = 760, 22, 330, 90  # px
ACCOUNT_ROWS = 10
_STYLE = (
    "text{font:12px sans-serif;fill:#24292f}.n{text-anchor:end}.b{font-weight:bold}.less{fill:#56b4e9}"
    ".more{fill:#d55e00}.whole{fill:#6e7781}.line{stroke:#6e7781;stroke-width:1}.dot{fill:#0072b2;fill-opacity:.5}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.hatch{stroke:#0d1117}}.hatch{stroke:#fff;stroke-width:2}"
)
_HATCH = (
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="6" height="6" class="more"/><line x1="0" y1="0" x2="0" y2="6" class="hatch"/></pattern>'
)


def _svg(height: int, title: str, description: str, body: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="title description">'
    )
    facts = f'<title id="title">{_text(title)}</title><desc id="description">{_text(description)}</desc>'
    return (
        "\n".join([head, facts, f"<style>{_STYLE}</style>", f"<defs>{_HATCH}</defs>", *body, "</svg>"]) + "\n"
    )


def _text(text: str) -> str:
    return escape(name_text(text))


def _label(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class={quoteattr(style)}>{_text(text)}</text>'


def _scale(low: float, high: float, left: float, right: float) -> tuple[float, float]:
    """Return factor and offset that put low (ns) at left (px) and high at right."""
    factor = (right - left) / (high - low) if high > low else 0.0
    return factor, left - low * factor


def account_svg(comparison: Comparison) -> str:
    """Return the account as a waterfall, from the base's step time to the variant's; "" when unknown.

    The axis does not begin at 0, so the two step times are marks, not bars.
    """
    found, step = rows.account(comparison, ACCOUNT_ROWS), comparison.step_time
    if found is None or step.base is None or step.variant is None:
        return ""
    unit = found.deltas.unit
    level, edges = step.base, [step.base, step.variant]
    bars = []
    for (row, label), count in zip(found.rows, found.deltas.rows, strict=True):
        after = level + count * unit.step
        part = wording.PARTS.get(row.part, row.part) if row else label
        bars.append((label if part == label else f"{part}: {label}", level, after, count))
        edges.append(after)
        level = after
    factor, offset = _scale(min(edges), max(edges), LABEL + 10, WIDTH - NUMBER)
    body = [_bar(0, "base", (offset + factor * step.base,) * 2, "whole", time_text(step.base))]
    for i, (label, start, end, count) in enumerate(bars, 1):
        style = "more" if count > 0 else "less"
        ends = (offset + factor * start, offset + factor * end)
        body.append(_bar(i, label, ends, style, unit.steps(count, sign=True)))
    last = len(bars) + 1
    body.append(
        _bar(last, "variant", (offset + factor * step.variant,) * 2, "whole", time_text(step.variant))
    )
    described = "; ".join(
        f"{label} {unit.steps(count, sign=True)} {unit.name}" for label, _, _, count in bars
    )
    title = f"Where the difference of {time_text(step.delta, sign=True)} in step time comes from"
    return _svg(ROW * (last + 1) + 10, title, described, body)


def _bar(row: int, label: str, ends: tuple[float, float], style: str, number: str) -> str:
    left, right = min(ends), max(ends)
    y = ROW * row + 5
    short = label if cells(label) <= 50 else name_text(label, width=50)
    fill = ' fill="url(#hatch)"' if style == "more" else f' class="{style}"'
    return (
        _label(LABEL, y + 14, short, "n b" if style == "whole" else "n")
        + f'<rect x="{left:.1f}" y="{y + 3}" width="{max(right - left, 2):.1f}" height="{ROW - 6}"{fill}/>'
        + _label(WIDTH - 5, y + 14, number, "n")
    )


def steps_svg(comparison: Comparison) -> str:
    """Return each typical window's step time as a dot, a row a repeat; "" without windows to show."""
    if comparison.detail is None:
        return ""
    means: dict[tuple[str, int], list[float]] = defaultdict(list)
    frame = comparison.detail.windows()
    typical = frame.filter(frame["reason"].is_null()).select("side", "repeat", "step", "length_ns")
    keys = ("side", "repeat", "step")
    for side, repeat, _, length in typical.group_by(keys).mean().sort(keys).iter_rows():
        means[side, repeat].append(length)
    if not means:
        return ""
    every = [length for row in means.values() for length in row]
    factor, offset = _scale(min(every), max(every), LABEL / 2, WIDTH - NUMBER)
    unit = same_unit([max(every)])
    body = []
    for i, ((side, repeat), lengths) in enumerate(sorted(means.items())):
        y = ROW * i + ROW / 2 + 5
        mean = sum(lengths) / len(lengths)
        x = offset + factor * mean
        body.append(_label(LABEL / 2 - 15, y + 4, f"{side}, repeat {repeat}", "n"))
        body += [
            f'<circle cx="{offset + factor * at:.1f}" cy="{y:.1f}" r="4" class="dot"/>' for at in lengths
        ]
        body.append(f'<line x1="{x:.1f}" y1="{y - 9:.1f}" x2="{x:.1f}" y2="{y + 9:.1f}" class="line"/>')
        body.append(_label(WIDTH - 5, y + 4, unit.text(mean), "n"))
    floor = ROW * len(means) + 22
    body.append(_label(LABEL / 2, floor, unit.text(min(every))))
    body.append(_label(WIDTH - NUMBER, floor, unit.text(max(every)), "n"))
    described = f"From {unit.text(min(every))} to {unit.text(max(every))}; a line marks each row's mean."
    return _svg(floor + 10, "Step time of every typical window, mean over ranks", described, body)
