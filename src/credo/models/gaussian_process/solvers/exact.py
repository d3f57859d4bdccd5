"""`Exact`: K_y = L Lᵀ by one Cholesky factorisation of the whole matrix.

Notation
    L (n, n) lower triangular; P = K_y⁻¹; α = P U (n, q)
    M = Σ_q α_q α_qᵀ − copies · P, the matrix with which every gradient is contracted: ½ Σ_ab M_ab ∂K_ab

n³/3 flops factor, 2n³/3 more invert for a gradient; arrays are overwritten so that at most five n × n ones are alive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from credo.errors import NotPositiveDefiniteError
from credo.kernels import Kernel
from credo.models.gaussian_process.solvers.memory import require
from credo.numerics.cholesky import JITTERS, log_determinant, solve_lower
from credo.saving.registry import register

__all__ = ["Exact", "ExactFactor"]

_LAPACK: Any = scipy.linalg.lapack  # compiled: no type checker sees into it
_BLAS: Any = scipy.linalg.blas
ARRAYS = 5
# One core of 2020 and later: factor, inverse at 40 Gflop/s, kernel and its gradient at 30 ns an entry.
FLOPS, ENTRY = 4e10, 3e-8
# Cells of a chunk of predictions: 32 MiB an array.
CHUNK = 2**22


@register
@dataclass(frozen=True)
class Exact:
    """Solve with K_y by its Cholesky factor: exact up to rounding, n³ flops and 40 n² bytes at the peak.

    A matrix that rounding makes indefinite gets jitter on its diagonal, ×10 from 1e-12 to 1e-4 of its mean; how much is
    in the certificate.

    >>> from credo.kernels import RBF
    >>> factor = Exact()(RBF(1.0), np.array([[0.0], [1.0]]), np.full(2, 0.1))
    >>> np.allclose(factor.solve(np.ones((2, 1))), 1 / (1.1 + np.exp(-0.5)))
    True
    """

    def __call__(self, kernel: Kernel, X: np.ndarray, noise: np.ndarray) -> ExactFactor:
        self.require_memory(len(X))
        K, pullback = kernel.half_and_pullback(X)
        lower, jitter = _factor(K, noise, lambda: kernel(X))
        return ExactFactor(kernel, X, noise, lower, {"solver": "exact", "jitter": jitter}, pullback)

    def cost(self, kernel: Kernel, n: int, d: int) -> tuple[float, float]:
        """Predicted seconds of one evidence and gradient on one core, and bytes at the peak."""
        return n**3 / FLOPS + ENTRY * n * n, 8.0 * ARRAYS * n * n

    @staticmethod
    def require_memory(n: int) -> None:
        """`NumericalError` if five n × n arrays are more than the machine's memory."""
        remedy = 'Use solver="auto", or one of solvers.Vecchia and solvers.Inducing.'
        require("An exact Gaussian process", n, 8.0 * ARRAYS * n * n, remedy)


@dataclass(frozen=True, eq=False)
class ExactFactor:
    """K_y of one kernel, rows and noise, with its factor L."""

    kernel: Kernel
    X: np.ndarray
    noise: np.ndarray
    lower: np.ndarray
    certificate: Mapping[str, Any] = field(default_factory=dict)
    pullback: Any = None  # of `Kernel.half_and_pullback`, with what the kernel kept of its value

    @cached_property
    def log_determinant(self) -> float:
        """log |K_y|."""
        return log_determinant(self.lower)

    def solve(self, U: np.ndarray) -> np.ndarray:
        """K_y⁻¹ U, (n, q). Cost 2n²q."""
        solved, _ = _LAPACK.dpotrs(self.lower, U, lower=1)
        return solved

    def gradient(self, U: np.ndarray, copies: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """∂/∂θ (h,) and ∂/∂v (n,) of −½ Σ_q u_qᵀK_y⁻¹u_q − ½ copies log|K_y|. Cost 2n³/3."""
        alpha = self.solve(U)
        weight = _BLAS.dsyrk(0.5, alpha, -0.5 * copies, self._half_inverse(), lower=1, overwrite_c=1)
        return self.pull_back(weight)

    def pull_back(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ_ab W_ab ∂K_ab/∂θ (h,) and the diagonal of W (n,), for a symmetric W (n, n), read in its lower triangle."""
        pullback = self.pullback or self.kernel.half_and_pullback(self.X)[1]
        return pullback(weight)[1], np.diag(weight).copy()

    def settled(self) -> ExactFactor:
        """The same without what only gradients take."""
        return replace(self, pullback=None)

    def mean(self, X: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """k(X, ·) α (m, q)."""
        size = max(1, CHUNK // len(self.X))
        mean = np.empty((len(X), alpha.shape[1]))
        for rows in (slice(i, i + size) for i in range(0, len(X), size)):
            mean[rows] = self.kernel(X[rows], self.X) @ alpha
        return mean

    def predict(self, X: np.ndarray, U: np.ndarray, joint: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """k(X, ·) K_y⁻¹ U (m, q), and the variances (m,) of f there, or all their covariances (m, m)."""
        alpha = self.solve(U)
        if joint:
            cross = self.kernel(X, self.X)
            half = solve_lower(self.lower, cross.T)
            return cross @ alpha, self.kernel(X) - half.T @ half
        size = max(1, CHUNK // len(self.X))
        mean, variance = np.empty((len(X), alpha.shape[1])), self.kernel.diagonal(X)
        for rows in (slice(i, i + size) for i in range(0, len(X), size)):
            cross = self.kernel(X[rows], self.X)
            mean[rows] = cross @ alpha
            half = solve_lower(self.lower, cross.T)
            variance[rows] -= np.einsum("am,am->m", half, half)
        return mean, np.maximum(variance, 0.0)  # rounding

    def inverse(self) -> np.ndarray:
        """K_y⁻¹ (n, n), a new array. Cost 2n³/3."""
        return _mirrored(self._half_inverse())

    def _half_inverse(self) -> np.ndarray:
        """Its lower triangle."""
        inverse, _ = _LAPACK.dlauum(_inverted(np.array(self.lower, order="F")), lower=1, overwrite_c=1)
        return inverse

    def inverse_diagonal(self) -> np.ndarray:
        """diag K_y⁻¹ (n,)."""
        half = _inverted(np.array(self.lower, order="F"))
        return np.einsum("ab,ab->b", half, half)

    def extended(self, X: np.ndarray, noise: np.ndarray) -> ExactFactor:
        """The factor with rows X (m, d) of noise (m,) appended. Cost n²m + nm²."""
        Exact.require_memory(len(self.X) + len(X))
        n, m = len(self.X), len(X)
        below = solve_lower(self.lower, self.kernel(self.X, X)).T
        rest = self.kernel(X) - below @ below.T
        corner, jitter = _factor(rest.copy(), noise, rest.copy)
        lower = np.zeros((n + m, n + m), order="F")
        lower[:n, :n], lower[n:, :n], lower[n:, n:] = self.lower, below, corner
        certificate = {**self.certificate, "jitter": max(jitter, self.certificate.get("jitter", 0.0))}
        return replace(
            self, X=np.concatenate([self.X, X]), noise=np.concatenate([self.noise, noise]), lower=lower,
            certificate=certificate, pullback=None,
        )  # fmt: skip


def _inverted(lower: np.ndarray) -> np.ndarray:
    """L⁻¹ in place of L (n, n), column-major.

    [A 0; C B]⁻¹ = [A⁻¹ 0; −B⁻¹CA⁻¹ B⁻¹], again and again: OpenBLAS's own trtri takes 1.7 times as long at 500 rows.
    """
    n = len(lower)
    if n <= 2 * BLOCK:
        lower[...] = _LAPACK.dtrtri(lower, lower=1)[0]
        return lower
    half = n // 2
    first, last = _inverted(lower[:half, :half]), _inverted(lower[half:, half:])
    below = _BLAS.dtrmm(-1.0, last, lower[half:, :half], lower=1)
    lower[half:, :half] = _BLAS.dtrmm(1.0, first, below, side=1, lower=1, overwrite_b=1)
    return lower


def _factor(K: np.ndarray, noise: np.ndarray, again: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    """L (n, n) and the jitter of K + diag(noise); K, of which the lower triangle is read, is overwritten, and made
    `again` whole where it is wanted after that."""
    diagonal = np.diag(K) + noise
    if not (np.all(np.isfinite(diagonal)) and np.all(np.isfinite(K[:, 0]))):
        raise NotPositiveDefiniteError("K + noise holds NaN or infinite entries.", value=diagonal)
    scale = float(diagonal.mean())
    matrix = np.asfortranarray(K)
    at = np.arange(len(K))
    for relative in JITTERS:
        matrix[at, at] = diagonal + relative * scale
        lower, info = _LAPACK.dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            _clear_above(lower)
            return lower, relative * scale
        matrix = again().T  # symmetric: the transpose is column-major, and costs no copy
    raise NotPositiveDefiniteError(
        f"K + noise of {len(K)} rows is not positive definite (mean diagonal {scale:.3g}).",
        value=scale,
        remedy="State a larger noise; with noise=0, rows that coincide must agree.",
    )


# Columns a block of the loops over triangles: a block of 2000 rows stays in the second-level cache.
BLOCK = 64
BELOW = np.asfortranarray(np.tril(np.ones((BLOCK, BLOCK))))


def _mirrored(matrix: np.ndarray) -> np.ndarray:
    """The symmetric matrix whose lower triangle is given; in place."""
    for i in range(0, len(matrix), BLOCK):
        rows = slice(i, i + BLOCK)
        corner = matrix[rows, rows]
        kept = np.tril(corner, -1)
        corner[...] = kept + kept.T + np.diag(np.diag(corner))
        matrix[rows, i + BLOCK :] = matrix[i + BLOCK :, rows].T
    return matrix


def _clear_above(lower: np.ndarray) -> None:
    """Zeros above the diagonal; in place."""
    for i in range(0, len(lower), BLOCK):
        corner = lower[i : i + BLOCK, i : i + BLOCK]
        corner *= BELOW[: len(corner), : len(corner)]
        lower[i : i + BLOCK, i + BLOCK :] = 0.0
