"""Cholesky factors that never fail in silence: K = L Lᵀ, with a stated jitter where rounding demands it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from credo.errors import NotPositiveDefiniteError
from credo.numerics.lapack import triangle

__all__ = ["CholeskyFactor", "cholesky", "cholesky_update", "solve_lower", "log_determinant"]

# Relative to the mean diagonal; ×10 from rounding level to where the answer would visibly change (DESIGN §5).
JITTERS = (0.0, *(10.0**k for k in range(-12, -3)))


class CholeskyFactor(NamedTuple):
    """`lower` (n, n) with K + jitter·I = lower lowerᵀ; `jitter` ≥ 0 in K's units, 0 when none was needed."""

    lower: np.ndarray
    jitter: float


def cholesky(matrix: np.ndarray, name: str = "matrix") -> CholeskyFactor:
    """Lower Cholesky factor of a symmetric matrix (n, n), with jitter ×10 from 1e-12 to 1e-4 of its mean diagonal.

    Raises `NotPositiveDefiniteError`, naming `name` and carrying the smallest eigenvalue, when the largest jitter
    is not enough. Cost n³/3.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 3.0]])).lower.round(3).tolist()
    [[2.0, 0.0], [1.0, 1.414]]
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise NotPositiveDefiniteError(f"{name} must be square, got shape {matrix.shape}.", value=matrix)
    if not np.all(np.isfinite(matrix)):
        raise NotPositiveDefiniteError(f"{name} holds NaN or infinite entries.", value=matrix)
    n = matrix.shape[0]
    scale = float(np.mean(np.diag(matrix))) if n else 1.0
    for relative in JITTERS:
        jitter = relative * scale
        candidate = matrix if relative == 0.0 else matrix + jitter * np.eye(n)
        lower = triangle(candidate, lower=True)
        if lower is not None:
            return CholeskyFactor(np.ascontiguousarray(lower), jitter)
        if scale <= 0.0:
            break
    smallest = float(np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[0])
    raise NotPositiveDefiniteError(
        f"{name} is not positive definite (smallest eigenvalue {smallest:.3g}, mean diagonal {scale:.3g}).",
        value=smallest,
        remedy="Check for duplicated or contradictory entries, or use a larger noise or prior variance.",
    )


def solve_lower(lower: np.ndarray, right: np.ndarray, *, transpose: bool = False) -> np.ndarray:
    """L⁻¹ right, or L⁻ᵀ right with `transpose`: triangular, never an inverse."""
    return scipy.linalg.solve_triangular(lower, right, lower=True, trans=1 if transpose else 0, check_finite=False)


def log_determinant(lower: np.ndarray) -> float:
    """log |L Lᵀ| = 2 Σ log L_ii."""
    return 2.0 * float(np.sum(np.log(np.diag(lower))))


def cholesky_update(lower: np.ndarray, columns: np.ndarray, *, downdate: bool = False) -> np.ndarray:
    """Factor of L Lᵀ ± V Vᵀ for V (n, k), in O(k n²) by Givens (or hyperbolic) rotations.

    A downdate that would leave the positive-definite cone raises `NotPositiveDefiniteError`.

    >>> L = np.linalg.cholesky(np.eye(2) * 2.0); v = np.array([[1.0], [0.5]])
    >>> np.allclose(cholesky_update(L, v) @ cholesky_update(L, v).T, L @ L.T + v @ v.T)
    True
    """
    result = np.array(lower, dtype=np.float64)
    vectors = np.array(columns, dtype=np.float64).reshape(result.shape[0], -1)
    sign = -1.0 if downdate else 1.0
    for vector in vectors.T:
        for i in range(result.shape[0]):
            pivot, entry = result[i, i], vector[i]
            squared = pivot * pivot + sign * entry * entry
            if squared <= 0.0:
                raise NotPositiveDefiniteError(
                    f"Removing this column leaves a matrix that is not positive definite (pivot {i}).",
                    value=squared,
                )
            rotated = np.sqrt(squared)
            cosine, sine = rotated / pivot, entry / pivot
            result[i, i] = rotated
            below = slice(i + 1, None)
            result[below, i] = (result[below, i] + sign * sine * vector[below]) / cosine
            vector[below] = cosine * vector[below] - sine * result[below, i]
    return result
