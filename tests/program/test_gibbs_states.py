"""Gibbs sampling of states: picked means, paths of hidden chains, tied labels; against sums over all states."""

import itertools

import numpy as np
import pytest
from scipy import stats

import credo as cr
from tests.program.test_gibbs import agrees, said
from tests.program.zoo.oracle import density, real

Y = np.array([-1.9, 2.2, 1.6, -2.4, 0.3, 2.0])


def mixture():
    """Means picked by labels, one block given these."""
    m = cr.Model()
    mu = m.latent("mu", cr.Normal([-2.0, 2.0], 0.4), shape=2)
    z = m.latent("z", cr.Categorical([0.4, 0.6]), shape=6)
    m.observed("y", cr.Normal(mu[z], 0.7), Y)

    def log_joint(a, b):
        zero, one = (np.log(w) + stats.norm.logpdf(Y, x[:, None], 0.7) for w, x in ((0.4, a), (0.6, b)))
        prior = stats.norm.logpdf(a, -2, 0.4) + stats.norm.logpdf(b, 2, 0.4)
        return np.logaddexp(zero, one).sum(1) + prior

    found = density(log_joint, a=real(-5, 2, 250), b=real(-2, 5, 250))
    pair = lambda moments: {"mu": np.array([moments["a"], moments["b"]])}
    return m, type(found)(pair(found.mean), pair(found.sd)), {"mu": "2 entries drawn together", "z": "all at once"}


def hidden_chain():
    """The path is drawn at once, by elimination."""
    initial, step = np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]])
    m = cr.Model()
    z = m.chain("z", initial, step, shape=6)
    a = m.latent("a", cr.Normal(0.0, 3.0))
    m.observed("y", cr.Normal(a * z, 1.0), Y)

    def log_joint(a):
        logs = []
        for path in itertools.product((0, 1), repeat=6):
            prior = np.log(initial[path[0]]) + sum(np.log(step[i, j]) for i, j in itertools.pairwise(path))
            logs.append(prior + stats.norm.logpdf(Y, a[:, None] * np.array(path), 1.0).sum(1))
        return np.logaddexp.reduce(logs) + stats.norm.logpdf(a, 0, 3)

    return m, density(log_joint, a=real(-9, 9, 800)), {"a": "drawn together", "z": "drawn together"}


def parent_and_child():
    """Labels of laws of their own, one the parent of the other."""
    m = cr.Model()
    a = m.latent("a", cr.Bernoulli(0.3), shape=3)
    p = m.latent("p", cr.Beta(2.0, 2.0))
    b = m.latent("b", cr.Bernoulli(0.2 + 0.6 * a), shape=3)
    m.observed("x", cr.Bernoulli(p), [1.0, 1.0, 0.0])
    m.observed("y", cr.Normal(b, 0.5), [0.9, 0.1, 0.6])

    def one(y):
        weights = np.array([[0.7 * 0.8, 0.7 * 0.2], [0.3 * 0.2, 0.3 * 0.8]]) * stats.norm.pdf(y, [0.0, 1.0], 0.5)
        return weights[1].sum() / weights.sum(), weights[:, 1].sum() / weights.sum()

    shares = np.array([one(y) for y in (0.9, 0.1, 0.6)])
    mean = {"a": shares[:, 0], "b": shares[:, 1]}
    found = density(lambda t: np.zeros_like(t), t=real(0, 1, 9))
    return m, type(found)(mean, {k: np.sqrt(v * (1 - v)) for k, v in mean.items()}), {"p": "Beta"}


@pytest.mark.parametrize("build", [mixture, hidden_chain, pytest.param(parent_and_child, marks=pytest.mark.slow)])
def test_against_all_states(build):
    m, truth, expected = build()
    posterior = m.fit("gibbs", random_state=3)
    assert posterior.result.ok
    for node, words in expected.items():
        assert words in said(posterior)[node]
    agrees(posterior, truth)


@pytest.mark.slow
def test_ordered_means_of_a_mixture():
    """An order among the entries is kept, and the answer is that of states summed out."""
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0.0, 2.0), shape=2, ordered=True)
    z = m.latent("z", cr.Categorical([0.4, 0.6]), shape=6)
    m.observed("y", cr.Normal(mu[z], 0.7), Y)
    gibbs, auto = m.fit("gibbs", random_state=1), m.fit(random_state=2)
    assert np.all(gibbs["mu"][:, 0] < gibbs["mu"][:, 1])
    error = 4.5 * auto.sd["mu"] * np.sqrt(1 / 400 + 1 / 1000)
    assert np.all(np.abs(gibbs.mean["mu"] - auto.mean["mu"]) < error)
