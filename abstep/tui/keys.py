"""The one table of keys: bindings, footer, help and the README's list all come from here."""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding


class Key(NamedTuple):
    """One thing a key does.

    Attributes:
        action: its name; views answer to it in `act`.
        keys: the keys that do it, as textual names them.
        shown: the keys as printed.
        short: one or two words, for the footer.
        meaning: what help and README say.

    """

    action: str
    keys: tuple[str, ...]
    shown: str
    short: str
    meaning: str


KEYS: tuple[Key, ...] = (
    Key("down", ("j", "down"), "j ↓", "down", "next row"),
    Key("up", ("k", "up"), "k ↑", "up", "previous row"),
    Key("first", ("g", "home"), "g Home", "first", "first row; in a timeline, the start of the window"),
    Key("last", ("G", "end"), "G End", "last", "last row; in a timeline, the end of the window"),
    Key("page_down", ("pagedown", "space"), "PgDn Space", "page", "a page down"),
    Key("page_up", ("pageup",), "PgUp", "page up", "a page up"),
    Key("left", ("h", "left"), "h ←", "left", "pan left: time in a timeline, long names in a list"),
    Key("right", ("l", "right"), "l →", "right", "pan right"),
    Key("zoom_in", ("+", "="), "+", "zoom in", "see less time, larger"),
    Key("zoom_out", ("-",), "-", "zoom out", "see more time, smaller"),
    Key("enter", ("enter",), "Enter", "open", "open what the row is about, one level deeper"),
    Key("back", ("escape", "backspace"), "Esc Bksp", "back", "back up one level, as you left it"),
    Key("view_1", ("1",), "1", "verdict", "the verdict: what changed, and where the time went"),
    Key("view_2", ("2",), "2", "slots", "exposed slots: what disappeared, shrank, grew, appeared"),
    Key("view_3", ("3",), "3", "contention", "contention: compute that slowed while collectives ran"),
    Key("view_4", ("4",), "4", "timelines", "timelines: base over variant"),
    Key("view_5", ("5",), "5", "checks", "checks: comparability and validity"),
    Key("view_6", ("6",), "6", "windows", "windows: kept, dropped and why"),
    Key("previous", ("[",), "[", "previous", "the one before, at the same level"),
    Key("next", ("]",), "]", "next", "the one after, at the same level"),
    Key("pane", ("tab",), "Tab", "pane", "the next pane, or the other side"),
    Key(
        "filter",
        ("/",),
        "/",
        "filter",
        "show only rows that contain a text; `!` first: only those that do not",
    ),
    Key("next_match", ("n",), "n", "next", "next changed row or match; in a timeline, next exposed stretch"),
    Key("previous_match", ("N",), "N", "previous", "the same, backwards"),
    Key("sort", ("s",), "s", "sort", "sort by the next column"),
    Key("reverse", ("S",), "S", "reverse", "turn the order round"),
    Key("export", ("x",), "x", "export", "write the report as a markdown file"),
    Key("copy", ("y",), "y", "copy", "copy this view as text, to the clipboard and to a file"),
    Key("help", ("?",), "?", "help", "keys and words of this view"),
    Key("palette", (":",), ":", "commands", "every command by name"),
    Key("quit", ("q",), "q", "quit", "leave"),
)

BY_ACTION = {key.action: key for key in KEYS}
VIEW_KEYS = tuple(key for key in KEYS if key.action.startswith("view_"))
MOST_IN_FOOTER = 6


def bindings() -> list[Binding]:
    """Return textual's bindings of the table, each to the app's `do` action."""
    return [Binding(name, f"do('{key.action}')", key.short, show=False) for key in KEYS for name in key.keys]


def footer(actions: tuple[str, ...], width: int) -> list[tuple[str, str]]:
    """Return (keys, word) of at most six entries that fit a width, the first ones first.

    An action may be given as `action=word`, where this view has a better word for it. `views` stands for 1 to 6.
    """
    entries: list[tuple[str, str]] = []
    used = 0
    for asked in actions[:MOST_IN_FOOTER]:
        action, _, own = asked.partition("=")
        shown, word = ("1-6", "views") if action == "views" else _first(BY_ACTION[action])
        word = own or word
        columns = len(shown) + 1 + len(word) + (3 if entries else 1)
        if used + columns > width:
            break
        entries.append((shown, word))
        used += columns
    return entries


def _first(key: Key) -> tuple[str, str]:
    return key.shown.split(maxsplit=1)[0], key.short


def markdown_table() -> str:
    """Return the table as the README shows it."""
    rows = ["| key | what it does |", "| --- | --- |"]
    rows += [f"| {' '.join(f'`{name}`' for name in key.shown.split())} | {key.meaning} |" for key in KEYS]
    return "\n".join(rows)
