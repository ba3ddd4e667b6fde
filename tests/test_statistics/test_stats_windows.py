"""Which windows are used (STATISTICS 2.2)."""

import numpy as np
import pytest
from statistics_made import MS, a_run, noise

from abstep.compare.statistics import Sides, StatisticsOptions, compare_runs
from abstep.compare.statistics.windows_used import choose_windows, warmup_ends


def slow_start(seed, n, extra):
    wiggle = np.tile(np.array([0.0, 0.5, -0.5, 1.0, -1.0]), n // 5 + 1)[seed : seed + n] * MS
    step = (100 * MS + wiggle).astype(np.int64)
    step[: len(extra)] += np.asarray(extra) * MS
    return step


def reasons(dropped):
    return [(each.index, each.reason) for each in dropped]


@pytest.mark.parametrize("n", [10, 12, 20, 50, 100])
@pytest.mark.parametrize("extra", [(80,), (60, 30), (60, 40, 20), (60, 50, 40, 30)])
def test_a_slow_start_is_warm_up(n, extra):
    assert warmup_ends([slow_start(1, n, extra).astype(float)]) == [(len(extra), True)]


def test_few_windows_need_a_clear_start():
    # below 10 windows the deviation is at least 2 % of the median
    assert warmup_ends([np.array([105, 100, 100, 100, 100, 100.0])]) == [(0, True)]
    assert warmup_ends([np.array([130, 100, 100, 100, 100, 100.0])]) == [(1, True)]
    assert warmup_ends([np.array([105.0] + [100.0] * 11)]) == [(1, True)]


def test_steady_steps_keep_all_windows():
    found = [
        choose_windows(Sides((a_run(noise(s, 20)),), (a_run(noise(s + 1, 20)),))).warmup
        for s in range(0, 200, 2)
    ]
    assert np.mean([w > 0 for w in found]) <= 0.05


def test_every_repeat_loses_the_longest_warm_up():
    base = [a_run(slow_start(1, 30, (50, 40))), a_run(noise(2, 30))]
    variant = [a_run(noise(3, 30)), a_run(slow_start(4, 30, (50, 40, 30)))]
    result = compare_runs(base, variant)
    assert result.warmup == 3
    for side in result.dropped:
        for repeat in side:
            assert reasons(repeat)[:3] == [(0, "warm-up"), (1, "warm-up"), (2, "warm-up")]
    assert all(repeat[0] >= 3 for side in result.kept for repeat in side)


def test_no_steady_state_drops_half_and_says_so():
    step = noise(5, 20, sd=0.01 * MS)
    step[::3] *= 2
    result = compare_runs([a_run(step)], [a_run(noise(6, 20, sd=0.01 * MS))])
    assert result.warmup == 10
    warning = next(w for w in result.warnings if w.id == "no_steady_state")
    assert (warning.side, warning.repeat) == (0, 0)
    assert "base repeat 0" in warning.message


def test_skip_overrides_the_search():
    slow = a_run(slow_start(1, 30, (50, 40)))
    steady = a_run(noise(2, 30))
    assert compare_runs([slow], [steady], StatisticsOptions(skip=0)).warmup == 0
    result = compare_runs([slow], [steady], StatisticsOptions(skip=5))
    assert result.warmup == 5
    assert result.kept.base[0][0] == 5
    assert [each.reason for each in result.dropped.base[0]][:5] == ["warm-up"] * 5


def test_skip_may_leave_nothing():
    result = compare_runs([a_run(noise(1, 4))], [a_run(noise(2, 30))], StatisticsOptions(skip=6))
    assert result.kept.base == ((),)
    assert result.step_time.verdict == "too_few"
    assert result.step_time.base is None
    assert result.step_time.variant is not None


@pytest.mark.parametrize(("small", "large", "used"), [(8, 100, 16), (10, 100, 30), (12, 30, 30), (6, 12, 12)])
def test_a_much_longer_side_is_cut_to_its_end(small, large, used):
    result = compare_runs([a_run(noise(1, small))], [a_run(noise(2, large))], StatisticsOptions(skip=0))
    dropped = [each.index for each in result.dropped.variant[0] if each.reason == "ratio"]
    assert dropped == list(range(large - used))
    assert not result.dropped.base[0]


def test_repeats_are_not_cut_by_ratio():
    result = compare_runs(
        [a_run(noise(s, 6)) for s in (1, 2)],
        [a_run(noise(s, 100)) for s in (3, 4)],
        StatisticsOptions(skip=0),
    )
    assert all(each.reason != "ratio" for side in result.dropped for repeat in side for each in repeat)


def test_outliers_leave_all_metrics_together():
    step = noise(1, 40)
    step[[11, 25]] += 30 * MS
    result = compare_runs([a_run(step)], [a_run(noise(2, 40))])
    assert reasons(result.dropped.base[0]) == [(11, "outlier"), (25, "outlier")]
    assert len(result.kept.base[0]) == 38
    kept = list(result.kept.base[0])
    assert result.step_time.base == pytest.approx(step[kept].mean(), abs=1e-6)
    assert result.tail.windows_base == 2
    assert result.tail.windows_variant == 0
    assert result.tail.all_windows_base == 40


def test_the_deviation_is_pooled_over_both_sides():
    # 3 ms are ten deviations of the quiet side, but less than six of both together (4.1 ms)
    quiet, rough = noise(1, 20, sd=0.5 * MS), noise(2, 20, sd=4 * MS)
    quiet[15] += 3 * MS
    assert not compare_runs([a_run(quiet)], [a_run(rough)]).dropped.base[0]
    assert compare_runs([a_run(quiet)], [a_run(noise(3, 20, sd=0.5 * MS))]).dropped.base[0]


def test_below_eight_windows_nothing_is_an_outlier():
    step = noise(1, 7)
    step[4] += 90 * MS
    result = compare_runs([a_run(step)], [a_run(noise(2, 7))], StatisticsOptions(skip=0))
    assert len(result.kept.base[0]) == 7


def test_many_outliers_are_modes_not_outliers():
    step = noise(1, 40, sd=0.1 * MS)
    step[5::4] += 20 * MS
    result = compare_runs([a_run(step)], [a_run(noise(2, 40, sd=0.1 * MS))], StatisticsOptions(skip=0))
    assert len(result.kept.base[0]) == 40
    warning = next(w for w in result.warnings if w.id == "multi_modal")
    assert (warning.side, warning.repeat) == (0, 0)


def test_no_deviation_no_outlier():
    step = [100 * MS] * 20
    step[12] += 10 * MS
    result = compare_runs([a_run(step)], [a_run([100 * MS] * 20)], StatisticsOptions(skip=0))
    assert len(result.kept.base[0]) == 20
    assert [(w.side, w.repeat) for w in result.warnings if w.id == "multi_modal"] == [(0, 0)]
    constant = compare_runs([a_run([100 * MS] * 20)], [a_run([100 * MS] * 20)])
    assert not [w for w in constant.warnings if w.id == "multi_modal"]


def test_step_numbers_are_reported():
    step = slow_start(1, 30, (60, 50))
    result = compare_runs([a_run(step, numbers=np.arange(10, 40))], [a_run(noise(2, 30))])
    assert [(each.index, each.step) for each in result.dropped.base[0]] == [(0, 10), (1, 11)]


def test_ranks_divide_before_anything_is_judged():
    step = slow_start(1, 30, (60, 50))
    step[20] += 30 * MS
    one = compare_runs([a_run(step)], [a_run(noise(2, 30))])
    eight = compare_runs([a_run(8 * step, ranks=8)], [a_run(8 * noise(2, 30), ranks=8)])
    assert one == eight


@pytest.mark.parametrize(("n", "kept"), [(2, [0, 1]), (4, [0, 1, 2, 3]), (5, [1, 2, 3, 4])])
def test_where_nothing_can_be_tested_every_window_is_described(n, kept):
    steps = np.array([1300 * MS, *[1000 * MS] * (n - 1)])
    result = compare_runs([a_run(steps)], [a_run(steps)])
    assert [list(side[0]) for side in result.kept] == [kept, kept]
    assert result.step_time.verdict == "too_few"
