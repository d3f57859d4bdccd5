"""The routines taken from LAPACK by name."""

import mpmath
import numpy as np
import pytest

from credo.numerics.lapack import jacobi_svd, reciprocal_condition, triangle


@pytest.mark.parametrize("n", [1, 4, 40])
def test_triangles_multiply_to_the_matrix(n):
    rows = np.random.default_rng(n).normal(size=(2 * n, n))
    matrix = rows.T @ rows
    lower, upper = triangle(matrix, lower=True), triangle(matrix, lower=False)
    np.testing.assert_allclose(lower @ lower.T, matrix, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(upper.T @ upper, matrix, rtol=1e-12, atol=1e-12)
    assert np.array_equal(lower, np.tril(lower))
    assert np.array_equal(upper, np.triu(upper))
    assert triangle(matrix - 2.0 * np.trace(matrix) * np.eye(n), lower=True) is None


def test_the_condition_is_estimated_within_a_factor_of_three():
    rng = np.random.default_rng(0)
    for exponent in (0, 4, 9):
        q, _ = np.linalg.qr(rng.normal(size=(20, 20)))
        matrix = (q * np.logspace(0, -exponent, 20)) @ q.T
        matrix = 0.5 * (matrix + matrix.T)
        exact = 1.0 / np.linalg.cond(matrix, 1)
        found = reciprocal_condition(triangle(matrix, lower=False), np.abs(matrix).sum(axis=0).max())
        assert exact * 0.99 <= found <= 3.0 * exact


def test_graded_singular_values_and_vectors_keep_their_digits():
    rng = np.random.default_rng(11)
    rows = np.triu(rng.normal(size=(5, 5))) * 10.0 ** -np.arange(0.0, 20.0, 4.0)[:, None]
    with mpmath.workdps(60):
        _, truth, right = mpmath.svd_r(mpmath.matrix(rows.tolist()))
    u, singular, v = jacobi_svd(rows)
    np.testing.assert_allclose(singular, [float(s) for s in truth], rtol=1e-13)
    expected = np.array([[float(right[k, i]) for k in range(5)] for i in range(5)])
    np.testing.assert_allclose(np.abs(v), np.abs(expected), rtol=1e-11)
    np.testing.assert_allclose((u * singular) @ v.T, rows, atol=1e-15)


@pytest.mark.parametrize(("k", "p"), [(0, 3), (1, 1), (1, 4), (3, 5), (12, 30)])
def test_fewer_rows_than_columns_leave_zeros(k, p):
    rows = np.random.default_rng(k).normal(size=(k, p))
    u, singular, v = jacobi_svd(rows)
    assert u.shape == (k, p)
    assert not singular[k:].any()
    np.testing.assert_allclose((u * singular) @ v.T, rows, atol=1e-13)
    np.testing.assert_allclose(v.T @ v, np.eye(p), atol=1e-13)
