"""What is wrong at a point is told with the node where it begins and its value."""

import numpy as np
import pytest

import credo as cr
from credo.program.density import joint_target
from credo.program.reasons import reason, with_reasons

ROWS = np.arange(1.0, 5.0)


def told(m, **at):
    terms = [factor.term for factor in m.factors]
    return reason(terms, m.latents, {n.number: np.asarray(at[str(n.name)], dtype=float) for n in m.latents})


def test_a_parameter_outside_its_domain():
    m = cr.Model()
    a, s = m.latent("a", cr.Normal(0, 1)), m.latent("s", cr.HalfNormal(1))
    m.observed("y", cr.Normal(a, s), ROWS)
    assert told(m, a=0.0, s=1.0) == ""
    assert told(m, a=0.0, s=-1.0) == "log p(s = -1) is −∞ given scale = 1"
    m = cr.Model()
    a, s = m.latent("a", cr.Normal(0, 1)), m.latent("s", cr.HalfNormal(1))
    m.observed("y", cr.Normal(a, cr.math.maximum(s, 0.0)), ROWS)
    assert told(m, a=0.0, s=0.0) == "sd = maximum(s, 0) of y is 0, and must be finite and > 0"


def test_an_operation_without_a_value():
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 1))
    x = m.data("x", ROWS, dims="row")
    m.observed("y", cr.Normal(cr.math.log(x - a), 1), ROWS, dims="row")
    assert told(m, a=0.5) == ""
    assert told(m, a=2.5) == "log(x - a) is NaN where x - a = -1.5, in 2 of 4 cells"
    assert told(m, a=1.0) == "log(x - a) is −∞ where x - a = 0, in 1 of 4 cells"


def test_an_overflow():
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 1))
    m.observed("n", cr.Poisson(cr.math.exp(a)), [1, 2])
    assert told(m, a=1e4) == "exp(a) is infinite where a = 10000"


def test_a_value_that_is_no_number():
    m = cr.Model()
    a = m.latent("a", cr.HalfNormal(1))
    m.observed("y", cr.Pareto(1.0, a), [2.0, 3.0])
    assert told(m, a=np.nan) == "a is NaN"


def test_a_gradient_that_is_not_finite():
    """√u at 0: the value is there, the slope is not."""
    m = cr.Model()
    u = m.latent("u", cr.Uniform(0, 1), shape=3)
    m.observed("y", cr.Normal(cr.math.sqrt(u), 1), [0.1, 0.2, 0.3])
    assert told(m, u=[0.5, 0.0, 0.1]) == "the slope of sqrt(u) by u is infinite where it is 0"


def test_a_function_of_the_users():
    jnp = pytest.importorskip("jax.numpy")

    def growth(x, a):
        return jnp.sqrt(x - a)

    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 1))
    x = m.data("x", ROWS, dims="row")
    m.observed("y", cr.Normal(cr.math.call(growth, x, a, dims="row"), 1), ROWS, dims="row")
    assert told(m, a=1.5) == "growth(x, a) is NaN where x = 1, a = 1.5, in 1 of 4 cells"
    assert "the slope of growth(x, a) by a" in told(m, a=1.0)


def test_a_target_says_it():
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 1))
    m.observed("y", cr.Normal(cr.math.log(a), 1), ROWS)
    terms = [factor.term for factor in m.factors]
    target = with_reasons(joint_target(terms, m.latents), terms, m.latents)
    with pytest.raises(cr.errors.NumericalError, match=r"a = -1; log\(a\) is NaN where a = -1"):
        target.check_start(np.array([-1.0]), True, "chain 0")
