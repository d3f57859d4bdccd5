"""Predictions of a Model are mixtures of laws over draws: quantiles invert the averaged distribution function."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import credo as cr
from credo.decisions import decide
from credo.decisions.decide import expected_loss
from credo.errors import ParameterError, UnavailableError
from credo.prediction.classes import ClassPredictive
from credo.program.predictive import Members, ModelPredictive, ShapedPredictive, averaged


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(3)
    x = rng.normal(size=40)
    m = cr.Model()
    X = m.data("x", x, dims="obs")
    a, b = m.latent("a", cr.Normal(0, 3)), m.latent("c", cr.Normal(0, 3))
    sigma = m.latent("sigma", cr.HalfNormal(2))
    m.observed("y", cr.Normal(a + b * X, sigma), 1 + 2 * x + rng.normal(size=40), dims="obs")
    return m.fit(draws=1000, random_state=0)


def by_hand(posterior, x):
    """Mean and sd of y at each draw, (draws, rows)."""
    return posterior["a"][:, None] + posterior["c"][:, None] * x, posterior["sigma"][:, None]


def test_it_is_the_average_of_the_laws(line):
    x = np.array([-1.0, 0.0, 4.0])
    p = line.predict(x=x)
    mean, sd = by_hand(line, x)
    assert isinstance(p, ModelPredictive)
    y = np.array([-2.0, 1.5, 9.0])
    assert np.allclose(p.mean, mean.mean(axis=0))
    assert np.allclose(p.variance, mean.var(axis=0) + np.mean(sd**2))
    assert np.allclose(p.cdf(y), stats.norm.cdf(y, mean, sd).mean(axis=0))
    assert np.allclose(p.log_prob(y), np.log(stats.norm.pdf(y, mean, sd).mean(axis=0)))
    assert p.draws.shape == (1000, 3)
    assert p.draws is p.draws
    assert np.array_equal(p[1:].draws, p.draws[:, 1:])


@pytest.mark.parametrize("q", [0.05, [0.1, 0.5, 0.99], 1e-9, 1.0 - 1e-12])
def test_quantiles_are_exact(line, q):
    p = line.predict(x=[-1.0, 0.0, 4.0])
    assert np.allclose(p.cdf(p.quantile(q)), np.reshape(q, (*np.shape(q), 1)), rtol=1e-8, atol=0)


def test_ends_and_bad_levels(line):
    p = line.predict(x=[0.0])
    assert p.quantile(0.0) == -np.inf
    assert p.quantile(1.0) == np.inf
    with pytest.raises(ParameterError):
        p.quantile(1.1)


def test_draws_of_rows_belong_together(line):
    """Rows of one draw share its parameters: at x = 4 outcomes correlate, though noise does not."""
    d = line.predict(x=[4.0, 4.0]).draws
    mean, sd = by_hand(line, 4.0)
    expected = mean.var() / (mean.var() + np.mean(sd**2))
    assert abs(np.corrcoef(d.T)[0, 1] - expected) < 4 / np.sqrt(1000)


@pytest.mark.parametrize("family", ["poisson", "negative binomial", "binomial", "bernoulli"])
def test_counts(family):
    rng = np.random.default_rng(0)
    mean = np.exp(rng.normal(1, 0.5, size=(400, 6)))
    law = {
        "poisson": cr.Poisson(mean), "negative binomial": cr.NegativeBinomial(mean, 1.5),
        "binomial": cr.Binomial(12, mean / (1 + mean)), "bernoulli": cr.Bernoulli(mean / (1 + mean)),
    }[family]  # fmt: skip
    p = averaged(law, (6,), 400, "count", "nuts", lambda: law.sample(None, rng))
    for level in (0.01, 0.3, 0.5, 0.97):
        k = p.quantile(level)
        assert np.all(p.cdf(k) >= level)
        assert np.all(p.cdf(k - 1) < level)


def test_several_axes():
    rng = np.random.default_rng(0)
    law = cr.Normal(rng.normal(size=(500, 3, 2)), np.exp(0.1 * rng.normal(size=(500, 1, 2))))
    p = averaged(law, (3, 2), 500, "real", "nuts", lambda: law.sample(None, rng))
    assert isinstance(p, ShapedPredictive)
    assert p.shape == p.mean.shape == (3, 2)
    assert p.draws.shape == (500, 3, 2)
    y = rng.normal(size=(3, 2))
    assert np.allclose(p.cdf(y), law.cdf(y).mean(axis=0))
    assert np.allclose(p.mean, law.mean.mean(axis=0))
    assert p.quantile([0.1, 0.9]).shape == (2, 3, 2)
    assert np.allclose(p.cdf(p.quantile(0.9)), 0.9)
    assert np.allclose(p[1].mean, p.mean[1])
    assert np.allclose(p[:2].log_prob(y[:2]), p.log_prob(y)[:2])
    assert p.sample(7, 0).shape == (7, 3, 2)
    assert np.allclose(p.variance, p.aleatoric + p.epistemic)


def test_members_take_rows_of_any_parameters():
    shape = (4, 3)
    parameters = {
        "mean": np.arange(12.0).reshape(1, 4, 3) + np.arange(5)[:, None, None],
        "sd": np.array([1.0, 2.0, 3.0]),
    }
    members = Members(cr.Normal(**parameters), shape)
    rows = np.array([0, 7, 11])
    law = members(rows)
    assert np.array_equal(law.mean[2], [2.0, 9.0, 13.0])
    assert np.array_equal(law.sd, [1.0, 2.0, 3.0])
    assert members(np.arange(12)).mean.shape == (5, 12)


def test_decisions_are_exact(line):
    p = line.predict(x=[0.0, 4.0])
    loss = cr.losses.Linear(over=1, under=3)
    assert np.allclose(decide(p, loss), p.quantile(0.75))
    mean, sd = by_hand(line, np.array([0.0, 4.0]))
    assert np.allclose(expected_loss(p, cr.losses.Square()), mean.var(axis=0) + np.mean(sd**2))
    z = (p.mean - mean) / sd
    spread = sd * (2 * stats.norm.pdf(z) + z * (2 * stats.norm.cdf(z) - 1))
    assert np.allclose(expected_loss(p, cr.losses.Absolute(), p.mean), spread.mean(axis=0))


def test_classes():
    rng = np.random.default_rng(0)
    y = rng.choice(3, size=60, p=[0.5, 0.3, 0.2])
    m = cr.Model()
    p = m.latent("p", cr.Dirichlet(np.ones(3)))
    m.observed("y", cr.Categorical(p), y, dims="obs")
    posterior = m.fit(random_state=0)
    found = posterior.predict()
    assert isinstance(found, ClassPredictive)
    assert found.classes.tolist() == [0, 1, 2]
    assert np.allclose(found.probabilities[0], (1 + np.bincount(y)) / 63, atol=0.01)
    assert decide(found, cr.losses.ZeroOne())[0] == 0
    assert posterior.law_draws().means().shape == (4000, 60, 3)


def test_law_draws(line):
    x = np.array([0.0, 1.0])
    found = line.law_draws(x=x)
    assert np.allclose(found.means(), by_hand(line, x)[0])
    assert found.log_prob([0.0, 3.0]).shape == (1000, 2)
    assert line.law_draws(x=x, draws=50).means().shape == (50, 2)


def test_vectors_have_no_law_draws():
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 1), shape=2)
    m.observed("y", cr.MultivariateNormal(mu, np.eye(2)), np.zeros((5, 2)))
    posterior = m.fit(draws=200, random_state=0)
    assert posterior.predict().draws.shape == (200, 5, 2)
    with pytest.raises(UnavailableError):
        posterior.law_draws()


def test_log_likelihoods_have_states_summed_out():
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(-2, 1, 20), rng.normal(2, 1, 10)])
    y[3] = np.nan
    m = cr.Model()
    share, mu = m.latent("share", cr.Dirichlet(np.ones(2))), m.latent("mu", cr.Normal([-2.0, 2.0], 1.0))
    z = m.latent("z", cr.Categorical(share), shape=30)
    m.observed("y", cr.Normal(mu[z], 1.0), y)
    posterior = m.fit(draws=200, random_state=0)
    found = posterior.log_likelihood()
    by_state = stats.norm.pdf(y[:, None], posterior["mu"][:, None], 1.0)
    expected = np.log(np.sum(posterior["share"][:, None] * by_state, axis=-1))
    assert np.allclose(found, expected, equal_nan=True)
    assert posterior.probabilities("z").shape == (30, 2)
