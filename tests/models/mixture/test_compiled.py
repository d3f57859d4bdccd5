"""The compiled pass gives the numbers of the matrix products, the same bits for any threads, and only to long fits."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

from credo.models.mixture import BayesianGaussianMixture, GaussianMixture, expectation, full_pass
from credo.models.mixture.coordinates import scaled_columns, whitened
from credo.models.mixture.expectation import Gaussians
from credo.models.mixture.full_pass import compiled_moments, is_worth_compiling
from credo.models.mixture.gaussian import GaussianParams


def gaussians(k: int, d: int, rng: np.random.Generator, weights: np.ndarray | None = None) -> Gaussians:
    turn = rng.normal(size=(k, d, d))
    covariance = turn @ turn.swapaxes(1, 2) / d + 0.2 * np.eye(d)
    weights = np.full(k, 1 / k) if weights is None else weights
    return GaussianParams.of("full", weights, rng.normal(size=(k, d)), covariance).gaussians


@pytest.mark.parametrize(("n", "d", "k"), [(1, 4, 2), (255, 1, 3), (700, 3, 1), (513, 4, 5), (900, 7, 3), (300, 32, 4)])
@pytest.mark.parametrize("power", [1.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_matrix_products(n, d, k, power, weighted):
    rng = np.random.default_rng(n)
    X = rng.normal(1e4, 3.0, (n, d))
    moved = whitened(X.mean(axis=0), np.atleast_2d(np.cov(X.T)) if n > 1 else np.eye(d))
    g, weights = gaussians(k, d, rng), rng.uniform(0, 2, n) * (rng.random(n) < 0.9) if weighted else None
    found = compiled_moments(X, weights, moved, g, power)
    other = expectation._quadratic(moved.columns(X), weights, g, power)
    assert found.log_likelihood == pytest.approx(other.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(found.weight, other.weight, rtol=1e-11, atol=1e-250)
    np.testing.assert_allclose(found.first, other.first, rtol=1e-9, atol=1e-11 * n)
    np.testing.assert_allclose(found.second, other.second, rtol=1e-9, atol=1e-11 * n)


def test_rows_out_of_reach_and_components_without_rows():
    """Far from a component its share is 0, not a denormal; one of weight 0 gets nothing."""
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(-40.0, 1.0, (400, 4)), rng.normal(40.0, 1.0, (200, 4))])
    identity = scaled_columns(np.zeros(4), np.ones(4))
    mean, covariance = np.array([[-40.0] * 4, [40.0] * 4, [0.0] * 4]), np.stack([np.eye(4)] * 3)
    g = GaussianParams.of("full", np.array([0.5, 0.5, 0.0]), mean, covariance).gaussians
    found = compiled_moments(X, None, identity, g, 1.0)
    assert found.weight.tolist() == [400.0, 200.0, 0.0]
    assert not found.second[2].any()
    np.testing.assert_allclose(found.first[1], X[400:].sum(axis=0), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("cls", [GaussianMixture, BayesianGaussianMixture])
def test_a_fit_is_the_same_compiled_or_not_and_to_the_bit_for_any_threads(cls, dtype, monkeypatch):
    rng = np.random.default_rng(5)
    X = np.asfortranarray((rng.normal(size=(60_000, 5)) + rng.integers(0, 3, (60_000, 1)) * 4.0).astype(dtype))
    fits = {}
    for least, threads in ((10**9, 1), (1, 1), (1, 2)):
        monkeypatch.setattr(full_pass, "LEAST_WORK", least)
        monkeypatch.setenv("CREDO_NUM_THREADS", str(threads))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # six steps need not converge
            fits[least, threads] = cls(n_components=3, max_iter=6, tol=0.0, random_state=0).fit(X)
    plain, one, two = fits.values()
    assert one.lower_bound_ == two.lower_bound_
    assert np.array_equal(one.means_, two.means_)
    assert np.array_equal(one.covariances_, two.covariances_)
    rtol = 1e-8 if dtype is np.float64 else 1e-5
    assert one.lower_bound_ == pytest.approx(plain.lower_bound_, rel=1e-11)
    np.testing.assert_allclose(one.means_, plain.means_, rtol=rtol)
    np.testing.assert_allclose(one.covariances_, plain.covariances_, rtol=rtol, atol=rtol)


def test_small_fits_compile_nothing():
    assert is_worth_compiling(200_000, 8, 8)
    assert not is_worth_compiling(100_000, 8, 8)
    assert not is_worth_compiling(10**7, 2, 8)
    code = (
        "import sys, numpy as np, credo as cr; "
        "cr.GaussianMixture(3, random_state=0).fit(np.random.default_rng(0).normal(size=(1000, 2))); "
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
