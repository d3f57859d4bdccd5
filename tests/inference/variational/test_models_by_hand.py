"""The engine on factors written out from the textbook ends where credo's own mixtures and topics do, step by step.

The models' code shares nothing with what is here: theirs are EM models whose bound is collapsed over the assignments.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import gammaln

from credo.blocks.array import ArraySource
from credo.inference.em import em
from credo.inference.variational import VariationalFactor, mean_field
from credo.inference.variational import exponential as ef
from credo.models.mixture import BayesianGaussianMixture
from credo.models.topics import LatentDirichletAllocation
from credo.models.topics.cells import TopicSource
from credo.models.topics.dirichlet import DirichletTopics

LOG_2PI = np.log(2 * np.pi)


def run(factors, expected, start, sweeps):
    """That many sweeps, however little the last ones rise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mean_field(factors, expected, start, tol=0.0, parameter_tol=0.0, max_iter=sweeps)


# -- a Gaussian mixture ---------------------------------------------------------------------------------------------


def mixture(X, k, gamma, mean, beta, df, psi):
    """Factors of π, (μ, Λ) and the assignments, and E log p(X, z, π, μ, Λ)."""
    d = X.shape[1]
    prior = ef.NormalWishart.natural(mean, beta, df, psi)
    family = ef.NormalWishart()
    constant = float(gammaln(k * gamma) - k * gammaln(gamma)) - k * family.log_normaliser(prior)
    outer = X[:, :, None] * X[:, None, :]

    def log_density(m):
        """E log N(x | μ_k, Λ_k⁻¹), (n, k)."""
        log_det, precision, shift, square = m["spread"]
        quadratic = np.einsum("nij,kij->nk", outer, precision) - 2 * X @ shift.T + square
        return 0.5 * (log_det - d * LOG_2PI - quadratic)

    def update_weights(m):
        return gamma - 1.0 + m["z"][0].sum(axis=0)

    def update_spread(m):
        r = m["z"][0]
        rows = (
            0.5 * r.sum(axis=0), -0.5 * np.einsum("nk,nij->kij", r, outer), r.T @ X, -0.5 * r.sum(axis=0),
        )  # fmt: skip
        return tuple(np.asarray(own) + seen for own, seen in zip(prior, rows))

    def update_z(m):
        return m["weights"][0] + log_density(m)

    def expected(m):
        total = np.sum(m["z"][0] * (m["weights"][0] + log_density(m))) + (gamma - 1.0) * m["weights"][0].sum()
        spread = sum(np.sum(np.asarray(own) * moment) for own, moment in zip(prior, m["spread"]))
        return float(total + spread + constant)

    return [
        VariationalFactor("weights", ef.Dirichlet(), update_weights),
        VariationalFactor("spread", family, update_spread),
        VariationalFactor("z", ef.Categorical(), update_z),
    ], expected


def mixture_start(model):
    natural = ef.NormalWishart.natural(
        model.means_,
        model.mean_precision_,
        model.degrees_of_freedom_,
        model.covariances_ * model.degrees_of_freedom_[:, None, None],
    )
    return {"weights": (model.weight_concentration_ - 1.0,), "spread": natural}


def test_a_gaussian_mixture_step_by_step():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal([0, 0], [1.0, 0.4], (40, 2)), rng.normal([2.5, 1], 0.7, (30, 2))])
    psi = np.array([[1.0, 0.2], [0.2, 0.7]])
    given = {
        "n_components": 3, "weight_concentration_prior_type": "dirichlet_distribution", "reg_covar": 0.0,
        "weight_concentration_prior": 0.7, "mean_prior": [0.5, 0.2], "mean_precision_prior": 0.8,
        "degrees_of_freedom_prior": 4.0, "covariance_prior": psi, "random_state": 0, "tol": 1e-12,
    }  # fmt: skip
    begun = BayesianGaussianMixture(**given, max_iter=0).fit(X)
    ended = BayesianGaussianMixture(**given, max_iter=5000).fit(X)
    assert ended.converged_
    factors, expected = mixture(X, 3, 0.7, [0.5, 0.2], 0.8, 4.0, psi)
    fit = run(factors, expected, mixture_start(begun), len(ended.lower_bounds_))
    assert fit.result.objective[0] == pytest.approx(begun.lower_bound_, rel=1e-11)
    # Bound by bound, from the start to the end.
    np.testing.assert_allclose(fit.result.objective[: len(ended.lower_bounds_)], ended.lower_bounds_, rtol=1e-11)
    mean, beta, df, psi_ = ef.NormalWishart.parameters(fit.natural["spread"])
    np.testing.assert_allclose(fit.natural["weights"][0] + 1.0, ended.weight_concentration_, rtol=1e-8)
    np.testing.assert_allclose(mean, ended.means_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(beta, ended.mean_precision_, rtol=1e-8)
    np.testing.assert_allclose(psi_ / df[:, None, None], ended.covariances_, rtol=1e-7, atol=1e-9)


# -- topics ---------------------------------------------------------------------------------------------------------


def topics(counts, k, alpha, eta):
    """Factors of θ, φ and the tokens' topics, and E log p(words, z, θ, φ)."""
    documents, words = counts.shape
    constant = documents * (gammaln(alpha.sum()) - gammaln(alpha).sum())
    constant += k * (gammaln(words * eta) - words * gammaln(eta))

    def update_shares(m):
        return alpha - 1.0 + m["z"][0].sum(axis=1)

    def update_words(m):
        return eta - 1.0 + m["z"][0].sum(axis=0).T

    def update_z(m):
        return m["theta"][0][:, None, :] + m["phi"][0].T[None, :, :]

    def expected(m):
        total = np.sum(m["z"][0] * update_z(m)) + np.sum((alpha - 1.0) * m["theta"][0])
        return float(total + (eta - 1.0) * m["phi"][0].sum() + constant)

    return [
        VariationalFactor("theta", ef.Dirichlet(), update_shares),
        VariationalFactor("phi", ef.Dirichlet(), update_words),
        VariationalFactor("z", ef.Categorical(counts), update_z),
    ], expected


def corpus():
    rng = np.random.default_rng(4)
    phi = rng.dirichlet(np.full(9, 0.3), 3)
    return np.stack([rng.multinomial(25, rng.dirichlet(np.full(3, 0.4)) @ phi) for _ in range(14)]).astype(float)


def test_topics_step_by_step():
    counts, k = corpus(), 3
    alpha, eta = np.array([0.5, 0.4, 0.8]), 0.2
    rng = np.random.default_rng(5)
    gamma, lam = rng.gamma(3.0, size=(14, k)), rng.gamma(3.0, size=(9, k))
    model = DirichletTopics((9, k))
    own = em(
        model, TopicSource(ArraySource(counts), 9), model.parameters(gamma, lam, 0.0, alpha, eta), tol=1e-13,
        scale=counts.sum(), max_iter=3000,
    )  # fmt: skip
    assert own.result.status == "converged"
    factors, expected = topics(counts, k, alpha, eta)
    start = {"theta": (gamma - 1.0,), "phi": (lam.T - 1.0,)}
    fit = run(factors, expected, start, own.result.n_iter - 1)
    np.testing.assert_allclose(fit.result.objective, own.result.objective, rtol=1e-11)
    np.testing.assert_allclose(fit.natural["theta"][0] + 1.0, own.params.documents, rtol=1e-9)
    np.testing.assert_allclose(fit.natural["phi"][0].T + 1.0, own.params.words, rtol=1e-9)


def test_fitted_topics_stand_still():
    """The estimator's own answer is a fixed point, with the bound that it reports."""
    counts = corpus()
    model = LatentDirichletAllocation(
        2, doc_topic_prior=0.5, topic_word_prior=0.1, tol=1e-13, max_iter=20_000, random_state=0
    ).fit(counts)
    factors, expected = topics(counts, 2, np.full(2, 0.5), 0.1)
    start = {"phi": (model.components_ - 1.0,), "theta": (0.5 - 1.0 + counts.sum(axis=1)[:, None] * np.full(2, 0.5),)}
    fit = mean_field([factors[2], factors[0], factors[1]], expected, start, tol=1e-15, parameter_tol=1e-9)
    assert fit.elbo / counts.sum() == pytest.approx(model.lower_bound_, rel=1e-9)
