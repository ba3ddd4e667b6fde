"""Pairing by step number (STATISTICS 2.7)."""

import numpy as np
import pytest
from scipy import stats
from statistics_made import MS, a_run, noise

from abstep.compare.statistics import StatisticsOptions, compare_runs
from abstep.compare.statistics.core import CORE_PRIOR, autocorrelation, inflation, one_sample
from abstep.compare.statistics.pairing import correlation_p


def alike(seed, n, share=0.95, shift=0.0, numbers=None):
    """Return two runs whose step times share that part of their variance."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n) * np.sqrt(share)
    steps = [
        np.rint(100 * MS + 2 * MS * (common + rng.normal(size=n) * np.sqrt(1 - share)) + extra).astype(
            np.int64
        )
        for extra in (0, shift)
    ]
    return [[a_run(step, numbers=numbers)] for step in steps]


def test_runs_that_share_their_slow_steps_are_paired():
    base, variant = alike(1, 30, shift=0.4 * MS)
    paired, unpaired = (
        compare_runs(base, variant),
        compare_runs(base, variant, StatisticsOptions(pair="never")),
    )
    assert paired.paired
    assert not unpaired.paired
    assert paired.step_time.delta == unpaired.step_time.delta
    assert paired.step_time.p_value < unpaired.step_time.p_value
    kept = list(paired.kept.base[0])
    difference = (variant[0].step[kept] - base[0].step[kept])[None].astype(float)
    assert paired.step_time.p_value == pytest.approx(one_sample(difference).p()[0])
    assert paired.categories["compute_alone"].p_value == paired.step_time.p_value


def test_independent_runs_are_not():
    share = [compare_runs([a_run(noise(s, 30))], [a_run(noise(s + 1, 30))]).paired for s in range(0, 200, 2)]
    assert np.mean(share) <= 0.03


def test_the_rule_is_correlation_and_confidence():
    rng = np.random.default_rng(3)
    common = rng.normal(size=25)
    a, b = 100 + common + rng.normal(size=25), 100 + common + rng.normal(size=25)
    r, p = correlation_p(a, b)
    assert r == pytest.approx(np.corrcoef(a, b)[0, 1])
    rho = autocorrelation((a[None], b[None]), CORE_PRIOR)
    n = max(25 / inflation(rho**2, 25)[0], 3.5)
    assert p == pytest.approx(stats.t.sf(r * np.sqrt((n - 2) / (1 - r * r)), n - 2))
    assert correlation_p(a, np.full(25, 3.0)) == (0.0, 1.0)
    assert correlation_p(a, a) == pytest.approx((1.0, 0.0), abs=1e-12)


def test_other_step_numbers_cannot_be_paired():
    (base,), (variant,) = alike(1, 30)
    shifted = a_run(variant.step, numbers=np.arange(5, 35))
    twice = np.r_[np.arange(15), np.arange(15)]
    for options in (StatisticsOptions(), StatisticsOptions(pair="always")):
        assert not compare_runs([base], [shifted], options).paired
        same = [[a_run(run.step, numbers=twice)] for run in (base, variant)]
        assert not compare_runs(*same, options).paired


def test_ten_pairs_are_needed():
    for n, paired in ((9, False), (10, True)):
        base, variant = alike(2, n, share=0.99)
        result = compare_runs(base, variant, StatisticsOptions(pair="always", skip=0))
        assert result.paired is paired


def test_always_pairs_what_does_not_correlate():
    runs = [a_run(noise(s, 20)) for s in (3, 4)]
    assert not compare_runs(runs[:1], runs[1:]).paired
    assert compare_runs(runs[:1], runs[1:], StatisticsOptions(pair="always")).paired


def test_repeats_are_never_paired():
    runs = [alike(s, 30) for s in (1, 2)]
    result = compare_runs([r[0][0] for r in runs], [r[1][0] for r in runs], StatisticsOptions(pair="always"))
    assert result.unit == "repeats"
    assert not result.paired


def test_an_outlier_takes_its_partner_along():
    base, variant = alike(1, 30)
    step = base[0].step.copy()
    step[12] += 60 * MS
    result = compare_runs([a_run(step)], variant)
    assert result.paired
    for side in (0, 1):
        assert [(d.index, d.reason) for d in result.dropped[side][0]] == [(12, "outlier")]
        assert 12 not in result.kept[side][0]
    # still exact: typical and tail make up all windows
    assert result.step_time.delta + result.tail.delta == pytest.approx(
        variant[0].step.mean() - step.mean(), abs=1e-6
    )


def test_intervals_are_not_paired():
    base, variant = alike(1, 30)
    for run in (base[0], variant[0]):
        run.intervals["one"] = run.step // 50
    free = compare_runs(base, variant, StatisticsOptions(pair="never"))
    assert compare_runs(base, variant).intervals["one"].p_value == free.intervals["one"].p_value
