"""The labs' keys: the screens' own where they mean the same, and what only a lab has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding

from abstep.tui.keys import BY_ACTION, MOST_IN_FOOTER, Key

if TYPE_CHECKING:
    from abstep.tui.widgets.lines import Line, Span

LAB_KEYS: tuple[Key, ...] = (
    Key("play", ("p", "space"), "p Space", "play", "play; while it plays, go to its end"),
    Key("reset", ("r",), "r", "reset", "put every control back, and forget what was played"),
    BY_ACTION["down"]._replace(meaning="next control"),
    BY_ACTION["up"]._replace(meaning="previous control"),
    BY_ACTION["first"]._replace(keys=("g", "home"), meaning="first control"),
    BY_ACTION["last"]._replace(keys=("G", "end"), meaning="last row: your prediction"),
    Key("left", ("h", "left", "-"), "h ← -", "lower", "lower the control's value"),
    Key("right", ("l", "right", "+", "="), "l → +", "raise", "raise the control's value"),
    Key("enter", ("enter",), "Enter", "type", "type a value, or your prediction"),
    BY_ACTION["page_down"]._replace(keys=("pagedown",), shown="PgDn", meaning="read on below"),
    BY_ACTION["page_up"]._replace(meaning="read back"),
    Key("lab_1", ("1",), "1", "roofline", "the roofline lab: one ceiling"),
    Key("lab_2", ("2",), "2", "overlap", "the overlap lab: what overlap can do"),
    Key("pane", ("tab",), "Tab", "other lab", "the other lab"),
    BY_ACTION["back"]._replace(short="back", meaning="leave help, or stop playing"),
    BY_ACTION["copy"],
    BY_ACTION["help"]._replace(meaning="keys, words, and what the lab leaves out"),
    BY_ACTION["quit"],
)
"""Bindings, footer and help come from here."""

FOOTER = ("play", "reset", "right", "enter", "help", "quit")
SHOWN = {"right": ("h/l", "value")}
"""Footer entries that stand for two keys."""


def bindings() -> list[Binding]:
    """Return textual's bindings of the table, each to the app's `do` action."""
    return [
        Binding(name, f"do('{key.action}')", key.short, show=False) for key in LAB_KEYS for name in key.keys
    ]


def footer(width: int) -> Line:
    """Return the footer: at most six entries that fit a width."""
    by_action = {key.action: key for key in LAB_KEYS}
    spans: list[Span] = [(" ", "")]
    used = 1
    for action in FOOTER[:MOST_IN_FOOTER]:
        key = by_action[action]
        shown, word = SHOWN.get(action, (key.shown.split()[0], key.short))
        columns = len(shown) + 1 + len(word) + (3 if len(spans) > 1 else 0)
        if used + columns > width:
            break
        spans += [("   " if len(spans) > 1 else "", ""), (shown, "strong"), (f" {word}", "dim")]
        used += columns
    return tuple(spans)
