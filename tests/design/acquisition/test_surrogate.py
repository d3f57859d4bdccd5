"""The prior of hyperparameters in closed form, and powers of outcomes."""

import numpy as np
import pytest

from credo.design.surrogates.cube import OneHot, cube_of
from credo.design.surrogates.gaussian_process import believe, normal_prior
from credo.design.surrogates.outcomes import Outcomes


@pytest.mark.parametrize("kinds", [(), (OneHot((1, 2)),)])
def test_the_prior_is_the_belief_s_own(kinds):
    cube = cube_of(kinds, 4)
    X = cube.snap(np.random.default_rng(0).random((9, 4)))
    belief = believe(cube.rows(X), X[:, 0], cube, noisy=None, theta=None)
    centre, spread = normal_prior(belief)
    values = []
    for shift in (0.0, 0.7):
        moved = belief.at(belief.theta + shift)
        gap = (moved.theta - centre) / spread
        value, gradient = moved.log_prior()
        values.append(value + 0.5 * gap @ gap)
        np.testing.assert_allclose(gradient, -gap / spread, atol=1e-8)
    np.testing.assert_allclose(values[0], values[1])


def test_skewed_values_are_tamed_and_come_back():
    y = np.exp(np.random.default_rng(1).normal(size=60) * 2.0)
    outcomes = Outcomes.of(y)
    assert outcomes.power < 0.5
    z = outcomes.inside(y)
    np.testing.assert_allclose([z.mean(), z.std()], [0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(outcomes.outside(z), y, rtol=1e-9, atol=1e-9)
    mean, sd = outcomes.moments(np.array([0.0]), np.array([1e-4]))
    np.testing.assert_allclose(mean, outcomes.outside(np.array([0.0])), rtol=1e-6)
    slope = np.diff(outcomes.outside(np.array([-1e-4, 1e-4]))) / 2e-4
    np.testing.assert_allclose(sd, 1e-4 * slope, rtol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_beliefs_beyond_the_values_seen_stay_of_their_size(seed):
    """The inverse of a power is exponential, or has a pole: 8 sds beyond the values it used to give 10¹²."""
    rng = np.random.default_rng(seed)
    y = (1.0 if seed % 2 else -1.0) * np.exp(rng.normal(size=40) * 2.0)
    outcomes = Outcomes.of(y)
    assert outcomes.power != 1.0
    z = np.linspace(outcomes.low - 8.0, outcomes.high + 8.0, 400)
    values = outcomes.outside(z)
    assert np.all(np.diff(values) >= 0.0)
    steepest = max(
        np.diff(outcomes.outside(np.array([end - 1e-6, end])))[0] / 1e-6 for end in (outcomes.low, outcomes.high)
    )
    assert np.max(np.diff(values) / np.diff(z)) <= steepest * (1.0 + 1e-3)
    seen = np.linspace(outcomes.low, outcomes.high, 50)
    np.testing.assert_allclose(outcomes.inside(outcomes.outside(seen)), seen, atol=1e-9)


def test_values_without_a_tail_are_left_alone():
    assert Outcomes.of(np.random.default_rng(2).normal(size=60)).power == 1.0
    assert Outcomes.of(np.full(20, 3.0)).inside(np.full(20, 3.0)).tolist() == [0.0] * 20
