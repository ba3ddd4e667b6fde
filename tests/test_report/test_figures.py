"""Figures: valid, readable without eyes or colour, to scale, and the same every time."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abstep.report.figures import account_svg, steps_svg

from . import odd, sample

SVG = "{http://www.w3.org/2000/svg}"


def bars(text: str) -> list[tuple[str, float, float, str]]:
    """Label, left, width and number of every bar."""
    root = ET.fromstring(text)
    texts = [t.text or "" for t in root.iter(f"{SVG}text")]
    shapes = [r for r in root.iter(f"{SVG}rect") if r.get("x")]
    return [
        (texts[2 * i], float(r.get("x") or 0), float(r.get("width") or 0), texts[2 * i + 1])
        for i, r in enumerate(shapes)
    ]


@pytest.mark.parametrize("draw", [account_svg, steps_svg])
def test_a_figure_says_what_it_shows(draw) -> None:
    text = draw(sample.comparison())
    root = ET.fromstring(text)
    assert root.get("role") == "img"
    labelled = (root.get("aria-labelledby") or "").split()
    ids = {node.get("id"): node.text for node in root if node.get("id")}
    assert all(ids[name] for name in labelled)
    assert draw(sample.comparison()) == text
    assert draw(odd.unknown()) == ""


def test_bars_are_to_scale_and_join() -> None:
    found = bars(account_svg(sample.comparison()))
    assert found[0][0::3] == ("base", "48.2 ms")
    assert found[-1][0::3] == ("variant", "43.1 ms")
    (_, left, width, number), (_, left2, width2, number2) = found[1:3]
    assert (number, number2) == ("-7.00", "-1.80")
    assert width / width2 == pytest.approx(7.0 / 1.8, rel=0.01)
    assert left == pytest.approx(
        left2 + width2, abs=0.2
    )  # both go down: the second ends where the first began
    assert sum(float(row[3]) for row in found[1:-1]) == pytest.approx(-5.10, abs=1e-9)


def test_more_is_hatched_less_is_not() -> None:
    root = ET.fromstring(account_svg(sample.comparison()))
    shapes = [r for r in root.iter(f"{SVG}rect") if r.get("x")]
    hatched = [r.get("fill") == "url(#hatch)" for r in shapes]
    numbers = [row[3] for row in bars(account_svg(sample.comparison()))]
    assert hatched == [number.startswith("+") for number in numbers]


def test_one_dot_a_typical_window_and_one_row_a_repeat() -> None:
    root = ET.fromstring(steps_svg(sample.comparison()))
    assert len(list(root.iter(f"{SVG}circle"))) == 2 * 38
    texts = [t.text for t in root.iter(f"{SVG}text")]
    assert texts[:4] == ["base, repeat 0", "48.2 ms", "variant, repeat 0", "43.1 ms"]


def test_no_windows_no_figure() -> None:
    assert steps_svg(replace(sample.comparison(), detail=None)) == ""


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=30))
def test_names_stay_text(text: str) -> None:
    plainly = ET.fromstring(account_svg(odd.hostile("x")))
    drawn = ET.fromstring(account_svg(odd.hostile(f"<script>{text}&\"'\x00]]>")))
    assert [node.tag for node in drawn.iter()] == [node.tag for node in plainly.iter()]
