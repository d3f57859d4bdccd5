"""Mergeable statistics of a linear-Gaussian likelihood: centred second moments, or what keeps the digits.

Notation
    D = [X y]  (rows, P + T), the design and its targets side by side
    w          weight of a row: its count, divided by its noise variance where that is known per row
    scatter    Σ w (d − mean)(d − mean)ᵀ, never a raw sum of squares
    factor     F with FᵀF = scatter, upper triangular, or fewer rows than columns
    precise    the moments in double-double, about a shift (`PreciseMoments`)

Forming the scatter squares the condition number. It is the fast path, and it is right while the correlation
matrix of D is well conditioned. Otherwise a second pass takes the moments in double-double, which have the digits to
spare; and where D is too wide for those, it reduces the rows to F by Householder QR, which keeps the digits that
float64 can (Björck, Numerical Methods for Least Squares Problems, 1996, §2.4). A perfect fit is a collinear D, so y is
in D. All forms merge: moments by Chan's formula, factors by stacking with the shift between the two means,
double-double moments by addition about a common shift; where two forms meet, the one with more digits wins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from credo.inference.exact.precise import PreciseMoments
from credo.inference.exact.sparse import SparseRows
from credo.numerics.double_double import DoubleDouble, pivoted_cholesky
from credo.numerics.lapack import reciprocal_condition, triangle
from credo.saving.registry import register

__all__ = ["RegressionStatistics", "as_factor_of_rows", "compress", "truncated", "well_conditioned"]

# Correlation condition number up to which moments are used: the relative error of a coefficient is then ≲ 1e4 · 2⁻⁵²
# ≈ 2e-12, below the 1e-9 promised for primal ≡ dual ≡ streamed with a margin for P.
CONDITION_LIMIT = 1e4


@register
@dataclass(frozen=True)
class RegressionStatistics:
    """What a linear-Gaussian posterior needs of the rows; exactly one of `scatter`, `factor`, `precise` is set.

    n_rows : rows seen
    count : Σ sample weights (the rows they stand for)
    weight : Σ w
    log_scale : Σ sample weight · log(noise sd) where the noise is known per row, else 0
    mean : (P + T,) weighted mean of D
    scatter : (P + T, P + T) or None
    factor : (K, P + T), K ≤ P + T, or None
    n_targets : T
    precise : moments in double-double, or None
    """

    n_rows: int
    count: float
    weight: float
    log_scale: float
    mean: np.ndarray
    scatter: np.ndarray | None
    factor: np.ndarray | None
    n_targets: int
    precise: PreciseMoments | None = None

    @property
    def n_columns(self) -> int:
        return self.mean.size - self.n_targets

    @property
    def spread(self) -> np.ndarray:
        """(P + T,) diagonal of the scatter."""
        if self.scatter is not None:
            return np.diag(self.scatter)
        if self.factor is not None:
            return np.square(self.factor).sum(axis=0)
        assert self.precise is not None
        return np.maximum(np.diag(self.precise.scatter().round()), 0.0)

    def as_factor(self) -> np.ndarray:
        """F with FᵀF = scatter; from moments by Cholesky, exact to rounding because they are well conditioned."""
        if self.factor is not None:
            return self.factor
        if self.precise is not None:
            return pivoted_cholesky(self.precise.scatter(), self.precise.size).rows.round()
        assert self.scatter is not None
        scale = _unit_scale(np.diag(self.scatter))
        correlation = self.scatter / np.outer(scale, scale)
        upper = triangle(correlation, lower=False)
        if upper is None:  # rank-deficient moments: the symmetric square root needs no pivot
            values, vectors = np.linalg.eigh(correlation)
            upper = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        return upper * scale

    def as_precise(self) -> PreciseMoments:
        """The moments in double-double, with the digits that this form has."""
        if self.precise is not None:
            return self.precise
        if self.scatter is not None:
            scatter = DoubleDouble.of(self.scatter)
        else:
            assert self.factor is not None
            scatter = DoubleDouble.of(self.factor.T) @ self.factor
        return PreciseMoments.from_scatter(self.weight, self.mean, scatter)

    def merge(self, other: RegressionStatistics) -> RegressionStatistics:
        """Statistics of both sets of rows. Associative to rounding; cost (P + T)², or (P + T)³ for factors."""
        if other.weight == 0.0:
            return replace(self, n_rows=self.n_rows + other.n_rows)
        if self.weight == 0.0:
            return replace(other, n_rows=self.n_rows + other.n_rows)
        weight = self.weight + other.weight
        shift = other.mean - self.mean
        between = np.sqrt(self.weight * (other.weight / weight)) * shift
        merged = replace(
            self,
            n_rows=self.n_rows + other.n_rows,
            count=self.count + other.count,
            weight=weight,
            log_scale=self.log_scale + other.log_scale,
            mean=self.mean + shift * (other.weight / weight),
        )
        if self.precise is not None or other.precise is not None:
            precise = self.as_precise().merge(other.as_precise())
            return replace(merged, mean=precise.mean, scatter=None, factor=None, precise=precise)
        if self.scatter is not None and other.scatter is not None:
            return replace(merged, scatter=self.scatter + other.scatter + np.outer(between, between))
        stacked = np.vstack([self.as_factor(), other.as_factor(), between])
        return replace(merged, scatter=None, factor=compress(stacked))

    def settled(self) -> RegressionStatistics:
        """The same statistics in the cheaper form that keeps the digits: moments where well conditioned."""
        if self.precise is not None:
            scatter = self.precise.scatter().round()
        elif self.factor is not None and self.factor.shape[0] == self.mean.size:
            scatter = self.factor.T @ self.factor
        else:
            return self
        return replace(self, scatter=scatter, factor=None, precise=None) if well_conditioned(scatter) else self

    def divided(self, scale: float) -> RegressionStatistics:
        """The statistics of the rows divided by a noise sd, in whose units σ = 1."""
        variance = DoubleDouble.of(scale) * scale
        return replace(
            self,
            weight=self.weight / scale**2,
            log_scale=self.log_scale + self.count * float(np.log(scale)),
            scatter=None if self.scatter is None else self.scatter / scale**2,
            factor=None if self.factor is None else self.factor / scale,
            precise=None if self.precise is None else self.precise.divided(variance),
        )


def compress(rows: np.ndarray) -> np.ndarray:
    """F with FᵀF = rowsᵀ rows: the rows themselves while they are few, else their triangular factor."""
    if rows.shape[0] <= rows.shape[1]:
        return rows
    return np.asarray(scipy.linalg.qr(rows, mode="r", check_finite=False)[0])[: rows.shape[1]]


def well_conditioned(scatter: np.ndarray, limit: float = CONDITION_LIMIT) -> bool:
    """Whether the correlation matrix of `scatter` is positive definite with 1-norm condition number ≤ limit.

    Constant columns, exactly zero after centring, carry no digits to lose and are left out.
    """
    diagonal = np.diag(scatter)
    varying = diagonal > 0.0
    if not varying.all():
        scatter, diagonal = scatter[np.ix_(varying, varying)], diagonal[varying]
    if diagonal.size == 0:
        return True
    scale = np.sqrt(diagonal)
    correlation = scatter / np.outer(scale, scale)
    upper = triangle(correlation, lower=False)
    return upper is not None and reciprocal_condition(upper, np.abs(correlation).sum(axis=0).max()) * limit >= 1.0


def _unit_scale(diagonal: np.ndarray) -> np.ndarray:
    """√diagonal, 1 where it is zero (a constant column)."""
    scale = np.sqrt(np.maximum(diagonal, 0.0))
    return np.where(scale > 0.0, scale, 1.0)


def as_factor_of_rows(rows: SparseRows) -> RegressionStatistics:
    """The rows as a dense factor. Cost rows · P · min(rows, P)."""
    return RegressionStatistics(
        n_rows=rows.n_rows,
        count=rows.count,
        weight=rows.weight,
        log_scale=rows.log_scale,
        mean=rows.mean,
        scatter=None,
        factor=compress(rows.as_factor()),
        n_targets=rows.n_targets,
    )


def truncated(statistics: RegressionStatistics) -> RegressionStatistics:
    """The factor of moments without what is their rounding: those directions are left to the prior.

    Cheaper than a dense factor of the rows by a power of P, and right to √ε of the largest singular value.
    """
    assert statistics.scatter is not None
    diagonal = np.diag(statistics.scatter)
    scale = _unit_scale(diagonal)
    values, vectors = np.linalg.eigh(statistics.scatter / np.outer(scale, scale))
    vectors[diagonal <= 0.0] = 0.0  # a constant column stays one, not the rounding of its neighbours
    kept = values > values[-1] * values.size * np.finfo(float).eps
    factor = np.sqrt(values[kept])[:, None] * vectors[:, kept].T * scale
    return replace(statistics, scatter=None, factor=factor)
