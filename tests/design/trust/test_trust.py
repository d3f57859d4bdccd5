"""Trust regions: growth, shrinkage, collapse; boxes; JSON; and regret in thirty dimensions against random points."""

import json

import numpy as np
import pytest

from credo.design.acquisition import Grid, OneHot
from credo.design.trust import Region, propose_in_region


def after(region, values, new, d=5):
    """The region after each of `new` in turn, with all values so far."""
    values = list(values)
    for value in new:
        values.append(value)
        region = region.updated(np.array(values), d)
    return region, values


def test_successes_double_and_failures_halve():
    region, values = after(Region(), [], [1.0])
    assert (region.best, region.length) == (1.0, 0.8)
    region, values = after(region, values, [0.5, 0.2, 0.1])
    assert (region.length, region.successes) == (1.6, 0)
    region, values = after(region, values, [0.05, -0.2, -0.4])
    assert region.length == 1.6  # the largest
    region, values = after(region, values, [1.0] * 5)
    assert (region.length, region.failures) == (0.8, 0)


def test_a_success_in_between_forgives():
    region, _ = after(Region(), [], [1.0, 2.0, 2.0, 2.0, 2.0, 0.5, 2.0])
    assert (region.length, region.failures) == (0.8, 1)


def test_a_collapsed_region_begins_anew():
    region, values = after(Region(), [], [0.0, *[1.0] * 35])
    assert (region.restarts, region.length, region.start, region.best) == (1, 0.8, 36, None)
    region, values = after(region, values, [3.0])
    assert region.best == 3.0  # the first of its own, however bad beside the old


def test_how_values_arrive_does_not_matter_to_failures():
    y = np.array([0.0, *np.ones(4)])
    one, _ = after(Region(), [], y)
    all_at_once = Region().updated(y[:1], 5).updated(y, 5)
    assert one == all_at_once


def test_the_best_that_meets_constraints_counts():
    region = Region().updated(np.array([0.0, 1.0]), 2, np.array([False, True]))
    assert region.best == 1.0


def test_trials_left_out_since_begin_the_region_anew():
    region, values = after(Region(), [], [1.0, 0.5, 0.2])
    assert region.updated(np.array(values[:2]), 5) == Region().updated(np.array(values[:2]), 5)


def test_the_state_is_json():
    region, _ = after(Region(), [], [3.0, 1.0, 2.0])
    assert Region.of(json.loads(json.dumps(region.state()))) == region
    assert Region.of(None) == Region()


@pytest.mark.parametrize("seed", range(5))
def test_boxes_are_within_the_cube_and_have_the_region_s_volume(seed):
    rng = np.random.default_rng(seed)
    scales = np.exp(rng.standard_normal(4))
    low, high = Region(length=1e-3).box(np.full(4, 0.5), scales)
    assert np.prod(high - low) == pytest.approx(1e-12)
    np.testing.assert_allclose((high - low) / scales, ((high - low) / scales)[0])
    low, high = Region().box(rng.random(4), scales)
    assert np.all((low >= 0.0) & (low < high) & (high <= 1.0))


def test_points_lie_in_the_box_around_the_best():
    rng = np.random.default_rng(0)
    X = rng.random((30, 4))
    y = np.sum((X - 0.5) ** 2, axis=1)
    first = propose_in_region(X, y, rng=rng)
    small = Region(length=0.05, seen=30, best=float(y.min()))
    found = propose_in_region(X, y, region=small, state=first.proposal.state, n=2, rng=rng)
    low, high = found.box
    best = X[np.argmin(y)]
    assert np.all((low <= best) & (best <= high))
    assert np.all((found.proposal.points >= low) & (found.proposal.points <= high))
    assert np.prod(high - low) <= 0.05**4 * (1 + 1e-9)
    again = propose_in_region(X, y, region=Region(start=30, seen=30, restarts=1), rng=rng)
    assert again.box is None  # it begins anywhere


def test_grids_and_categories_are_kept():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.random(20), rng.integers(0, 3, 20) / 2, np.eye(2)[rng.integers(0, 2, 20)]])
    kinds = [Grid.of(1, 3), OneHot((2, 3))]
    state = propose_in_region(X, X.sum(axis=1), kinds=kinds, rng=rng).proposal.state
    found = propose_in_region(X, X[:, 0] + X[:, 2], kinds=kinds, state=state, rng=rng).proposal.points[0]
    assert found[1] in (0.0, 0.5, 1.0)
    assert sorted(found[2:]) == [0.0, 1.0]


@pytest.mark.slow
def test_thirty_dimensions():
    """A bowl in 30-D, 120 trials: below a third of what as many random points find."""
    rng = np.random.default_rng(2)
    centre = rng.random(30)

    def f(X):
        return np.sum((X - centre) ** 2, axis=1)

    X, region, state = rng.random((40, 30)), None, None
    y = f(X)
    for _ in range(80):
        found = propose_in_region(X, y, region=region, state=state, rng=rng)
        X, region, state = np.vstack([X, found.proposal.points]), found.region, found.proposal.state
        y = f(X)
    assert y.min() < f(rng.random((120, 30))).min() / 3
