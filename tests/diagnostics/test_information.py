"""Information criteria: a Normal mean, where everything is closed; weights, warnings, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from credo.diagnostics import bayesian_r2, psis_loo, waic
from credo.errors import ConvergenceWarning, DataError

rng = np.random.default_rng(0)
Y = rng.normal(size=30)
S = 20_000
MEAN = Y.mean() + rng.normal(size=S) / np.sqrt(30)  # flat prior, unit noise
LL = -0.5 * np.square(Y - MEAN[:, None]) - 0.5 * np.log(2.0 * np.pi)


def exact():
    """y_i ~ N(mean of the others, 1 + 1/29)."""
    others = (Y.sum() - Y) / 29
    return -0.5 * np.square(Y - others) / (30 / 29) - 0.5 * np.log(2.0 * np.pi * 30 / 29)


def test_leave_one_out_of_a_normal_mean():
    found = psis_loo(LL)
    # The weights' relative error is √(e^{1/30 (1 + z²)} − 1)/√S < 0.005; five of it.
    assert np.abs(found.pointwise - exact()).max() < 0.025
    assert found.reliable
    assert found.n_effective == pytest.approx(1.0, abs=0.35)
    assert found.elpd == pytest.approx(found.pointwise.sum())
    assert found.standard_error == pytest.approx(np.sqrt(30) * found.pointwise.std(ddof=1))


def test_waic_is_near():
    found = waic(LL)
    assert np.abs(found.pointwise - exact()).max() < 0.03
    np.testing.assert_allclose(found.penalty, LL.var(axis=0), rtol=1e-12)


def test_weights_are_repeated_draws():
    counts = np.random.default_rng(1).integers(0, 3, 400)
    few = LL[:400]
    np.testing.assert_allclose(waic(few, counts).pointwise, waic(np.repeat(few, counts, axis=0)).pointwise, rtol=1e-10)
    np.testing.assert_allclose(psis_loo(LL, np.full(S, 7.0)).pointwise, psis_loo(LL).pointwise, rtol=1e-9)


def test_a_wrong_proposal_is_corrected():
    """Draws twice as wide as the posterior, weighted back."""
    wide = Y.mean() + 2.0 * np.random.default_rng(2).normal(size=S) / np.sqrt(30)
    log_w = -0.5 * 30 * np.square(wide - Y.mean()) + 0.5 * 30 * np.square((wide - Y.mean()) / 2.0)
    ll = -0.5 * np.square(Y - wide[:, None]) - 0.5 * np.log(2.0 * np.pi)
    found = psis_loo(ll, np.exp(log_w - log_w.max()))
    assert np.abs(found.pointwise - exact()).max() < 0.03


def test_copies_leave_together():
    """A row that stands for three: p(y_i | the others) with all three gone."""
    doubled = psis_loo(LL, counts=np.full(30, 3.0)).pointwise
    total = 30 - 3
    others = (Y.sum() - 3 * Y) / total
    closed = -0.5 * np.square(Y - others) / (1 + 1 / total) - 0.5 * np.log(2.0 * np.pi * (1 + 1 / total))
    assert np.abs(doubled - closed).max() < 0.06


def test_an_outlier_is_named():
    y = np.append(Y[:10], 14.0)
    draws = y.mean() + np.random.default_rng(3).normal(size=4000) / np.sqrt(11)
    ll = -0.5 * np.square(y - draws[:, None])
    with pytest.warns(ConvergenceWarning, match=r"1 of 11 rows.*: 10\."):
        psis_loo(ll).warn()
    with pytest.warns(ConvergenceWarning, match=r"WAIC.*10\."):
        waic(ll).warn()
    assert psis_loo(ll).unreliable.tolist() == [10]


@pytest.mark.parametrize("bad", [np.zeros(3), np.full((30, 2), np.nan), np.where(np.eye(30, 2) > 0, -np.inf, 0.0)])
def test_refusals(bad):
    with pytest.raises(DataError):
        psis_loo(bad)


def test_r2_by_hand():
    found = bayesian_r2([[0.0, 2.0], [0.0, 4.0], [1.0, 1.0]], np.ones((3, 1)), [1.0, 1.0, 2.0])
    np.testing.assert_allclose(found.draws, [0.5, 0.8, 0.0])
    assert found.mean == pytest.approx(0.325)
    assert found.sd == pytest.approx(np.sqrt(0.25 * 0.25 + 0.25 * 0.64 - 0.325**2))
    lower, upper = found.interval(0.5)
    assert 0.0 <= lower < upper <= 0.8
    with pytest.raises(DataError, match="two rows"):
        bayesian_r2([[1.0]], 1.0)


def test_r2_counts_rows():
    means, counts = np.random.default_rng(4).normal(size=(50, 6)), np.array([1, 2, 1, 3, 1, 1])
    repeated = np.repeat(means, counts, axis=1)
    np.testing.assert_allclose(
        bayesian_r2(means, 1.0, counts=counts).draws, bayesian_r2(repeated, 1.0).draws, rtol=1e-12
    )
