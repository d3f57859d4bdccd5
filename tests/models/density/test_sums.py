"""Every way of summing against sums over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from credo.models.density.grid import grid_sums, plan
from credo.models.density.sums import kd_order, log_sums


def exact(Z: np.ndarray, w: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.array([logsumexp(np.log(w) - 0.5 * np.square(Z - y).sum(axis=1)) for y in Y])


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("tolerance", [1e-15, 1e-4])
def test_blocks_keep_their_tolerance(d: int, tolerance: float) -> None:
    rng = np.random.default_rng(d)
    Z = np.concatenate([rng.normal(size=(1500, d)) * 8, rng.normal(size=(300, d)) + 40])
    Y = np.concatenate([rng.normal(size=(400, d)) * 10, [[1e3] * d, [-1e6] * d]])
    w = rng.random(Z.shape[0]) + 0.01
    np.testing.assert_allclose(log_sums(Z, w, Y, tolerance), exact(Z, w, Y), rtol=1e-12, atol=max(tolerance, 1e-11))


@pytest.mark.parametrize(("d", "width"), [(1, 12.0), (2, 6.0), (3, 3.0)])
@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("weighted", [False, True])
def test_grid_keeps_its_tolerance_where_it_claims_to(d: int, width: float, rtol: float, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(3000, d)) * width
    Y = rng.normal(size=(300, d)) * width * 1.3
    w = rng.random(3000) + 0.1 if weighted else None
    found = plan(Z, 10**7, rtol)  # as if many were asked for
    if d == 3 and rtol == 1e-6:
        return  # some 10 s
    assert found is not None
    full = np.full(3000, 1 / 3000) if w is None else w
    truth, sums = np.exp(exact(Z, full, Y)), grid_sums(found, Z, w, Y)
    claimed = sums >= found.least * full.sum()
    assert claimed.sum() > 100
    np.testing.assert_allclose(sums[claimed], truth[claimed], rtol=rtol)


def test_a_grid_is_not_planned_where_pairs_are_cheaper_or_memory_ends() -> None:
    Z = np.random.default_rng(0).normal(size=(1000, 1))
    assert plan(Z, 5, 1e-4) is None
    assert plan(np.array([[0.0], [1e9]]), 10**9, 1e-4) is None
    assert plan(np.zeros((1000, 4)), 10**9, 1e-4) is None


def test_boxes_hold_every_row_once() -> None:
    Z = np.random.default_rng(0).normal(size=(1003, 3))
    leaves = kd_order(Z, 64)
    assert max(map(len, leaves)) <= 64
    assert np.array_equal(np.sort(np.concatenate(leaves)), np.arange(1003))
    assert len(kd_order(np.zeros((1000, 2)), 64)) >= 16  # equal rows too


def test_sums_far_beyond_all_points_are_exact_and_silent() -> None:
    """At 1e9 bandwidths and more the squares in the matrix product round by more than exp holds."""
    Z, w = np.array([[-1.0], [0.5], [2.0]]), np.array([0.2, 0.3, 0.5])
    Y = np.array([[0.0], [1e10], [-1e12], [1e150]])
    np.testing.assert_allclose(log_sums(Z, w, Y, 1e-15), exact(Z, w, Y), rtol=1e-12)
