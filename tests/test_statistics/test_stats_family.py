"""Families: moderated variances, false discoveries, blocks (STATISTICS 2.5 and 2.8)."""

import numpy as np
import pytest
from scipy import special, stats

from abstep.compare.statistics.core import FAMILY_PRIOR, Prior, lag_one, two_sample
from abstep.compare.statistics.family import (
    benjamini_hochberg,
    comes_and_goes,
    family_lag,
    family_prior,
    family_two_sample,
    holm,
    squeeze,
)


def test_squeeze_is_smyths():
    rng = np.random.default_rng(1)
    df = rng.uniform(3, 9, 60)
    variance = 2.0 * 8 / rng.chisquare(8, 60) * rng.chisquare(df) / df
    z = np.log(variance)
    e = z - special.digamma(df / 2) + np.log(df / 2)
    spread = e.var(ddof=1) - special.polygamma(1, df / 2).mean()
    found = squeeze(variance, df)
    # solve for d0 by bisection, independently
    low, high = 1e-3, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if special.polygamma(1, middle / 2) > spread else (low, middle)
    d0 = middle
    s0 = np.exp(e.mean() + special.digamma(d0 / 2) - np.log(d0 / 2))
    assert found.variance == pytest.approx((d0 * s0 + df * variance) / (d0 + df), rel=1e-6)
    assert found.df == pytest.approx(np.minimum(d0 + df, df.sum()), rel=1e-6)
    halved = squeeze(variance, df, prior_share=0.5)
    assert halved.df == pytest.approx(d0 / 2 + df, rel=1e-6)


def test_squeeze_of_equal_variances_is_one_variance():
    found = squeeze(np.full(20, 3.0), np.full(20, 8.0))
    assert found.variance == pytest.approx(np.full(20, found.variance[0]))
    assert found.df == pytest.approx(np.full(20, 160.0))


def test_squeeze_leaves_constant_rows_out_of_the_fit():
    rng = np.random.default_rng(2)
    variance, df = rng.chisquare(8, 30), np.full(30, 8.0)
    with_zeros = squeeze(np.append(variance, [0.0, 0.0]), np.append(df, [8.0, 8.0]))
    assert with_zeros.variance[:30] == pytest.approx(squeeze(variance, df).variance)
    assert (with_zeros.variance[30:] > 0).all()
    assert squeeze(np.zeros(20), df[:20]) is None
    assert squeeze(np.append(np.zeros(19), 1.0), df[:20]) is None


@pytest.mark.parametrize("m", [1, 2, 7, 40])
def test_adjusted_p_values(m):
    p = np.round(np.random.default_rng(m).random(m) ** 2, 2)
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p, method="bh"))
    order = np.argsort(p, kind="stable")
    expected, running = np.empty(m), 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, (m - rank) * p[i]))
        expected[i] = running
    assert holm(p) == pytest.approx(expected)


def test_no_tests_no_q():
    assert len(benjamini_hochberg(np.empty(0))) == len(holm(np.empty(0))) == 0


def rows(seed, k, n, rho=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(k, n))
    for t in range(1, n):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * x[:, t]
    return 100 + 10 * x


def test_small_families_take_the_core_test():
    a, b = rows(1, 9, 12), rows(2, 9, 12)
    small, core = family_two_sample(a, b, resolution=0), two_sample(a, b, prior=FAMILY_PRIOR, resolution=0)
    assert small.se == pytest.approx(core.se)
    assert small.df == pytest.approx(core.df)
    ten = family_two_sample(rows(1, 10, 12), rows(2, 10, 12), resolution=0)
    assert ten.df.max() > core.df.max()


def test_families_without_variation_take_the_core_test():
    a = np.full((12, 8), 5.0)
    found = family_two_sample(a, a)
    assert found.p() == pytest.approx(np.ones(12))


def test_an_empty_row_in_a_family_is_harmless():
    a, b = rows(1, 12, 8), rows(2, 12, 8)
    a[3] = b[3] = 0.0
    found = family_two_sample(a, b)
    assert np.isfinite(found.se).all()
    assert found.p()[3] == 1.0


def test_the_prior_follows_a_family_that_is_more_correlated():
    calm, wild = (rows(3, 30, 50), rows(4, 30, 50)), (rows(3, 30, 50, 0.8), rows(4, 30, 50, 0.8))
    assert family_prior(family_lag(calm), FAMILY_PRIOR) == FAMILY_PRIOR
    assert family_lag(wild) == pytest.approx(lag_one(wild).mean())
    assert family_prior(family_lag(wild), FAMILY_PRIOR) == Prior(40.0, family_lag(wild))
    assert family_lag((wild[0][:9], wild[1][:9])) is None
    assert family_prior(None, FAMILY_PRIOR) == FAMILY_PRIOR


def test_rows_that_do_not_vary_say_nothing_of_the_familys_lag():
    wild = [rows(seed, 30, 50, 0.8) for seed in (3, 4)]
    known = family_lag((wild[0], wild[1]))
    still = np.full((200, 50), 7.0)
    assert family_lag((np.vstack([wild[0], still]), np.vstack([wild[1], still]))) == known
    for x in wild:
        x[9:] = 7.0
    assert family_lag((wild[0], wild[1])) is None


def test_the_guard_only_makes_p_larger():
    a, b = rows(5, 40, 40, 0.7), rows(6, 40, 40, 0.7)
    with_guard, without = family_two_sample(a, b), family_two_sample(a, b, guard=False)
    assert (with_guard.p() >= without.p() - 1e-15).all()
    assert (with_guard.p() > without.p()).any()


@pytest.mark.parametrize("n", [7, 8, 19])
def test_a_family_whose_windows_are_alike_has_the_guard_from_8_windows(n):
    for rho in (0.0, 0.6):
        a, b = rows(5, 100, n, rho), rows(6, 100, n, rho)
        assert (family_lag((a, b)) > 0.33) == (rho > 0)
        guarded, without = family_two_sample(a, b).p(), family_two_sample(a, b, guard=False).p()
        assert (guarded >= without - 1e-15).all()
        assert (guarded > without).any() == (rho > 0 and n >= 8)


@pytest.mark.parametrize("n", [8, 12, 19])
def test_no_interval_of_few_windows_is_narrower_for_the_guard(n):
    """Of a difference far from 0 the larger p may come with the narrower interval."""
    for seed in range(20):
        a, b = rows(seed, 40, n, 0.7), rows(seed + 100, 40, n, 0.7) + 200
        careful = family_two_sample(a, b, resolution=0)
        plain = family_two_sample(a, b, resolution=0, guard=False)
        for level in (0.9, 0.95):
            assert (careful.half_width(level) >= plain.half_width(level) * (1 - 1e-9)).all()


def pattern(text):
    return np.array([[c == "#" for c in text]])


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("#" * 10 + "." * 10, True),
        ("#" * 20, False),
        ("." * 20, False),
        ("#" * 19 + ".", False),  # one absent window is no block
        ("#." * 10, False),
        ("##..##..##..##..##..", False),  # 10 stretches of 11 expected
        ("#####.....#####.....", True),  # 4 stretches
        ("#####.....####.", False),  # 15 windows: too few to tell
        ("###...###...##..####", False),  # 7 stretches, .6 of 10.6 is 6.36
        ("####...####...######", True),  # 5 stretches of .6 x 9.4
    ],
)
def test_blocks(text, blocks):
    assert comes_and_goes(pattern(text)).tolist() == [blocks]
