"""TERMINAL's budgets, to the byte: what each key writes at 120x40 in true colour."""

from __future__ import annotations

import pytest

from abstep.tui.widgets.lines import fit
from abstep.tui.widgets.painter import paint

from .big import big
from .desk import Desk
from .pair import comparison

SIZE = (120, 40)
CURSOR, PAGE, PAN, DRILL = 500, 8000, 8000, 20_000


class Link:
    """A desk whose frames go over a line that counts bytes."""

    def __init__(self, place: str, shown) -> None:
        self.desk = Desk(place, shown=shown)
        self.frame = self.desk.session.frame(*SIZE)

    def cost(self, action: str) -> int:
        self.desk.session.do(action)
        new = self.desk.session.frame(*SIZE)
        change = paint(self.frame, new, self.desk.session.look)
        self.frame = new
        return len(change.encode())


@pytest.fixture(params=["pair", "big"])
def shown(request):
    return big() if request.param == "big" else comparison()


@pytest.mark.parametrize(
    "place", ["intervals", "windows", "contention", "checks", "contention/1", "intervals/7"]
)
def test_lists(place, shown):
    link = Link(place, shown)
    for action in ["down"] * 60 + ["up"] * 60:
        assert link.cost(action) <= CURSOR
    for action in ["page_down"] * 4 + ["page_up"] * 2 + ["last", "first"]:
        assert link.cost(action) <= PAGE


def test_the_verdicts_page(shown):
    link = Link("verdict", shown)
    for action in ["down"] * 8 + ["up"] * 8:
        assert link.cost(action) <= CURSOR


def test_timelines(shown):
    link = Link("intervals/7/rank/2/timelines", shown)
    for action in [
        "right",
        "left",
        "left",
        "right",
        "zoom_in",
        "right",
        "zoom_in",
        "right",
        "zoom_out",
        "left",
    ] * 4:
        assert link.cost(action) <= PAN
    for action in ["next_match"] * 6 + ["previous_match"] * 6:
        assert link.cost(action) <= PAN


def test_drills(shown):
    link = Link("verdict", shown)
    for action in [
        "enter",
        "enter",
        "enter",
        "enter",
        "back",
        "back",
        "next",
        "enter",
        "enter",
        "help",
        "back",
    ]:
        assert link.cost(action) <= DRILL
    for number in range(1, 7):
        assert link.cost(f"view_{number}") <= DRILL


def test_a_whole_screen_from_nothing_is_within_a_drill(shown):
    for place in ("verdict", "intervals", "intervals/7/rank/2/timelines", "windows"):
        link = Link(place, shown)
        blank = tuple(fit((), SIZE[0]) for _ in range(SIZE[1]))
        assert len(paint(blank, link.frame, link.desk.session.look).encode()) <= DRILL
