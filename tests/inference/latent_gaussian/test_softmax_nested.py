"""EP for k classes: against brute force on two rows, binary EP, finite differences, copies of rows."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm, qmc

from credo.distributions.likelihoods import BernoulliLogit, PoissonLog
from credo.errors import ConvergenceWarning, ParameterError
from credo.inference.latent_gaussian import (
    LatentPrior,
    expectation_propagation,
    laplace_softmax,
    softmax_propagation,
)
from credo.inference.latent_gaussian.softmax_rows import poisson_moments

RNG = np.random.default_rng(5)
X = np.linspace(-2.0, 2.0, 14)
Y = np.digitize(X + 0.3 * RNG.normal(size=14), [-0.8, 0.9])


def rbf(a, b, sd, lengthscale):
    return sd**2 * np.exp(-0.5 * ((a[:, None] - b) / lengthscale) ** 2)


@pytest.mark.parametrize("s", [1e-3, 0.5, 4.0, 100.0])
def test_moments_of_a_row(s):
    """As the adaptive quadrature of the Poisson likelihood."""
    m, y, v = s * RNG.normal(size=60), np.arange(60) % 2.0, np.full(60, s * s)
    expected, found = PoissonLog().tilted_moments(y, m, v), poisson_moments(y, m, v)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-9 * s)
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-8)


@pytest.mark.parametrize("sd", [0.5, 2.0, 6.0])
def test_two_rows_by_brute_force(sd):
    """2¹⁷ points of a Sobol sequence in the six whitened latents, right to 1e-3; EP errs by .01, Laplace by ten
    times as much at sd 6."""
    at, y = np.array([0.0, 0.7]), np.array([0, 2])
    K = rbf(at, at, sd, 1.0)
    fit = softmax_propagation(K, y, 3)
    assert fit.result.status == "converged"
    z = norm.ppf(qmc.Sobol(6, rng=np.random.default_rng(0)).random_base2(17)).reshape(-1, 3, 2)
    f = z @ np.linalg.cholesky(K).T
    p = softmax(f, axis=1)
    mass = p[:, 0, 0] * p[:, 2, 1]
    assert fit.log_evidence == pytest.approx(np.log(mass.mean()), abs=0.01)
    assert abs(fit.stationary - np.log(mass.mean())) < 0.1
    contrast = f - f.mean(axis=1, keepdims=True)
    mean = np.einsum("s,scn->nc", mass, contrast) / mass.sum()
    spread = np.einsum("s,scn->nc", mass, (contrast - mean.T) ** 2) / mass.sum()
    np.testing.assert_allclose(fit.mean - fit.mean.mean(axis=1, keepdims=True), mean, atol=0.03 * sd)
    centring = np.eye(3) - 1.0 / 3.0
    found = np.einsum("ac,ncd,ad->na", centring, fit.blocks(), centring)
    np.testing.assert_allclose(found, spread, rtol=0.1)
    laplace = laplace_softmax(K, y, 3)
    assert abs(fit.log_evidence - np.log(mass.mean())) < abs(laplace.log_evidence - np.log(mass.mean()))


def test_two_classes_are_nearly_binary_ep():
    """f₁ − f₀ ~ N(0, 2K); the logistic itself is by an EP of two terms here: means within .05 sds."""
    y, K = (X > 0.1).astype(int), rbf(X, X, 2.0, 0.9)
    binary, fit = expectation_propagation(LatentPrior(2.0 * K), BernoulliLogit(), y), softmax_propagation(K, y, 2)
    difference = fit.mean[:, 1] - fit.mean[:, 0]
    np.testing.assert_allclose(difference, binary.mean, atol=0.05 * np.sqrt(binary.variance.max()))
    assert fit.log_evidence == pytest.approx(binary.log_evidence, abs=0.1)


def test_evidence_weights_are_slopes():
    """Of `stationary`, by central differences of a covariance and a mean of each class."""
    scales = [(1.0, 0.7), (2.5, 1.1), (0.6, 2.0)]
    K = np.stack([rbf(X, X, *s) for s in scales])
    m = np.array([0.2, -0.1, 0.4])
    weight, along = softmax_propagation(K, Y, 3, m, tol=1e-10).evidence_weights()
    bump = rbf(X, X, 1.0, 0.4)
    for c in range(3):
        change, step = np.zeros_like(K), 1e-4
        change[c] = bump
        up, down = (softmax_propagation(K + s * step * change, Y, 3, m, tol=1e-10).stationary for s in (1, -1))
        assert np.sum(weight[c] * bump) == pytest.approx((up - down) / (2 * step), abs=1e-6)
        move = step * np.eye(3)[c]
        up, down = (softmax_propagation(K, Y, 3, m + s * move, tol=1e-10).stationary for s in (1, -1))
        assert along[:, c].sum() == pytest.approx((up - down) / (2 * step), abs=1e-6)


def test_weights_are_copies():
    counts = np.ones(14)
    counts[[3, 8]] = 2.0, 3.0
    rows = np.repeat(np.arange(14), counts.astype(int))
    K = rbf(X, X, 1.5, 0.8)
    fit = softmax_propagation(K, Y, 3, weights=counts)
    whole = softmax_propagation(K[np.ix_(rows, rows)], Y[rows], 3)
    np.testing.assert_allclose(whole.mean, fit.mean[rows], atol=1e-6)
    assert fit.log_evidence == pytest.approx(whole.log_evidence, abs=1e-5)
    assert fit.stationary == pytest.approx(whole.stationary, abs=1e-6)


def test_starts_where_it_was_and_says_what_it_lacks():
    K = rbf(X, X, 2.0, 0.8)
    fit = softmax_propagation(K, Y, 3)
    again = softmax_propagation(K, Y, 3, start=fit.sites)
    assert len(again.result.objective) == 1
    with pytest.warns(ConvergenceWarning, match="differ"):
        assert softmax_propagation(K, Y, 3, max_iter=1).result.status == "max_iter"
    with pytest.raises(ParameterError, match="weights"):
        softmax_propagation(K, Y, 3, weights=np.full(14, 0.5))
    with pytest.raises(ParameterError, match="tol"):
        softmax_propagation(K, Y, 3, tol=0.0)


@pytest.mark.parametrize("sd", [1e-3, 1e3])
@pytest.mark.parametrize("lengthscale", [1e-4, 1e4])
def test_extreme_priors(sd, lengthscale):
    """Constant functions and independent rows, known and unknown: settled, and the evidence of no information where
    the functions are nearly 0."""
    k = 4
    fit = softmax_propagation(rbf(X, X, sd, lengthscale) + 1e-9 * sd**2 * np.eye(14), np.arange(14) % k, k)
    assert fit.result.status == "converged"
    assert np.all(np.isfinite(fit.mean))
    if sd < 1.0:
        assert fit.log_evidence == pytest.approx(-14 * np.log(k), abs=1e-2)
