"""A line of a screen: pieces of text, each with the role that `look` gives a style.

Every view is drawn as lines, so it can be tested without a terminal, copied as text and painted by difference.
Text that comes from files is made safe in `fit`, the one place every line passes through.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from abstep import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Span: TypeAlias = tuple[str, str]
"""Text and its role."""

Line: TypeAlias = tuple[Span, ...]
"""One line of the screen, left to right."""

BLANK: Line = ()
"""An empty line."""

cells = lru_cache(maxsize=8192)(units.cells)
"""How many columns a text takes; the same texts are drawn at every key."""


def line(*pieces: str | Span) -> Line:
    """Return a line of pieces; bare text has no role."""
    return tuple((piece, "") if isinstance(piece, str) else piece for piece in pieces)


def plain(spans: Iterable[Span]) -> str:
    """Return a line's text."""
    return "".join(text for text, _ in spans)


def width_of(spans: Iterable[Span]) -> int:
    """Return how many columns a line takes."""
    return sum(cells(text) for text, _ in spans)


def painted(spans: Iterable[Span], role: str) -> Line:
    """Return a line in one role throughout, as the row under the cursor is drawn."""
    return ((plain(spans), role),)


def clip(text: str, columns: int) -> str:
    """Return as much of a text as fits, from its start."""
    if cells(text) <= columns:
        return text
    if text.isascii():
        return text[: max(columns, 0)]
    kept, used = [], 0
    for character in text:
        used += cells(character)
        if used > columns:
            break
        kept.append(character)
    return "".join(kept)


@lru_cache(maxsize=2048)
def fit(spans: Line, columns: int, *, ascii_only: bool = False) -> Line:
    """Return a line of exactly so many columns: cut (and marked so) or filled with blanks, and safe to print."""
    pieces: list[Span] = []
    left, cut = columns, ""
    for text, role in spans:
        safe = text if text.isprintable() else units.name_text(text)
        safe = units.in_ascii(safe) if ascii_only else safe
        kept = clip(safe, left)
        cut += safe[len(kept) :]
        if kept:
            pieces.append((kept, role))
            left -= cells(kept)
    if left > 0:
        pieces.append((" " * left, ""))
    elif cut.strip() and pieces:  # say that there is more
        text, role = pieces[-1]
        short = clip(text, cells(text) - 1)
        pieces[-1] = (short + " " * (cells(text) - 1 - cells(short)) + (">" if ascii_only else "…"), role)
    return tuple(pieces)


def spread(left: Sequence[Span], right: Sequence[Span], columns: int) -> Line:
    """Return a line with one part at each edge; the right part stays whole, the left one gives way."""
    room = columns - width_of(right)
    if room < 1:
        return tuple(right)
    return (*fit(tuple(left), room), *right)


def wrap(text: str, columns: int, *, indent: int = 0, role: str = "") -> list[Line]:
    """Return a text as lines of words, the later ones indented; a word longer than a line is cut into lines."""
    room = max(columns, indent + 8)
    lines: list[str] = []
    current = ""
    for word in text.split():
        rest = word
        while rest:
            start = " " * indent if lines and not current else ""
            joined = f"{current} {rest}" if current.strip() else f"{current or start}{rest}"
            if cells(joined) <= room:
                current, rest = joined, ""
            elif current.strip():
                lines.append(current)
                current = ""
            else:
                head = clip(rest, room - len(start))
                lines.append(start + head)
                rest = rest[len(head) :]
    if current:
        lines.append(current)
    return [((text_line, role),) for text_line in lines] or [BLANK]
