"""`propose_front`: it fills fronts; kinds, batches, pending trials, constraints, noise, awkward histories."""

import numpy as np
import pytest

from credo.design.acquisition import Grid, OneHot, State
from credo.design.acquisition.functions import Bound
from credo.design.fronts import hypervolume, non_dominated, propose_front
from credo.design.fronts.functions import End, FrontImprovement, padded_corners
from credo.design.fronts.incumbents import fantasise_front, likely_front
from credo.design.surrogates.cube import cube_of
from credo.design.surrogates.moments import Moments
from credo.design.surrogates.surrogate import fit_surrogate
from credo.errors import DataError, ParameterError


def two(X):
    """Distances to two corners of a smaller square: the front is the line between them."""
    a, b = np.full(X.shape[1], 0.2), np.full(X.shape[1], 0.8)
    return np.column_stack([np.square(X - a).sum(axis=1), np.square(X - b).sum(axis=1)])


def history(n, d, seed=0):
    X = np.random.default_rng(seed).random((n, d))
    return X, two(X)


def played(n, d, seed=0, **options):
    X, Y = history(6, d, seed)
    rng, state = np.random.default_rng(seed), None
    for _ in range(n):
        found = propose_front(X, Y, rng=rng, state=state, **options)
        X, Y, state = np.vstack([X, found.points]), np.vstack([Y, two(found.points)]), found.state
    return X, Y


def test_a_front_is_filled():
    """The whole front, t ↦ d·.36·(t², (1 − t)²), has a known hypervolume; 14 proposals find 97% of it, random points
    three quarters."""
    _, Y = played(14, 2)
    t = np.linspace(0.0, 1.0, 2001)
    r = np.array([0.8, 0.8])
    whole = hypervolume(0.72 * np.column_stack([t**2, (1 - t) ** 2]), r)
    assert hypervolume(Y, r) > 0.97 * whole
    assert hypervolume(history(20, 2, 1)[1], r) < 0.9 * whole


def beliefs_of(noise=0.0, n=20, seed=0):
    cube = cube_of(None, 3)
    rng = np.random.default_rng(seed)
    X, Y = history(n, 3, seed)
    Y = Y + noise * rng.standard_normal(Y.shape)
    made = [fit_surrogate(X, y, cube, noisy=None, warp=False, theta=(), learned_from=0, rng=rng) for y in Y.T]
    return cube, X, (made[0].belief, made[1].belief)


def test_slopes_are_derivatives():
    cube, X, beliefs = beliefs_of(noise=0.05)
    plain = [Moments(belief, cube) for belief in beliefs]
    rng = np.random.default_rng(1)
    given, draws = fantasise_front(beliefs, cube, X[:5] * 0.9, rng)
    right, top = padded_corners([draw[non_dominated(draw)] for draw in draws], np.array([1.0, 1.0]))
    front = np.array([[-1.0, 0.5], [-0.2, -0.3], [0.6, -1.2]])
    functions = {
        "front": FrontImprovement(*plain, *padded_corners([front], np.array([1.0, 1.0]))),
        "no front": FrontImprovement(*plain, *padded_corners([front[:0]], np.array([1.0, 1.0]))),
        "hopeless": FrontImprovement(*plain, *padded_corners([front - 500.0], np.array([-490.0, -480.0]))),
        "sure": FrontImprovement(*plain, *padded_corners([front + 500.0], np.array([600.0, 600.0]))),
        "sampled": FrontImprovement(*(Moments(each, cube) for each in given), right, top),
        "end": End((Bound(plain[0], 2.0), Bound(plain[1], 2.0)), (1.0, 0.05)),
    }
    points = rng.uniform(0.05, 0.95, (5, 3))
    for name, function in functions.items():
        value, slopes = function.value_and_slopes(points)
        np.testing.assert_allclose(value, function.value(points), rtol=1e-10, err_msg=name)
        for j in range(3):
            h = 1e-5 * np.eye(3)[j]
            numeric = (function.value(points + h) - function.value(points - h)) / 2e-5
            rounding = 20 * np.finfo(float).eps * np.abs(value).max() / 1e-5
            atol = 2e-6 * np.abs(slopes).max() + rounding
            np.testing.assert_allclose(slopes[:, j], numeric, atol=atol, err_msg=f"{name}, column {j}")


def test_sampled_improvement_is_what_joint_draws_say():
    """E of the hypervolume that x adds to the front of the incumbents, by 1500 plain joint draws, within 4.5 of their
    standard errors (a false alarm of 2e-5 for all three points) and 3% for 512 even ones."""
    cube, X, beliefs = beliefs_of(noise=0.1, n=12)
    rng = np.random.default_rng(2)
    incumbents = X[likely_front(beliefs, X, rng)]
    r = np.array([0.5, 0.5])
    given, draws = fantasise_front(beliefs, cube, incumbents, rng, samples=512)
    corners = padded_corners([draw[non_dominated(draw)] for draw in draws], r)
    points = np.array([[0.5, 0.5, 0.5], [0.3, 0.2, 0.4], [0.9, 0.9, 0.7]])
    found = np.exp(FrontImprovement(Moments(given[0], cube), Moments(given[1], cube), *corners).value(points))
    for i, x in enumerate(points):
        joint = [belief.latent(np.vstack([incumbents, x]), joint=True) for belief in beliefs]
        f = np.stack([rng.multivariate_normal(mean[:, 0], cov, 1500) for mean, cov in joint], axis=2)
        gain = [hypervolume(each, r) - hypervolume(each[:-1], r) for each in f]
        assert abs(found[i] - np.mean(gain)) < 4.5 * np.std(gain) / np.sqrt(1500) + 0.03 * np.mean(gain)


def test_likely_fronts_hold_what_means_put_there():
    cube, X, beliefs = beliefs_of(noise=0.02, n=60)
    found = likely_front(beliefs, X, np.random.default_rng(3))
    means = np.column_stack([belief.latent_mean(cube.rows(X))[:, 0] for belief in beliefs])
    assert set(np.flatnonzero(non_dominated(means))) <= set(found.tolist()) or len(found) == 24
    assert len(set(found.tolist())) == len(found)


def test_proposals_say_what_they_are():
    X, Y = history(15, 2)
    found = propose_front(X, Y, n=2, rng=np.random.default_rng(0))
    assert found.method == "log_ehvi"
    np.testing.assert_allclose(np.log(found.exploitation[0] + found.exploration[0]), found.acquisition[0], atol=1e-6)
    assert np.all(found.exploration >= 0.0)
    assert found.mean.shape == found.sd.shape == (2, 2)
    assert np.all(np.abs(found.mean - two(found.points)) < 5 * found.sd + 0.02)
    assert np.all(found.feasibility == 1.0)
    assert np.all(found.reference > Y[non_dominated(Y)].min(axis=0))


def test_same_seed_same_points_and_objectives_may_be_swapped_or_scaled():
    X, Y = history(12, 2)
    one, again = (propose_front(X, Y, n=2, rng=np.random.default_rng(5)).points for _ in range(2))
    np.testing.assert_array_equal(one, again)
    scaled = propose_front(X, Y * [2.0**20, 2.0**-20], n=2, rng=np.random.default_rng(5)).points
    np.testing.assert_allclose(scaled, one, atol=1e-3)  # up to rounding, which a search amplifies


def test_state_is_handed_on():
    X, Y = history(12, 2)
    first = propose_front(X, Y, rng=np.random.default_rng(6))
    assert len(first.state.theta) == 6  # two lengthscales and the noise, twice
    told = State(first.state.theta, first.state.n, first.state.constraints)
    assert propose_front(X, Y, rng=np.random.default_rng(6), state=told).points.shape == (1, 2)


def test_batches_do_not_clump_nor_repeat_pending_trials():
    X, Y = history(15, 2)
    rng = np.random.default_rng(7)
    first = propose_front(X, Y, n=3, rng=rng)
    second = propose_front(X, Y, n=3, pending=first.points, rng=rng)
    points = np.vstack([first.points, second.points, X])
    gaps = np.abs(points[:, None] - points[None]).max(axis=2) + np.eye(len(points))
    assert gaps.min() > 1e-3


def test_noise_is_learned_and_the_front_drawn():
    rng = np.random.default_rng(8)
    X = np.repeat(np.linspace(0.0, 1.0, 6), 6)[:, None]  # six trials at each place tell noise from the function
    Y = two(X)
    found = propose_front(X, Y + 0.2 * rng.standard_normal(Y.shape), rng=rng)
    assert found.method == "noisy_log_ehvi"
    assert "noise of" in found.reason
    assert propose_front(X, Y, rng=rng, noisy=True).method == "noisy_log_ehvi"


def test_constraints_are_met():
    """Only x₀ ≥ ½ is allowed; none of the first trials is."""
    rng = np.random.default_rng(9)
    X = rng.random((6, 2)) * [0.4, 1.0]
    state = None
    for _ in range(10):
        found = propose_front(X, two(X), constraints=0.5 - X[:, 0], rng=rng, state=state)
        X, state = np.vstack([X, found.points]), found.state
    assert (X[6:, 0] >= 0.5).sum() >= 6
    assert len(found.state.constraints) == 1


def test_kinds_boxes_and_priors():
    kinds = (Grid.of(1, 5), OneHot((2, 3)))
    rng = np.random.default_rng(10)
    box = (np.array([0.5, 0.0, 0.0, 0.0]), np.array([0.7, 0.6, 1.0, 1.0]))
    X = propose_front(np.empty((0, 4)), np.empty((0, 2)), n=8, kinds=kinds, rng=rng).points
    found = propose_front(X, two(X), n=2, kinds=kinds, box=box, rng=rng).points
    assert np.all((found[:, 0] >= 0.5) & (found[:, 0] <= 0.7))
    assert np.all(np.isin(found[:, 1], [0.0, 0.25, 0.5]))
    assert np.all(found[:, 2:].sum(axis=1) == 1.0)

    def near(X):
        gap = (X - 0.9) / 0.002
        return -0.5 * np.sum(gap**2, axis=1), -gap / 0.002

    X, Y = history(10, 2)
    assert np.abs(propose_front(X, Y, prior=near, rng=rng).points - 0.9).max() < 0.01


def test_a_stated_reference_is_kept_to():
    """Only the end where the first objective is below .1 counts."""
    X, Y = history(15, 2)
    found = propose_front(X, Y, reference=[0.1, 5.0], n=2, rng=np.random.default_rng(11))
    np.testing.assert_array_equal(found.reference, [0.1, 5.0])
    assert np.all(two(found.points)[:, 0] < 0.1)


@pytest.mark.parametrize("values", ["constant", "same", "huge", "far", "one", "conflict"])
def test_awkward_histories(values):
    X, Y = history(10, 2)
    if values == "constant":
        Y = np.full((10, 2), 3.0)
    elif values == "same":  # the front is one point
        Y = np.column_stack([Y[:, 0], Y[:, 0]])
    elif values == "huge":
        Y = Y * [1e200, 1e-200]
    elif values == "far":
        Y[0] = 1e12
    elif values == "one":
        X, Y = X[:1], Y[:1]
    else:
        Y = np.column_stack([Y[:, 0], -Y[:, 0]])  # all are on the front
    found = propose_front(X, Y, n=2, rng=np.random.default_rng(12))
    for array in (found.points, found.mean, found.sd, found.acquisition, found.reference):
        assert np.all(np.isfinite(array))
    assert np.all((found.points >= 0.0) & (found.points <= 1.0))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"Y": [1.0, 2.0, 3.0]}, ParameterError),
        ({"Y": [[1.0, 2.0, 3.0]] * 3}, ParameterError),
        ({"Y": [[1.0, 2.0]] * 2}, ParameterError),
        ({"Y": [[1.0, 2.0], [1.0, np.nan], [1.0, 1.0]]}, DataError),
        ({"reference": [1.0]}, ParameterError),
        ({"reference": [1.0, np.nan]}, ParameterError),
        ({"n": 0}, ParameterError),
        ({"constraints": [1.0]}, ParameterError),
        ({"prior": 1.0}, ParameterError),
        ({"box": ([0.5, 0.5], [0.2, 0.9])}, ParameterError),
    ],
)
def test_errors_name_what_is_wrong(change, error):
    given = {"X": [[0.1, 0.2], [0.3, 0.4], [0.5, 0.9]], "Y": [[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]], **change}
    with pytest.raises(error):
        propose_front(given.pop("X"), given.pop("Y"), rng=np.random.default_rng(0), **given)
