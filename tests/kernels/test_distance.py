"""Squared distances and sums over pairs, against the same in extended precision."""

from __future__ import annotations

import numpy as np
import pytest

from credo.kernels import RBF, Matern
from credo.kernels.distance import square_distances, weighted_differences, weighted_squares


def _rows(columns: int, scale: float, offset: float) -> np.ndarray:
    """Duplicates, near-duplicates from 1e-12 to 1e-3 of the scale, and others."""
    rng = np.random.default_rng(columns)
    rows = rng.normal(size=(40, columns))
    rows[1] = rows[0]
    for i, distance in enumerate(10.0 ** np.arange(-12, -2)):
        rows[2 + i] = rows[0] + distance * rng.normal(size=columns)
    return scale * rows + offset


def _exact(B, x, z):
    difference = x.astype(np.longdouble)[:, None] - z.astype(np.longdouble)
    squares = np.square(difference)
    return squares.sum(axis=2), np.einsum("ab,abj->j", B, squares), np.einsum("ab,abj->aj", B, difference)


@pytest.mark.parametrize("columns", [1, 3, 40])
@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e5, 0.0), (1.0, 1e6), (1e140, 0.0), (1e-140, 0.0)])
def test_pairs_near_and_far_keep_twelve_digits(columns, scale, offset):
    """Each distance to 1e-12 of itself; the sums to 1e-12 of their terms' sizes, near pairs weighing most."""
    x = _rows(columns, scale, offset)
    z = x[:25]
    q, _, _ = _exact(np.ones((40, 25)), x, z)
    np.testing.assert_allclose(square_distances(x, z), q.astype(float), rtol=1e-12)
    B = np.random.default_rng(0).normal(size=q.shape) / (1.0 + 1e6 * q.astype(float) / scale**2)
    _, squares, differences = _exact(B, x, z)
    _, sizes, _ = _exact(np.abs(B), x, z)
    found = weighted_squares(B.copy(), x, z, square_distances(x, z))
    assert np.all(np.abs(found - squares) <= 1e-12 * sizes)
    size = np.einsum("ab,abj->aj", np.abs(B), np.abs(x[:, None] - z))
    assert np.all(np.abs(weighted_differences(B.copy(), x, z, q.astype(float)) - differences) <= 1e-12 * size)


def test_duplicates_are_duplicates_at_any_lengthscale():
    """A matrix product alone would put them 1e-5 apart at ℓ = 1e-5, and their gradients off by as much."""
    X = np.random.default_rng(1).normal(size=(30, 20))
    X[1] = X[0]
    for lengthscale in (1e-5, 1e-100):
        for kernel in (RBF(np.full(20, lengthscale)), Matern(np.full(20, lengthscale), nu=0.5)):
            K = kernel(X)
            assert K[0, 1] == 1.0
            assert np.all(np.diag(K) == 1.0)
            assert K.sum() == 32.0
            np.testing.assert_array_equal(kernel.gradient(X, None, np.ones((30, 30))), 0.0)
