"""The line one types in: a live filter of a list, or the palette's search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from abstep.tui.widgets.lines import Line, line

if TYPE_CHECKING:
    from abstep.tui.look import Look
    from abstep.tui.widgets.table import Table

Outcome: TypeAlias = Literal["typing", "kept", "dropped"]

_MOVES = {"up": "up", "down": "down", "pageup": "page_up", "pagedown": "page_down"}


class Prompt:
    """A text being typed, filtering a table as it grows."""

    def __init__(self, table: Table[object], mark: str) -> None:
        self.table = table
        self.mark = mark
        self.text = table.query

    def key(self, key: str, character: str | None) -> Outcome:
        """Take one key."""
        if key == "enter":
            return "kept"
        if key == "escape" or (key == "backspace" and not self.text):
            self.table.filter("")
            return "dropped"
        if key in _MOVES:
            self.table.act(_MOVES[key])
            return "typing"
        if key == "backspace":
            self.text = self.text[:-1]
        elif character is not None:
            self.text += character
        self.table.filter(self.text)
        return "typing"

    def drawn(self, look: Look) -> Line:
        """Return the prompt as the last line of the screen."""
        block = "_" if look.ascii else "▏"
        found = f"   {len(self.table.order)} of {len(self.table.rows)}"
        done = ("Enter", "strong"), (" open" if self.mark == ":" else " keep", "dim")
        drop = ("   Esc", "strong"), (" close" if self.mark == ":" else " clear", "dim")
        return line(" ", (f"{self.mark}{self.text}{block}", "title"), (f"{found}   ", "dim"), *done, *drop)
