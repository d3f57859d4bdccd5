"""Pivoted Cholesky of a covariance that is never formed: K ≈ G Gᵀ with columns at the rows that are least known."""

from __future__ import annotations

import numpy as np

from credo.kernels import Kernel
from credo.models.gaussian_process.solvers.white import white_diagonal

__all__ = ["pivots"]


def pivots(kernel: Kernel, X: np.ndarray, rank: int, tol: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows (r,) in the order chosen, and G (n, r) with K ≈ G Gᵀ, r ≤ rank; K is K(X, X) without `White` parts.

    Each row is the one of the largest variance given those before (ties: the first). Stops early when no row has more
    than `tol` of the largest prior variance left. Cost n r² and 8 n r bytes.

    Reference: Harbrecht, Peters and Schneider (2012), Applied Numerical Mathematics 62.
    """
    n = len(X)
    rank = min(rank, n)
    left = kernel.diagonal(X) - white_diagonal(kernel, X)
    floor = max(tol, n * np.finfo(float).eps) * float(left.max())
    G = np.empty((rank, n))
    rows = np.empty(rank, dtype=np.intp)
    for r in range(rank):
        row = int(np.argmax(left))
        if not left[row] > floor:
            rank = max(r, 1)
            break
        column = kernel(X[row : row + 1], X)[0]
        column -= G[:r, row] @ G[:r]
        G[r] = column / np.sqrt(left[row])
        left -= np.square(G[r])
        left[row] = 0.0
        rows[r] = row
    return rows[:rank], G[:rank].T
