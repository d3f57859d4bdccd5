"""Bandwidths against formulas, brute force and the optimum that is known for normal densities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import gaussian_kde

from credo.errors import ConvergenceWarning, DataError
from credo.models.density import KernelDensity
from credo.models.density.bandwidths import cross_validated, improved_sheather_jones
from credo.models.density.ties import spread_ties


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_rules_are_on_the_datas_scale_as_scipys(rule: str) -> None:
    rng = np.random.default_rng(0)
    x, w = 1e6 + 300.0 * rng.normal(size=200), rng.random(200)
    for weights in (None, w):
        theirs = gaussian_kde(x, rule, weights)
        ours = KernelDensity(bandwidth=rule).fit(x[:, None], sample_weight=weights)
        assert ours.bandwidth_ == pytest.approx(np.sqrt(theirs.covariance.item()), rel=1e-6)
    X = rng.normal(size=(200, 3)) * [1.0, 10.0, 100.0]
    ratio = KernelDensity(bandwidth=rule).fit(X * 7.0).bandwidth_ / KernelDensity(bandwidth=rule).fit(X).bandwidth_
    np.testing.assert_allclose(ratio, 7.0, rtol=1e-12)


def test_sheather_jones_nears_the_optimum_of_normals() -> None:
    """The optimal h for N(0, σ) is (4/3n)^(1/5) σ; with half the rows in each of two far components, (8/3n)^(1/5) σ.

    The plug-in's relative sd is about 1.5 n^(−1/2)·n^(1/7) ≲ 0.05 here: 4 % is within one, so the seed is fixed.
    """
    rng, n = np.random.default_rng(0), 20_000
    x = rng.normal(size=n)
    far = np.where(rng.random(n) < 0.5, -100.0, 100.0) + x
    assert improved_sheather_jones(x, None) == pytest.approx((4 / (3 * n)) ** 0.2, rel=0.04)
    assert improved_sheather_jones(far, None) == pytest.approx((8 / (3 * n)) ** 0.2, rel=0.04)
    assert improved_sheather_jones(x + 1e8, None) == pytest.approx(improved_sheather_jones(x, None), rel=1e-5)
    assert improved_sheather_jones(x, np.full(n, 3.0)) == pytest.approx(improved_sheather_jones(x, None), rel=1e-10)


def test_sheather_jones_survives_far_tails_and_rounding() -> None:
    rng = np.random.default_rng(1)
    heavy = rng.standard_cauchy(20_000)
    assert 0.1 < improved_sheather_jones(heavy, None) < 0.25
    rounded = np.round(rng.normal(size=2000), 1)
    assert improved_sheather_jones(rounded, None) == pytest.approx((4 / 6000) ** 0.2, rel=0.2)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_cross_validation_is_the_maximum_by_brute_force(kernel: str) -> None:
    Z = np.random.default_rng(2).normal(size=(60, 2))

    def score(h: float) -> float:
        total = 0.0
        for i in range(60):
            r = np.sqrt(np.square(np.delete(Z, i, axis=0) - Z[i]).sum(axis=1)) / h
            with np.errstate(divide="ignore"):
                log_k = -0.5 * r**2 if kernel == "gaussian" else np.log(np.maximum(1 - r**2, 0.0))
            total += logsumexp(log_k) - 2 * np.log(h)
        return total

    found = cross_validated(Z, None, kernel, np.random.default_rng(0))
    around = [score(found * factor) for factor in (0.5, 0.8, 0.98, 1.0, 1.02, 1.25, 2.0)]
    assert int(np.argmax(around)) == 3


def test_ties_do_not_pull_cross_validation_to_zero() -> None:
    x = np.repeat(np.random.default_rng(0).normal(size=100), 5)[:, None]
    assert KernelDensity(bandwidth="cv").fit(x).bandwidth_ > 0.1


def test_what_rules_cannot_do_is_said() -> None:
    with pytest.raises(DataError, match="'x0' is constant"):
        KernelDensity().fit(np.ones((10, 1)))
    with pytest.raises(DataError, match="1 sample"):
        KernelDensity().fit([[1.0]])
    with pytest.warns(ConvergenceWarning, match="Sheather"):
        assert KernelDensity(bandwidth="isj").fit([[0.0], [1.0]]).bandwidth_rule_ == "silverman"
    with pytest.raises(ValueError, match="rule for several columns"):
        KernelDensity(bandwidth="isj").fit(np.eye(3))
    assert KernelDensity(bandwidth=0.5).fit([[1.0]]).score_samples([[1.0]]) == pytest.approx(-np.log(0.5 * 2.5066283))


def test_spread_ties_keep_order_and_cells() -> None:
    x = np.array([2.0, 2.0, 0.0, 1.0, 1.0, 1.0])
    y = spread_ties(x)
    assert np.abs(y - x).max() <= 0.5
    assert np.unique(y).size == 6
    np.testing.assert_allclose([y[:2].mean(), y[3:].mean()], [2.0, 1.0])
