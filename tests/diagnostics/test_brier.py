"""Brier score against scikit-learn; its decomposition is an identity; reliability bands hold what they say."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from credo.diagnostics import brier, reliability
from credo.diagnostics.binomial import binomial_cdf, binomial_quantile
from credo.errors import DataError, ParameterError
from credo.prediction.classes import ClassPredictive


def sample(seed, n=300, k=2):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), size=n)
    return p, np.array([rng.choice(k, p=row) for row in p])


@pytest.mark.parametrize("k", [2, 4])
def test_score_is_scikit_learns(k):
    p, y = sample(0, k=k)
    reference = brier_score_loss(y, p[:, 1] if k == 2 else p, labels=np.arange(k))
    assert brier(p, y).score == pytest.approx(reference, rel=1e-12)
    labels = np.array(list("dcba"))[:k]
    assert brier(ClassPredictive(p, labels), labels[y]).score == pytest.approx(reference, rel=1e-12)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n_bins=st.integers(1, 30), digits=st.integers(1, 6), k=st.integers(2, 5))
def test_decomposition_is_an_identity(seed, n_bins, digits, k):
    p, y = sample(seed, n=40, k=k)
    p = np.floor(p * 10**digits) / 10**digits
    p[:, -1] = 1 - p[:, :-1].sum(axis=1)
    b = brier(p, y, n_bins=n_bins)
    assert b.reliability - b.resolution + b.uncertainty + b.within == pytest.approx(b.score, abs=1e-13)
    assert min(b.reliability, b.resolution, b.uncertainty) >= 0


def test_decomposition_of_forecasts_with_few_values_is_murphys():
    p = np.repeat([0.1, 0.6, 0.9], [20, 20, 20])
    y = np.concatenate([np.arange(20) < c for c in (3, 10, 18)]).astype(int)
    b = brier(p, y, n_bins=3)
    assert b.within == pytest.approx(0.0, abs=1e-15)
    assert b.reliability == pytest.approx(np.mean([0.05**2, 0.1**2, 0.0]))
    assert b.uncertainty == pytest.approx((31 / 60) * (29 / 60))
    # Equal forecasts are never parted, however many bins are asked for.
    assert len(reliability(p, y, n_bins=50).count) == 3


def test_constant_base_rate_scores_the_uncertainty():
    y = np.array([0, 0, 0, 1])
    b = brier(np.full(4, 0.25), y)
    assert (b.score, b.reliability, b.resolution) == (pytest.approx(b.uncertainty), pytest.approx(0), pytest.approx(0))


def test_reliability_of_calibrated_forecasts_stays_in_its_band():
    inside = []
    for seed in range(40):
        p, y = sample(seed, n=500)
        inside.append(reliability(p, y, mass=0.9).inside)
    # 400 bins at ≥ .9 each: fewer than .84 inside has probability below 1e-4 (binomial).
    assert 0.84 < np.mean(inside) <= 0.97


def test_reliability_finds_overconfidence():
    p, y = sample(1, n=2000)
    sharp = p[:, 1] ** 3 / (p[:, 1] ** 3 + p[:, 0] ** 3)
    bad, good = reliability(sharp, y), reliability(p, y)
    assert bad.error > 2 * good.error
    assert bad.inside.mean() < 0.5


def test_bands_are_binomial_quantiles():
    r = reliability(np.full(40, 0.3), [0] * 30 + [1] * 10, mass=0.9)
    assert (r.lower * 40).tolist() == [scipy.stats.binom.ppf(0.05, 40, 0.3)]
    assert (r.upper * 40).tolist() == [scipy.stats.binom.ppf(0.95, 40, 0.3)]
    sure = reliability(np.array([0.0, 0.0, 1.0]), [0, 0, 1])
    assert sure.lower.tolist() == sure.upper.tolist() == [0.0, 1.0]


def test_binomial_quantile_is_the_generalised_inverse():
    rng = np.random.default_rng(0)
    n, p, q = rng.integers(1, 3000, 3000), rng.random(3000), 10 ** rng.uniform(-12, -1e-9, 3000)
    k = binomial_quantile(q, n, p)
    assert np.all(binomial_cdf(k, n, p) >= q)
    assert np.all(binomial_cdf(k - 1, n, p) < q)
    np.testing.assert_allclose(binomial_cdf(k, n, p), scipy.stats.binom.cdf(k, n, p), rtol=1e-9)


def test_one_class_of_several_or_the_top_one():
    p, y = sample(3, n=400, k=3)
    one = reliability(p, y, label=2)
    np.testing.assert_allclose(np.average(one.frequency, weights=one.count), np.mean(y == 2))
    top = reliability(p, y)
    np.testing.assert_allclose(np.average(top.frequency, weights=top.count), np.mean(p.argmax(axis=1) == y))
    np.testing.assert_allclose(np.average(top.forecast, weights=top.count), p.max(axis=1).mean())


def test_bad_input_is_named():
    with pytest.raises(DataError, match="'c' in row 0"):
        brier([[0.5, 0.5]], ["c"], ["a", "b"])
    with pytest.raises(DataError, match="0 labels"):
        brier(np.empty((0, 2)), [])
    with pytest.raises(ParameterError, match="n_bins"):
        brier([0.5], [1], n_bins=0)
    with pytest.raises(ParameterError, match="mass"):
        reliability([0.5], [1], mass=1.0)
    with pytest.raises(ParameterError, match="2 labels"):
        brier([0.5], [1], classes=[1])
