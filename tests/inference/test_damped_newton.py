"""The search that scales itself: units, flat coordinates, tails."""

import numpy as np
import pytest

from credo.inference.damped_newton import climb, gradient_of, identified, negative_hessian
from credo.inference.target import Target


@pytest.mark.parametrize("seed", range(4))
def test_a_quadratic_in_any_units(seed):
    """Curvatures 24 orders apart: the mode to nine digits of its width, from far away."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(5, 5)) + 2 * np.eye(5)
    units = 10.0 ** rng.uniform(-6, 6, size=5)
    precision = (root @ root.T) / units / units[:, None]
    centre = units * rng.normal(size=5)
    target = Target(
        lambda z: -0.5 * (z - centre) @ precision @ (z - centre),
        {"z": (5,)},
        gradient=lambda z: -precision @ (z - centre),
    )
    found = climb(target, centre + units * rng.normal(size=5) * 50, 200, 1e-10)
    assert found.converged
    assert np.max(np.abs(found.z - centre) / units) < 1e-9
    assert all(b >= a - 1e-9 * (1 + abs(a)) for a, b in zip(found.trace, found.trace[1:]))


def test_a_tail_without_an_end_is_flat():
    target = Target(lambda z: -np.exp(-z[0]), {"z": ()}, gradient=lambda z: np.exp(-z))
    found = climb(target, np.zeros(1), 200, 1e-10)
    assert identified(negative_hessian(target, found.z), found.z)[0] <= 0.0


def test_what_is_flat_is_named():
    """x₀ and x₁ only by their sum; x₂ not at all."""
    hessian = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert identified(hessian, np.zeros(3))[0] <= 0.0
    assert identified(hessian, np.zeros(3))[1] in (0, 1)
    assert identified(np.diag([1.0, 1e-6, 0.0]), np.zeros(3))[1] == 2
    assert identified(np.diag([1e9, 1.0, 1e-6]), np.zeros(3))[0] == pytest.approx(1.0)


def test_differences_where_there_is_no_gradient():
    z = np.array([1e-5, 2.0, -3e4])
    scale = np.array([1e-5, 1.0, 1e4])
    with_slope = Target(
        lambda x: -np.sum(np.cosh(x / scale)), {"x": (3,)}, gradient=lambda x: -np.sinh(x / scale) / scale
    )
    without = Target(with_slope.log_density, {"x": (3,)})
    exact = -np.sinh(z / scale) / scale
    np.testing.assert_allclose(gradient_of(without, z, np.abs(z)), exact, rtol=1e-8)
    np.testing.assert_allclose(
        negative_hessian(with_slope, z, np.abs(z)).diagonal() * scale**2, np.cosh(z / scale), rtol=1e-8
    )
    np.testing.assert_allclose(
        negative_hessian(without, z, np.abs(z)).diagonal() * scale**2, np.cosh(z / scale), rtol=1e-3
    )
