"""A lane of a timeline: the union of spans with cumulative busy time, so any zoom shows exact busy shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from abstep.tui.widgets.gantt import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.tui.look import Look
    from abstep.tui.widgets.lines import Span

Times: TypeAlias = NDArray[np.int64]
Shares: TypeAlias = NDArray[np.float64]

_ALL = 1 - 1e-9


class Marked(NamedTuple):
    """A stretch to bracket: ns, the share of it that was waiting, its words and its role."""

    start: float
    end: float
    waited: float
    words: str
    role: str


@dataclass(frozen=True)
class Lane:
    """Sorted, disjoint busy stretches, and how much was busy before each of them; all ns."""

    starts: Times
    ends: Times
    before: Times

    @classmethod
    def union(cls, starts: Times, ends: Times) -> Lane:
        """Return the union of spans given in any order."""
        if not len(starts):
            empty = np.zeros(0, dtype=np.int64)
            return cls(empty, empty, empty)
        order = np.argsort(starts, kind="stable")
        first, reach = starts[order], np.maximum.accumulate(ends[order])
        opens = np.ones(len(first), dtype=bool)
        opens[1:] = first[1:] > reach[:-1]
        closes = np.append(opens[1:], True)
        merged_starts, merged_ends = first[opens], reach[closes]
        before = np.concatenate([[0], np.cumsum(merged_ends - merged_starts)[:-1]])
        return cls(merged_starts, merged_ends, before.astype(np.int64))

    def busy_until(self, times: Shares) -> Shares:
        """Return how much is busy before each of some times."""
        if not len(self.starts):
            return np.zeros(len(times))
        at = np.searchsorted(self.starts, times, side="right") - 1
        inside = np.clip(np.minimum(times, self.ends[at]) - self.starts[at], 0, None)
        return np.where(at < 0, 0.0, self.before[at] + inside)

    def shares(self, edges: Shares) -> Shares:
        """Return the busy share of each cell between neighbouring edges."""
        return np.diff(self.busy_until(edges)) / np.diff(edges)


def drawn(shares: Shares, look: Look, *, communication: bool = False) -> list[Span]:
    """Return busy shares as cells: compute as bars that fill, communication as a hatch that thickens.

    Something busy is always seen, and only a cell that is busy throughout is drawn full.
    """
    glyphs = look.glyphs
    marks = glyphs.hatch if communication else glyphs.bar
    levels = np.minimum((shares * len(marks)).astype(int), len(marks) - 1)
    full = shares >= _ALL
    levels = np.where(full, len(marks), np.minimum(levels + 1, len(marks) - 1))
    levels = np.where(shares <= 0, 0, levels)
    role = "communication" if communication else "compute"
    cells: list[Span] = []
    for level in levels.tolist():
        if not level:
            cells.append((" ", ""))
        else:
            cells.append((marks[level - 1], role))
    return joined(cells)


def copies(shares: Shares) -> list[Span]:
    """Return the busy shares of copies as a thin line."""
    return joined([("-" if share > 0 else " ", "copy" if share > 0 else "") for share in shares.tolist()])


def brackets(stretches: Sequence[Marked], edges: Shares, look: Look) -> list[Span]:
    """Return stretches as brackets with their words inside where these fit; what was waiting is drawn broken."""
    columns, low = len(edges) - 1, float(edges[0])
    scale = columns / float(edges[-1] - edges[0])
    cells: list[Span] = [(" ", "")] * columns
    for start, end, waited, words, role in stretches:
        first, last = int((start - low) * scale), int(np.ceil((end - low) * scale)) - 1
        if last < 0 or first >= columns:
            continue
        first, last = max(first, 0), min(max(last, first), columns - 1)
        room = last - first + 1
        if room == 1:
            text = look.glyphs.pipe
        else:
            broken = round(waited * (room - 2))
            rule = look.glyphs.waits * broken + look.glyphs.rule * (room - 2 - broken)
            if room >= len(words) + 6:
                at = (room - 4 - len(words)) // 2
                rule = f"{rule[:at]} {words} {rule[at + len(words) + 2 :]}"
            text = look.glyphs.left_end + rule + look.glyphs.right_end
        for at, character in enumerate(text):
            cells[first + at] = (character, role)
    return joined(cells)
