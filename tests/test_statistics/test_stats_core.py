"""The core test (STATISTICS 2.4) against direct formulas."""

import math

import numpy as np
import pytest
from scipy import stats

from abstep.compare.statistics import special
from abstep.compare.statistics.core import (
    CORE_PRIOR,
    PAIRED_PRIOR,
    Estimate,
    Prior,
    autocorrelation,
    cosine_estimate,
    cosine_variance,
    few_satterthwaite,
    inflation,
    lag_one,
    more_careful,
    one_sample,
    resolution_se,
    satterthwaite,
    side_variance,
    two_sample,
)


def row(*values):
    return np.array([values], dtype=np.float64)


def direct_rho(a, b, k, rho0):
    c = [x - x.mean() for x in (a, b)]
    r = sum((x[1:] * x[:-1]).sum() for x in c) / sum((x * x).sum() for x in c)
    n = len(a) + len(b)
    m = n / 2
    rb = (m * r + 1) / (m - 4) if m > 6 else r + (1 + 4 * min(max(r, 0), 1)) / m
    return min(max((n * min(max(rb, -0.5), 0.9) + k * rho0) / (n + k), 0), 0.9)


@pytest.mark.parametrize("n", [(5, 5), (5, 8), (6, 6), (7, 6), (12, 30), (60, 60)])
def test_rho_on_both_branches(n):
    rng = np.random.default_rng(sum(n))
    a, b = (np.cumsum(rng.normal(size=size)) for size in n)
    assert autocorrelation((a[None], b[None]), CORE_PRIOR)[0] == pytest.approx(
        direct_rho(a, b, 20, 0.35), rel=1e-12
    )


def test_alternating_windows_have_rho_zero():
    x = row(*([1.0, -1.0] * 30))
    assert lag_one((x, x))[0] == -0.5
    assert autocorrelation((x, x), CORE_PRIOR)[0] == 0.0


def test_constant_windows_have_the_priors_rho():
    x = np.ones((1, 10))
    assert autocorrelation((x, x), CORE_PRIOR)[0] == pytest.approx((20 * (10 * 0 + 1) / 6 + 20 * 0.35) / 40)


def test_rho_is_at_most_nine_tenths():
    x = np.arange(400, dtype=np.float64)[None]
    assert autocorrelation((x, x), Prior(0.0, 0.0))[0] == 0.9


def test_side_variance():
    x = row(3, 5, 4, 8, 6, 7)
    rho = np.array([0.3])
    tau = min(1 + 2 * sum((1 - j / 6) * 0.3**j for j in range(1, 6)), 4)
    side = side_variance(x, rho)
    assert side.tau[0] == pytest.approx(tau)
    assert side.variance[0] == pytest.approx(x.var(ddof=1) * 5 / (6 - tau))
    assert side.df[0] == pytest.approx(max(6 / tau - 1, 0.5))
    assert inflation(np.array([0.9]), 5)[0] == pytest.approx(5 / 1.5)
    assert side_variance(x[:, :5], np.array([0.9])).df[0] == pytest.approx(0.5)


def test_satterthwaite_is_welch_when_nothing_is_correlated():
    a, b = row(1, 2, 4, 3, 5), row(2, 9, 4, 7)
    va, vb = a.var(ddof=1) / 5, b.var(ddof=1) / 4
    df = satterthwaite(np.array([va]), np.array([4.0]), np.array([vb]), np.array([3.0]))[0]
    assert df == pytest.approx(stats.ttest_ind(a[0], b[0], equal_var=False).df)
    zero = np.zeros(1)
    assert satterthwaite(zero, np.array([4.0]), zero, np.array([3.0]))[0] == 7.0


def test_satterthwaite_of_a_handful_has_less_bias():
    one, none, three, five = (np.full(2, value) for value in (1.0, 0.0, 3.0, 5.0))
    assert few_satterthwaite(one, three, one, three).tolist() == [6.0] * 2
    assert few_satterthwaite(one, three, none, five).tolist() == [3.0] * 2
    assert few_satterthwaite(none, three, none, five).tolist() == [8.0] * 2
    assert few_satterthwaite(one, three, 4 * one, three)[0] == pytest.approx(25 / (1 / 5 + 16 / 5) - 2)
    a, b = np.random.default_rng(1).chisquare(3, (2, 50_000)) / 3
    three = np.full_like(a, 3)
    assert satterthwaite(a, three, b, three).mean() == pytest.approx(4.97, abs=0.03)
    assert few_satterthwaite(a, three, b, three).mean() == pytest.approx(5.50, abs=0.03)


def test_cosine_variance():
    x = np.random.default_rng(3).normal(size=(2, 50))
    mean, df = cosine_variance(x)
    assert df == round(0.4 * 50 ** (2 / 3)) == 5
    for i in range(2):
        weights = [
            math.sqrt(2 / 50) * sum(x[i, t] * math.cos(math.pi * j * (t + 0.5) / 50) for t in range(50))
            for j in range(1, 6)
        ]
        assert mean[i] == pytest.approx(np.mean(np.square(weights)) / 50, rel=1e-9)


def test_the_guard_takes_the_larger_p_and_its_interval():
    rng = np.random.default_rng(4)
    slow = np.linspace(0.0, 2.0, 6)[:, None] * np.cos(np.arange(40) / 40 * np.pi)
    a, b = rng.normal(size=(6, 40)) + slow, rng.normal(size=(6, 40)) + slow
    plain = two_sample(a, b, resolution=0, guard=False)
    (va, df), (vb, _) = cosine_variance(a), cosine_variance(b)
    cosine = Estimate(
        plain.delta, np.sqrt(va + vb), few_satterthwaite(va, np.full(6, df), vb, np.full(6, df))
    )
    both = two_sample(a, b, resolution=0)
    expected = np.where(cosine.p() > plain.p(), cosine.se, plain.se)
    assert both.se == pytest.approx(expected)
    assert both.p() == pytest.approx(np.maximum(plain.p(), cosine.p()))
    assert 0 < (cosine.p() > plain.p()).sum() < 6


def walks(seed, n, rows=200):
    """Return rows of which the first half has neighbours that are alike, the second any."""
    x = np.random.default_rng(seed).normal(size=(rows, n))
    x[: rows // 2] = x[: rows // 2].cumsum(axis=-1)
    return x


@pytest.mark.parametrize("n", [10, 12, 19])
def test_fewer_windows_have_the_guard_where_neighbours_are_alike(n):
    a, b = walks(5, n), walks(6, n + 3)
    plain, found = two_sample(a, b, resolution=0, guard=False), two_sample(a, b, resolution=0)
    (va, df_a), (vb, df_b) = cosine_variance(a), cosine_variance(b)
    df = satterthwaite(va, np.full_like(va, df_a), vb, np.full_like(vb, df_b))
    cosine = Estimate(plain.delta, np.sqrt(va + vb), df)
    alike = lag_one((a, b)) > 0.1
    assert 0 < alike.sum() < len(a)
    widest = np.maximum(plain.half_width(0.95), cosine.half_width(0.95))
    assert found.half_width(0.95) == pytest.approx(np.where(alike, widest, plain.half_width(0.95)))
    larger = np.maximum(plain.p(), cosine.p())
    assert (found.p() >= larger - 1e-12)[alike].all()
    assert found.p()[~alike] == pytest.approx(plain.p()[~alike])
    assert (larger > plain.p())[alike].any()
    assert (larger > plain.p())[~alike].any()
    narrow = alike & (cosine.p() > plain.p()) & (cosine.half_width(0.95) < plain.half_width(0.95))
    assert narrow.any(), "here the larger p alone would have the narrower interval"


@pytest.mark.parametrize("n", [5, 7, 8, 9])
def test_eight_and_nine_windows_have_fewer_degrees_of_freedom_where_neighbours_are_alike(n):
    a, b = walks(5, n), walks(6, n + 3)
    plain, found = two_sample(a, b, guard=False), two_sample(a, b)
    alike = (lag_one((a, b)) > 0.1) & (n >= 8)
    assert (n < 8) == (not alike.any())
    assert found.se == pytest.approx(plain.se)
    assert found.df == pytest.approx(np.where(alike, np.maximum(0.7 * plain.df, 0.5), plain.df))


@pytest.mark.parametrize("n", range(8, 20))
@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
def test_no_interval_of_few_windows_is_narrower_for_being_guarded(n, level):
    """Least of all that of 90 %, from which a figure is called unchanged."""
    random = np.random.default_rng(n)
    a, b = random.normal(size=(2, 200, n)).cumsum(axis=-1) * 1e6
    b += np.array([0.0, 1e6, 1e7, 1e8]).repeat(50)[:, None]
    careful, bare = two_sample(a, b), two_sample(a, b, guard=False)
    assert (careful.p() >= bare.p() * (1 - 1e-9)).all()
    assert (careful.half_width(level) >= bare.half_width(level) * (1 - 1e-9)).all()


@pytest.mark.parametrize("n", [8, 12])
def test_paired_differences_that_are_alike_are_looked_at_more_carefully(n):
    d = walks(7, n) + 0.3
    plain, found = one_sample(d, resolution=0, guard=False), one_sample(d, resolution=0)
    alike = lag_one((d,)) > 0.1
    assert 0 < alike.sum() < len(d)
    assert (found.p()[alike] >= plain.p()[alike]).all()
    assert (found.p()[alike] > plain.p()[alike]).any()
    assert (found.p() == plain.p())[~alike].all()


def test_the_cosines_of_one_side_have_their_own_degrees_of_freedom():
    d = walks(8, 50, rows=4)
    mean, df = cosine_variance(d)
    found = cosine_estimate(d.mean(axis=-1), (d,), 0.0)
    assert found.se == pytest.approx(np.sqrt(mean))
    assert found.df.tolist() == [df] * 4


def test_more_careful_takes_the_wider_interval_on_a_tie():
    same = np.zeros(1)
    narrow, wide = (
        Estimate(same, np.array([1.0]), np.array([9.0])),
        Estimate(same, np.array([2.0]), np.array([5.0])),
    )
    assert more_careful(narrow, wide).se[0] == 2.0
    assert more_careful(wide, narrow).se[0] == 2.0


def test_no_mean_is_known_better_than_time_stamps():
    x = np.full((1, 10), 1000.0)
    found = two_sample(x, x + 100)
    assert found.se[0] == pytest.approx(500 * math.sqrt(0.2)) == resolution_se(10, 10)
    assert 0 < found.p()[0] < 1
    assert np.isfinite(found.df[0])
    assert one_sample(np.zeros((1, 16))).se[0] == pytest.approx(resolution_se(16, 16))


def test_p_without_any_error():
    sure = Estimate(np.array([0.0, 1.0]), np.zeros(2), np.full(2, 5.0))
    assert sure.p().tolist() == [1.0, 0.0]


def test_paired_differences():
    d = row(3, 5, 4, 8, 6, 7, 5, 9, 4, 5, 6, 2)
    found = one_sample(d, resolution=0)
    n = 12
    c = d[0] - d.mean()
    r = (c[1:] * c[:-1]).sum() / (c * c).sum()
    rho = min(max((n * min(max((n * r + 1) / (n - 4), -0.5), 0.9) + 10 * 0.35) / (n + 10), 0), 0.9)
    side = side_variance(d, np.array([rho]))
    assert PAIRED_PRIOR.weight == 10
    assert found.se[0] == pytest.approx(math.sqrt(side.variance[0] * side.tau[0] / n))
    assert found.df[0] == pytest.approx(side.df[0])


def test_special_functions_are_those_of_scipy_stats():
    rng = np.random.default_rng(0)
    t, df = rng.normal(scale=4, size=200), rng.uniform(0.5, 300, 200)
    assert special.t_two_sided(t, df) == pytest.approx(2 * stats.t.sf(np.abs(t), df), rel=1e-12)
    assert special.t_upper(t, df) == pytest.approx(stats.t.sf(t, df), rel=1e-12)
    assert special.t_quantile(0.975, df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-12)
    assert special.f_upper(2.5, 3.0, df) == pytest.approx(stats.f.sf(2.5, 3.0, df), rel=1e-10)
    for y in (1e-8, 1e-3, 0.5, 2.0, 1e8):
        assert special.trigamma(special.trigamma_inverse(y)) == pytest.approx(y, rel=1e-6)
    for count, n in ((0, 40), (1, 40), (7, 9)):
        bound = special.share_upper_bound(count, n, 0.05)
        assert bound == pytest.approx(stats.beta.ppf(0.95, count + 1, n - count))
    assert special.share_upper_bound(0, 40, 0.05) == pytest.approx(1 - 0.05 ** (1 / 40))
    assert special.share_upper_bound(9, 9, 0.05) == 1.0
