"""What the painter writes turns one screen into another, whatever both are; and it writes little."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abstep.tui.look import Look
from abstep.tui.widgets.lines import fit, plain
from abstep.tui.widgets.painter import paint, shifted

from .vt import Terminal

WIDTH, HEIGHT = 30, 9
ROLES = ["", "dim", "worse", "better", "cursor", "compute", "communication", "chosen"]
TEXT = st.text(alphabet="ab ▲▇█─漢é", min_size=0, max_size=12)
LINE = st.lists(st.tuples(TEXT, st.sampled_from(ROLES)), max_size=4).map(
    lambda spans: fit(tuple(spans), WIDTH)
)
FRAME = st.lists(LINE, min_size=HEIGHT, max_size=HEIGHT).map(tuple)
BLANK = tuple(fit((), WIDTH) for _ in range(HEIGHT))


def shown(*changes: str) -> list[str]:
    terminal = Terminal(WIDTH, HEIGHT)
    for change in changes:
        terminal.feed(change)
    return terminal.lines()


def expected(frame) -> list[str]:
    return [_wide(plain(line)).replace("█", " ").rstrip() for line in frame]


def _wide(text: str) -> str:
    """A wide character as the terminal in small holds it: its second column is a blank."""
    return "".join(f"{c} " if c == "漢" else c for c in text)


@settings(max_examples=300, deadline=None)
@given(FRAME, FRAME)
def test_the_difference_shows_the_new_frame(old, new):
    look = Look()
    assert shown(paint(BLANK, old, look), paint(old, new, look)) == expected(new)


@settings(max_examples=150, deadline=None)
@given(FRAME, st.integers(-3, 3), LINE)
def test_a_moved_list_shows_right(old, by, line):
    look = Look()
    new = list(old)
    new[1:8] = (
        (old[1:8] + (line,) * 3)[by : by + 7] if by >= 0 else ((line,) * 3 + old[1:8])[3 + by : 10 + by]
    )
    assert shown(paint(BLANK, old, look), paint(old, tuple(new), look)) == expected(new)


def test_nothing_changed_writes_nothing():
    frame = tuple(fit(((f"row {y}", "dim"),), WIDTH) for y in range(HEIGHT))
    assert paint(frame, frame, Look()) == ""


def test_a_list_that_moves_by_a_row_is_scrolled_not_written():
    rows = [fit(((f"row number {y} of many", ""),), WIDTH) for y in range(HEIGHT + 1)]
    change = paint(tuple(rows[:-1]), tuple(rows[1:]), Look())
    assert shifted(tuple(rows[:-1]), tuple(rows[1:])) == (0, HEIGHT - 1, 1)
    assert len(change) < 70


@pytest.mark.parametrize("depth", ["none"])
def test_without_colours_there_is_no_colour_code(depth):
    frame = tuple(fit(tuple((role or "text", role) for role in ROLES), 60) for _ in range(HEIGHT))
    terminal = Terminal(60, HEIGHT)
    terminal.feed(paint(tuple(fit((), 60) for _ in range(HEIGHT)), frame, Look("mono", depth)))
    assert terminal.colours == 0
    assert terminal.lines()[0].startswith("textdimworse")
