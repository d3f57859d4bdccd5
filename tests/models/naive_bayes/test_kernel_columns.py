"""Kernel-density columns: what the Dirichlet weights of the rows do to log f, by quadrature and by draws."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import digamma, entr, logsumexp, polygamma
from scipy.stats import norm

from credo.models.naive_bayes import NaiveBayes
from credo.models.naive_bayes.kde import KernelColumn


def _column(rng: np.random.Generator, n: int) -> KernelColumn:
    values = np.sort(rng.normal(0.0, 2.0, n))
    return KernelColumn(values, np.ones((n, 1)), np.array([0.8]), 0.0, 2.0)


def _atoms(column: KernelColumn, x: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Densities (n, atoms) at x of a class's atoms, the base last, and their Dirichlet weights."""
    kernels = [norm(value, column.widths[c]).pdf(x) for value in column.values]
    base = norm(column.base_mean, column.base_sd).pdf(x)
    weights = np.append(column.weights[:, c], column.concentration)
    return np.stack([*kernels, base], axis=1)[:, weights > 0], weights[weights > 0]


def _exact(column: KernelColumn, x: float, seen: bool) -> tuple[float, float]:
    """Mean and variance of log f(x) by one integral.

    X = Σ K_i G_i has Laplace transform L(t) = Π (1 + t K_i)^(−w_i). With E ~ Exp(1), P(E/X > t) = L(t): so the law of
    log E − log X is known, and its cumulants less those of log E are those of −log X. Seen: L becomes −L'/E X.
    """
    atoms, w = _atoms(column, np.array([x]), 0)
    k = atoms[0]
    centre = -np.log(w @ k)

    def survival(u: float) -> float:
        t = np.exp(u + centre)
        own = np.exp(-w @ np.log1p(t * k))
        return own * ((w * k) @ (1 / (1 + t * k))) / (w @ k) if seen else own

    pieces = list(pairwise(np.linspace(-30.0, 30.0, 21)))
    area = sum(quad(survival, a, b)[0] for a, b in pieces)
    square = sum(quad(lambda u: 2 * u * survival(u), a, b)[0] for a, b in pieces)
    # E U = a + ∫ S and E U² = a² + ∫ 2uS for a law on (a, ∞)
    mean, second = -30.0 + area, 900.0 + square
    total = w.sum() + seen
    log_x_mean, log_x_variance = digamma(1) - (centre + mean), second - mean**2 - polygamma(1, 1)
    return float(log_x_mean - digamma(total)), float(log_x_variance - polygamma(1, total))


@pytest.mark.parametrize("n", [2, 6, 30])
def test_moments_of_log_density_equal_quadrature(n):
    """The Gamma that stands for Σ K_i G_i: mean and sd of log f within .1 and .2 nats, within .02 once x was seen.

    It is worst between the rows and the base alone; measured .07 and .18, .018 and .016, up to 100 rows.
    """
    column = _column(np.random.default_rng(n), n)
    for x in (-3.0, 0.2, 2.5, 5.0):
        mean, variance, mean_seen, variance_seen = (float(v[0, 0]) for v in column.four(np.array([x])))
        exact, seen = _exact(column, x, False), _exact(column, x, True)
        assert mean == pytest.approx(exact[0], abs=0.1)
        assert np.sqrt(variance) == pytest.approx(np.sqrt(exact[1]), abs=0.2)
        assert mean_seen == pytest.approx(seen[0], abs=0.02)
        assert np.sqrt(variance_seen) == pytest.approx(np.sqrt(seen[1]), abs=0.02)


def test_far_from_all_rows_the_base_alone_is_left_and_its_weight_is_beta():
    column = KernelColumn(np.array([0.0, 0.1, 0.2]), np.ones((3, 1)), np.array([0.05]), 0.0, 3.0)
    found = [float(v[0, 0]) for v in column.four(np.array([8.0]))]
    log_base = -0.5 * (8.0 / 3.0) ** 2 - np.log(3.0 * np.sqrt(2 * np.pi))
    expected = [log_base + digamma(1) - digamma(4), polygamma(1, 1) - polygamma(1, 4)]
    expected += [log_base + digamma(2) - digamma(5), polygamma(1, 2) - polygamma(1, 5)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert np.all(np.isfinite(column.four(np.array([1e3, -1e200]))))


def _drawn_split(model: NaiveBayes, cells: np.ndarray, rng: np.random.Generator, draws: int) -> np.ndarray:
    """E H(y | x, θ) over p(θ | D, x), by draws of the Dirichlet weights of classes and atoms weighted by p(x | θ)."""
    log_class = np.log(np.asarray(rng.dirichlet(model.class_belief_.weight, draws)))
    log_f = np.repeat(log_class[:, None], len(cells), axis=1)
    for j, column in enumerate(model.beliefs_[0].columns):
        for c in range(2):
            atoms, weights = _atoms(column, cells[:, j], c)
            log_f[:, :, c] += np.log(rng.dirichlet(weights, draws) @ atoms.T)
    evidence = logsumexp(log_f, axis=2)
    weight = np.exp(evidence - evidence.max(axis=0))
    return (weight * entr(np.exp(log_f - evidence[:, :, None])).sum(axis=2)).sum(axis=0) / weight.sum(axis=0)


@pytest.mark.parametrize(("n", "tolerance"), [(2, 0.05), (6, 0.02), (20, 0.02)])
@pytest.mark.parametrize("d", [1, 2])
def test_split_of_the_entropy_agrees_with_draws(n, tolerance, d):
    """At the rows, between and beyond them; 40,000 draws of three data sets (their own error is below .003)."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], n)
        X = rng.normal(y[:, None], 1.5, (2 * n, d))
        model = NaiveBayes("kde").fit(X, y)
        cells = np.concatenate([X[:: max(1, n // 3)], np.linspace(-8.0, 8.0, 9)[:, None] * np.ones(d)])
        found = model.predict_distribution(cells)
        np.testing.assert_allclose(found.aleatoric, _drawn_split(model, cells, rng, 40_000), atol=tolerance)
        np.testing.assert_allclose(found.aleatoric + found.epistemic, found.entropy, rtol=1e-12)
