"""Vectors that are Normal with a covariance matrix of hyperparameters: in the block, exactly."""

import numpy as np
import pytest
from scipy import stats

import credo as cr
from credo.program import math as cm
from credo.program.collapsed import Collapsed
from credo.program.plan import plan_of

AT = np.linspace(-1.0, 1.0, 7)
SQUARES = (AT[:, None] - AT) ** 2
Y = np.array([0.3, 0.9, 1.2, 0.7, 0.1, -0.6, -0.4])


def kernel(scale, length):
    return scale**2 * cm.exp(-0.5 * SQUARES / length**2) + 1e-8 * np.eye(7)


def numbers(scale, length):
    return scale**2 * np.exp(-0.5 * SQUARES / length**2) + 1e-8 * np.eye(7)


def process(observed):
    """A Gaussian process with a latent mean, hyperparameters s, l, σ; its values latent or observed."""
    m = cr.Model()
    s, length, sigma = (m.latent(name, cr.HalfNormal(1)) for name in ("s", "l", "sigma"))
    mean = m.latent("mean", cr.Normal(0, 2))
    if observed:
        K = kernel(s, length) + sigma**2 * np.eye(7)
        m.observed("y", cr.MultivariateNormal(mean + 0.5 * s * AT, K), Y)
    else:
        f = m.latent("f", cr.MultivariateNormal(mean + 0.5 * s * AT, kernel(s, length)))
        m.observed("y", cr.Normal(f, sigma), Y)
    return m


@pytest.mark.parametrize("observed", [False, True])
def test_marginal_density_and_slopes(observed):
    """Against the covariance of y, at random θ; slopes by differences."""
    plan = plan_of(process(observed))
    assert {node.name for node in plan.block.nodes} == ({"mean"} if observed else {"mean", "f"})
    collapsed = Collapsed(plan)
    rng = np.random.default_rng(0)
    for _ in range(4):
        x = rng.uniform(0.3, 1.5, size=3)
        s, length, sigma = x
        K = numbers(s, length) + sigma**2 * np.eye(7) + 4.0
        truth = stats.multivariate_normal(0.5 * s * AT, K).logpdf(Y) + stats.halfnorm.logpdf(x).sum()
        value, slope = collapsed._value_and_gradient(x)
        assert abs(value - truth) < 1e-8
        step = 1e-5 * np.eye(3)
        ends = [(collapsed._log_density(x + h) - collapsed._log_density(x - h)) / 2e-5 for h in step]
        np.testing.assert_allclose(slope, ends, rtol=1e-4, atol=1e-5)


def test_process_behind_counts():
    """Against the same process declared by its Cholesky factor, at a length that is known, or nearly."""
    counts = np.array([1, 2, 4, 3, 1, 0, 1])
    L = np.linalg.cholesky(numbers(1.0, 0.5))
    found = []
    for white in (False, True):
        m = cr.Model()
        if white:
            f = L @ m.latent("z", cr.Normal(0, 1), shape=7)
        else:
            length = m.latent("l", cr.LogNormal(np.log(0.5), 1e-3))
            f = m.latent("f", cr.MultivariateNormal(np.zeros(7), kernel(1.0, length)))
        m.deterministic("rate", cm.exp(f))
        m.observed("y", cr.Poisson(cm.exp(f)), counts)
        found.append(m.fit("nested_laplace", random_state=0))
    one, two = found
    assert abs(one.log_evidence - two.log_evidence) < 0.05
    gap = (one["rate"].mean(axis=0) - two["rate"].mean(axis=0)) / two["rate"].std(axis=0)
    assert np.max(np.abs(gap)) < 4.5 * np.sqrt(2.0 / min(p.result.certificate["effective"] for p in found))


def test_large_or_matrix_covariances_stay_out():
    m = cr.Model()
    s = m.latent("s", cr.HalfNormal(1))
    f = m.latent("f", cr.MultivariateNormal(np.zeros(101), s * np.eye(101)))
    m.observed("y", cr.Normal(f, 1.0), np.zeros(101))
    assert "covariance matrix is not known" in str(m.explain())
