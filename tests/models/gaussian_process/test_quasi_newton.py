"""`QuasiNewton`: from a known curvature, in a box, past walls."""

from __future__ import annotations

import numpy as np
import pytest

from credo.models.gaussian_process.quasi_newton import QuasiNewton

H = np.array([[4.0, 1.5, 0.0], [1.5, 2.0, -0.5], [0.0, -0.5, 1.0]])
TOP = np.array([0.3, -0.8, 1.1])
WIDE = np.array([[-5.0, 5.0]] * 3)


def parabola(theta):
    gap = theta - TOP
    return -0.5 * float(gap @ H @ gap), -H @ gap


def climbed(evaluate, start, bounds, curvature, tol=1e-10, max_iter=100):
    seen = []

    def counted(theta):
        seen.append(theta.copy())
        return evaluate(theta)

    search = QuasiNewton(counted, start, *evaluate(start), bounds, curvature)
    return search, search.run(tol, max_iter, lambda: None), seen


def test_with_the_right_curvature_a_parabola_takes_one_step():
    search, converged, seen = climbed(parabola, np.zeros(3), WIDE, lambda theta: H)
    assert converged
    np.testing.assert_allclose(search.theta, TOP, atol=1e-12)
    assert len(seen) == 1


@pytest.mark.parametrize("factor", [0.01, 0.2, 1.0, 5.0, 100.0])
def test_a_wrong_curvature_costs_steps_not_the_top(factor):
    search, converged, seen = climbed(parabola, np.zeros(3), WIDE, lambda theta: factor * np.eye(3))
    assert converged
    np.testing.assert_allclose(search.theta, TOP, atol=1e-4)
    assert len(seen) <= 60


def test_bounds_hold_and_let_go():
    """The constrained top by hand: θ₀ at its bound, the others where their slopes are 0."""
    bounds = np.array([[-5.0, 0.0], [-5.0, 5.0], [-5.0, 5.0]])
    rest = TOP[1:] + np.linalg.solve(H[1:, 1:], -H[1:, 0] * (0.0 - TOP[0]))
    for start in (np.array([0.0, 4.0, -4.0]), np.array([-4.0, 0.0, 0.0])):
        search, converged, seen = climbed(parabola, start, bounds, lambda theta: np.eye(3))
        assert converged
        np.testing.assert_allclose(search.theta, [0.0, *rest], atol=1e-4)
        assert all(np.all((theta >= bounds[:, 0]) & (theta <= bounds[:, 1])) for theta in seen)


def test_a_wall_shortens_the_step():
    def walled(theta):
        return parabola(theta) if theta[2] < 1.2 else (-np.inf, np.zeros(3))

    search, converged, _ = climbed(walled, np.array([0.0, 0.0, -3.0]), WIDE, lambda theta: 0.05 * np.eye(3))
    assert converged
    np.testing.assert_allclose(search.theta, TOP, atol=1e-4)


def test_an_objective_that_never_bends():
    """exp(−θ) saturates: each step is longer than the parabola says, to the bound."""

    def falling(theta):
        return -float(np.exp(-theta[0])), np.array([np.exp(-theta[0])])

    search, converged, seen = climbed(
        falling, np.zeros(1), np.array([[-1.0, 30.0]]), lambda theta: np.array([[1.0]]), tol=1e-6
    )
    assert converged
    assert search.value > -1e-4
    assert len(seen) <= 40


def test_as_many_steps_as_it_is_given():
    def valley(theta):
        x, y = theta
        return -(100.0 * (y - x * x) ** 2 + (1.0 - x) ** 2), -np.array(
            [-400.0 * x * (y - x * x) - 2.0 * (1.0 - x), 200.0 * (y - x * x)]
        )

    bounds = np.array([[-5.0, 5.0]] * 2)
    _, converged, _ = climbed(valley, np.array([-1.2, 1.0]), bounds, lambda theta: np.eye(2), max_iter=3)
    assert not converged
    search, converged, seen = climbed(valley, np.array([-1.2, 1.0]), bounds, lambda theta: 100.0 * np.eye(2))
    assert converged
    np.testing.assert_allclose(search.theta, 1.0, atol=1e-3)
    assert len(seen) <= 80
