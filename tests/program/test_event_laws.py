"""Laws whose values are vectors: declared in batches, sampled, and with slopes."""

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError
from credo.program.collapsed import Collapsed
from credo.program.fitting import full_target
from credo.program.plan import plan_of

COUNTS = np.array([[3, 1, 2], [0, 4, 1]])


def multinomial():
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 1), shape=3)
    m.observed("y", cr.Multinomial(COUNTS.sum(1), cr.math.exp(a) / cr.math.exp(a).sum()), COUNTS)
    return m


def categorical():
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 1), shape=3)
    m.observed("y", cr.Categorical(cr.math.exp(a) / cr.math.exp(a).sum()), [0, 2, 2, 1, 2])
    return m


def categorical_by_row():
    m = cr.Model()
    X = np.random.default_rng(1).normal(size=(5, 2))
    a = m.latent("a", cr.Normal(0, 1), shape=3)
    e = cr.math.exp(X @ a.reshape(1, 3)[np.array([0, 0])])
    m.observed("y", cr.Categorical(e / e.sum(1).reshape(5, 1)), [0, 2, 2, 1, 2])
    return m


def dirichlet_multinomial():
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 1), shape=3)
    m.observed("y", cr.DirichletMultinomial(COUNTS.sum(1), cr.math.exp(a)), COUNTS)
    return m


def multivariate_normal():
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 1), shape=3)
    s = cr.math.exp(a[0])
    m.observed("y", cr.MultivariateNormal(a, s * (np.eye(3) + 0.5)), COUNTS.astype(float))
    return m


BUILDS = [multinomial, categorical, categorical_by_row, dirichlet_multinomial, multivariate_normal]


@pytest.mark.parametrize("build", BUILDS)
def test_slopes_equal_differences(build):
    plan = plan_of(build())
    target, collapsed = full_target(plan), Collapsed(plan)
    rng = np.random.default_rng(0)
    for _ in range(3):
        x = rng.normal(size=3)
        value, gradient = target.value_and_gradient(x)
        assert target.evaluate(x).log_density == pytest.approx(value, rel=1e-12)
        two = np.array([x, x + 0.1])
        each = [target.evaluate(row).log_density for row in two]
        np.testing.assert_allclose(collapsed.log_densities(two), each, rtol=1e-12)
        h = 1e-5
        for k, e in enumerate(h * np.eye(3)):
            slope = (target.evaluate(x + e).log_density - target.evaluate(x - e).log_density) / (2 * h)
            assert gradient[k] == pytest.approx(slope, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_as_many_draws_as_entries(n):
    """n draws of a law over n entries: its matrix is not taken for a list of draws."""
    m = cr.Model()
    w = m.latent("w", cr.MultivariateNormal(np.zeros(3), np.diag([1.0, 4.0, 9.0])))
    W = m.latent("W", cr.MultivariateNormal(w, np.eye(3)), shape=(4, 3))
    p = m.latent("p", cr.Dirichlet(np.ones((2, 3))))
    m.observed("y", cr.Normal(W.sum() + p.sum(), 1.0), 1.0)
    draws = m.sample_prior(n, random_state=0)
    assert draws["w"].shape == (n, 3)
    assert draws["W"].shape == (n, 4, 3)
    assert draws["p"].shape == (n, 2, 3)
    many = m.sample_prior(4000, random_state=0)
    spread = np.sqrt([2.0, 5.0, 10.0])  # of W: 4.5 standard errors of an sd of 4,000 draws, 4 rows of which share w
    np.testing.assert_allclose(many["W"].std(axis=0), np.tile(spread, (4, 1)), rtol=4.5 / np.sqrt(8000.0))


def test_a_batch_of_counts_has_the_shape_of_its_law():
    m = cr.Model()
    p = m.latent("p", cr.Dirichlet(np.ones(3)))
    with pytest.raises(DataError, match=r"do not match|enlarge"):
        m.observed("y", cr.Multinomial([6, 5, 1], p), COUNTS)
    m.observed("z", cr.Multinomial(COUNTS.sum(1), p), COUNTS)
