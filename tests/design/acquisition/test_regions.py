"""`propose` within a box, and with a prior of where the best is."""

import numpy as np
import pytest

from credo.design.acquisition import Grid, OneHot, propose
from credo.design.acquisition.functions import Bound, Weighted
from credo.errors import ParameterError


def history(n, d, seed=0):
    X = np.random.default_rng(seed).random((n, d))
    return X, np.sum(np.square(X - 0.3), axis=1)


def near(centre, sd):
    def weight(X):
        gap = (X - centre) / sd
        return -0.5 * np.sum(gap**2, axis=1), -gap / sd

    return weight


@pytest.mark.parametrize("acquisition", ["log_ei", "noisy_log_ei", "ucb", "thompson"])
def test_points_stay_in_the_box(acquisition):
    """The best place, .3, lies outside: proposals are at the box's edge towards it."""
    X, y = history(15, 2)
    low, high = np.array([0.5, 0.0]), np.array([0.7, 0.6])
    found = propose(X, y, n=3, box=(low, high), acquisition=acquisition, rng=np.random.default_rng(1)).points
    assert np.all((found >= low) & (found <= high))
    assert found[0, 0] < 0.52


def test_a_box_over_grids_and_categories():
    kinds = (Grid.of(1, 5), Grid.of(2, 3), OneHot((3, 4)))
    rng = np.random.default_rng(2)
    box = (np.array([0.2, 0.3, 0.1, 0.4, 0.4]), np.array([0.4, 0.8, 0.3, 0.6, 0.6]))
    design = propose(np.empty((0, 5)), [], n=8, kinds=kinds, box=box, rng=rng).points
    X = propose(np.empty((0, 5)), [], n=12, kinds=kinds, rng=rng).points
    model = propose(X, X @ [1.0, 1.0, 1.0, 0.3, 0.0], n=3, kinds=kinds, box=box, rng=rng).points
    for points in (design, model):
        assert np.all((points[:, 0] >= 0.2) & (points[:, 0] <= 0.4))
        assert np.all(np.isin(points[:, 1], [0.5, 0.75]))
        assert np.all(np.isin(points[:, 2], [0.0, 0.5]))  # none in the box: the one nearest to its middle
        assert np.all(points[:, 3:].sum(axis=1) == 1.0)


def test_a_box_without_a_new_point_says_so():
    kinds = (Grid.of(0, 5), Grid.of(1, 5))
    X = np.array([[0.25, 0.25], [0.25, 0.5], [0.75, 0.0]])
    with pytest.raises(ParameterError, match="2 points of the box"):
        propose(X, [1.0, 2.0, 3.0], kinds=kinds, box=([0.2, 0.2], [0.3, 0.6]), noisy=False,
                rng=np.random.default_rng(0))  # fmt: skip


def test_a_box_of_one_point():
    X, y = history(8, 2)
    found = propose(X, y, box=([0.4, 0.6], [0.4, 0.6]), rng=np.random.default_rng(0)).points
    np.testing.assert_array_equal(found, [[0.4, 0.6]])


def test_the_whole_cube_is_no_box():
    X, y = history(12, 3)
    plain, boxed = (propose(X, y, rng=np.random.default_rng(3), box=box).points for box in (None, ([0.0] * 3, [1] * 3)))
    np.testing.assert_array_equal(plain, boxed)


def test_a_sharp_prior_is_followed_and_a_faded_one_is_not():
    """Log weights of 1e3 nats over a tenth of the cube outweigh any improvement; 1e-6 nats none."""
    X, y = history(20, 3)
    sharp, faded, none = (
        propose(X, y, prior=prior, rng=np.random.default_rng(4)).points
        for prior in (near(0.8, 0.002), near(0.8, 1e4), None)
    )
    assert np.abs(sharp - 0.8).max() < 0.01
    np.testing.assert_allclose(faded, none, atol=1e-3)


def test_a_weight_multiplies_what_is_maximised():
    class Flat(Bound):
        def __init__(self):
            pass

        def value(self, X):
            return np.full(len(X), 2.0)

        def value_and_slopes(self, X):
            return self.value(X), np.ones(X.shape)

    X = np.random.default_rng(5).random((4, 2))
    function = Weighted(Flat(), near(0.5, 0.1))
    value, slopes = function.value_and_slopes(X)
    np.testing.assert_array_equal(value, function.value(X))
    for j in range(2):
        h = 1e-6 * np.eye(2)[j]
        np.testing.assert_allclose(
            slopes[:, j] - 1.0, (function.value(X + h) - function.value(X - h)) / 2e-6, rtol=1e-6
        )


@pytest.mark.parametrize(
    "change",
    [
        {"box": ([0.5, 0.5], [0.2, 0.9])},
        {"box": ([0.5], [0.7])},
        {"box": ([-0.5, 0.0], [0.2, 0.9])},
        {"box": ([np.nan, 0.0], [0.2, 0.9])},
        {"box": 3},
        {"prior": 3.0},
        {"prior": lambda X: (np.zeros(len(X)), np.zeros(len(X)))},
    ],
)
def test_errors_name_what_is_wrong(change):
    with pytest.raises(ParameterError):
        propose([[0.1, 0.2], [0.3, 0.4], [0.5, 0.9]], [1.0, 2.0, 3.0], rng=np.random.default_rng(0), **change)
