"""The linear-Gaussian likelihood in the coordinates where everything is elementwise.

With FᵀF the (weighted) scatter of D = [X y] and a whitening θ = offset + T u that makes the prior on u a multiple of
N(0, I), the singular value decomposition F_X T = U S Vᵀ gives, for u = V v (+ what the data do not touch),

    ‖F_y − F_X θ‖² = ‖z − S v‖² + residual,     z = Uᵀ(F_y − F_X offset).

Given a noise variance σ² and a prior variance σ² r on u, the posterior of v_k is Normal with mean
r s_k z_k / (1 + r s_k²) and variance σ² r / (1 + r s_k²); outside the span of V it is the prior. r = ∞ is the flat
prior. The same decomposition is the primal form (P ≤ rows) and the dual one (rows < P): F then has fewer rows than
columns and the SVD costs rows² P. No matrix is inverted, and hyperparameters enter only afterwards.

From double-double moments F is their pivoted Cholesky factor, whose SVD by one-sided Jacobi rotations has even the
smallest singular values to nearly all digits, where the usual one errs by 2⁻⁵³ of the largest (Drmač & Veselić 2008,
SIAM J. Matrix Anal. Appl. 29).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from credo.inference.exact.sparse import (
    KernelRotation,
    KernelRows,
    SparseRows,
    csr_of,
    is_sparse,
    kernel_rows,
    scaled_columns,
)
from credo.inference.exact.statistics import RegressionStatistics
from credo.numerics.double_double import DoubleDouble, pivoted_cholesky, solve_upper
from credo.numerics.lapack import jacobi_svd
from credo.saving.registry import register

__all__ = ["FactorRows", "MomentRows", "Spectrum", "Whitening", "centred_rows", "plain_rows"]


@register
@dataclass(frozen=True)
class Whitening:
    """θ = offset + scale u: `scale` is a vector (P,), meaning a diagonal, or a lower-triangular matrix (P, P)."""

    offset: np.ndarray
    scale: np.ndarray

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """rows · T, for rows (K, P), which may be sparse."""
        if is_sparse(rows) and self.scale.ndim == 1:
            return scaled_columns(csr_of(rows), self.scale)  # type: ignore[return-value]
        return rows * self.scale if self.scale.ndim == 1 else rows @ self.scale

    def map(self, u: np.ndarray) -> np.ndarray:
        """T u for u (P, ...)."""
        return self.scale.reshape(-1, *([1] * (u.ndim - 1))) * u if self.scale.ndim == 1 else self.scale @ u

    def over_columns(self, u: np.ndarray) -> np.ndarray:
        """T u for u (..., P, targets)."""
        return self.scale[:, None] * u if self.scale.ndim == 1 else self.scale @ u

    def solve(self, theta: np.ndarray) -> np.ndarray:
        """T⁻¹ θ for θ (P, ...)."""
        if self.scale.ndim == 1:
            return theta / self.scale.reshape(-1, *([1] * (theta.ndim - 1)))
        return scipy.linalg.solve_triangular(self.scale, theta, lower=True, check_finite=False)

    @property
    def log_determinant(self) -> float:
        diagonal = self.scale if self.scale.ndim == 1 else np.diag(self.scale)
        return float(np.sum(np.log(np.abs(diagonal))))


@register
@dataclass(frozen=True)
class Spectrum:
    """singular (K,) ≥ 0 descending; rotation (P, K) orthonormal, an array or a product of sparse rows; target (K, T);
    residual (T,) ≥ 0."""

    whitening: Whitening
    singular: np.ndarray
    rotation: np.ndarray | KernelRotation
    target: np.ndarray
    residual: np.ndarray

    @property
    def n_columns(self) -> int:
        return self.rotation.shape[0]

    @property
    def is_thin(self) -> bool:
        """Whether directions exist that no row touches (dual form)."""
        return self.rotation.shape[1] < self.rotation.shape[0]

    def project(self, rows: Any) -> np.ndarray:
        """rows · V (m, K), for whitened rows (m, P), dense or sparse."""
        return self.rotation.project(rows) if isinstance(self.rotation, KernelRotation) else rows @ self.rotation

    def expand(self, v: np.ndarray) -> np.ndarray:
        """v Vᵀ (..., P), for v (..., K)."""
        return self.rotation.expand(v) if isinstance(self.rotation, KernelRotation) else v @ self.rotation.T

    def parts(self) -> Iterator[tuple[slice, np.ndarray]]:
        """V (P, K) by parts of its rows: all at once where it is an array."""
        if isinstance(self.rotation, KernelRotation):
            yield from ((part, self.rotation.rows(part)) for part in self.rotation.blocks())
        else:
            yield slice(0, self.rotation.shape[0]), self.rotation

    def rank(self) -> int:
        """Number of singular values above rounding."""
        return int(np.count_nonzero(self.singular))


@dataclass(frozen=True)
class FactorRows:
    """Rows that stand for the data in the likelihood: ‖y − x θ‖² = ‖D_y − D_x θ‖², x (K, P) and y (K, T)."""

    x: np.ndarray
    y: np.ndarray

    @property
    def target_square(self) -> np.ndarray:
        """(T,) ‖y‖²."""
        return np.square(self.y).sum(axis=0)

    def keeping(self, columns: np.ndarray) -> FactorRows:
        """The others of the P columns set to zero."""
        return FactorRows(np.where(columns, self.x, 0.0), self.y)

    def decompose(self, whitening: Whitening) -> Spectrum:
        """The spectrum by one SVD. Cost K P min(K, P)."""
        left, singular, right = scipy.linalg.svd(
            whitening.apply(self.x), full_matrices=False, check_finite=False, lapack_driver="gesdd"
        )
        # Directions that exist only as rounding are directions that no row touches: a near-perfect fit must not see
        # them. (Double-double moments leave such columns out one by one, as `pivoted_cholesky` tells.)
        rounding = max(self.x.shape) * np.finfo(float).eps
        singular[singular <= (singular[0] if singular.size else 0.0) * rounding] = 0.0
        rows = self.y - (self.x @ whitening.offset)[:, None] if np.any(whitening.offset) else self.y
        target = left.T @ rows
        return Spectrum(whitening, singular, right.T, target, np.square(rows - left @ target).sum(axis=0))


@dataclass(frozen=True)
class MomentRows:
    """The same through the products of those rows: moments (P + T, P + T) of [x y] in double-double.

    size : (P + T,) the size of the terms that made the diagonal, by which its digits are counted
    n_rows : rows of data; below P the spectrum stays thin
    """

    moments: DoubleDouble
    size: np.ndarray
    n_columns: int
    n_rows: int

    @property
    def target_square(self) -> np.ndarray:
        return np.maximum(np.diag(self.moments.high)[self.n_columns :], 0.0)

    def keeping(self, columns: np.ndarray) -> MomentRows:
        mask = np.concatenate([columns, np.ones(self.size.size - self.n_columns)])
        return replace(self, moments=self.moments * (mask[:, None] * mask), size=self.size * mask)

    def decompose(self, whitening: Whitening) -> Spectrum:
        """The spectrum by a pivoted Cholesky factor and its Jacobi SVD. Cost rank · (P + T)² in double-double."""
        p = self.n_columns
        factor = pivoted_cholesky(*self._whitened(whitening), p)
        triangle, right = factor.rows[:, factor.pivots], factor.rows[:, p:]
        left, singular, rotation = jacobi_svd(factor.rows[:, :p].round())
        z, u = right.round(), solve_upper(triangle, right).round()
        # Uᵀz errs by 2⁻⁵³ ‖z‖ and S Vᵀu by 2⁻⁵³ s_k ‖u‖: small singular values need the second, since the flat
        # prior's mean divides by them.
        small = singular[:, None] * np.linalg.norm(u, axis=0) < np.linalg.norm(z, axis=0)
        target = np.where(small, singular[:, None] * (rotation[factor.pivots].T @ u), left.T @ z)
        k = min(p, max(self.n_rows, factor.pivots.size))  # beyond, no row touches anything
        return Spectrum(whitening, singular[:k], rotation[:, :k], target[:k], factor.rest[p:])

    def _whitened(self, whitening: Whitening) -> tuple[DoubleDouble, np.ndarray]:
        """Moments and sizes of [x T, y − x offset]."""
        p, t = self.n_columns, self.size.size - self.n_columns
        moments, root = self.moments, np.sqrt(self.size)
        if np.any(whitening.offset):
            change = np.eye(p + t)
            change[:p, p:] = -whitening.offset[:, None]
            moments, root = DoubleDouble.of(change.T) @ moments @ change, root @ np.abs(change)
        if whitening.scale.ndim == 1:
            scale = np.concatenate([whitening.scale, np.ones(t)])
            return moments * scale[:, None] * scale, np.square(root * scale)
        change = np.eye(p + t)
        change[:p, :p] = whitening.scale
        return DoubleDouble.of(change.T) @ moments @ change, np.square(root @ np.abs(change))


@dataclass(frozen=True)
class SparseDesign:
    """The same through the kernel of few sparse rows. Cost: their products, and n³."""

    kernel: KernelRows

    @property
    def target_square(self) -> np.ndarray:
        return self.kernel.target_square

    def keeping(self, columns: np.ndarray) -> SparseDesign:
        return SparseDesign(self.kernel.keeping(columns))

    def decompose(self, whitening: Whitening) -> Spectrum:
        """The spectrum by the eigenvectors of the n × n kernel."""
        return Spectrum(whitening, *self.kernel.decomposed(whitening.scale, whitening.offset))


Rows = FactorRows | MomentRows | SparseDesign


def centred_rows(statistics: RegressionStatistics | SparseRows) -> Rows:
    """Rows about the means: what is left of the likelihood once a flat intercept is integrated out."""
    p = statistics.n_columns
    if isinstance(statistics, SparseRows):
        return SparseDesign(kernel_rows(statistics, centred=True))
    if statistics.precise is not None:
        return MomentRows(statistics.precise.scatter(), statistics.precise.size, p, statistics.n_rows)
    factor = statistics.as_factor()
    return FactorRows(factor[:, :p], factor[:, p:])


def plain_rows(statistics: RegressionStatistics | SparseRows, *, intercept_column: bool) -> Rows:
    """Rows about zero: the mean joins as one more row; with `intercept_column` that row leads a column of ones."""
    p = statistics.n_columns
    if isinstance(statistics, SparseRows):
        return SparseDesign(kernel_rows(statistics, centred=False, intercept_column=intercept_column))
    if statistics.precise is not None:
        lead = 0 if intercept_column else 1
        moments = statistics.precise.about(np.zeros_like(statistics.mean)).gram[lead:, lead:]
        return MomentRows(moments, np.diag(moments.high), p + 1 - lead, statistics.n_rows)
    root = np.sqrt(statistics.weight)
    factor = np.vstack([root * statistics.mean, statistics.as_factor()])
    x, y = factor[:, :p], factor[:, p:]
    if intercept_column:
        ones = np.zeros((factor.shape[0], 1))
        ones[0, 0] = root
        x = np.hstack([ones, x])
    return FactorRows(x, y)
