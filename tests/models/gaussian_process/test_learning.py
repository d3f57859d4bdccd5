"""`climb`: boxes, walls, restarts, errors that name what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from credo.errors import NotPositiveDefiniteError, NumericalError, ParameterError
from credo.models.gaussian_process.learning import climb


def bowl(theta):
    return -float(np.sum((theta - 1.0) ** 2)), -2.0 * (theta - 1.0)


def test_a_wall_beside_the_top_is_backed_away_from():
    def banana(theta):
        x, y = theta
        if x > 1.001:
            raise NotPositiveDefiniteError("too far")
        return -(100.0 * (y - x * x) ** 2 + (1.0 - x) ** 2), -np.array(
            [-400.0 * x * (y - x * x) - 2.0 * (1.0 - x), 200.0 * (y - x * x)]
        )

    top = climb(banana, [-1.2, 1.0], [(-5, 5)] * 2, rng=np.random.default_rng(0))
    assert top.result.status == "converged"
    assert top.result.certificate["walls"] >= 1
    np.testing.assert_allclose(top.theta, 1.0, atol=5e-3)
    assert np.all(np.diff(top.result.objective) > 0)
    assert len(top.result.seconds) == len(top.result.objective)


def test_restarts_find_the_higher_of_two_tops():
    def two(theta):
        near, far = np.exp(-2.0 * (theta[0] + 1.0) ** 2), 2.0 * np.exp(-2.0 * (theta[0] - 1.0) ** 2)
        return near + far, np.array([-4.0 * (theta[0] + 1.0) * near - 4.0 * (theta[0] - 1.0) * far])

    alone = climb(two, [-1.2], [(-6, 6)], rng=np.random.default_rng(0))
    several = climb(two, [-1.2], [(-6, 6)], n_restarts=8, rng=np.random.default_rng(0))
    assert alone.value == pytest.approx(1.0, abs=2e-3)
    assert several.value == pytest.approx(2.0, abs=2e-3)
    assert len(several.restarts) == 9
    assert max(several.restarts) == several.value


def test_a_bound_is_named():
    top = climb(bowl, [0.0, 0.0], [(-5, 0.5), (-5, 5)], rng=np.random.default_rng(0), names=("lengthscale", "noise"))
    np.testing.assert_allclose(top.theta, [0.5, 1.0], atol=1e-3)
    assert "lengthscale" in top.result.advice[0]
    assert "noise" not in top.result.advice[0]
    assert top.result.certificate["largest_slope"] < 1e-2


def test_nothing_to_climb():
    def nowhere(theta):
        raise NotPositiveDefiniteError("the covariance of these rows")

    with pytest.raises(NotPositiveDefiniteError, match="the covariance of these rows"):
        climb(nowhere, [0.0], [(-1, 1)], n_restarts=2, rng=np.random.default_rng(0))
    with pytest.raises(NumericalError, match="3 starts"):
        climb(lambda t: (np.nan, t), [0.0], [(-1, 1)], n_restarts=2, rng=np.random.default_rng(0))
    with pytest.raises(ParameterError, match="n_restarts"):
        climb(bowl, [0.0], [(-1, 1)], n_restarts=-1, rng=np.random.default_rng(0))


def test_no_hyperparameters():
    top = climb(lambda t: (3.0, t), [], np.empty((0, 2)), rng=np.random.default_rng(0))
    assert top.value == 3.0
    assert top.theta.size == 0


def test_an_iteration_limit_is_said():
    def ravine(theta):
        return -float(theta[0] ** 2 + 1e4 * theta[1] ** 2 + theta[0] ** 4), -np.array(
            [2.0 * theta[0] + 4.0 * theta[0] ** 3, 2e4 * theta[1]]
        )

    top = climb(ravine, [3.0, 3.0], [(-5, 5)] * 2, rng=np.random.default_rng(0), max_iter=2)
    assert top.result.status == "max_iter"
    assert not top.result.ok
