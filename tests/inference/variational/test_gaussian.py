"""The families as maps: densities by scipy, slopes by differences, and noise that is even."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from credo.inference.variational.gaussian import FullRank, LowRank, even_noise


def families(seed, k=3):
    """Each family about a random guess, with random parameters."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(k, k))
    lower = np.linalg.cholesky(root @ root.T + 0.2 * np.eye(k))
    for family in (
        LowRank(rng.normal(size=k), lower),
        LowRank(rng.normal(size=k), lower, 2),
        FullRank(lower[0], lower),
    ):
        yield family, family.start() + 0.5 * rng.normal(size=family.start().size)


@given(st.integers(0, 10**6))
def test_slopes_are_those_of_differences(seed):
    """Of H(q) + the mean of a cubic over draws: central differences err by h² ~ 1e-10 and rounding 1e-16/h."""
    rng = np.random.default_rng(seed)
    for family, parameters in families(seed):
        noise = rng.normal(size=(8, family.n_noise))
        weights = rng.normal(size=3)

        def value(p, family=family, noise=noise, weights=weights):
            z = family.draw(p, noise)
            return np.mean((z @ weights) ** 2 + np.sum(z**3, axis=1) / 9) + family.entropy(p)[0]

        z = family.draw(parameters, noise)
        slopes = 2 * (z @ weights)[:, None] * weights + z**2 / 3
        found = family.pull_back(parameters, noise, slopes) + family.entropy(parameters)[1]
        h = 1e-5
        steps = np.eye(parameters.size) * h
        differences = [(value(parameters + s) - value(parameters - s)) / (2 * h) for s in steps]
        size = 1.0 + np.abs(value(parameters)) + np.abs(found).max()
        np.testing.assert_allclose(found, differences, atol=1e-6 * size)


@given(st.integers(0, 10**6))
def test_densities_and_entropies_are_scipys(seed):
    for family, parameters in families(seed):
        mean, covariance = family.moments(parameters)
        q = stats.multivariate_normal(mean, covariance)
        z = family.draw(parameters, np.random.default_rng(seed).normal(size=(5, family.n_noise)))
        np.testing.assert_allclose(family.log_prob(parameters, z), q.logpdf(z), rtol=1e-7, atol=1e-7)
        assert family.entropy(parameters)[0] == pytest.approx(q.entropy(), rel=1e-8, abs=1e-8)
        # draws have the moments that are stated: exactly, over even noise
        z = family.draw(parameters, even_noise(64, family.n_noise, np.random.default_rng(seed)))
        np.testing.assert_allclose(z.mean(axis=0), mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(np.cov(z.T, ddof=0), covariance, rtol=1e-8, atol=1e-8)


def test_starts_are_the_guess():
    """Full rank is the guess itself; the diagonal has its precisions; one direction of a one-factor guess is found."""
    loadings, own = np.array([2.0, -1.0, 0.5, 3.0]), np.array([0.5, 1.0, 2.0, 0.8])
    covariance = np.diag(own) + np.outer(loadings, loadings)
    lower = np.linalg.cholesky(covariance)
    full, diagonal, low = FullRank(loadings, lower), LowRank(loadings, lower), LowRank(loadings, lower, 1)
    np.testing.assert_allclose(full.moments(full.start())[1], covariance, rtol=1e-12)
    np.testing.assert_allclose(
        np.diag(diagonal.moments(diagonal.start())[1]), 1 / np.diag(np.linalg.inv(covariance)), rtol=1e-10
    )
    # principal factor analysis ends after a fixed number of rounds: near, which is all that a start needs
    np.testing.assert_allclose(low.moments(low.start())[1], covariance, atol=0.05 * covariance.max())


def test_noise_is_even():
    noise = even_noise(40, 10, np.random.default_rng(0))
    np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(noise.T @ noise / 40, np.eye(10), atol=1e-13)
    few = even_noise(8, 10, np.random.default_rng(0))
    np.testing.assert_allclose(np.mean(few**2, axis=0), 1.0, rtol=1e-13)
    one = even_noise(2, 1, np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(one), 1.0)
