"""Several modes, no mode, a mode far away: what a certificate must not call an answer."""

import numpy as np
import pytest

import credo as cr
from credo.errors import NotIdentifiedError


def folded(prior, function, y, sd=0.05):
    """y ~ Normal(mu + f(th), sd), mu ~ Normal(0, 0.05): th has a mode on each side."""
    m = cr.Model()
    th, mu = m.latent("th", prior), m.latent("mu", cr.Normal(0, 0.05))
    m.observed("y", cr.Normal(mu + function(th), sd), [y])
    return m.fit(random_state=0)


@pytest.mark.parametrize(
    ("prior", "function", "on_numbers", "y"),
    [
        (cr.Normal(1, 2), lambda t: t**2, np.square, 4.0),
        (cr.Normal(0.3, 3), abs, np.abs, 3.0),
        (cr.Normal(0, 5), lambda t: t**2, np.square, 9.0),
    ],
)
def test_both_modes_are_found(prior, function, on_numbers, y):
    """Against a grid of 800,001 points: what one search from one start calls converged is half of it."""
    posterior = folded(prior, function, y)
    grid = np.linspace(-20, 20, 800_001)
    log_p = prior.log_prob(grid) + cr.Normal(on_numbers(grid), np.sqrt(0.005)).log_prob(y)
    weights = np.exp(log_p - log_p.max())
    evidence = log_p.max() + np.log(weights.sum() * (grid[1] - grid[0]))
    weights /= weights.sum()
    mean = weights @ grid
    sd = np.sqrt(weights @ (grid - mean) ** 2)
    assert posterior.result.ok
    assert posterior.mean["th"] == pytest.approx(mean, abs=2e-3 * sd)
    assert posterior.sd["th"] == pytest.approx(sd, rel=2e-3)
    assert posterior.log_evidence == pytest.approx(evidence, abs=2e-3)


@pytest.mark.filterwarnings("ignore::credo.errors.ConvergenceWarning")
def test_more_modes_than_searches_is_not_certified():
    posterior = folded(cr.Normal(0, 3), lambda t: cr.math.sin(3 * t), 0.5)
    assert not posterior.result.ok
    # What is told is what was done, not what was planned.
    assert posterior.explain().treatment == {"th": "nuts", "mu": "exact"}
    assert "no sampling" not in str(posterior.explain())
    assert "quadrature did not reach its accuracy" in str(posterior.explain())


def improper_scale():
    m = cr.Model()
    mu, s = m.latent("mu", cr.Normal(0, 1)), m.latent("s", cr.Flat(), low=0)
    m.observed("y", cr.Normal(mu, s), [1.0])
    return m


def improper_groups():
    m = cr.Model()
    mu, t = m.latent("mu", cr.Flat()), m.latent("t", cr.Flat(), low=0)
    m.observed("y", cr.Normal(m.latent("a", cr.Normal(mu, t), shape=2), 1.0), [1.0, 2.0])
    return m


def no_noise():
    m = cr.Model()
    mu, s = m.latent("mu", cr.Normal(0, 10)), m.latent("s", cr.HalfNormal(1))
    m.observed("y", cr.Normal(mu, s), np.full(5, 2.0))
    return m


@pytest.mark.parametrize(
    ("build", "says"),
    [(improper_scale, "determine s"), (improper_groups, "determine t"), (no_noise, "y leaves no noise")],
)
def test_improper_posteriors_are_named(build, says):
    """∫ds/s diverges at both ends; two groups do not bound their scale; ∫s⁻⁴ds diverges at 0."""
    with pytest.raises(NotIdentifiedError, match=says):
        build().fit(random_state=0)


@pytest.mark.parametrize("prior", [cr.StudentT(3, 0, 1e4), cr.Laplace(0, 1000), cr.Cauchy(0, 1)])
def test_a_mode_far_from_the_prior_is_reached(prior):
    rng = np.random.default_rng(0)
    y = 3000.0 + 5.0 * rng.normal(size=20)
    m = cr.Model()
    mu, s = m.latent("mu", prior), m.latent("s", cr.HalfNormal(10))
    m.observed("y", cr.Normal(mu, s), y)
    posterior = m.fit(random_state=0)
    assert abs(posterior.mean["mu"] - y.mean()) < 0.2


@pytest.mark.parametrize("dtype", [np.int16, np.uint8, np.int64, bool])
def test_integers_and_booleans_compute_as_numbers(dtype):
    """int16 would wrap, and two booleans add up to one."""
    x = np.array([1, 0, 1, 1, 0, 1]).astype(dtype) * (1 if dtype is bool else np.array(100, dtype=dtype))
    answers = []
    for values in (x, x.astype(float)):
        m = cr.Model()
        d = m.data("x", values)
        b = m.latent("b", cr.Normal(0, 10))
        m.observed("y", cr.Normal(b * (d * d + d - 3), 1.0), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        answers.append(float(m.fit(random_state=0).mean["b"]))
    assert answers[0] == answers[1]


def test_logits_do_not_round():
    """y = 0 at a logit of 800: log p = −800, not −∞."""
    from credo.program.density import log_density
    from credo.program.evaluate import Program
    from credo.program.nodes import as_node

    m = cr.Model()
    eta = m.latent("eta", cr.Normal(0, 1), shape=2)
    node = log_density(cr.Bernoulli(cr.math.expit(eta)), as_node(np.array([0.0, 1.0])))
    program = Program([node], [eta])
    at = {eta.number: np.array([800.0, -800.0])}
    assert program.values(at)[0] == -1600.0
    np.testing.assert_array_equal(program.value_and_pull(at)[1]([1.0])[eta.number], [-1.0, 1.0])
