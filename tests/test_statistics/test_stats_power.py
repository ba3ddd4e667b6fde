"""Drift (STATISTICS 2.11), and what the windows could show (2.9)."""

import math

import numpy as np
import pytest
from scipy import stats
from statistics_made import MS, a_run, noise

from abstep.compare.statistics import StatisticsOptions, compare_runs
from abstep.compare.statistics.core import Estimate, two_sample
from abstep.compare.statistics.drift import find_drift
from abstep.compare.statistics.power import smallest_detectable, units_needed


def test_drift_is_named_and_changes_no_verdict():
    step = noise(1, 60)
    drifting = step + np.linspace(0, 4 * MS, 60).astype(np.int64)
    result = compare_runs([a_run(step)], [a_run(drifting)])
    (warning,) = [w for w in result.warnings if w.id == "drift"]
    assert (warning.side, warning.repeat) == (1, 0)
    assert "not stationary: drift of +2" in warning.message
    assert result.step_time.verdict == "slower"


def test_drift_is_the_core_test_of_the_halves():
    step = (noise(3, 41) + np.linspace(0, 3 * MS, 41)).astype(float)
    found = find_drift(step)
    assert found.p == pytest.approx(two_sample(step[None, :20], step[None, 20:]).p()[0])
    assert found.percent == pytest.approx(100 * (step[20:].mean() / step[:20].mean() - 1))
    steep = (noise(3, 41) + np.linspace(0, 6 * MS, 41)).astype(float)[:30]
    # below 20 windows a half nothing stands beside the core test
    core = two_sample(steep[None, :15], steep[None, 15:], guard=False)
    assert find_drift(steep).p == pytest.approx(core.p()[0])
    assert core.p()[0] < 0.01 < two_sample(steep[None, :15], steep[None, 15:]).p()[0]
    assert find_drift(step[:19]) is None
    assert find_drift(noise(4, 60).astype(float)) is None


def test_the_smallest_change_is_found_four_times_in_five():
    n, sd = 40, 1.0
    rng = np.random.default_rng(5)
    se, df = math.sqrt(2 / n), 2 * n - 2.0
    size = smallest_detectable(Estimate(np.zeros(1), np.array([se]), np.array([df])), 0.05)[0]
    p = stats.ttest_ind(rng.normal(size, sd, (4000, n)), rng.normal(0, sd, (4000, n)), axis=1).pvalue
    assert np.mean(p <= 0.05) == pytest.approx(0.8, abs=0.03)


def test_windows_needed_is_n_times_the_square_of_half_width_over_delta():
    base, variant = [a_run(noise(3, 20, sd=2 * MS))], [a_run(noise(4, 20, sd=2 * MS))]
    found = compare_runs(base, variant, StatisticsOptions(skip=0)).step_time
    assert found.verdict == "inconclusive"
    assert found.n_base == found.n_variant == 20
    assert found.n_unchanged == math.ceil(20 * (found.half_width / found.margin) ** 2)
    assert (
        f"about {found.n_unchanged} windows a side (or more repeats) needed to call it unchanged"
        in found.note
    )
    room = found.margin - abs(found.delta)
    assert found.n_decides <= math.ceil(20 * (found.half_width / room) ** 2)
    assert found.n_decides > 20


def test_unequal_sides_count_by_their_harmonic_mean():
    e = Estimate(np.zeros(1), np.array([1.0]), np.array([30.0]))
    needed = units_needed(e, n=(10, 30), unit="windows", tail=0.05, allowed=np.array([0.5]))
    assert needed[0] == math.ceil(15 * (stats.t.ppf(0.95, 30) / 0.5) ** 2)


def test_repeats_needed_know_that_repeats_bring_degrees_of_freedom():
    e = Estimate(np.zeros(1), np.array([1.0]), np.array([2.0]))
    needed = units_needed(e, n=(2, 2), unit="repeats", tail=0.05, allowed=np.array([1.0]))[0]
    assert needed == 7
    direct = {r: stats.t.ppf(0.95, 2 * r - 2) * math.sqrt(2 / r) for r in (6, 7)}
    assert direct[6] > 1.0 >= direct[7]


def test_no_number_of_windows_reaches_nothing():
    e = Estimate(np.zeros(2), np.array([1.0, 1.0]), np.array([9.0, 9.0]))
    for unit in ("windows", "repeats"):
        needed = units_needed(e, n=(5, 5), unit=unit, tail=0.05, allowed=np.array([0.0, 1e-9]))
        assert np.isnan(needed).all()
    zero = compare_runs([a_run([0] * 10)], [a_run([0] * 10)]).step_time
    assert zero.verdict == "inconclusive"
    assert zero.n_unchanged is None
    assert zero.note.startswith("half-width of the 90 % interval")


def test_numbers_of_repeats_are_offered_when_repeats_are_the_unit():
    means = ((100 * MS, 101.5 * MS), (100.8 * MS, 102 * MS))
    base, variant = ([a_run(noise(int(mean), 30, mean=mean)) for mean in side] for side in means)
    result = compare_runs(base, variant)
    found = result.step_time
    assert found.verdict == "inconclusive"
    assert "repeats a side" in found.note
    assert "windows" not in found.note
    assert 2 < found.n_decides < 200


def test_windows_needed_follow_the_wider_interval_that_is_shown():
    """Few degrees of freedom under a small error: the interval of the estimate below is wider, and counts."""
    one = np.ones(2)
    narrow = Estimate(one, 0.5 * one, 30 * one, least=Estimate(one, 1.0 * one, 8 * one))
    wide = narrow.half_width(0.90)
    assert wide == pytest.approx(stats.t.ppf(0.95, 8) * one)
    needed = units_needed(narrow, n=(12, 12), unit="windows", tail=0.05, allowed=0.4 * one)
    assert needed == pytest.approx(np.ceil(12 * (wide / 0.4) ** 2))
    second = narrow.of(np.array([False, True]))
    assert second.half_width(0.90) == pytest.approx(wide[1:])
