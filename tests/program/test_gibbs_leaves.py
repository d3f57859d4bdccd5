"""Conjugate leaves however they are written: exact moments and evidence against brute force on grids."""

import numpy as np
import pytest
from scipy import stats

import credo as cr
from credo.program import math as cm
from tests.program.zoo.oracle import density, positive, unit

Y = np.array([1.0, 2.5, 2.2, -0.4, 1.6])
G = np.array([0, 1, 1, 0, 1])
COINS = np.array([1.0, 0, 0, 1, 1, 0, 1])
COUNTS = np.array([3.0, 1, 0, 4])
LEAVES = {}


def leaf(build):
    LEAVES[build.__name__] = build
    return build


def normal_of_precision(write):
    m = cr.Model()
    lam = m.latent("x", cr.Gamma(shape=2.0, rate=1.5))
    m.observed("y", cr.Normal(1.0, write(lam)), Y)

    def log_joint(x):
        like = stats.norm.logpdf(Y, 1.0, 1.7 / np.sqrt(x[:, None])).sum(1)
        return like + stats.gamma.logpdf(x, 2, scale=1 / 1.5)

    return m, density(log_joint, x=positive(1e-3, 60, 2000))


@leaf
def precision_by_power():
    return normal_of_precision(lambda lam: 1.7 * lam**-0.5)


@leaf
def precision_by_root():
    return normal_of_precision(lambda lam: 1.7 / cm.sqrt(lam))


@leaf
def precision_by_reciprocal():
    return normal_of_precision(lambda lam: cm.sqrt(1.7**2 / lam))


@leaf
def variance_scaled():
    m = cr.Model()
    v = m.latent("x", cr.InverseGamma(shape=3.0, scale=2.0))
    m.observed("y", cr.Normal(1.0, cm.sqrt(4.0 * v)), Y)

    def log_joint(x):
        return stats.norm.logpdf(Y, 1.0, 2.0 * np.sqrt(x[:, None])).sum(1) + stats.invgamma.logpdf(x, 3, scale=2)

    return m, density(log_joint, x=positive(1e-2, 3e3, 3000))


@leaf
def mean_of_waits():
    """Exponential waits of mean v ~ InverseGamma."""
    waits = np.array([0.3, 2.0, 1.1])
    m = cr.Model()
    m.observed("y", cr.Exponential(1.0 / m.latent("x", cr.InverseGamma(shape=4.0, scale=3.0))), waits)

    def log_joint(x):
        return stats.expon.logpdf(waits, scale=x[:, None]).sum(1) + stats.invgamma.logpdf(x, 4, scale=3)

    return m, density(log_joint, x=positive(1e-2, 1e3, 3000))


@leaf
def precision_of_logs():
    y = np.exp(Y)
    m = cr.Model()
    m.observed("y", cr.LogNormal(1.0, m.latent("x", cr.Gamma(shape=2.0, rate=1.0)) ** -0.5), y)

    def log_joint(x):
        return stats.lognorm.logpdf(y, 1 / np.sqrt(x[:, None]), scale=np.e).sum(1) + stats.gamma.logpdf(x, 2)

    return m, density(log_joint, x=positive(1e-3, 60, 2000))


@leaf
def rate_of_exponential_prior():
    m = cr.Model()
    m.observed("y", cr.Poisson(2.0 * m.latent("x", cr.Exponential(0.7))), COUNTS)

    def log_joint(x):
        return stats.poisson.logpmf(COUNTS, 2 * x[:, None]).sum(1) + stats.expon.logpdf(x, scale=1 / 0.7)

    return m, density(log_joint, x=positive(1e-5, 40, 3000))


@leaf
def rate_in_a_denominator():
    """Gamma(shape, rate = s/v) with v ~ InverseGamma: the mean is v."""
    y = np.array([0.5, 1.5, 2.5])
    m = cr.Model()
    m.observed("y", cr.Gamma(shape=2.0, rate=2.0 / m.latent("x", cr.InverseGamma(shape=3.0, scale=4.0))), y)

    def log_joint(x):
        return stats.gamma.logpdf(y, 2, scale=x[:, None] / 2).sum(1) + stats.invgamma.logpdf(x, 3, scale=4)

    return m, density(log_joint, x=positive(1e-2, 1e4, 3000))


@leaf
def coins_of_unknown_fairness():
    m = cr.Model()
    m.observed("y", cr.Bernoulli(m.latent("x", cr.Uniform(0, 1))), COINS)
    return m, density(lambda x: stats.bernoulli.logpmf(COINS, x[:, None]).sum(1), x=unit())


@leaf
def failures_and_trials():
    """1 − p of several kinds of data, through a name."""
    m = cr.Model()
    p = m.latent("x", cr.Beta(1.5, 2.0))
    q = m.deterministic("q", 1.0 - p)
    m.observed("y", cr.Bernoulli(q), COINS)
    m.observed("z", cr.Binomial(9, q), 4.0)
    m.observed("w", cr.Geometric(p), COUNTS)

    def log_joint(x):
        like = stats.bernoulli.logpmf(COINS, 1 - x[:, None]).sum(1) + stats.binom.logpmf(4, 9, 1 - x)
        return like + stats.geom.logpmf(COUNTS + 1, x[:, None]).sum(1) + stats.beta.logpdf(x, 1.5, 2)

    return m, density(log_joint, x=unit())


@pytest.mark.parametrize("name", LEAVES)
def test_exact(name):
    m, truth = LEAVES[name]()
    assert m.explain().treatment["x"] == "conjugate"
    posterior = m.fit("exact", random_state=0)
    assert posterior.log_evidence == pytest.approx(truth.log_evidence, abs=1e-6)
    assert posterior.mean["x"] == pytest.approx(truth.mean["x"], rel=1e-5)
    assert posterior.sd["x"] == pytest.approx(truth.sd["x"], rel=1e-3)  # heavy tails end with the grid


def test_by_groups():
    """Precisions and probabilities picked by codes, with known multipliers."""
    m = cr.Model()
    lam = m.latent("lam", cr.Gamma(shape=2.0, rate=1.5), shape=2)
    p = m.latent("p", cr.Beta(2.0, 1.0), shape=2)
    m.observed("y", cr.Normal(0.0, np.arange(1.0, 6.0) / cm.sqrt(lam[G])), Y)
    m.observed("z", cr.Bernoulli((1.0 - p)[G]), [1.0, 0, 0, 0, 1])
    posterior = m.fit("exact", random_state=0)
    square = 0.5 * np.square(Y / np.arange(1.0, 6.0))
    shape, rate = 2.0 + 0.5 * np.bincount(G), 1.5 + np.bincount(G, square)
    assert posterior.mean["lam"] == pytest.approx(shape / rate)
    assert posterior.mean["p"] == pytest.approx(np.array([3 / 5, 4 / 6]))


@pytest.mark.parametrize(
    "write", [lambda x: x + 0.1, lambda x: x, lambda x: x**-1.0, lambda x: cm.exp(x), lambda x: cm.sqrt(x) / x**1.5]
)
def test_not_conjugate(write):
    """A Gamma node that is no precision."""
    m = cr.Model()
    m.observed("y", cr.Normal(0.0, write(m.latent("x", cr.Gamma(shape=2.0, rate=1.0)))), Y)
    assert m.explain().treatment == {"x": "quadrature"}
