"""Acquisition functions of points: slopes by differences, noisy and pending improvement by brute force."""

import numpy as np
import pytest
import scipy.stats

from credo.design.acquisition.functions import Bound, Feasible, Improvement, Weighted
from credo.design.acquisition.incumbents import fantasise, likely_incumbents
from credo.design.acquisition.inside import Inside
from credo.design.acquisition.quick import moments_of
from credo.design.acquisition.thompson import drawn_path
from credo.design.surrogates.cube import Conditional, Grid, OneHot, cube_of
from credo.design.surrogates.moments import Moments
from credo.design.surrogates.surrogate import fit_surrogate


def surrogate_of(cube, n=25, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = cube.snap(rng.random((n, cube.d)))
    y = np.sin(4 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * X[:, -1] + noise * rng.standard_normal(n)
    return X, fit_surrogate(X, y, cube, noisy=None, warp=False, theta=(), learned_from=0, rng=rng)


def functions(cube):
    X, surrogate = surrogate_of(cube, noise=0.1)
    rng = np.random.default_rng(1)
    plain = moments_of(surrogate.belief, cube)
    given, draws = fantasise(surrogate.belief, cube, X[:4] * 0.9, rng)
    sampled = moments_of(given, cube)
    return {
        "log_ei": Improvement(plain, np.array([-1.0])),
        "log_ei, hopeless": Improvement(plain, np.array([-1e5])),
        "log_ei, sure": Improvement(plain, np.array([1e5])),
        "noisy_log_ei": Improvement(sampled, draws.min(axis=0)),
        "ucb": Bound(plain, 2.0),
        "ucb, pending": Bound(sampled, 2.0),
        "thompson": drawn_path(surrogate, rng),
        "constrained": Feasible(Improvement(plain, np.array([-1.0])), ((plain, 0.2), (plain, -300.0))),
        "weighted": Weighted(
            Improvement(plain, np.array([-1.0])), lambda X: (-50.0 * X[:, 0] ** 2, -100.0 * X * (np.arange(5) == 0))
        ),
        "inside": Weighted(Improvement(plain, np.array([-1.0])), Inside.of(surrogate, X[0])),
        "feasibility": Feasible(None, ((plain, -0.5),)),
    }


@pytest.mark.parametrize("kinds", [(), (Grid.of(1, 5), OneHot((2, 3)))], ids=["continuous", "mixed"])
def test_slopes_are_derivatives(kinds):
    cube = cube_of(kinds, 5)
    points = np.random.default_rng(2).uniform(0.05, 0.95, (6, 5))
    ordered = cube.ordered
    for name, function in functions(cube).items():
        value, slopes = function.value_and_slopes(points)
        np.testing.assert_allclose(value, function.value(points), rtol=1e-9, err_msg=name)
        for j in range(5):
            if j not in ordered:
                assert np.all(slopes[:, j] == 0.0)
                continue
            h = 1e-5 * np.eye(5)[j]
            numeric = (function.value(points + h) - function.value(points - h)) / 2e-5
            rounding = 20 * np.finfo(float).eps * np.abs(value).max() / 1e-5
            atol = 2e-6 * np.abs(slopes).max() + rounding
            np.testing.assert_allclose(slopes[:, j], numeric, atol=atol, err_msg=f"{name}, column {j}")


def test_moments_are_the_belief():
    cube = cube_of(None, 3)
    _, surrogate = surrogate_of(cube)
    points = np.random.default_rng(3).random((50, 3))
    mean, variance = surrogate.belief.latent(points)
    found = Moments(surrogate.belief, cube)(points)
    np.testing.assert_allclose(found[0], mean, atol=1e-10)
    np.testing.assert_allclose(found[1] ** 2, np.maximum(variance, 1e-12), atol=1e-10)


def test_noisy_improvement_is_what_joint_draws_say():
    """E max(min f(incumbents) − f(x), 0) by 4e5 plain draws from the joint belief: their standard error is below 0.5%
    of it, and 64 even draws of the incumbents add a few per cent."""
    cube = cube_of(None, 2)
    X, surrogate = surrogate_of(cube, n=15, noise=0.4)
    belief, rng = surrogate.belief, np.random.default_rng(4)
    incumbents = X[likely_incumbents(belief, X, rng)]
    points = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.9]])
    given, draws = fantasise(belief, cube, incumbents, rng, samples=1024)
    found = np.exp(Improvement(Moments(given, cube), draws.min(axis=0)).value(points))
    for i, x in enumerate(points):
        mean, covariance = belief.latent(np.vstack([incumbents, x]), joint=True)
        f = scipy.stats.multivariate_normal(mean[:, 0], covariance, allow_singular=True).rvs(400_000, random_state=5)
        gain = np.maximum(f[:, :-1].min(axis=1) - f[:, -1], 0.0)
        error = gain.std() / np.sqrt(gain.size)
        # four standard errors (a false alarm of 6e-5 a point), 2% for the 1024 even draws, and what no draw may meet
        assert abs(found[i] - gain.mean()) < 4 * error + 0.02 * gain.mean() + 1e-8


def test_pending_trials_take_away_what_is_gained_beside_them():
    cube = cube_of(None, 2)
    _, surrogate = surrogate_of(cube)
    plain = Improvement(Moments(surrogate.belief, cube), np.array([-1.0]))
    points = np.random.default_rng(6).random((200, 2))
    best = points[np.argmax(plain.value(points))][None]
    given, draws = fantasise(surrogate.belief, cube, best, np.random.default_rng(7))
    after = Improvement(Moments(given, cube), np.minimum(draws.min(axis=0), -1.0))
    assert after.value(best)[0] < plain.value(best)[0] - 3.0


def test_paths_scatter_as_the_belief_does():
    """Means and sds of 20 paths at 5 points: within 4.5 standard errors, a false alarm of 1e-4 for all of them."""
    for kinds in ((), (OneHot((1, 2)),)):
        cube = cube_of(kinds, 4)
        _, surrogate = surrogate_of(cube, noise=0.3)
        points = cube.snap(np.random.default_rng(8).random((5, 4)))
        rng = np.random.default_rng(9)
        values = -np.array([drawn_path(surrogate, rng).value(points) for _ in range(20)])
        mean, sd = Moments(surrogate.belief, cube)(points)
        assert np.all(np.abs(values.mean(axis=0) - mean[:, 0]) < 4.5 * sd / np.sqrt(20))
        assert np.all(np.abs(values.std(axis=0) / sd - 1.0) < 4.5 / np.sqrt(40))


def test_sides_on_which_the_best_trial_lies_are_not_avoided():
    """log w by the Normal's distribution function; at most log 2 a column, nothing on the best's own sides."""
    best, reach = np.array([0.0, 0.5, 0.02, 0.9]), np.array([0.1, 0.2, 0.05, np.inf])
    inside = Inside(best, reach)
    X = np.vstack([np.random.default_rng(0).random((50, 4)), best, [0.0, 0.5, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]])
    shares = [scipy.stats.norm.cdf(part / reach) for part in (X, 1.0 - X)]
    wanted = [scipy.stats.norm.cdf(part / reach) for part in (best, 1.0 - best)]
    log_w = np.sum([np.minimum(0.0, np.log(share / want)) for share, want in zip(shares, wanted)], axis=(0, 2))
    np.testing.assert_allclose(inside(X)[0], log_w, atol=1e-14)
    assert inside(X)[0][50] == 0.0
    assert inside(X)[0][51] > -0.5  # from .02 to the edge
    np.testing.assert_allclose(inside(X)[0][52], -3 * np.log(2.0), atol=0.01)


def test_grids_and_columns_that_only_sometimes_matter_have_no_edges():
    cube = cube_of((Grid.of(1, 5), OneHot((2, 3))), 5)
    X, surrogate = surrogate_of(cube)
    assert np.isfinite(Inside.of(surrogate, X[0]).reach).tolist() == [True, False, False, False, True]
    sometimes = cube_of((Conditional(lambda X: np.ones(X.shape, dtype=bool)),), 5)
    X, surrogate = surrogate_of(sometimes)
    assert np.all(np.isinf(Inside.of(surrogate, X[0]).reach))
