"""Draws screens as SVG, for the documentation and for looking at them.

python -m tests.tui.pictures FOLDER              # of the simulated pair
python -m tests.tui.pictures FOLDER BASE VARIANT # of two runs
"""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from abstep.tui.look import _ROLES, PURPLE
from abstep.tui.widgets.painter import cells_of

from .desk import Desk
from .pair import comparison

if TYPE_CHECKING:
    from abstep.compare.comparison import Comparison
    from abstep.tui.widgets.painter import Frame

WIDE, HIGH, EDGE = 8.4, 17, 10
INK, PAPER = (222, 222, 222), (22, 22, 26)
BARS = "▁▂▃▄▅▆▇█"
HATCH = {"░": "thin", "▒": "half", "▓": "thick"}
STROKES = {"thin": 0.7, "half": 1.6, "thick": 2.8}  # of lines that stand 4 apart
SCREENS = (
    ("verdict", "verdict", ()), ("slots", "intervals", ()), ("slot", "intervals/{}", ()),
    ("collective", "intervals/{}/rank/{}", ()), ("timelines", "intervals/{}/rank/{}/timelines", ("next_match",)),
)  # fmt: skip


def svg(frame: Frame) -> str:
    """Return a frame as a picture: text as text, bars as rectangles, so that no font can break them."""
    width, height = 2 * EDGE + WIDE * sum(len(text) for text, _ in frame[0]), 2 * EDGE + HIGH * len(frame)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-size="14" '
            'font-family="DejaVu Sans Mono,Menlo,Consolas,monospace">'
        ),
        f"<defs>{_patterns()}</defs>",
        f'<rect width="100%" height="100%" rx="6" fill="{_hex(PAPER)}"/>',
    ]
    for y, line in enumerate(frame):
        parts += _row(line, EDGE + y * HIGH)
    return "\n".join([*parts, "</svg>", ""])


def _row(line, top: float) -> list[str]:
    cells = cells_of(line)
    parts, x = [], 0
    while x < len(cells):
        end = x + 1
        while end < len(cells) and _joins(cells[x], cells[end]):
            end += 1
        parts += _piece(
            "".join(c for c, _ in cells[x:end]), cells[x][1], (EDGE + x * WIDE, top, (end - x) * WIDE)
        )
        x = end
    return parts


def _joins(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether two cells are drawn as one piece: text with text, a bar with the same bar."""
    return one[1] == other[1] and (one[0] == other[0] or (_plain(one[0]) and _plain(other[0])))


def _plain(character: str) -> bool:
    return character not in BARS and character not in HATCH


def _piece(text: str, role: str, place: tuple[float, float, float]) -> list[str]:
    left, top, width = place
    attributes, ink = _ROLES[role]
    on = attributes.split(";")
    colour, behind = (ink.full if ink else INK), None
    if "2" in on:
        colour = tuple((a + b) // 2 for a, b in zip(colour, PAPER, strict=True))
    if "7" in on:
        colour, behind = PAPER, colour
    parts = [] if behind is None else [_rect((left, top, width, HIGH), behind)]
    if text[0] in BARS:
        high = HIGH * (BARS.index(text[0]) + 1) / 8
        return [*parts, _rect((left, top + HIGH - high, width, high), colour)]
    if text[0] in HATCH:
        place = (left, top + 1, width, HIGH - 2)
        return [*parts, _rect(place, f"url(#{HATCH[text[0]]})")]
    weight = ' font-weight="bold"' if "1" in on else ""
    for words in re.finditer(r"\S+(?: \S+)*", text):
        x, long = left + words.start() * WIDE, len(words.group()) * WIDE
        parts.append(
            f'<text x="{x:.1f}" y="{top + 13:.1f}" fill="{_hex(colour)}"{weight} textLength="{long:.1f}" '
            f'lengthAdjust="spacingAndGlyphs">{escape(words.group())}</text>'
        )
    return parts


def _rect(place: tuple[float, ...], fill: tuple[int, ...] | str) -> str:
    x, y, width, height = place
    size = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {size} fill="{fill if isinstance(fill, str) else _hex(fill)}"/>'


def _patterns() -> str:
    """Return the hatches that stand for communication."""
    ink = _hex(PURPLE.full)
    return "".join(
        f'<pattern id="{name}" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="{stroke}" height="4" fill="{ink}"/></pattern>'
        for name, stroke in STROKES.items()
    )


def _hex(colour: tuple[int, ...]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def draw(folder: Path, shown: Comparison, slot: int, rank: int, size: tuple[int, int] = (100, 30)) -> None:
    """Write one picture a level of the drill."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, place, actions in SCREENS:
        desk = Desk(place.format(slot, rank), shown=shown).press(*actions, size=size)
        (folder / f"{name}.svg").write_text(svg(desk.session.frame(*size)), encoding="utf-8")


def main() -> None:
    folder, *runs = sys.argv[1:]
    if runs:
        from abstep.pipeline import compare_traces

        draw(Path(folder), compare_traces(*runs), 1, 0)
    else:
        draw(Path(folder), comparison(), 7, 2)


if __name__ == "__main__":
    main()
