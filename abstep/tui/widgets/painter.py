"""The difference between two frames, as the fewest bytes a terminal needs to show it.

A frame is what the whole screen shows: one line a row, each already as wide as the screen. Only cells that differ
are written; a list that moved by a few rows is moved by the terminal itself (a scroll region), so are lanes that
one pans (characters deleted or inserted), and blank ends of rows are erased, not written. Most keys cost a few
hundred bytes, which a slow link feels.
"""

from __future__ import annotations

from functools import lru_cache
from operator import eq
from typing import TYPE_CHECKING, TypeAlias

from abstep.tui.widgets.lines import Line, cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abstep.tui.look import Look

Frame: TypeAlias = tuple[Line, ...]
Cell: TypeAlias = tuple[str, str]
"""A character and its role; a wide character's second column is ("", role)."""

_GAP = 7  # unchanged cells cheaper to write again than to jump over
_FARTHEST = 3  # rows a list may move by and still be scrolled
_SLIDES_FROM = 40  # columns, and characters, from which a row may be worth moving sideways
_EMPTY: Cell = (" ", "")
FULL = "█"


@lru_cache(maxsize=1024)
def cells_of(line: Line) -> tuple[Cell, ...]:
    """Return a line cell by cell."""
    found: list[Cell] = []
    for text, role in line:
        if text.isascii() or cells(text) == len(text):
            found += [(character, role) for character in text]
            continue
        for character in text:
            columns = cells(character)
            if columns == 0 and found:
                found[-1] = (found[-1][0] + character, found[-1][1])
                continue
            found.append((character, role))
            if columns == 2:
                found.append(("", role))
    return tuple(found)


def runs(old: Sequence[Cell], new: Sequence[Cell]) -> list[tuple[int, int]]:
    """Return the stretches [start, end) of cells to write, near ones joined."""
    found: list[tuple[int, int]] = []
    for x, cell in enumerate(new):
        if x < len(old) and old[x] == cell:
            continue
        if found and x - found[-1][1] <= _GAP:
            found[-1] = (found[-1][0], x + 1)
        else:
            found.append((x, x + 1))
    widened = []
    for first, last in found:
        start, end = first, last
        while start > 0 and new[start][0] == "":
            start -= 1
        while end < len(new) and new[end][0] == "":
            end += 1
        widened.append((start, end))
    return widened


def text_of(written: Sequence[Cell], look: Look) -> str:
    """Return cells as text with the codes of their roles; starts and ends plain."""
    parts: list[str] = []
    active, reversed_now = "", False
    for cell, role in written:
        character, codes = cell, look.codes(role)
        if cell == FULL:  # a third of the bytes, and the same to see
            character, codes = " ", f"{codes};7" if codes else "7"
        if character == " " and not codes and not reversed_now:
            pass  # a blank looks the same in any colour of text
        elif codes != active:
            parts.append("\x1b[m" if not codes else f"\x1b[0;{codes}m" if active else f"\x1b[{codes}m")
            active, reversed_now = codes, "7" in codes.split(";")
        parts.append(character)
    if active:
        parts.append("\x1b[m")
    return "".join(parts)


def shifted(old: Frame, new: Frame) -> tuple[int, int, int] | None:
    """Return (top, bottom, rows up) of a band that only moved, when moving it saves most of its rows."""
    best: tuple[int, int, int] | None = None
    most = 3
    height = len(new)
    for by in (*range(1, _FARTHEST + 1), *range(-_FARTHEST, 0)):
        rows = [
            y
            for y in range(max(0, -by), min(height, height - by))
            if new[y] == old[y + by] and new[y] != old[y]
        ]
        if len(rows) > most:
            most = len(rows)
            top, bottom = rows[0] + min(by, 0), rows[-1] + max(by, 0)
            best = (top, bottom, by)
    return best


def moved(old: Frame, band: tuple[int, int, int]) -> tuple[str, list[Line]]:
    """Return the terminal's codes that move a band, and the rows as they stand after it."""
    top, bottom, by = band
    rows = list(old)
    blank: list[Line] = [()] * abs(by)
    inside = rows[top : bottom + 1]
    rows[top : bottom + 1] = inside[by:] + blank if by > 0 else blank + inside[:by]
    return f"\x1b[{top + 1};{bottom + 1}r\x1b[{abs(by)}{'S' if by > 0 else 'T'}\x1b[r", rows


def slid(old: Sequence[Cell], new: Sequence[Cell]) -> tuple[int, int] | None:
    """Return (column, cells to the left) of a row whose rest moved sideways, as lanes do when one pans."""
    start = next((x for x, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), None)
    if start is None or len(old) != len(new) or len(new) - start < _SLIDES_FROM:
        return None
    width = len(new) - start
    best, most = None, width // 3
    for by in (*range(1, width // 2), *range(-width // 2, 0)):
        first, last = (start, len(new) - by) if by > 0 else (start - by, len(new))
        same = sum(map(eq, old[first + by : last + by], new[first:last]))
        if same > most:
            best, most = (start, by), same
    return best


def slide(row: Sequence[Cell], start: int, by: int) -> tuple[str, tuple[Cell, ...]]:
    """Return the codes that move a row's rest sideways, and the row as it stands after it."""
    blank = (_EMPTY,) * abs(by)
    if by > 0:
        return f"\x1b[{by}P", (*row[:start], *row[start + by :], *blank)
    return f"\x1b[{-by}@", (*row[:start], *blank, *row[start : len(row) + by])


def paint(old: Frame, new: Frame, look: Look) -> str:
    """Return what turns the screen that shows one frame into one that shows another, of the same size."""
    parts: list[str] = []
    rows: Sequence[Line] = old
    band = shifted(old, new)
    if band is not None:
        codes, rows = moved(old, band)
        parts.append(codes)
    pan: tuple[int, int] | None = None
    looked = False
    for y, line in enumerate(new):
        if rows[y] is line or rows[y] == line:
            continue
        before, after = cells_of(rows[y]), cells_of(line)
        before = before or (_EMPTY,) * len(after)
        plainly = _row(y, before, after, look)
        if len(plainly) > _SLIDES_FROM and not (pan is None and looked):
            pan, looked = pan or slid(before, after), True
            if pan is not None and len(before) == len(after):
                codes, between = slide(before, *pan)
                moving = f"\x1b[{y + 1};{pan[0] + 1}H{codes}{_row(y, between, after, look)}"
                plainly = min(plainly, moving, key=len)
        parts.append(plainly)
    return "".join(parts)


def _row(y: int, before: Sequence[Cell], after: Sequence[Cell], look: Look) -> str:
    """Return what turns one row into another."""
    parts: list[str] = []
    end = len(after)
    while end and after[end - 1] == _EMPTY:
        end -= 1
    for first, last in runs(before, after):
        tail = max(first, end)
        if last > end and last - tail > 3:
            parts.append(f"\x1b[{y + 1};{first + 1}H{text_of(after[first:tail], look)}\x1b[K")
            break
        parts.append(f"\x1b[{y + 1};{first + 1}H{text_of(after[first:last], look)}")
    return "".join(parts)
