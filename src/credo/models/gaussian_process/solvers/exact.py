"""`Exact`: K_y = L Lᵀ by one Cholesky factorisation of the whole matrix.

Notation
    L (n, n) lower triangular; P = K_y⁻¹; α = P U (n, q)
    M = Σ_q α_q α_qᵀ − copies · P, the matrix with which every gradient is contracted: ½ Σ_ab M_ab ∂K_ab

n³/3 flops factor, 2n³/3 more invert for a gradient; arrays are overwritten so that at most five n × n ones are alive.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from credo.errors import NotPositiveDefiniteError, NumericalError
from credo.kernels import Kernel
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
        K, pullback = kernel.value_and_pullback(X)
        lower, jitter = _factor(K, noise)
        return ExactFactor(kernel, X, noise, lower, {"solver": "exact", "jitter": jitter}, pullback)

    def cost(self, kernel: Kernel, n: int, d: int) -> tuple[float, float]:
        """Predicted seconds of one evidence and gradient on one core, and bytes at the peak."""
        return n**3 / FLOPS + ENTRY * n * n, 8.0 * ARRAYS * n * n

    @staticmethod
    def require_memory(n: int) -> None:
        """`NumericalError` if five n × n arrays are more than the machine's memory."""
        needed, memory = 8.0 * ARRAYS * n * n, _memory()
        if needed > memory:
            raise NumericalError(
                f"An exact Gaussian process of {n} rows needs {needed / 2**30:.0f} GiB; "
                f"this machine has {memory / 2**30:.0f}.",
                value=n,
                remedy='Use solver="auto", or one of solvers.Vecchia and solvers.Inducing.',
            )


@dataclass(frozen=True, eq=False)
class ExactFactor:
    """K_y of one kernel, rows and noise, with its factor L."""

    kernel: Kernel
    X: np.ndarray
    noise: np.ndarray
    lower: np.ndarray
    certificate: Mapping[str, Any] = field(default_factory=dict)
    pullback: Any = None  # W → Σ W_ab ∂K_ab/∂θ, with what the kernel kept of its value

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
        return self.pull_back(_mirrored(weight))

    def pull_back(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ_ab W_ab ∂K_ab/∂θ (h,) and the diagonal of W (n,), for any W (n, n)."""
        slope = self.pullback(weight) if self.pullback else self.kernel.gradient(self.X, None, weight)
        return slope, np.diag(weight).copy()

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
        inverse, _ = _LAPACK.dpotri(np.array(self.lower, order="F"), lower=1, overwrite_c=1)
        return inverse

    def inverse_diagonal(self) -> np.ndarray:
        """diag K_y⁻¹ (n,)."""
        half, _ = _LAPACK.dtrtri(self.lower, lower=1)
        return np.einsum("ab,ab->b", half, half)

    def extended(self, X: np.ndarray, noise: np.ndarray) -> ExactFactor:
        """The factor with rows X (m, d) of noise (m,) appended. Cost n²m + nm²."""
        Exact.require_memory(len(self.X) + len(X))
        n, m = len(self.X), len(X)
        below = solve_lower(self.lower, self.kernel(self.X, X)).T
        corner, jitter = _factor(self.kernel(X) - below @ below.T, noise)
        lower = np.zeros((n + m, n + m), order="F")
        lower[:n, :n], lower[n:, :n], lower[n:, n:] = self.lower, below, corner
        certificate = {**self.certificate, "jitter": max(jitter, self.certificate.get("jitter", 0.0))}
        return replace(
            self, X=np.concatenate([self.X, X]), noise=np.concatenate([self.noise, noise]), lower=lower,
            certificate=certificate, pullback=None,
        )  # fmt: skip


def _factor(K: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, float]:
    """L (n, n) and the jitter of K + diag(noise); K, symmetric, is overwritten."""
    diagonal = np.diag(K) + noise
    if not (np.all(np.isfinite(diagonal)) and np.all(np.isfinite(K[0]))):
        raise NotPositiveDefiniteError("K + noise holds NaN or infinite entries.", value=diagonal)
    scale = float(diagonal.mean())
    matrix = np.asfortranarray(K.T if K.flags.c_contiguous else K)  # symmetric: the transpose costs no copy
    at = np.arange(len(K))
    for relative in JITTERS:
        matrix[at, at] = diagonal + relative * scale
        lower, info = _LAPACK.dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            _clear_above(lower)
            return lower, relative * scale
        matrix = _mirrored(matrix, upper=True)  # potrf spoiled the lower triangle only
    raise NotPositiveDefiniteError(
        f"K + noise of {len(K)} rows is not positive definite (mean diagonal {scale:.3g}).",
        value=scale,
        remedy="State a larger noise; with noise=0, rows that coincide must agree.",
    )


# Columns a block of the loops over triangles: a block of 2000 rows stays in the second-level cache.
BLOCK = 64


def _mirrored(matrix: np.ndarray, upper: bool = False) -> np.ndarray:
    """The symmetric matrix whose lower (or upper) triangle is given; in place."""
    for i in range(0, len(matrix), BLOCK):
        rows = slice(i, i + BLOCK)
        corner = matrix[rows, rows]
        kept = np.triu(corner, 1) if upper else np.tril(corner, -1)
        corner[...] = kept + kept.T + np.diag(np.diag(corner))
        if upper:
            matrix[i + BLOCK :, rows] = matrix[rows, i + BLOCK :].T
        else:
            matrix[rows, i + BLOCK :] = matrix[i + BLOCK :, rows].T
    return matrix


def _clear_above(lower: np.ndarray) -> None:
    """Zeros above the diagonal; in place."""
    for i in range(0, len(lower), BLOCK):
        rows = slice(i, i + BLOCK)
        lower[rows, rows] = np.tril(lower[rows, rows])
        lower[rows, i + BLOCK :] = 0.0


def _memory() -> float:
    """Bytes of physical memory; ∞ where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return np.inf
