"""The roofline lab: its two examples, its ceilings, its plot."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstep.errors import AbstepError
from abstep.lab.roofline import (
    BANDWIDTHS,
    INTENSITIES,
    ROOF_GFLOPS,
    Roofline,
    attainable_gflops,
    playback,
    told,
)
from abstep.lab.roofline_plot import plot
from abstep.lab.table import ROOFLINE_LEAVES_OUT

controls = st.builds(Roofline, st.floats(*INTENSITIES), st.floats(*BANDWIDTHS))


def test_the_first_example_is_bound_by_memory():
    at = Roofline(8, 100)
    assert at.attainable_gflops == 800
    assert at.bound == "memory"


def test_the_second_example_reaches_the_roof():
    at = Roofline(16, 100)
    assert at.attainable_gflops == 1000
    assert at.bound == "compute"


def test_reset_is_four_and_fifty():
    assert Roofline() == Roofline(4, 50)
    assert Roofline().attainable_gflops == 200


@given(controls)
def test_neither_ceiling_is_ever_passed(at: Roofline):
    assert at.attainable_gflops <= ROOF_GFLOPS
    assert at.attainable_gflops <= at.intensity * at.bandwidth
    assert at.attainable_gflops in (ROOF_GFLOPS, at.intensity * at.bandwidth)


@given(st.floats(*BANDWIDTHS), st.floats(0, 1e-6))
def test_the_ceilings_meet_at_the_ridge(bandwidth: float, near: float):
    ridge = Roofline(4, bandwidth).ridge
    below, above = (
        attainable_gflops(ridge * (1 - near), bandwidth),
        attainable_gflops(ridge * (1 + near), bandwidth),
    )
    assert math.isclose(below, ROOF_GFLOPS, rel_tol=1.1e-6)
    assert math.isclose(above, ROOF_GFLOPS, rel_tol=1.1e-6)


@given(st.floats(*INTENSITIES), st.floats(*INTENSITIES), st.floats(*BANDWIDTHS))
def test_more_intensity_never_costs(one: float, other: float, bandwidth: float):
    low, high = sorted((one, other))
    assert attainable_gflops(low, bandwidth) <= attainable_gflops(high, bandwidth)


@pytest.mark.parametrize(
    ("intensity", "bandwidth"),
    [(0.09, 100), (1001, 100), (8, 9.9), (8, 10_001), (math.nan, 100), (8, math.inf)],
)
def test_outside_the_ranges_is_one_line_and_exit_2(intensity: float, bandwidth: float):
    with pytest.raises(AbstepError) as caught:
        Roofline(intensity, bandwidth)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    assert "--intensity" in str(caught.value) or "--bandwidth" in str(caught.value)


@given(controls, st.integers(1, 60))
def test_play_achieves_what_the_ceilings_allow(at: Roofline, frames: int):
    moments = playback(at, frames)
    assert math.isclose(moments[-1].achieved_gflops, at.attainable_gflops, rel_tol=1e-9)
    assert moments[-1].share == pytest.approx(1)
    done = [moment.done_gflop for moment in moments]
    assert done == sorted(done)
    assert all(moment.achieved_gflops <= at.attainable_gflops * (1 + 1e-9) for moment in moments)


@given(controls)
def test_playback_changes_neither_control(at: Roofline):
    before = (at.intensity, at.bandwidth)
    playback(at)
    assert (at.intensity, at.bandwidth) == before


def test_a_prediction_is_judged():
    assert told(Roofline(8, 100), 800)[-1] == "You predicted 800 GFLOP/s: right."
    assert told(Roofline(8, 100), 700)[-1].endswith("it is 800: 100 (12.5 %) too low.")


def test_it_says_what_it_leaves_out():
    said = " ".join(ROOFLINE_LEAVES_OUT)
    for words in ("device-memory bandwidth", "not a network's", "no collective", "overlapping kernels",
                  "rank readiness", "transport", "slowdown of communication beside compute"):  # fmt: skip
        assert words in said


@given(controls, st.integers(40, 120), st.integers(8, 40), st.booleans(), st.floats(0, 1))
def test_the_plot_keeps_to_its_size(at: Roofline, width: int, height: int, drawn_ascii: bool, share: float):
    lines = plot(at, width, height, ascii=drawn_ascii, share=share)
    assert len(lines) == height
    assert max(len(line) for line in lines) <= width
    assert "".join(lines[1:]).count("O" if drawn_ascii else "●") == 1
    assert "".join(lines).isascii() or not drawn_ascii


def test_the_point_stands_on_its_ceiling():
    lines = plot(Roofline(16, 100))
    roof = next(line for line in lines if line.lstrip().startswith("1000 "))
    assert "●━" in roof
    climbing = plot(Roofline(16, 100), share=0.5)
    assert "●" not in next(line for line in climbing if line.lstrip().startswith("1000 "))
