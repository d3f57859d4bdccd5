"""Known targets, easy and nasty: right where a sampler can be right, loud where it cannot.

Means are compared within 4.5 Monte Carlo standard errors (false alarm about 1e-5 a number); seeds are fixed.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import ndtr

from credo.diagnostics import mcmc as diagnostics
from credo.distributions.support import POSITIVE, REAL, SIMPLEX, Support
from credo.errors import ConvergenceWarning
from credo.inference.mcmc import HMC, NUTS, Dense, LowRank, RandomWalk, Slice, sample
from credo.inference.target import Target


def assert_moments(draws, name, mean, sd, limit=4.5):
    x = draws.values[name]
    x = x if x.ndim > 2 else x[..., None]
    mean, sd = np.broadcast_to(mean, x.shape[2:]), np.broadcast_to(sd, x.shape[2:])
    assert np.all(np.abs(x.mean((0, 1)) - mean) < limit * diagnostics.mcse(x, "mean"))
    assert np.all(np.abs(x.std((0, 1)) - sd) < limit * diagnostics.mcse(x, "sd"))


def correlated_normal(dim=100, condition=1e4):
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    variances = np.geomspace(1.0 / np.sqrt(condition), np.sqrt(condition), dim)
    precision, covariance = (axes / variances) @ axes.T, (axes * variances) @ axes.T

    def value_and_gradient(x):
        g = -(x @ precision)
        return 0.5 * np.sum(x * g, axis=-1), g

    return Target(None, {"x": (dim,)}, value_and_gradient=value_and_gradient, vectorised=True), covariance


@pytest.mark.parametrize(("dim", "metric", "kind"), [(100, "auto", Dense), (30, "low_rank", LowRank)])
def test_correlated_normal(dim, metric, kind):
    target, covariance = correlated_normal(dim)
    draws = sample(target, NUTS(adapt_metric=metric), chains=4, draws=500, warmup=300, rng=0)
    assert draws.result.ok, draws.result.advice
    assert isinstance(draws.checkpoint.chains[0].kernel.metric, kind)
    assert_moments(draws, "x", 0.0, np.sqrt(np.diag(covariance)))
    # The metric has taken the condition number of 1e4 down to where a trajectory needs few steps.
    assert draws.sample_stats["n_steps"].mean() < 20


def funnel(v, y):
    """Neal's funnel: v ~ N(0, 3²), y_i ~ N(0, e^{v/2}), i = 1..9."""
    scale = np.exp(-v)[..., None]
    value = -(v**2) / 18.0 - 0.5 * np.sum(y**2 * scale, axis=-1) - 4.5 * v
    slope_v = -v / 9.0 + 0.5 * np.sum(y**2 * scale, axis=-1) - 4.5
    return value, np.concatenate([slope_v[..., None], -y * scale], axis=-1)


def test_centred_funnel_warns():
    target = Target(
        None, {"v": (), "y": (9,)}, value_and_gradient=lambda x: funnel(x[..., 0], x[..., 1:]), vectorised=True
    )
    with pytest.warns(ConvergenceWarning, match=r"chain \d: \d+ divergent trajectories, near v = "):
        draws = sample(target, NUTS(max_depth=6), draws=300, warmup=200, rng=0)
    assert draws.result.status == "not_certified"
    assert draws.result.certificate["divergences"] > 0


def test_non_centred_funnel_is_right():
    target = Target(lambda x: -0.5 * np.sum(x**2, -1), {"v": (), "z": (9,)}, gradient=lambda x: -x, vectorised=True)
    draws = sample(target, NUTS(), draws=1000, warmup=300, rng=0)
    assert draws.result.ok
    v, y = 3.0 * draws["v"], draws["z"] * np.exp(1.5 * draws["v"])[:, None]
    n = len(draws)
    assert abs(v.std() - 3.0) < 4.5 * 3.0 / np.sqrt(n)
    # P(|y| < 1) = E Φ: by quadrature over v.
    grid = np.linspace(-24, 24, 4001)
    exact = np.sum((2 * ndtr(np.exp(-grid / 2)) - 1) * np.exp(-(grid**2) / 18)) / np.sum(np.exp(-(grid**2) / 18))
    assert abs(np.mean(np.abs(y) < 1) - exact) < 4.5 / np.sqrt(n)


def test_banana():
    """x ~ N(0, 2²), y | x ~ N(x²/4, ½²): E y = 1, Var y = ¼ + 2·4²/16."""

    def value_and_gradient(z):
        x, y = z[..., 0], z[..., 1]
        r = y - x**2 / 4
        return -(x**2) / 8 - 2 * r**2, np.stack([-x / 4 + 2 * r * x, -4 * r], axis=-1)

    target = Target(None, {"z": (2,)}, value_and_gradient=value_and_gradient, vectorised=True)
    draws = sample(target, NUTS(target_acceptance=0.95), draws=1500, warmup=500, rng=1)
    assert draws.result.ok, draws.result.advice
    assert_moments(draws, "z", [0.0, 1.0], [2.0, 1.5])


@pytest.mark.parametrize("kernel", [NUTS(), RandomWalk()])
def test_two_far_modes_are_flagged(kernel):
    def log_density(x):
        return np.logaddexp(-0.5 * (x[0] - 10) ** 2, -0.5 * (x[0] + 10) ** 2)

    def gradient(x):
        return -x + 10 * np.tanh(10 * x)

    with pytest.warns(ConvergenceWarning, match="R̂ of x"):
        draws = sample(
            Target(log_density, {"x": ()}, gradient=gradient), kernel, draws=300, warmup=200, rng=0,
            initial=[[-12.0], [-6.0], [6.0], [12.0]],
        )  # fmt: skip
    assert draws.result.certificate["rhat"] > 1.5


def test_student_t_tails():
    """df = 3: quantiles of the tail, which a sampler that cannot reach far gets wrong."""
    target = Target(
        lambda x: -2.0 * np.log1p(x[:, 0] ** 2 / 3), {"x": ()}, gradient=lambda x: -4 * x / (3 + x**2), vectorised=True
    )
    draws = sample(target, NUTS(), draws=3000, warmup=500, rng=2)
    for q, exact in ((0.05, -2.353363), (0.5, 0.0), (0.99, 4.540703)):
        assert abs(draws.quantile(q) - exact) < 4.5 * diagnostics.mcse(draws.values["x"], "quantile", q)


CONCENTRATION = np.array([1.0, 2.0, 5.0])


@pytest.mark.parametrize("kernel", [NUTS(), HMC(), RandomWalk(), Slice()])
def test_simplex(kernel):
    target = Target(
        lambda x: np.sum((CONCENTRATION - 1) * np.log(x), axis=-1),
        {"p": (3,)},
        gradient=lambda x: (CONCENTRATION - 1) / x,
        supports={"p": SIMPLEX},
        vectorised=True,
    )
    n = 8000 if isinstance(kernel, RandomWalk) else 1000
    draws = sample(target, kernel, draws=n, warmup=500, rng=3)
    np.testing.assert_allclose(draws["p"].sum(axis=1), 1.0, rtol=1e-12)
    total = CONCENTRATION.sum()
    mean = CONCENTRATION / total
    assert_moments(draws, "p", mean, np.sqrt(mean * (1 - mean) / (total + 1)))


@pytest.mark.parametrize("kernel", [NUTS(), RandomWalk(), Slice()])
def test_positive(kernel):
    """Gamma(2.5, rate 5) on its support, and a real companion."""
    target = Target(
        lambda x: 1.5 * np.log(x[:, 0]) - 5 * x[:, 0] - 0.5 * x[:, 1] ** 2,
        {"rate": (), "w": ()},
        gradient=lambda x: np.stack([1.5 / x[:, 0] - 5, -x[:, 1]], axis=1),
        supports={"rate": POSITIVE, "w": REAL},
        vectorised=True,
    )
    draws = sample(target, kernel, draws=8000 if isinstance(kernel, RandomWalk) else 1500, warmup=500, rng=4)
    assert np.all(draws["rate"] > 0)
    assert_moments(draws, "rate", 0.5, np.sqrt(2.5) / 5)
    assert_moments(draws, "w", 0.0, 1.0)


@pytest.mark.parametrize("kernel", [RandomWalk(), Slice(), Slice(expand="doubling"), NUTS(target_acceptance=0.95)])
def test_hard_edge(kernel):
    """A Normal cut at its mode: mass right up to the edge. By its declared support; the density itself knows no
    edge."""
    target = Target(
        lambda x: -0.5 * x[:, 0] ** 2,
        {"x": ()},
        gradient=lambda x: -x,
        supports={"x": Support("real", 0.0)},
        vectorised=True,
    )
    draws = sample(target, kernel, draws=8000 if isinstance(kernel, RandomWalk) else 1500, warmup=300, rng=5)
    assert draws["x"].min() >= 0
    assert_moments(draws, "x", np.sqrt(2 / np.pi), np.sqrt(1 - 2 / np.pi))
    inside = (draws.values["x"] < 0.1).astype(float)
    assert abs(inside.mean() - (2 * ndtr(0.1) - 1)) < 4.5 * diagnostics.mcse(inside)


def test_nuts_stops_at_an_edge_that_only_the_density_knows():
    """−∞ beyond 0 with no declared support: trajectories that cross it diverge, and are said to."""
    target = Target(lambda x: -x[0] if x[0] > 0 else -np.inf, {"x": ()}, gradient=lambda x: -np.ones(1))
    with pytest.warns(ConvergenceWarning, match="divergent"):
        sample(target, NUTS(), draws=200, warmup=100, rng=0, initial=[1.0])


def test_matrix_support():
    """Wishart(df 5, I₂): E X = 5 I."""
    from credo.distributions.support import POSITIVE_DEFINITE

    def log_density(x):
        return float(np.linalg.slogdet(x.reshape(2, 2))[1] - 0.5 * (x[0] + x[3]))

    def gradient(x):
        return (np.linalg.inv(x.reshape(2, 2)) - 0.5 * np.eye(2)).ravel()

    target = Target(log_density, {"X": (2, 2)}, gradient=gradient, supports={"X": POSITIVE_DEFINITE})
    draws = sample(target, NUTS(), draws=600, warmup=300, rng=0)
    assert_moments(draws, "X", 5 * np.eye(2), np.sqrt([[10.0, 5.0], [5.0, 10.0]]))


def test_good_runs_are_silent():
    target = Target(lambda x: -0.5 * np.sum(x**2, -1), {"x": (3,)}, gradient=lambda x: -x, vectorised=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in (NUTS(), HMC(), Slice()):
            assert sample(target, kernel, draws=500, warmup=200, rng=0).result.status == "converged"
