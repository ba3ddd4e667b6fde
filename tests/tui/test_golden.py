"""Every view at 80x24 and 120x40, in the full and the ASCII look, as text. ABSTEP_GOLDEN=write writes them anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from .desk import ASCII, FULL, Desk

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "tui"
SIZES = ((80, 24), (120, 40))


class Case(NamedTuple):
    name: str
    at: str
    actions: tuple[str, ...] = ()
    typed: str = ""


CASES = (
    Case("verdict", "verdict"),
    Case("verdict_behind", "verdict", ("page_down",)),
    Case("slots", "intervals"),
    Case("slots_filtered", "intervals", ("filter",), "reduce"),
    Case("slot", "intervals/7"),
    Case("slot_windows", "intervals/7", ("pane",)),
    Case("collective", "intervals/7/rank/2"),
    Case("timelines_slot", "intervals/7/rank/2/timelines", ("next_match",)),
    Case("timelines_disappeared", "intervals/1/rank/0/timelines"),
    Case("timelines_window", "timelines"),
    Case("contention", "contention"),
    Case("pair", "contention/1"),
    Case("checks", "checks"),
    Case("windows", "windows"),
    Case("help", "intervals/7", ("help",)),
    Case("palette", "intervals", ("palette",), "look"),
)


@pytest.mark.parametrize("look", [FULL, ASCII], ids=["full", "ascii"])
@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_screen(case, size, look):
    desk = Desk(case.at, look=look).press(*case.actions, size=size)
    desk.type(case.typed)
    drawn = desk.screen(*size) + "\n"
    path = GOLDEN / f"{case.name}_{size[0]}x{size[1]}_{look.name}.txt"
    if os.environ.get("ABSTEP_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawn, encoding="utf-8")
    assert drawn == path.read_text(encoding="utf-8")


def test_ascii_is_ascii():
    for path in GOLDEN.glob("*_ascii.txt"):
        assert path.read_text(encoding="utf-8").isascii(), path.name


def test_no_golden_is_left_over():
    known = {f"{c.name}_{w}x{h}_{look}.txt" for c in CASES for w, h in SIZES for look in ("full", "ascii")}
    assert {path.name for path in GOLDEN.iterdir()} == known
