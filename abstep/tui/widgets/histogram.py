"""The distribution of two sides' values on one axis, as columns of blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abstep import units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abstep.tui.look import Look
    from abstep.tui.widgets.lines import Line, Span

LABEL = 10
NOTE = 24


def histogram(
    sides: Mapping[str, Sequence[float]], notes: Mapping[str, str], width: int, look: Look, *, rows: int = 1
) -> list[Line]:
    """Return the sides' values (ns) as bars on one axis from 0, with their axis last.

    Args:
        sides: side -> values, one a window.
        notes: side -> what is said at the end of its row.
        width: columns of the whole.
        look: how it is drawn.
        rows: lines a side; the bars are that much finer.

    """
    columns = max(width - LABEL - NOTE - 1, 10)
    values = {name: np.asarray(side, dtype=float) for name, side in sides.items()}
    highest = max((float(side.max()) for side in values.values() if side.size), default=0.0)
    top = highest * 1.0001 or 1.0
    counts = {name: np.histogram(side, bins=columns, range=(0.0, top))[0] for name, side in values.items()}
    most = max((int(side.max()) for side in counts.values() if side.size), default=0) or 1
    lines: list[Line] = []
    for name, side in counts.items():
        drawn = _bars(side, most, rows, look)
        for at, text in enumerate(drawn):
            last = at == len(drawn) - 1
            label: Span = (f"{name if last else '':<{LABEL}}", name if last else "")
            note = f" {notes.get(name, '')}" if last else ""
            lines.append((("  ", ""), (label[0][:-2], label[1]), (text, "compute"), (note, "dim")))
    lines.append(_axis(top, columns, look))
    return lines


def _bars(counts: np.ndarray, most: int, rows: int, look: Look) -> list[str]:
    """Return the counts as text, the highest line first; what is there at all is always seen."""
    levels = look.glyphs.bar
    steps = np.ceil(counts / most * rows * len(levels)).astype(int)
    lines = []
    for row in reversed(range(rows)):
        here = np.clip(steps - row * len(levels), 0, len(levels))
        lines.append("".join(" " if not level else levels[level - 1] for level in here))
    return lines


def _axis(top: float, columns: int, look: Look) -> Line:
    unit = units.same_unit([top])
    marks = [look.glyphs.rule] * columns
    text = [" "] * (columns + 8)
    count = max(columns // 16, 1)
    for at in range(count + 1):
        x = round(at * (columns - 1) / count)
        marks[x] = look.glyphs.tick
        label = unit.number(top * x / (columns - 1)) if at < count else unit.text(top)
        start = min(max(x - len(label) // 2, 0), columns + NOTE - len(label))
        text[start : start + len(label)] = label
    return ((" " * LABEL, ""), ("".join(text).rstrip(), "dim"))
