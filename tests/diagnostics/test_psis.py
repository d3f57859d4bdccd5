"""PSIS: known tail shapes, smoothing that keeps order, and weights that need none."""

import numpy as np
import pytest

from credo.diagnostics import psis
from credo.errors import DataError


@pytest.mark.parametrize("k", [0.2, 0.5, 0.9])
def test_k_hat_recovers_a_pareto_tail(k):
    # Weights u^{−k} have tail index k. At S = 40,000 the fit uses 600 tail draws: sd of k̂ about (1 + k)/√600 = .08.
    u = np.random.default_rng(0).random((40_000, 4))
    k_hat = psis(-k * np.log(u)).k_hat
    assert k_hat.shape == (4,)
    assert np.all(np.abs(k_hat - k) < 4.5 * 0.08)
    assert abs(k_hat.mean() - k) < 4.5 * 0.04 + 0.02


def test_importance_sampling_is_certified_or_not():
    rng = np.random.default_rng(1)
    z = rng.standard_normal(4000)
    good = psis(-0.5 * (z / 0.9) ** 2 + 0.5 * z**2)
    assert good.reliable
    mean_square = np.exp(good.log_weights) @ z**2
    assert mean_square == pytest.approx(0.81, abs=5 * 1.2 / np.sqrt(good.ess))
    assert not psis(-0.5 * (z / 3) ** 2 + 0.5 * z**2).reliable


def test_weights_are_normalised_ordered_and_bounded():
    raw = np.random.default_rng(2).standard_t(3, size=2000)
    result = psis(raw)
    assert np.exp(result.log_weights).sum() == pytest.approx(1.0)
    order = np.argsort(raw)
    assert np.all(np.diff(result.log_weights[order]) >= 0)
    assert np.ptp(result.log_weights) <= np.ptp(raw) + 1e-12
    assert 0 < result.ess <= 2000
    np.testing.assert_allclose(psis(raw + 1234.5).log_weights, result.log_weights, atol=1e-9)


def test_equal_and_zero_weights():
    equal = psis(np.full(100, 3.0))
    assert equal.k_hat == -np.inf
    assert equal.ess == pytest.approx(100)
    some = np.random.default_rng(3).normal(size=1000)
    some[:300] = -np.inf
    result = psis(some)
    assert result.reliable
    assert np.exp(result.log_weights[:300]).sum() < 1e-200
    mostly = np.full(1000, -np.inf)
    mostly[0] = 0.0
    assert not psis(mostly).reliable


@pytest.mark.parametrize(
    "bad", [np.zeros(24), np.array(0.0), np.r_[np.nan, np.zeros(99)], np.r_[np.inf, np.zeros(99)], np.full(99, -np.inf)]
)
def test_bad_weights_are_named(bad):
    with pytest.raises(DataError, match="psis"):
        psis(bad)


def test_weights_of_few_values_are_bounded_once_the_largest_came_often():
    """A discrete proposal: the tail's lower half is one value, so that nothing can be fitted, but the bound is seen."""
    for often, k_hat in ((35, -np.inf), (10, -np.inf), (9, np.inf), (1, np.inf)):
        result = psis(np.r_[np.zeros(400), np.full(often, 3.0)])
        assert result.k_hat == k_hat
        assert np.exp(result.log_weights).sum() == pytest.approx(1.0)
    two = np.stack([np.r_[np.zeros(400), np.full(20, 3.0)], np.r_[np.zeros(419), 30.0]], axis=1)
    assert psis(two).k_hat.tolist() == [-np.inf, np.inf]
