"""Formulas of the usual surrogate's own, against the general ones."""

import numpy as np
import pytest

from credo.design.acquisition.quick import QuickMoments, moments_of
from credo.design.surrogates.cube import Grid, OneHot, cube_of
from credo.design.surrogates.evidence import evidence_of
from credo.design.surrogates.gaussian_process import believe
from credo.design.surrogates.moments import Moments


def belief_of(d=4, n=30, kinds=(), noisy=None, seed=0):
    rng = np.random.default_rng(seed)
    cube = cube_of(kinds, d)
    X = cube.snap(rng.random((n, d)))
    X[-3:] = X[:3]  # copies
    z = np.sin(5.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
    return cube, believe(cube.rows(X), z, cube, noisy=noisy, theta=None), rng


@pytest.mark.parametrize("sd", [0.01, 0.3])
def test_moments_are_the_general_ones(sd):
    cube, belief, rng = belief_of(kinds=(Grid.of(1, 5),))
    belief = belief.at(np.array([-1.0, 0.3, 2.0, -0.2, np.log(sd)]))
    quick, general = moments_of(belief, cube), Moments(belief, cube)
    assert isinstance(quick, QuickMoments)
    points = np.vstack([rng.random((40, 4)), belief.observations.X[:5], belief.observations.X[:5] + 1e-9])
    for one, other in zip(quick(points), general(points)):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    by_mean, by_sd = rng.standard_normal((50, 1)), rng.standard_normal(50)
    one, other = (each.with_slopes(points).pull(by_mean, by_sd) for each in (quick, general))
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7 * np.abs(other).max())


def test_categories_take_the_general_way():
    cube, belief, _ = belief_of(d=5, kinds=(OneHot((2, 3, 4)),))
    assert type(moments_of(belief, cube)) is Moments


@pytest.mark.parametrize("noisy", [None, False])
def test_evidence_is_the_general_one(noisy):
    """Up to a constant; slopes to the digits that sums over pairs leave."""
    _, belief, rng = belief_of(noisy=noisy)
    quick = evidence_of(belief)
    gaps = []
    for _ in range(6):
        theta = np.append(rng.normal(-0.5, 0.8, 4), rng.uniform(-4.0, 0.0))
        value, slope = quick(theta)
        score = belief.at(theta).evidence()
        np.testing.assert_allclose(slope, score.theta, rtol=1e-8, atol=1e-8 * np.abs(score.theta).max())
        gaps.append(value - score.value)
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)


def test_evidence_with_categories_is_the_beliefs_own():
    _, belief, _ = belief_of(d=5, kinds=(OneHot((2, 3, 4)),))
    theta = belief.theta + 0.1
    assert evidence_of(belief)(theta)[0] == belief.at(theta).evidence().value
