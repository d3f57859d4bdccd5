"""Bijections: inverse, Jacobian and pulled-back gradient, all against numerical differentiation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credo.distributions.support import COUNTS, POSITIVE, POSITIVE_DEFINITE, REAL, SIMPLEX, UNIT_INTERVAL, Support
from credo.errors import ParameterError
from credo.inference.target import Target
from credo.inference.transforms import transform_for, unconstrained

CASES = {
    "real": (REAL, (3,)),
    "positive": (POSITIVE, ()),
    "below": (Support("real", high=2.0), (2,)),
    "unit": (UNIT_INTERVAL, (2,)),
    "mixed": (Support("real", np.array([-np.inf, 0.0, -np.inf, -1.0]), np.array([np.inf, np.inf, 3.0, 4.0])), (4,)),
    "ordered": (Support("ordered"), (4,)),
    "ordered above": (Support("ordered", 1.0), (2, 3)),
    "ordered below": (Support("ordered", high=2.0), (3,)),
    "ordered between": (Support("ordered", -1.0, 2.0), (3,)),
    "one ordered": (Support("ordered"), (1,)),
    "simplex": (SIMPLEX, (4,)),
    "simplices": (SIMPLEX, (2, 3)),
    "matrix": (POSITIVE_DEFINITE, (3, 3)),
}


def independent(name, x):
    """What the density is with respect to: all but the last of a simplex, the lower triangle of a matrix."""
    support, shape = CASES[name]
    if support.kind == "simplex":
        return x.reshape(-1, shape[-1])[:, :-1].ravel()
    if support.kind == "positive_definite":
        return x.reshape(shape)[np.tril_indices(shape[0])]
    return x


def differences(f, z, step=1e-6):
    return np.array([(f(z + d) - f(z - d)) / (2 * step) for d in step * np.eye(z.size)]).T


@pytest.mark.parametrize("name", CASES)
@given(seed=st.integers(0, 2**32 - 1))
def test_transform(name, seed):
    support, shape = CASES[name]
    transform = transform_for(support, shape)
    rng = np.random.default_rng(seed)
    z = rng.normal(size=transform.free)
    x = transform.forward(z)
    assert x.shape == (transform.size,)
    np.testing.assert_allclose(transform.inverse(x), z, rtol=1e-7, atol=1e-7)
    jacobian = differences(lambda z: independent(name, transform.forward(z)), z)
    value, slope = transform.log_jacobian(x, z)
    assert value == pytest.approx(np.linalg.slogdet(jacobian)[1], abs=1e-5)
    numerical = differences(lambda z: transform.log_jacobian(transform.forward(z), z)[0], z)
    np.testing.assert_allclose(slope, numerical, atol=1e-5)
    g = rng.normal(size=transform.size)
    np.testing.assert_allclose(
        transform.pull_back(x, z, g), differences(lambda z: g @ transform.forward(z), z), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("name", CASES)
def test_rows_at_once(name):
    support, shape = CASES[name]
    transform = transform_for(support, shape)
    rng = np.random.default_rng(0)
    z = rng.normal(size=(2, 5, transform.free))
    x = transform.forward(z)
    g = rng.normal(size=x.shape)
    value, slope = transform.log_jacobian(x, z)
    pulled, back = transform.pull_back(x, z, g), transform.inverse(x)
    for i in np.ndindex(2, 5):
        np.testing.assert_allclose(x[i], transform.forward(z[i]), rtol=1e-12)
        np.testing.assert_allclose(back[i], transform.inverse(x[i]), rtol=1e-9, atol=1e-12)
        one = transform.log_jacobian(x[i], z[i])
        assert value[i] == pytest.approx(one[0])
        np.testing.assert_allclose(slope[i], one[1], rtol=1e-12)
        np.testing.assert_allclose(pulled[i], transform.pull_back(x[i], z[i], g[i]), rtol=1e-9, atol=1e-12)


def test_whole_target():
    def log_density(x):
        return -x[0] + 2 * np.log(x[0]) - 0.5 * x[1] ** 2 + np.log(x[2:]).sum()

    def gradient(x):
        return np.concatenate([[-1 + 2 / x[0], -x[1]], 1 / x[2:]])

    target = Target(
        log_density, {"rate": (), "w": (), "p": (3,)}, gradient=gradient, supports={"rate": POSITIVE, "p": SIMPLEX}
    )
    free, bijection = unconstrained(target)
    assert free.dim == 4
    assert free.labels == ("rate", "w", "p[0]", "p[1]")
    z = np.array([0.3, -1.0, 0.2, 0.7])
    value, slope = free.evaluate(z, gradient=True)
    assert value == pytest.approx(free.evaluate(z).log_density)
    np.testing.assert_allclose(slope, differences(lambda z: free.evaluate(z).log_density, z), atol=1e-6)
    plain, _ = unconstrained(target, jacobian=False)
    assert plain.evaluate(z).log_density == pytest.approx(log_density(bijection.forward(z)))
    np.testing.assert_allclose(
        plain.evaluate(z, gradient=True).gradient, differences(lambda z: plain.evaluate(z).log_density, z), atol=1e-6
    )
    assert "rate = 1.34986" in free.describe(z)


def test_integrates_to_one():
    """The Jacobian keeps the mass: Gamma(3, 1) over the line by quadrature."""
    target = Target(
        lambda x: 2 * np.log(x[:, 0]) - x[:, 0] - np.log(2), {"x": ()}, supports={"x": POSITIVE}, vectorised=True
    )
    grid = np.linspace(-20, 6, 20_001)
    values = np.exp(unconstrained(target)[0].evaluate_rows(grid[:, None])[0])
    assert np.trapezoid(values, grid) == pytest.approx(1.0, abs=1e-9)


def test_a_target_on_the_line_is_unchanged():
    target = Target(lambda x: 0.0, {"x": (2,)}, hessian=lambda x: -np.eye(2))
    assert unconstrained(target)[0] is target


def test_impossible_supports_are_named():
    with pytest.raises(ParameterError, match="support of k must be continuous"):
        transform_for(COUNTS, (), "k")
    with pytest.raises(ParameterError, match=r"p\.shape"):
        transform_for(SIMPLEX, (), "p")
    with pytest.raises(ParameterError, match=r"S\.shape"):
        transform_for(POSITIVE_DEFINITE, (2, 3), "S")
    with pytest.raises(ParameterError, match="positive definite"):
        transform_for(POSITIVE_DEFINITE, (2, 2)).inverse(np.array([1.0, 2.0, 2.0, 1.0]))


# -- Target
# ----------------------------------------------------------------------------------------------------------------


def test_target_layout():
    target = Target(lambda x: 0.0, {"w": (2, 2), "b": ()})
    assert target.labels == ("w[0,0]", "w[0,1]", "w[1,0]", "w[1,1]", "b")
    x = np.arange(5.0)
    blocks = target.split(x)
    assert blocks["w"].shape == (2, 2)
    np.testing.assert_array_equal(target.join(blocks), x)
    assert target.split(np.zeros((3, 4, 5)))["w"].shape == (3, 4, 2, 2)
    with pytest.raises(ParameterError, match=r"Target.w must be of shape \(2, 2\)"):
        target.join({"w": [1.0], "b": 0.0})
    with pytest.raises(ParameterError, match="shapes"):
        Target(lambda x: 0.0, {})
    with pytest.raises(ParameterError, match="supports"):
        Target(lambda x: 0.0, {"w": ()}, supports={"v": POSITIVE})


def test_outside_the_bounds_the_density_is_zero():
    supports = {"x": Support("real", 0.0, 1.0)}
    for vectorised, f in ((False, lambda x: 1.0), (True, lambda x: np.ones(len(x)))):
        target = Target(f, {"x": ()}, supports=supports, vectorised=vectorised, gradient=lambda x: np.zeros_like(x))
        assert target.evaluate(np.array([0.5])).log_density == 1.0
        assert target.evaluate(np.array([1.5]), gradient=True).log_density == -np.inf
        np.testing.assert_array_equal(target.evaluate_rows(np.array([[0.5], [-0.5]]))[0], [1.0, -np.inf])
    counts = Target(lambda x: 0.0, {"k": ()}, supports={"k": COUNTS})
    assert counts.evaluate(np.array([-1.0])).log_density == -np.inf
