"""Every kind of move leaves the joint distribution as it is: parameters and data are drawn from the model, and sweeps
given these data move the parameters, which then still have their prior (Geweke 2004, JASA 99, without its chain)."""

from collections import defaultdict

import numpy as np
import pytest

import credo as cr
from credo.program import math as cm
from credo.program.gibbs.moves import moves_of
from credo.program.prepare import prepared

# 4.5 errors of 24 replicates: false alarm 1.5e-4 a number, 42 numbers, so 0.6 % in all; the seeds are fixed.
WIDTHS = 4.5
N, N_FULL, CHAINS, SWEEPS = 24, 400, 8, 4
X = np.linspace(-1.0, 1.0, 18)


def regressions(y):
    """A block behind Student-t, logit, probit and counts; scales and shapes of known and unknown families."""
    m = cr.Model()
    w, s = m.latent("w", cr.Normal(0, 1), shape=2), m.latent("s", cr.HalfNormal(1))
    df, r = m.latent("df", cr.Gamma(shape=4, rate=0.5)), m.latent("r", cr.Gamma(shape=3, rate=1))
    eta = w[0] + w[1] * X
    m.observed("robust", cr.StudentT(df, eta, s), y["robust"])
    m.observed("logit", cr.Bernoulli(cm.expit(eta)), y["logit"])
    m.observed("probit", cr.Bernoulli(cm.ndtr(eta)), y["probit"])
    m.observed("counts", cr.NegativeBinomial(cm.exp(eta), r), y["counts"])
    return m


def scales(y):
    """Gamma, Inverse-Gamma, inverse Gaussian and half-normal scales, two that enter as a product, and a curve."""
    m = cr.Model()
    lam, v = m.latent("lam", cr.Gamma(shape=3, rate=2)), m.latent("v", cr.InverseGamma(shape=4, scale=3), shape=2)
    u, b = m.latent("u", cr.Exponential(1.0), shape=18), m.latent("b", cr.Laplace(0.0, 1.0))
    tau, t = m.latent("tau", cr.HalfNormal(1.0)), m.latent("t", cr.Gamma(shape=3.0, rate=3.0), shape=18)
    k = m.latent("k", cr.LogNormal(0, 0.5))
    m.observed("a", cr.Normal(b, lam**-0.5), y["a"])
    m.observed("c", cr.Normal(b * X, cm.sqrt(v)[np.repeat([0, 1], 9)]), y["c"])
    m.observed("d", cr.Normal(0.0, cm.sqrt(u)), y["d"])
    m.observed("e", cr.Normal(0.0, tau * t), y["e"])
    m.observed("f", cr.Poisson(lam * cm.exp(-k * X)), y["f"])
    return m


def states(y):
    """Labels that pick means, variances, probabilities and rows; the path of a hidden chain and its transitions."""
    m = cr.Model()
    p, mu = m.latent("p", cr.Dirichlet([2.0, 3.0])), m.latent("mu", cr.Normal([-1.0, 1.0], 1.0), shape=2)
    v, rate = (
        m.latent("v", cr.InverseGamma(shape=4, scale=3), shape=2),
        m.latent("rate", cr.Gamma(shape=2, rate=1), shape=2),
    )
    q, h = m.latent("q", cr.Dirichlet([[1.0, 2, 2], [3, 1, 1]])), m.latent("h", cr.Beta(2, 2), shape=2)
    z = m.latent("z", cr.Categorical(p), shape=18)
    start, P = m.latent("start", cr.Dirichlet([1.0, 2.0])), m.latent("P", cr.Dirichlet([[3.0, 1], [1, 2]]))
    path = m.chain("path", start, P, shape=18, lengths=[7, 11])
    m.observed("a", cr.Normal(mu[z], cm.sqrt(v)[z]), y["a"])
    m.observed("b", cr.Categorical(q[z]), y["b"])
    m.observed("c", cr.Bernoulli(1.0 - h[z]), y["c"])
    m.observed("d", cr.Poisson(2.0 * rate[path]), y["d"])
    return m


def number(node, x):
    """One number of (…, *shape): a combination of the entries, of logarithms where these are positive."""
    positive = node.support.kind == "real" and np.all(np.asarray(node.support.low) >= 0.0)
    x = np.asarray(x, dtype=np.float64).reshape(*np.shape(x)[: np.ndim(x) - node.ndim], node.size)
    return (np.log(x) if positive else x) @ np.cos(np.arange(node.size))


def sweep(moves, state, rng):
    for move in moves:
        move.step(state, rng)


@pytest.mark.parametrize("n", [pytest.param(N_FULL, marks=pytest.mark.slow), N])
@pytest.mark.parametrize("build", [regressions, scales, states])
def test_sweeps_leave_the_joint_distribution(build, n):
    rng = np.random.default_rng(5)
    prior = build(defaultdict(lambda: np.ones(X.size))).sample_prior(n, random_state=1)
    shifts = defaultdict(list)
    for i in range(n):
        moves = moves_of(*prepared(build({name: value[i] for name, value in prior.items()})))
        state = {node.number: np.ones((CHAINS, *node.shape)) for node in moves.augmented.latents}
        for node in moves.latents:
            state[node.number] = np.repeat(prior[node.name][i : i + 1].astype(float), CHAINS, axis=0)
        own = {node.number for node in moves.latents}
        with np.errstate(all="ignore"):  # auxiliaries begin as they are given the rest
            sweep([move for move in moves.moves if not own & {node.number for node in move.nodes}], state, rng)
            for _ in range(SWEEPS):
                sweep(moves.moves, state, rng)
        for node in moves.latents:
            before, after = number(node, prior[node.name][i]), number(node, state[node.number])
            for power in (1, 2):
                shifts[node.name, power].append((after**power).mean() - before**power)
    for key, x in shifts.items():
        assert abs(np.mean(x)) <= WIDTHS * np.std(x, ddof=1) / np.sqrt(n), key
