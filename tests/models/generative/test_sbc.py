"""Simulation-based calibration of densities: class-conditional ones, those of new rows, and the masses of bins.

Parameters from a stated prior, a few rows from them, the fit's posterior: the rank of the true log density at a point
of its own, log p(x | c, θ), among 99 posterior draws is uniform; and so is the rank of a new row of the class among 99
rows drawn from the predictive (its PIT, randomised where cells are discrete). A histogram's masses are ranked bin by
bin.

Columns of naive Bayes, and classes that share nothing, are replicates of one fit. The default priors of Normal,
Student-t, Poisson and kernel columns are scaled by the data, so that nothing can be drawn from them: these families are
judged by quadrature and by draws elsewhere.

A right posterior fails a case with probability 4e-4, one of the seven with .3 %.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import xlogy
from scipy.stats import norm

import credo as cr
from credo.diagnostics.sbc import rank_calibration

ALARM = 4e-4
DRAWS = 99
Ranks = dict[str, np.ndarray]


def rank(draws: Any, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Of every truth among its draws (DRAWS, …), ties broken at random."""
    draws = np.asarray(draws)
    below, tied = (draws < truth).sum(axis=0), (draws == truth).sum(axis=0)
    return np.ravel(below + rng.integers(0, tied + 1))


def gaussian(rng: np.random.Generator, size: int) -> Ranks:
    prior = cr.NormalInverseGamma(0.5, 2.0, 3.0, 3.0)
    mean, variance = (v.reshape(2, size) for v in prior.sample(2 * size, rng))
    y = np.repeat([0, 1], [3, 7])
    X = rng.normal(mean[y], np.sqrt(variance[y]))
    belief = cr.GaussianNB(prior=prior).fit(X, y).beliefs_[0]
    place = rng.normal(0.5, 2.0, (2, size))
    each = [belief.draw(rng) for _ in range(DRAWS)]
    new = [belief.sample(np.array([0, 1]), rng, integrated=True) for _ in range(DRAWS)]
    return {
        "mean": rank([own.mean for own in each], mean, rng),
        "variance": rank([own.variance for own in each], variance, rng),
        "density": rank([norm.logpdf(place, own.mean, np.sqrt(own.variance)) for own in each],
                        norm.logpdf(place, mean, np.sqrt(variance)), rng),
        "new row": rank(new, rng.normal(mean, np.sqrt(variance)), rng),
    }  # fmt: skip


def categorical(rng: np.random.Generator, size: int) -> Ranks:
    """Three categories with a stated prior; cells are missing, some categories unseen."""
    p, m = np.array([0.2, 0.3, 0.5]), 2.5
    theta = rng.dirichlet(m * p, (2, size))
    y = np.repeat([0, 1], [4, 8])

    def drawn(labels: np.ndarray) -> np.ndarray:
        u = rng.random((len(labels), size))
        return np.minimum((u[..., None] > np.cumsum(theta, axis=2)[labels]).sum(axis=2), 2).astype(float)

    X = np.where(rng.random((12, size)) < 0.2, np.nan, drawn(y))
    model = cr.CategoricalNB(equivalent_sample_size=m, prior_estimate=[p] * size, min_categories=3).fit(X, y)
    belief, place = model.beliefs_[0], rng.integers(0, 3, (2, size))
    at = (np.arange(2)[:, None], np.arange(size), place)

    def density(table: np.ndarray) -> np.ndarray:  # (size × (3 + 1 for those unseen), 2) → (2, size)
        return table.reshape(size, 4, 2).transpose(2, 0, 1)[at]

    each = [belief.draw(rng) for _ in range(DRAWS)]
    new = [belief.sample(np.array([0, 1]), rng, integrated=True) for _ in range(DRAWS)]
    return {
        "density": rank([density(own.log_table) for own in each], np.log(theta[at]), rng),
        "new row": rank(new, drawn(np.array([0, 1])), rng),
    }


def bernoulli(rng: np.random.Generator, size: int) -> Ranks:
    theta = rng.beta(3.0 * 0.3, 3.0 * 0.7, (2, size))
    y = np.repeat([0, 1], [3, 6])
    X = (rng.random((9, size)) < theta[y]).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    belief = cr.BernoulliNB(equivalent_sample_size=3, prior_estimate=0.3).fit(X, y).beliefs_[0]
    each = [belief.draw(rng).log_probability[0] for _ in range(DRAWS)]
    new = [belief.sample(np.array([0, 1]), rng, integrated=True) for _ in range(DRAWS)]
    return {"density": rank(each, np.log(theta), rng), "new row": rank(new, rng.random((2, size)) < theta, rng)}


def multinomial(rng: np.random.Generator, size: int) -> Ranks:
    """A class is a replicate: its rows are two documents, the density is that of a third."""
    p = np.array([0.1, 0.2, 0.3, 0.4])
    theta = rng.dirichlet(4.0 * p, size)
    y = np.repeat(np.arange(size), 2)
    model = cr.MultinomialNB(equivalent_sample_size=4.0, prior_estimate=p).fit(rng.multinomial(12, theta[y]), y)
    place = rng.multinomial(9, p, size)
    each = [model.beliefs_[0].draw(rng).log_probability for _ in range(DRAWS)]
    return {"density": rank([(place * own).sum(axis=1) for own in each], xlogy(place, theta).sum(axis=1), rng)}


NIW = cr.NormalInverseWishart(np.array([1.0, -1.0]), 0.5, 6.0, np.array([[4.0, 1.0], [1.0, 2.0]]))


def normal_log_density(x: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    away, (a, b, c) = x - mean, (covariance[:, 0, 0], covariance[:, 0, 1], covariance[:, 1, 1])
    det, (u, v) = a * c - b * b, away.T
    return -0.5 * (c * u * u - 2.0 * b * u * v + a * v * v) / det - 0.5 * np.log(det) - np.log(2.0 * np.pi)


def quadratic(rng: np.random.Generator, size: int) -> Ranks:
    """A class is a replicate: of one row, of three, or of nine."""
    mean, sigma = NIW.sample(size, rng)
    y = np.repeat(np.arange(size), np.resize([1, 3, 9], size))
    root = np.linalg.cholesky(sigma)
    X = mean[y] + np.einsum("nij,nj->ni", root[y], rng.normal(size=(len(y), 2)))
    belief = cr.QuadraticDiscriminantAnalysis(prior=NIW).fit(X, y).beliefs_[0]
    place = rng.normal(size=(size, 2)) * 2.0
    each = [belief.draw(rng) for _ in range(DRAWS)]
    return {
        "mean": rank([own.mean[:, 0] for own in each], mean[:, 0], rng),
        "covariance": rank([own.covariance[:, 0, 1] for own in each], sigma[:, 0, 1], rng),
        "density": rank([normal_log_density(place, own.mean, own.covariance) for own in each],
                        normal_log_density(place, mean, sigma), rng),
    }  # fmt: skip


def linear(rng: np.random.Generator, size: int) -> Ranks:
    """Three classes of one covariance; the density at x is ranked through the log odds of the second class too."""
    ranks: dict[str, list[np.ndarray]] = {"variance": [], "density": [], "odds": []}
    y = np.repeat([0, 1, 2], [2, 3, 4])
    for _ in range(size):
        sigma = cr.InverseWishart(NIW.df, NIW.scale_matrix).sample((), rng)
        root = np.linalg.cholesky(sigma)
        mean = NIW.mean + rng.normal(size=(3, 2)) @ root.T / np.sqrt(NIW.kappa)
        X, x = mean[y] + rng.normal(size=(9, 2)) @ root.T, rng.normal(size=(1, 2)) * 2.0
        model = cr.LinearDiscriminantAnalysis(prior=NIW, priors=[0.2, 0.3, 0.5]).fit(X, y)
        each = [model.beliefs_[0].draw(rng) for _ in range(DRAWS)]
        found = np.stack([own.log_plug(x)[0] for own in each])
        true = normal_log_density(x, mean, sigma[None])
        ranks["variance"].append(rank([own.covariance[0, 0, 0] for own in each], sigma[0, 0], rng))
        ranks["density"].append(rank(found[:, 0], true[0], rng))
        ranks["odds"].append(rank(found[:, 1] - found[:, 0], true[1] - true[0], rng))
    return {label: np.concatenate(own) for label, own in ranks.items()}


def histogram(rng: np.random.Generator, size: int) -> Ranks:
    """Masses of five bins of unlike widths, Jeffreys' prior; two of them, and a new value, are ranked."""
    edges, found = np.array([0.0, 0.1, 0.5, 1.0, 3.0, 4.0]), []
    for _ in range(size):
        mass = rng.dirichlet(np.full(5, 0.5))

        def drawn(n: int, mass: np.ndarray = mass) -> np.ndarray:
            cell = rng.choice(5, n, p=mass)
            return edges[cell] + np.diff(edges)[cell] * rng.random(n)

        model = cr.Histogram(edges).fit(drawn(8)[:, None])
        each = np.asarray(model.posterior_.sample(DRAWS, rng))
        new = model.sample(DRAWS, rng)[:, 0]
        found.append([*(rank(each[:, j], mass[j], rng)[0] for j in (0, 3)), rank(new, drawn(1)[0], rng)[0]])
    return dict(zip(("first bin", "fourth bin", "new row"), np.transpose(found), strict=True))


CASES: dict[Callable[[np.random.Generator, int], Ranks], tuple[int, int]] = {
    gaussian: (400, 20_000), categorical: (400, 4000), bernoulli: (400, 20_000), multinomial: (500, 5000),
    quadratic: (300, 3000), linear: (120, 3000), histogram: (300, 5000),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_densities_are_calibrated(case, replicates, record_property):
    rng = np.random.default_rng(20)
    found = rank_calibration(case(rng, replicates(*CASES[case])), DRAWS, ALARM, rng)
    record_property("least p", float(min(found.p_values.values())))
    assert found.ok, (found.failed, found.p_values)


def test_a_wrong_prior_is_seen():
    """That the ranks have power: a posterior of twice the rows it saw fails."""
    rng = np.random.default_rng(21)
    theta = rng.beta(0.9, 2.1, 2000)
    ones = rng.binomial(6, theta)
    doubled = rng.beta(0.9 + 2 * ones, 2.1 + 2 * (6 - ones), (DRAWS, 2000))
    assert not rank_calibration({"theta": rank(doubled, theta, rng)}, DRAWS, ALARM, rng).ok
