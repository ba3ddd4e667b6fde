"""The published golden values of the core and family tests (STATISTICS 2.4 and 2.5)."""

import numpy as np
import pytest

from abstep.compare.statistics.core import CORE_PRIOR, autocorrelation, inflation, two_sample
from abstep.compare.statistics.family import benjamini_hochberg, family_two_sample

A = np.array([[100, 102, 99, 101, 103, 100, 98, 102]], dtype=np.float64)
B = np.array([[104, 103, 106, 105, 107, 104, 106, 108, 105, 103]], dtype=np.float64)

FAMILY_A = np.array(
    [
        [10, 12, 11, 13, 9],
        [20, 22, 19, 21, 24],
        [5, 5, 6, 4, 5],
        [30, 33, 31, 35, 29],
        [8, 7, 9, 8, 10],
        [50, 55, 48, 52, 51],
        [2, 2, 3, 2, 2],
        [15, 14, 17, 16, 15],
        [40, 44, 39, 41, 43],
        [7, 0, 6, 0, 8],
    ],
    dtype=np.float64,
)
FAMILY_B = np.array(
    [
        [11, 12, 10, 13, 9],
        [0, 0, 0, 0, 0],
        [5, 6, 6, 4, 5],
        [60, 66, 62, 70, 58],
        [8, 8, 9, 7, 10],
        [51, 54, 48, 53, 50],
        [2, 3, 3, 2, 2],
        [15, 15, 17, 16, 14],
        [41, 44, 38, 41, 43],
        [0, 7, 6, 0, 8],
    ],
    dtype=np.float64,
)


def test_core_golden():
    rho = autocorrelation((A, B), CORE_PRIOR)
    found = two_sample(A, B, resolution=0.0, guard=False)
    half = found.half_width(0.95)
    assert rho[0] == pytest.approx(0.15182624, abs=5e-9)
    assert inflation(rho, 8)[0] == pytest.approx(1.3052459, abs=5e-8)
    assert inflation(rho, 10)[0] == pytest.approx(1.31579818, abs=5e-9)
    assert found.delta[0] == pytest.approx(4.475, abs=1e-12)
    assert found.se[0] == pytest.approx(0.92824725, abs=5e-9)
    assert found.df[0] == pytest.approx(11.03039158, abs=5e-9)
    assert found.p()[0] == pytest.approx(0.00053093, abs=5e-9)
    assert found.delta[0] - half[0] == pytest.approx(2.43262817, abs=5e-9)
    assert found.delta[0] + half[0] == pytest.approx(6.51737183, abs=5e-9)
    guarded = two_sample(A, B, resolution=0.0)
    assert (guarded.se, guarded.df) == (found.se, found.df)


def test_family_golden():
    found = family_two_sample(FAMILY_A, FAMILY_B, resolution=0.0)
    assert found.se == pytest.approx(
        [1.18974, 1.33958, 0.61973, 3.48855, 0.89443, 2.44948, 0.40104, 1.08201, 2.18211, 2.78168], abs=5e-6
    )
    assert found.df == pytest.approx(
        [6.30125, 5.46706, 5.59581, 6.305, 5.91084, 6.52223, 5.29328, 5.34369, 6.0607, 6.30339], abs=5e-6
    )
    p = found.p()
    assert p[1] == pytest.approx(8.928104e-06, abs=5e-13)
    assert p[2] == pytest.approx(0.7586202, abs=5e-8)
    assert p[3] == pytest.approx(7.630849e-05, abs=5e-12)
    assert p[6] == pytest.approx(0.638025, abs=5e-7)
    assert p[[0, 4, 5, 7, 8, 9]] == pytest.approx(1.0, abs=1e-12)
    q = benjamini_hochberg(p)
    assert q[1] == pytest.approx(8.9281e-05, abs=5e-10)
    assert q[3] == pytest.approx(3.81542e-04, abs=5e-10)


def test_inflation_is_the_sum_it_stands_for():
    for n in (5, 8, 20, 101):
        for rho in (0.0, 0.15, 0.5, 0.9):
            j = np.arange(1, n)
            direct = min(1 + 2 * ((1 - j / n) * rho**j).sum(), n / 1.5)
            assert inflation(np.array([rho]), n)[0] == pytest.approx(direct, rel=1e-12)
