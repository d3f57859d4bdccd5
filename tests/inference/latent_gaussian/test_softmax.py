"""Laplace for k classes: against the binary case and against dense (nk)² algebra."""

import numpy as np
import pytest

from credo.distributions.likelihoods import BernoulliLogit, CategoricalLogit
from credo.errors import ParameterError
from credo.inference.latent_gaussian import LatentPrior, laplace_latent, laplace_softmax

X = np.linspace(-2.0, 2.0, 9)
NEW = np.array([-1.3, 0.4, 5.0])
Y = np.digitize(X, [-0.8, 0.9])


def rbf(a, b, sd, lengthscale):
    return sd**2 * np.exp(-0.5 * ((a[:, None] - b) / lengthscale) ** 2)


def test_two_classes_are_the_binary_case():
    """f₁ − f₀ ~ N(0, 2K)."""
    y, k = (X > 0.1).astype(int), rbf(X, X, 1.3, 0.9)
    binary, softmax = laplace_latent(LatentPrior(2.0 * k), BernoulliLogit(), y), laplace_softmax(k, y, 2)
    np.testing.assert_allclose(softmax.mean[:, 1] - softmax.mean[:, 0], binary.mean, rtol=1e-9)
    assert softmax.log_evidence == pytest.approx(binary.log_evidence, rel=1e-11)
    cross = rbf(X, NEW, 1.3, 0.9)
    mean, covariance = softmax.predict(cross, np.full(3, 1.69))
    m, v = binary.predict(2.0 * cross, np.full(3, 2 * 1.69))
    np.testing.assert_allclose(mean[:, 1] - mean[:, 0], m, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(np.einsum("a,qab,b->q", [1, -1], covariance, [1, -1]), v, rtol=1e-8)


def test_three_classes_against_dense_algebra():
    scales = [(1.0, 0.7), (1.5, 1.1), (0.6, 2.0)]
    covariances = np.stack([rbf(X, X, *s) for s in scales])
    prior_mean = np.array([0.2, -0.1, 0.4])
    fit = laplace_softmax(covariances, Y, 3, prior_mean)
    assert fit.result.status == "converged"
    n, k = 9, 3
    likelihood = CategoricalLogit(3)
    value, gradient, hessian = likelihood.value_and_derivatives(Y, fit.mean)
    whole, w = np.zeros((n * k, n * k)), np.zeros((n * k, n * k))
    for c in range(k):
        whole[c * n : (c + 1) * n, c * n : (c + 1) * n] = covariances[c]
        for d in range(k):
            w[c * n : (c + 1) * n, d * n : (d + 1) * n] = -np.diag(hessian[:, c, d])
    shift = (fit.mean - prior_mean).T.ravel()
    alpha = gradient.T.ravel()
    np.testing.assert_allclose(shift, whole @ alpha, atol=1e-7)
    evidence = value.sum() - 0.5 * alpha @ shift - 0.5 * np.linalg.slogdet(np.eye(n * k) + whole @ w)[1]
    assert fit.log_evidence == pytest.approx(evidence, rel=1e-9)
    cross = np.stack([rbf(X, NEW, *s) for s in scales])
    variances = np.array([[s[0] ** 2] * 3 for s in scales])
    mean, covariance = fit.predict(cross, variances, prior_mean)
    reduce = w @ np.linalg.inv(np.eye(n * k) + whole @ w)
    for q in range(3):
        columns = np.zeros((n * k, k))
        for c in range(k):
            columns[c * n : (c + 1) * n, c] = cross[c, :, q]
        np.testing.assert_allclose(mean[q], prior_mean + columns.T @ alpha, rtol=1e-8)
        np.testing.assert_allclose(
            covariance[q], np.diag(variances[:, q]) - columns.T @ reduce @ columns, rtol=1e-7, atol=1e-9
        )


def test_refuses_covariances_of_another_shape():
    with pytest.raises(ParameterError, match="covariances"):
        laplace_softmax(np.eye(3), [0, 1], 2)
