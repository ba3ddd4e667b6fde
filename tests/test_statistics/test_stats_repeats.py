"""Repeats as the unit (STATISTICS 2.6)."""

import math

import numpy as np
import pytest
from scipy import stats
from statistics_made import MS, a_run, many, noise

from abstep.compare.statistics import ONE_RUN_SENTENCE, StatisticsOptions, compare_runs
from abstep.compare.statistics.family import squeeze
from abstep.compare.statistics.repeats import common_share, repeats_resolution, repeats_test

NO_SKIP = StatisticsOptions(skip=0)


def means_of(runs, kept):
    return [run.step[list(index)].mean() for run, index in zip(runs, kept, strict=True)]


@pytest.mark.parametrize(
    "sizes", [((10, 10), (10, 10)), ((5, 30, 12), (8, 9)), ((3, 3, 3), (3,)), ((20,), (20, 6, 7))]
)
def test_students_t_on_the_means_of_repeats(sizes):
    base = [a_run(noise(10 + i, n)) for i, n in enumerate(sizes[0])]
    variant = [a_run(noise(50 + i, n, mean=101 * MS)) for i, n in enumerate(sizes[1])]
    result = compare_runs(base, variant, NO_SKIP)
    a, b = means_of(base, result.kept.base), means_of(variant, result.kept.variant)
    expected = stats.ttest_ind(b, a)
    interval = expected.confidence_interval(0.95)
    found = result.step_time
    assert result.unit == "repeats"
    assert (found.n_base, found.n_variant) == (len(a), len(b))
    assert found.base == pytest.approx(np.mean(a))
    assert found.delta == pytest.approx(np.mean(b) - np.mean(a))
    assert found.p_value == pytest.approx(expected.pvalue)
    assert (found.ci_low, found.ci_high) == pytest.approx((interval.low, interval.high))
    assert ONE_RUN_SENTENCE not in [w.message for w in result.warnings]
    assert "single_repeat" not in [w.id for w in result.warnings]


def test_a_repeat_of_three_windows_counts_and_one_of_two_does_not():
    three = compare_runs([a_run(noise(i, 3)) for i in (1, 2)], [a_run(noise(i, 3)) for i in (3, 4)], NO_SKIP)
    assert three.unit == "repeats"
    assert three.step_time.p_value is not None
    mixed = compare_runs(
        [a_run(noise(1, 2)), a_run(noise(2, 20)), a_run(noise(3, 20))],
        [a_run(noise(i, 20)) for i in (4, 5)],
        NO_SKIP,
    )
    assert mixed.unit == "repeats"
    assert mixed.compared == ((1, 2), (0, 1))
    assert mixed.step_time.n_base == 2
    (left_out,) = [w for w in mixed.warnings if w.side == 0]
    assert (left_out.id, left_out.repeat) == ("too_few_windows", 0)
    assert "2 windows" in left_out.message


def test_three_repeats_in_all_compare_the_first_of_each_side():
    base, variant = [a_run(noise(i, 20)) for i in (1, 2)], [a_run(noise(3, 20))]
    result = compare_runs(base, variant, NO_SKIP)
    alone = compare_runs(base[:1], variant, NO_SKIP)
    assert result.unit == "windows"
    assert result.compared == ((0,), (0,))
    assert result.step_time == alone.step_time
    assert ONE_RUN_SENTENCE in [w.message for w in result.warnings]
    assert result.described.base[1] == pytest.approx(base[1].step[list(result.kept.base[1])].mean())
    described = next(w for w in result.warnings if (w.side, w.repeat) == (0, 1))
    assert "only described" in described.message


def test_the_first_repeat_with_enough_windows_stands_for_its_side():
    result = compare_runs([a_run(noise(1, 2)), a_run(noise(2, 20))], [a_run(noise(3, 20))], NO_SKIP)
    assert result.compared == ((1,), (0,))
    assert result.step_time.verdict != "too_few"


def test_one_repeat_a_side_says_so():
    result = compare_runs([a_run(noise(1, 20))], [a_run(noise(2, 20))])
    assert [w.message for w in result.warnings if w.id == "single_repeat"] == [ONE_RUN_SENTENCE]
    assert ONE_RUN_SENTENCE == (
        "Inference is about these two runs; run-to-run differences (placement, clocks) are not in the error bars."
    )


@pytest.mark.parametrize(("repeats", "share"), [(2, 0.5), (3, 1.0)])
def test_families_of_repeats_are_moderated_and_four_repeats_believe_half(repeats, share):
    rng = np.random.default_rng(repeats)
    a, b = rng.normal(100, 5, (20, repeats)), rng.normal(100, 5, (20, repeats))
    df = 2 * repeats - 2
    pooled = (a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / 2
    scale = np.maximum(a.mean(axis=1), b.mean(axis=1))
    expected = squeeze(pooled / scale**2, np.full(20, float(df)), prior_share=share)
    found = repeats_test(a, b, family=True)
    residuals = np.concatenate([a - a.mean(axis=1)[:, None], b - b.mean(axis=1)[:, None]], axis=1)
    common = common_share(residuals / np.sqrt(expected.variance)[:, None] / scale[:, None])
    assert common < 0.2
    assert found.df == pytest.approx(
        np.minimum(expected.df, 1 / (common**2 / df + (1 - common) ** 2 / expected.df))
    )
    assert found.se == pytest.approx(scale * np.sqrt(expected.variance * 2 / repeats))
    few = repeats_test(a[:9], b[:9], family=True)
    assert few.df == pytest.approx(np.full(9, float(df)))
    assert few.se == pytest.approx(np.sqrt(pooled[:9] * 2 / repeats))


def test_rows_that_move_together_know_launches_no_better_than_one_row():
    rng = np.random.default_rng(3)
    together = np.tile(rng.normal(size=4), (50, 1))
    together -= together.mean()
    apart = rng.normal(size=(5000, 4))
    apart -= apart.mean(axis=1)[:, None]
    assert common_share(together) == pytest.approx(1.0)
    assert common_share(apart) == pytest.approx(0.0, abs=0.01)
    assert common_share(together[:1]) == common_share(np.zeros((12, 4))) == 0.0
    pace = np.array([1.0, 1.1, 0.95, 1.04])
    sizes = rng.uniform(50, 500, 50)[:, None]
    paced = sizes * pace * (1 + 0.001 * rng.normal(size=(50, 4)))
    found = repeats_test(paced[:, :2], paced[:, 2:], family=True)
    assert found.df == pytest.approx(np.full(50, 2.0), rel=0.01)


def test_resolution_carries_over():
    assert repeats_resolution(((10,), (20,))) == pytest.approx(500 * math.sqrt(1 / 10 + 1 / 20))
    assert repeats_resolution(((10, 10), (10, 10))) == pytest.approx(500 * math.sqrt(4 / 10 / 4))
    constant = compare_runs([a_run([MS] * 10)] * 2, [a_run([MS] * 10)] * 2)
    assert constant.step_time.p_value == 1.0
    assert constant.step_time.verdict == "unchanged"


def test_a_vanished_interval_over_repeats():
    result = compare_runs(many(1, 5, repeats=3), many(2, 5, repeats=3, factor=0.0))
    gone = result.intervals["s00"]
    assert gone.verdict == "disappeared"
    assert gone.note == "0 of 15 windows (true rate <= 18 %)"
    assert (gone.n_base, gone.n_variant) == (3, 3)
    assert sum(delta.verdict == "disappeared" for delta in result.intervals.values()) == 1


def test_the_order_of_repeats_changes_no_figure():
    base, variant = many(1, 12, repeats=3), many(2, 9, repeats=3, factor=0.5)
    straight, turned = compare_runs(base, variant), compare_runs(base[::-1], variant[::-1])
    assert repr(straight.step_time) == repr(turned.step_time)
    assert repr(straight.intervals) == repr(turned.intervals)
    assert repr(straight.categories) == repr(turned.categories)
    assert straight.tail == turned.tail
