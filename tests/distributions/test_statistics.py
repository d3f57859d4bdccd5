"""Mergeable statistics: NIST's certified values, exact rational arithmetic, merging and weights."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import credo.distributions as d
from credo.blocks.source import Block
from credo.distributions.statistics import CategoryCounts, ValueCounts, WeightedMoments
from credo.errors import DataError, ParameterError

NIST = Path(__file__).parents[1] / "data" / "nist_univariate"
#: correct digits against the certified values. The data are typed decimals: their rounding to float64 alone moves the
#: sd of NumAcc3 (0.1 around 1e6) by 1e-10 relative, so 9 digits is what the stored numbers hold.
DIGITS = {"lew": 14.0, "lottery": 14.0, "mavro": 12.0, "numacc1": 15.0, "numacc3": 9.0}


def read(name):
    with open(NIST / f"{name}.csv") as file:
        y = np.array([float(row["y"]) for row in csv.DictReader(file)])
    return y, json.loads((NIST / f"{name}_certified.json").read_text())


def digits(value, certified):
    return 15.0 if value == certified else min(15.0, -np.log10(abs(value / certified - 1.0)))


@pytest.mark.parametrize("name", sorted(DIGITS))
def test_nist(name):
    y, certified = read(name)
    moments = WeightedMoments.accumulate(y)
    sd = float(np.sqrt(moments.variance(ddof=1)))
    centred = y - moments.mean
    lag1 = float(centred[:-1] @ centred[1:] / moments.scatter)
    assert digits(float(moments.mean), certified["sample_mean"]) >= 15.0
    assert digits(sd, certified["sample_sd"]) >= DIGITS[name]
    assert digits(lag1, certified["lag1_autocorrelation"]) >= min(DIGITS[name], 11.5)
    # and to rounding for the numbers as stored
    exact = [Fraction(float(v)) for v in y]
    mean = sum(exact) / len(exact)
    scatter = sum((v - mean) ** 2 for v in exact)
    assert abs(float(moments.mean) - float(mean)) <= np.spacing(abs(float(mean)))
    np.testing.assert_allclose(moments.scatter, float(scatter), rtol=1e-14)


@pytest.mark.parametrize("name", ["lew", "lottery", "mavro", "numacc3"])
def test_nist_normal_posterior(name):
    """Prior 1/σ: μ | y is Student-t(n − 1), σ² | y inverse gamma; the quantiles in 50 digits."""
    y, certified = read(name)
    posterior, n = certified["derived_normal_posterior"], len(y)
    moments = WeightedMoments.accumulate(y)
    mu = d.StudentT(n - 1, moments.mean, np.sqrt(moments.variance(1) / n))
    variance = d.InverseGamma(shape=(n - 1) / 2, scale=moments.scatter / 2)
    rtol = 10.0 ** -(DIGITS[name] - 1.0)
    np.testing.assert_allclose(mu.sd, posterior["mu"]["sd"], rtol=rtol)
    offset = posterior["mu"]["quantiles_minus_offset"]["offset"]
    for q, value in posterior["mu"]["quantiles_minus_offset"].items():
        if q != "offset":
            np.testing.assert_allclose(
                mu.quantile(float(q)) - offset, value, rtol=rtol, atol=2 * np.spacing(abs(offset))
            )
    for q, value in posterior["sigma"]["quantiles"].items():
        np.testing.assert_allclose(np.sqrt(variance.quantile(float(q))), value, rtol=rtol)
    shape = variance.shape
    mean_sigma = np.sqrt(variance.scale) * np.exp(special.gammaln(shape - 0.5) - special.gammaln(shape))
    np.testing.assert_allclose(mean_sigma, posterior["sigma"]["mean"], rtol=max(rtol, 1e-13))


def test_shifted_normal_data_have_variance_one():
    rng = np.random.default_rng(3)
    z = rng.standard_normal((200_000, 3))
    for x in (z + 1e8, (z + 4096).astype(np.float32)):
        stored = x.astype(np.longdouble)
        exact = np.asarray(((stored - stored.mean(0)) ** 2).mean(0), dtype=np.float64)
        for full in (False, True):
            moments = WeightedMoments.accumulate(x, full=full)
            assert moments.scatter.dtype == np.float64
            variance = np.diag(moments.variance()) if full else moments.variance()
            np.testing.assert_allclose(variance, exact, rtol=1e-12)
            halves = [WeightedMoments.accumulate(part, full=full) for part in (x[:70_001], x[70_001:])]
            np.testing.assert_allclose(halves[0].merge(halves[1]).scatter, moments.scatter, rtol=1e-12, atol=1e-9)


numbers = st.lists(st.floats(-1e6, 1e6), min_size=0, max_size=12)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(numbers, numbers, numbers)
def test_merge_is_associative_and_equals_one_pass(a, b, c):
    parts = [WeightedMoments.accumulate(np.array(v, dtype=float)) for v in (a, b, c)]
    left, right = parts[0].merge(parts[1]).merge(parts[2]), parts[0].merge(parts[1].merge(parts[2]))
    whole = WeightedMoments.accumulate(np.array(a + b + c, dtype=float))
    for one in (left, right):
        assert (one.count, one.total) == (whole.count, whole.total)
        np.testing.assert_allclose(one.mean, whole.mean, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(one.scatter, whole.scatter, rtol=1e-10, atol=1e-9)


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(0)
    x, w = rng.normal(1e4, 1, (500, 3)), rng.integers(0, 4, 500)
    for full in (False, True):
        a = WeightedMoments.accumulate(x, w, full=full)
        b = WeightedMoments.accumulate(np.repeat(x, w, axis=0), full=full)
        assert a.total == b.total
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-14)
        np.testing.assert_allclose(a.scatter, b.scatter, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(a.variance(), np.cov(x.T, fweights=w, ddof=0), rtol=1e-10, atol=1e-12)


def test_blocks_empty_rows_and_zero_weights():
    x = np.array([[1.0, 2.0], [3.0, 5.0]])
    block = WeightedMoments.accumulate(Block(x, weights=np.array([1.0, 3.0])))
    np.testing.assert_allclose(block.mean, [2.5, 4.25])
    nothing = WeightedMoments.accumulate(np.empty((0, 2)))
    assert nothing.count == 0
    assert nothing.merge(block).total == block.merge(nothing).total == 4.0
    unweighed = WeightedMoments.accumulate(x, np.zeros(2))
    assert (unweighed.count, unweighed.total) == (2, 0.0)
    with pytest.raises(DataError, match="total weight"):
        unweighed.variance()
    with pytest.raises(DataError, match="row 1"):
        WeightedMoments.accumulate(x, np.array([1.0, -1.0]))
    with pytest.raises(ParameterError, match="scatter shape"):
        block.merge(WeightedMoments.accumulate(x, full=True))


def test_counts():
    rng = np.random.default_rng(1)
    x, w = rng.integers(0, 5, 100), rng.random(100)
    a = CategoryCounts.accumulate(x[:40], w[:40], n_categories=5).merge(
        CategoryCounts.accumulate(x[40:], w[40:], n_categories=5)
    )
    np.testing.assert_allclose(a.counts, np.bincount(x, w), rtol=1e-14)
    assert a.total == pytest.approx(w.sum(), rel=1e-14)
    v = ValueCounts.accumulate(x[:40]).merge(ValueCounts.accumulate(x[40:]))
    np.testing.assert_array_equal(v.weights, np.bincount(x))
    with pytest.raises(DataError, match="code 5 in row 1"):
        CategoryCounts.accumulate([0, 5], n_categories=5)
