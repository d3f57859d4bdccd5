"""Batches in which some rows have lost digits: only those are done one by one, and the answers are the same."""

import numpy as np
import pytest

from credo.errors import NotIdentifiedError
from credo.inference.gaussian_block import GaussianBlock, LinearFactor
from credo.inference.gaussian_block.batch import solve_batch

GROUPS = 6


def hierarchy():
    """y_j ~ N(θ_j, 1), θ_j ~ N(μ, τ), μ ~ N(0, 5); coefficients of τ."""
    y = np.array([3.0, -1.0, 0.5, 2.0, 1.0, -2.0])
    theta, mu = np.eye(GROUPS, GROUPS + 1), np.eye(1, GROUPS + 1, GROUPS)
    spread = theta - np.repeat(mu, GROUPS, axis=0)
    block = GaussianBlock([LinearFactor([theta], [y]), LinearFactor([spread]), LinearFactor([mu])], GROUPS + 1)
    return block, lambda tau: block.pack([((1.0,), (-1.0,), 1.0), ((1.0,), (), tau), ((1.0,), (), 5.0)])


def scales():
    block, at = hierarchy()
    return block, np.array([at(tau) for tau in (2.0, 1e-5, 0.3, 1e-7, 1.0, 1e-4)])


def test_only_near_singular_rows_are_done_with_care():
    block, x = scales()
    solved = solve_batch(block, x)
    assert solved is not None
    assert solved.careful.tolist() == [1, 3, 5]


def test_values_moments_and_gradients_are_those_of_single_evaluations():
    block, x = scales()
    values, gradients = block.log_marginals(x)
    means, sds = block.moments(x)
    for row, value, gradient, mean, sd in zip(x, values, gradients, means, sds, strict=True):
        single, slope = block.log_marginal(row)
        belief = block.condition(row)
        np.testing.assert_allclose(value, single, rtol=1e-10)
        np.testing.assert_allclose(gradient, slope, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(mean, belief.mean, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(sd, belief.sd, rtol=1e-7)


def test_draws_of_careful_rows_have_their_law():
    """1,000 draws: 14 z-scores of means, 14 of variances; beyond 5 by chance in fewer than 1 of 5,000."""
    block, at = hierarchy()
    for tau in (1e-6, 1.0):
        belief = block.condition(at(tau))
        draws = block.sample_each(np.tile(at(tau), (1000, 1)), np.random.default_rng(3))
        z = (draws - belief.mean) / belief.sd
        assert np.all(np.abs(z.mean(axis=0)) < 5.0 / np.sqrt(1000))
        assert np.all(np.abs(np.square(z).mean(axis=0) - 1.0) < 5.0 * np.sqrt(2.0 / 1000))
        if tau < 1.0:
            np.testing.assert_allclose(draws[:, 0], draws[:, -1], atol=1e-4)


def test_rows_without_a_factor_do_not_spoil_the_others():
    """A singular row is still an error of the whole call, named as for one."""
    X = np.array([[1.0, 1.0]])
    block = GaussianBlock([LinearFactor([X], [np.ones(1)]), LinearFactor([np.eye(2)])], 2)
    good = block.pack([((1.0,), (-1.0,), 1.0), ((1.0,), (), 1.0)])
    bad = block.pack([((1.0,), (-1.0,), 1.0), ((0.0,), (), 1.0)])
    assert np.isfinite(block.log_marginals(np.array([good, good]))[0]).all()
    with pytest.raises(NotIdentifiedError):
        block.log_marginals(np.array([good, bad, good]))
