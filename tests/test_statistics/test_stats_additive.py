"""Means that add up exactly (STATISTICS 2.3)."""

from fractions import Fraction

import numpy as np
import pytest
from statistics_made import MS, a_run, many, noise

from abstep.compare.statistics import compare_runs, window_weights
from abstep.compare.statistics.additive import exact_means


@pytest.mark.parametrize("repeats", [1, 3])
def test_categories_add_up_to_the_step(repeats):
    base, variant = many(1, 23, repeats=repeats, ranks=3), many(2, 31, repeats=repeats, factor=0.2, ranks=3)
    base[0].step[7] += 300 * MS
    base[0].categories["exposed"][7] += 300 * MS
    result = compare_runs(base, variant)
    parts = result.categories.values()
    assert sum(delta.delta for delta in parts) == pytest.approx(result.step_time.delta, abs=1e-6)
    assert sum(delta.base for delta in parts) == pytest.approx(result.step_time.base, abs=1e-6)
    assert sum(delta.variant for delta in parts) == pytest.approx(result.step_time.variant, abs=1e-6)
    exposed = result.categories["exposed"]
    # window 7 is an outlier of everything alike, so slots still add up to their category
    assert 7 not in result.kept.base[0]
    assert sum(delta.base for delta in result.intervals.values()) == pytest.approx(exposed.base, abs=1e-6)


def test_the_sum_of_the_parts_is_exact_before_it_is_rounded():
    rng = np.random.default_rng(0)
    parts = rng.integers(0, 10**9, (7, 23))
    means = exact_means([parts, parts[:, :11]], [3, 5])
    total = exact_means([parts.sum(axis=0)[None], parts[:, :11].sum(axis=0)[None]], [3, 5])
    assert Fraction(sum(means.numerators), means.denominator) == Fraction(
        total.numerators[0], total.denominator
    )
    expected = (Fraction(int(parts[2].sum()), 23 * 3) + Fraction(int(parts[2, :11].sum()), 11 * 5)) / 2
    assert Fraction(means.numerators[2], means.denominator) == expected
    assert means.floats()[2] == float(expected)
    assert exact_means([parts], [1]).minus(exact_means([parts], [1])).numerators == (0,) * 7


def test_typical_and_tail_make_up_all_windows():
    base, variant = noise(1, 40), noise(2, 40, mean=101 * MS)
    base[[5, 9, 30]] += 40 * MS
    variant[20] += 70 * MS
    result = compare_runs([a_run(base)], [a_run(variant)])
    assert result.warmup == 0
    assert (result.tail.windows_base, result.tail.windows_variant) == (3, 1)
    assert (result.tail.all_windows_base, result.tail.all_windows_variant) == (40, 40)
    assert result.step_time.base + result.tail.base == pytest.approx(base.mean(), abs=1e-6)
    assert result.step_time.variant + result.tail.variant == pytest.approx(variant.mean(), abs=1e-6)
    assert result.step_time.delta + result.tail.delta == pytest.approx(variant.mean() - base.mean(), abs=1e-6)


def test_what_categories_leave_is_a_residual():
    step = noise(1, 20)
    runs = [
        a_run(step, categories={"exposed": step // 4, "idle": step // 4}),
        a_run(step, categories={"exposed": step}),
    ]
    result = compare_runs(runs[:1], runs[1:])
    assert list(result.categories) == ["exposed", "idle", "residual"]
    rest = np.mean(step - 2 * (step // 4))
    assert result.categories["residual"].base == pytest.approx(rest)
    assert result.categories["residual"].variant == 0.0
    assert result.categories["idle"].variant == 0.0
    assert sum(d.delta for d in result.categories.values()) == pytest.approx(0.0, abs=1e-6)


def test_no_categories_no_residual():
    run = a_run(noise(1, 20), categories={})
    assert compare_runs([run], [run]).categories == {}


@pytest.mark.parametrize("repeats", [1, 2])
def test_weights_give_the_printed_means(repeats):
    base, variant = many(1, 20, repeats=repeats, ranks=2), many(2, 24, repeats=repeats)
    base[0].step[7] += 300 * MS
    result = compare_runs(base, variant)
    weights = window_weights((base, variant), result.kept, result.compared)
    for side, runs, mean in ((0, base, "base"), (1, variant, "variant")):
        for name, delta in result.intervals.items():
            total = sum((w * run.intervals[name]).sum() for w, run in zip(weights[side], runs, strict=True))
            assert total == pytest.approx(getattr(delta, mean), rel=1e-12)
        assert sum(w.sum() * run.ranks for w, run in zip(weights[side], runs, strict=True)) == pytest.approx(
            1.0
        )
    assert weights.base[0][7] == 0.0


def test_repeats_that_are_not_compared_weigh_nothing():
    base, variant = many(1, 20, repeats=2), many(2, 20)
    result = compare_runs(base, variant)
    weights = window_weights((base, variant), result.kept, result.compared)
    assert weights.base[1].sum() == 0.0


def test_p50_is_of_typical_windows():
    step = noise(1, 41)
    step[6] += 90 * MS
    result = compare_runs([a_run(step)], [a_run(noise(2, 41))])
    assert result.step_p50.base == np.median(step[list(result.kept.base[0])])


def test_delta_pct():
    result = compare_runs([a_run([100 * MS] * 10)], [a_run([90 * MS] * 10)])
    assert result.step_time.delta_pct == pytest.approx(-10.0)
    assert compare_runs([a_run([0] * 10)], [a_run([90] * 10)]).step_time.delta_pct is None
    assert compare_runs([], [a_run([90] * 10)]).step_time.delta_pct is None
