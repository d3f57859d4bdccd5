"""`climb_in_stages`: the exact optimum where neighbours are all, close to it where they are few."""

from __future__ import annotations

import numpy as np
import pytest

from credo.kernels import RBF, Matern
from credo.models.gaussian_process.learning import climb
from credo.models.gaussian_process.solvers import Exact, Vecchia, vecchia_learning
from credo.models.gaussian_process.solvers.vecchia_learning import climb_in_stages

BOUNDS = np.tile([-7.0, 7.0], (4, 1))


def problem(n, kernel):
    rng = np.random.default_rng(3)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = (np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.standard_normal(n))[:, None]

    def objective_with(solver):
        def objective(theta):
            variance = np.exp(2.0 * theta[-1])
            factor = solver(kernel.with_theta(theta[:-1]), X, np.full(n, variance))
            slope, by_row = factor.gradient(y)
            value = -0.5 * np.vdot(y, factor.solve(y)) - 0.5 * factor.log_determinant
            return value, np.append(slope, 2.0 * variance * by_row.sum())

        return objective

    return X, objective_with, np.append(kernel.theta, -1.0), lambda theta: kernel.with_theta(theta[:-1])


def learn(solver, n, kernel):
    X, objective_with, start, kernel_at = problem(n, kernel)
    rng = np.random.default_rng(0)
    return objective_with, climb_in_stages(solver, kernel_at, X, objective_with, start, BOUNDS, rng=rng)


def test_with_all_neighbours_it_is_the_exact_optimum():
    kernel = 1.0 * RBF((1.0, 1.0))
    objective_with, (at, top) = learn(Vecchia(59), 60, kernel)
    exact = climb(objective_with(Exact()), np.append(kernel.theta, -1.0), BOUNDS, rng=np.random.default_rng(0))
    # Both stop when a step promises less than about 6e-4 nats.
    assert top.value == pytest.approx(exact.value, abs=2e-3)
    assert abs(top.result.certificate["gain_at_last_neighbors"]) < 1e-6
    assert objective_with(at)(top.theta)[0] == top.value


def test_first_rows_then_all(monkeypatch):
    """400 rows by way of 100: what is returned is what all rows say, with neighbours chosen there, and as high."""
    kernel = 1.0 * Matern((1.0, 1.0), nu=1.5)
    objective_with, (_, whole) = learn(Vecchia(15), 400, kernel)
    monkeypatch.setattr(vecchia_learning, "TERMS", 100)
    _, (at, top) = learn(Vecchia(15), 400, kernel)
    assert (top.result.certificate["first_stage_rows"], len(at.layout.index)) == (100, 400)
    assert whole.result.certificate["first_stage_rows"] == 400
    assert top.result.status == "converged"
    value, slope = objective_with(Vecchia(15).at(kernel.with_theta(top.theta[:-1]), problem(400, kernel)[0]))(top.theta)
    assert value == top.value
    np.testing.assert_array_equal(slope, top.gradient)
    # Of the hyperparameters' own posterior 95 % lies within ½ χ²₄(0.95) = 4.74 nats of the top.
    exact = climb(objective_with(Exact()), top.theta, BOUNDS, rng=np.random.default_rng(0))
    for theta in (top.theta, whole.theta):
        assert objective_with(Exact())(theta)[0] > exact.value - 4.74


def test_same_bits_again():
    kernel = 1.0 * Matern((1.0, 1.0), nu=1.5)
    first, second = (learn(Vecchia(10), 200, kernel)[1][1] for _ in range(2))
    np.testing.assert_array_equal(first.theta, second.theta)
    assert first.value == second.value
