"""Markdown's building blocks: the one function that escapes text, and tables, lists and folds made with it.

Written for GitHub's dialect and harmless in CommonMark. Every text that is not this program's own goes
through `plain`, whatever it stands in: a cell, a sentence, a heading.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from abstep.units import name_text

if TYPE_CHECKING:
    from collections.abc import Sequence

BREAK = "&#8203;"
"""A zero-width space: keeps what stands on its two sides from being read together, and shows nothing."""

_SPECIAL = {
    "&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "\\": "&#92;", "`": "&#96;", "$": "<span>$</span>",
    "*": "\\*", "[": "\\[", "]": "\\]", "~": "\\~", "!": "\\!",
    "@": f"@{BREAK}",
}  # fmt: skip
# _ between letters or digits never starts emphasis in GitHub's dialect, and names read better without escapes;
# # + = - begin a block only at the start, # also closes a heading
_SYNTAX = re.compile(r"(?<![^\W_])_|_(?![^\W_])|^[#+=-](?!\d)|#(?=#*$)")
_ORDINAL = re.compile(r"^(\d{1,9})([.)])(?= |$)")
_LINK = re.compile(r"(?i)www(?=\.)|:(?=//|[\w+-]+:)|(?:mailto|xmpp):|#(?=\d)|\bgh-(?=\d)")


def plain(text: str, *, width: int | None = None) -> str:
    """Return a text that Markdown shows as it is: no markup, HTML, link, mention, issue number, emoji.

    Control and line-breaking characters become blanks; `width` shortens what is longer, in the middle.
    """
    marked = _LINK.sub("\\g<0>\0", name_text(text, width=width))
    marked = _SYNTAX.sub("\1\\g<0>", _ORDINAL.sub("\\1\1\\2", marked))
    return "".join(_SPECIAL.get(c, c) for c in marked).replace("\1", "\\").replace("\0", BREAK)


def table(heads: Sequence[str], lines: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Return a table's lines, without the columns in which no cell says anything.

    Args:
        heads: column heads, already Markdown.
        lines: cells, already Markdown; "" stays empty.
        right: columns aligned to the right.

    """
    if not lines:
        return []
    rule = ["---:" if i in right else "---" for i in range(len(heads))]
    said = [i for i in range(len(heads)) if any(cells[i] for cells in lines)]
    return [f"| {' | '.join(cells[i] for i in said)} |" for cells in (heads, rule, *lines)]


def fold(summary: str, lines: Sequence[str]) -> list[str]:
    """Return lines that stay folded until the reader opens them; the summary is already Markdown."""
    return ["<details>", f"<summary>{summary}</summary>", "", *lines, "", "</details>"]


def fenced(text: str, language: str = "") -> list[str]:
    """Return one line of text as a code block that nothing in it can end."""
    clean = name_text(text)
    longest = max((len(run) for run in re.findall("`+", clean)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", clean, fence]
