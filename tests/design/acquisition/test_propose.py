"""`propose` and `recommend`: kinds, batches, pending trials, constraints, noise, awkward histories."""

import numpy as np
import pytest

import credo as cr
from credo.design.acquisition import Grid, OneHot, State, propose, recommend
from credo.design.acquisition.propose import ACQUISITIONS
from credo.design.surrogates.surrogate import MOST
from credo.errors import DataError, ParameterError


def bowl(X):
    return np.sum(np.square(X - 0.3), axis=1)


def history(n, d, seed=0):
    X = np.random.default_rng(seed).random((n, d))
    return X, bowl(X)


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_every_acquisition_goes_downhill(acquisition):
    """From 12 trials of a bowl each finds, within four more, a point better than all of them."""
    X, y = history(12, 2)
    rng, state = np.random.default_rng(1), None
    for _ in range(4):
        found = propose(X, y, rng=rng, acquisition=acquisition, state=state)
        X, y, state = np.vstack([X, found.points]), np.append(y, bowl(found.points)), found.state
    assert y[12:].min() < y[:12].min()
    assert found.method == ("log_ei" if acquisition == "auto" else acquisition) or acquisition == "auto"


def test_same_seed_same_points():
    X, y = history(15, 3)
    one, two = (propose(X, y, n=3, rng=np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one.points, two.points)


def test_proposals_say_what_they_are():
    X, y = history(15, 2)
    found = propose(X, y, n=2, rng=np.random.default_rng(0), acquisition="log_ei", warp=False)
    assert np.all(found.exploration > 0.0)
    # the first point's two parts are its expected improvement, whose log was maximised
    total = found.exploitation[0] + found.exploration[0]
    np.testing.assert_allclose(np.log(total), found.acquisition[0], rtol=1e-6, atol=1e-6)
    assert np.all(found.feasibility == 1.0)
    assert np.all(np.abs(found.mean - bowl(found.points)) < 5 * found.sd + 0.02)


def test_units_of_values_do_not_matter():
    """Up to rounding, which a search amplifies: to 1e-3 of the cube."""
    X, y = history(15, 2)
    points = [propose(X, scale * y + shift, rng=np.random.default_rng(2)).points
              for scale, shift in ((1.0, 0.0), (2.0**40, 0.0), (2.0**-30, 0.0))]  # fmt: skip
    np.testing.assert_allclose(points[1], points[0], atol=1e-3)
    np.testing.assert_allclose(points[2], points[0], atol=1e-3)


def test_batches_do_not_clump_nor_repeat_pending_trials():
    X, y = history(20, 2)
    rng = np.random.default_rng(3)
    first = propose(X, y, n=4, rng=rng)
    second = propose(X, y, n=4, pending=first.points, rng=rng)
    points = np.vstack([first.points, second.points, X])
    gaps = np.abs(points[:, None] - points[None]).max(axis=2) + np.eye(len(points))
    assert gaps.min() > 1e-4


KINDS = (Grid.of(1, 4), OneHot((2, 3, 4)))


def test_grids_and_categories_are_kept():
    rng = np.random.default_rng(4)

    def f(X):
        return np.square(X[:, 0] - 0.62) + np.abs(X[:, 1] - 2.0 / 3.0) + 0.5 * X[:, 2] + 0.2 * X[:, 4]

    found = propose(np.empty((0, 5)), [], n=8, kinds=KINDS, rng=rng)
    X, state = found.points, None
    for _ in range(10):
        found = propose(X, f(X), kinds=KINDS, rng=rng, state=state)
        X, state = np.vstack([X, found.points]), found.state
    assert np.all(np.isin(X[:, 1].round(12), np.linspace(0, 1, 4).round(12)))
    np.testing.assert_array_equal(np.sort(X[:, 2:], axis=1), np.tile([0.0, 0.0, 1.0], (len(X), 1)))
    assert f(X).min() < 0.01  # the right level, the right step, and x near .62


def test_a_finite_space_is_tried_whole_without_repeats():
    kinds = (Grid.of(0, 4), OneHot((1, 2, 3)))
    rng = np.random.default_rng(5)
    X = propose(np.empty((0, 4)), [], kinds=kinds, rng=rng).points
    while len(X) < 12:
        X = np.vstack([X, propose(X, X @ [1.0, 0.3, 0.2, 0.0], kinds=kinds, rng=rng).points])
    assert len(np.unique(X, axis=0)) == 12
    with pytest.raises(ParameterError, match="12 points of the space"):
        propose(X, X @ [1.0, 0.3, 0.2, 0.0], kinds=kinds, noisy=False, rng=rng)


def test_constraints_are_met():
    """The least of x₀ + x₁ with x₀ x₁ ≥ ¼ lies at (½, ½)."""
    rng = np.random.default_rng(6)
    X = rng.random((8, 2)) * 0.4  # none meets it
    state = None
    for _ in range(14):
        limits = 0.25 - X[:, 0] * X[:, 1]
        found = propose(X, X.sum(axis=1), constraints=limits, rng=rng, state=state)
        X, state = np.vstack([X, found.points]), found.state
    met = X[:, 0] * X[:, 1] >= 0.25
    assert met.any()
    assert 1.0 <= X[met].sum(axis=1).min() < 1.02
    best = recommend(X, X.sum(axis=1), constraints=0.25 - X[:, 0] * X[:, 1], noisy=False, rng=rng)
    assert met[best.index]
    assert len(state.constraints) == 1


def test_the_lowest_value_of_noisy_trials_is_not_recommended():
    """y = 2(x − .3)² + N(0, ½²), nine trials at each of nine places; the luckiest trial lies elsewhere."""
    rng = np.random.default_rng(7)
    X = np.repeat(np.linspace(0.1, 0.9, 9), 9)[:, None]
    y = 2.0 * np.square(X[:, 0] - 0.3) + 0.5 * rng.standard_normal(81)
    y[-1] = y.min() - 0.3
    found = recommend(X, y, noisy=True, rng=rng)
    assert abs(X[found.index, 0] - 0.3) < 0.15
    assert 0.0 < found.sd < 0.3


@pytest.mark.parametrize("values", ["constant", "huge", "far", "copies"])
def test_awkward_histories(values):
    X, y = history(12, 2)
    if values == "constant":
        y = np.full(12, 3.0)
    elif values == "huge":
        y = y * 1e300
    elif values == "far":
        y[0] = 1e12
    else:
        X, y = np.vstack([X, X[:3], X[:3]]), np.concatenate([y, y[:3], y[:3] + 0.1])
    found = propose(X, y, n=2, rng=np.random.default_rng(8))
    for array in (found.points, found.mean, found.sd, found.acquisition):
        assert np.all(np.isfinite(array))
    assert np.all((found.points >= 0.0) & (found.points <= 1.0))


def test_one_trial_and_one_column():
    found = propose([[0.2]], [1.0], n=3, rng=np.random.default_rng(9))
    assert np.unique(found.points).size == 3


def test_more_trials_than_a_belief_takes():
    X, y = history(MOST + 200, 2)
    first = propose(X, y, rng=np.random.default_rng(10), state=State((0.0, 0.0, -4.0), MOST + 150))
    assert np.abs(first.points - 0.3).max() < 0.1
    assert first.state.n == MOST + 150


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"X": [[0.5, 1.5]], "y": [1.0]}, ParameterError),
        ({"X": [0.5], "y": [1.0]}, ParameterError),
        ({"y": [1.0, np.nan, 2.0]}, DataError),
        ({"y": [1.0]}, ParameterError),
        ({"n": 0}, ParameterError),
        ({"acquisition": "ei"}, ParameterError),
        ({"pending": [[0.1]]}, ParameterError),
        ({"constraints": [1.0]}, ParameterError),
        ({"kinds": [Grid.of(7, 3)]}, ParameterError),
        ({"kinds": [Grid.of(0, 3), OneHot((0, 1))]}, ParameterError),
        ({"kinds": [Grid(0, (0.5, 0.2))]}, ParameterError),
        ({"kinds": ["integer"]}, ParameterError),
    ],
)
def test_errors_name_what_is_wrong(change, error):
    given = {"X": [[0.1, 0.2], [0.3, 0.4], [0.5, 0.9]], "y": [1.0, 2.0, 3.0], **change}
    with pytest.raises(error):
        propose(given.pop("X"), given.pop("y"), rng=np.random.default_rng(0), **given)


def test_a_seed_will_do_for_a_generator() -> None:
    """In every function of a design that takes one; what is no seed is named."""
    from credo.design.bandits import bernoulli_arms, choose, simulate_regret
    from credo.design.forest.propose import propose_by_forest
    from credo.design.fronts import propose_front
    from credo.design.importance import importance
    from credo.design.trust.propose import propose_in_region

    space = cr.Space(a=cr.Real(0, 1), b=cr.Real(0, 1))
    points = space.sample(12, np.random.default_rng(0))
    X, arms = space.encode(points).X, bernoulli_arms(2)
    y = X.sum(axis=1)
    calls = [
        lambda rng: propose(X, y, rng=rng).points.tolist(),
        lambda rng: recommend(X, y, rng=rng).mean,
        lambda rng: propose_front(X, X, rng=rng).points.tolist(),
        lambda rng: propose_in_region(X, y, rng=rng).proposal.points.tolist(),
        lambda rng: propose_by_forest(space, points, y, rng=rng).points,
        lambda rng: importance(space, points, y, rng, n_trees=4, method="forest").share.tolist(),
        lambda rng: choose(arms, rng, n=5).tolist(),
        lambda rng: simulate_regret(arms, "thompson", [0.2, 0.8], 20, rng).tolist(),
    ]
    for call in calls:
        assert call(3) == call(np.random.default_rng(3))
        with pytest.raises(ParameterError, match="random_state"):
            call("three")
