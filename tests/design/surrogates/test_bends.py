"""Input warping: Kumaraswamy's functions against differences, the learned bends, and what they are for."""

import numpy as np
import pytest
import scipy.stats
from scipy.optimize import approx_fprime

import credo as cr
from credo.design.acquisition import OneHot, propose, recommend
from credo.design.acquisition.quick import moments_of
from credo.design.surrogates.bending import learn_bent, posterior_of_bent
from credo.design.surrogates.bends import bend, bend_slope, bends_slopes
from credo.design.surrogates.cube import cube_of
from credo.design.surrogates.gaussian_process import believe
from credo.design.surrogates.surrogate import fit_surrogate
from credo.errors import ParameterError
from credo.studies.samplers.gp import GPSampler


def logarithm(X):
    """All its change is near 0 of the first column."""
    return np.log(X[:, 0] + 1e-3) + 0.3 * X[:, 1]


def test_bends_are_distribution_functions_with_their_slopes():
    rng = np.random.default_rng(0)
    u, bends = rng.random((40, 2)), np.array([-0.9, 0.4, 0.7, -0.3])
    w = bend(u, bends)
    a, b = np.exp(bends).reshape(2, -1)
    np.testing.assert_allclose(w, 1 - (1 - u**a) ** b, rtol=1e-12)
    h = 1e-6
    np.testing.assert_allclose(bend_slope(u, bends), (bend(u + h, bends) - bend(u - h, bends)) / (2 * h), rtol=1e-5)
    for part, which in zip(bends_slopes(u, bends), (slice(0, 2), slice(2, 4))):
        moved = np.zeros(4)
        moved[which] = h
        difference = (bend(u, bends + moved) - bend(u, bends - moved)) / (2 * h)
        np.testing.assert_allclose(part, difference, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(bend(u, np.zeros(4)), u, rtol=1e-12)
    ends = bend(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([-2.0, 2.0, 2.0, -2.0]))
    assert np.all((ends >= 0) & (ends <= 1))
    assert np.all(np.isfinite(bend_slope(np.zeros((1, 2)), bends)))


@pytest.mark.parametrize("kinds", [[], [OneHot((2, 3))]])
def test_slopes_of_the_posterior_by_differences(kinds):
    rng = np.random.default_rng(1)
    X = rng.random((25, 4))
    cube = cube_of(kinds, 4)
    X = cube.snap(np.concatenate([X, X[:3]]))  # some points twice
    belief = believe(cube.rows(X), scipy.stats.zscore(logarithm(X)), cube, noisy=True, theta=None)
    objective = posterior_of_bent(belief)
    at = np.concatenate([belief.theta + 0.2, 0.3 * rng.standard_normal(2 * cube.ordered.size)])
    np.testing.assert_allclose(
        objective(at)[1], approx_fprime(at, lambda p: objective(p)[0], 1e-6), rtol=2e-4, atol=2e-4
    )


def test_a_logarithm_is_unbent_and_predicted_better():
    """Both predict 200 points unseen; the bent process has less than a fifth of the other's median error."""
    rng = np.random.default_rng(2)
    X, new = rng.random((30, 2)), rng.random((200, 2))
    errors = []
    for warp_inputs in (False, True):
        found = fit_surrogate(X, logarithm(X), cube_of([], 2), noisy=False, warp=False, theta=(), learned_from=0,
                              rng=rng, warp_inputs=warp_inputs)  # fmt: skip
        errors.append(np.median(np.abs(found.outcomes.outside(found.mean_at(new)) - logarithm(new))))
    assert errors[1] < errors[0] / 5
    assert found.cube.bends[0] < -0.3  # a < 1 stretches the beginning of the first column
    # Slopes of moments go through the bend.
    moments, x = moments_of(found.belief, found.cube), new[:1]
    predicted = moments.with_slopes(x)
    slope = predicted.pull(np.ones((1, 1)), np.ones(1))[0]
    np.testing.assert_allclose(
        slope, approx_fprime(x[0], lambda p: float(moments(p[None])[0][0, 0] + moments(p[None])[1][0]), 1e-7),
        rtol=1e-3, atol=1e-4,
    )  # fmt: skip


def test_a_search_goes_on_from_what_it_learned():
    rng = np.random.default_rng(3)
    X = rng.random((10, 2))
    belief = believe(X, scipy.stats.zscore(logarithm(X)), cube_of([], 2), noisy=False, theta=None)
    theta, bends = learn_bent(belief, np.zeros(4), warm=False)
    objective = posterior_of_bent(belief)
    assert objective(np.concatenate([theta, bends]))[0] > objective(np.concatenate([theta, np.zeros(4)]))[0]
    for acquisition in ("auto", "thompson"):
        options = {"warp_inputs": True, "acquisition": acquisition, "noisy": False, "rng": np.random.default_rng(0)}
        first = propose(X, logarithm(X), **options)
        assert len(first.state.theta) == 3 + 4
        again = propose(X, logarithm(X), state=first.state, **options)
        assert np.all(np.isfinite(again.points))
        assert np.all(np.isfinite(again.mean))
        plain = propose(X, logarithm(X), noisy=False, rng=np.random.default_rng(0), state=first.state)
        assert len(plain.state.theta) == 3  # another kind of belief begins afresh
    assert recommend(X, logarithm(X), warp_inputs=True, noisy=False, rng=rng).index == int(np.argmin(logarithm(X)))


def test_a_study_takes_them_and_says_what_is_wrong():
    space = cr.Space(x=cr.Real(0, 1), n=cr.Integer(1, 4))

    def cost(p):
        return np.log(p["x"] + 1e-3) + p["n"]

    for sampler in (GPSampler(warp=False), GPSampler(warp_inputs=True, warp=True)):
        study = cr.Study(space, sampler=sampler, random_state=0).optimize(cost, 14)
        assert study.best["n"] == 1
        assert study.best["x"] < 0.02
        assert study.records[-1].why["method"] == "gp"
    for wrong in ({"warp": 1}, {"warp_inputs": None}, {"acquisition": "best"}):
        with pytest.raises(ParameterError, match="GPSampler"):
            GPSampler(**wrong)
