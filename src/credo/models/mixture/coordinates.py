"""The coordinates EM works in: centred and whitened, so that products of columns neither cancel nor overflow.

Notation: x a row as given, z = (x − c) W the same row in working coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.saving.registry import register

__all__ = ["Coordinates", "whitened", "scaled_columns", "scaled_alike"]

# Added to the correlation matrix before it is inverted: a direction in which columns agree to four digits is left
# narrow, where full whitening would blow rounding up to unit size. Any invertible W gives the same mixture.
RIDGE = 1e-8


@register
@dataclass(frozen=True, eq=False)
class Coordinates:
    """z = (x − centre) W, with W a matrix (d, d), or a vector (d,) of factors of the columns.

    backward is W⁻¹ and log_det is log |det W|, the log density that a change of units adds.
    """

    centre: np.ndarray
    forward: np.ndarray
    backward: np.ndarray
    log_det: float

    @property
    def is_matrix(self) -> bool:
        return self.forward.ndim == 2

    def columns(self, X: np.ndarray) -> np.ndarray:
        """Rows X (n, d) as columns z (d, n), float64."""
        deviation = np.subtract(X, self.centre, dtype=np.float64)
        return self.forward.T @ deviation.T if self.is_matrix else np.ascontiguousarray((deviation * self.forward).T)

    def gain(self, columns: np.ndarray, weights: np.ndarray | None, has_missing: bool) -> float:
        """What the change of units adds to the log density of the observed cells of columns z (d, n)."""
        if not has_missing:
            return self.log_det * (columns.shape[1] if weights is None else float(weights.sum()))
        observed = ~np.isnan(columns)
        counts = observed.sum(axis=1) if weights is None else observed @ weights
        return float(counts @ np.log(self.forward))

    def points(self, x: np.ndarray) -> np.ndarray:
        """Points x (..., d) in working coordinates."""
        deviation = np.asarray(x, dtype=np.float64) - self.centre
        return deviation @ self.forward if self.is_matrix else deviation * self.forward

    def points_back(self, z: np.ndarray) -> np.ndarray:
        return self.centre + (z @ self.backward if self.is_matrix else z * self.backward)

    def spread(self, covariance: np.ndarray, *, diagonal: bool) -> np.ndarray:
        """Covariances of x, (..., d, d) or variances (..., d), as those of z."""
        return _transformed(covariance, self.forward, diagonal)

    def spread_back(self, covariance: np.ndarray, *, diagonal: bool) -> np.ndarray:
        return _transformed(covariance, self.backward, diagonal)

    def factor_back(self, factor: np.ndarray, *, diagonal: bool) -> np.ndarray:
        """U with U Uᵀ a precision of z → W U, the same for the precision of x."""
        if diagonal:
            return factor * self.forward
        return self.forward @ factor if self.is_matrix else self.forward[:, None] * factor


def _transformed(covariance: np.ndarray, by: np.ndarray, diagonal: bool) -> np.ndarray:
    if diagonal:
        return covariance * np.square(by)
    return by.T @ covariance @ by if by.ndim == 2 else covariance * np.outer(by, by)


def whitened(mean: np.ndarray, covariance: np.ndarray) -> Coordinates:
    """W from the Cholesky factor of the correlation matrix: the covariance of z is the identity. Cost d³."""
    sd = _positive(np.sqrt(np.diag(covariance)))
    lower = np.linalg.cholesky(covariance / np.outer(sd, sd) + RIDGE * np.eye(sd.size) + _constant(covariance))
    inverse = np.linalg.inv(lower)
    forward = inverse.T / sd[:, None]
    return Coordinates(mean, forward, lower.T * sd, -float(np.log(sd).sum() + np.log(np.diag(lower)).sum()))


def scaled_columns(mean: np.ndarray, variance: np.ndarray) -> Coordinates:
    """Each column by its own sd: where cells are missing, or covariances must stay diagonal."""
    sd = _positive(np.sqrt(variance))
    return Coordinates(mean, 1.0 / sd, sd, -float(np.log(sd).sum()))


def scaled_alike(mean: np.ndarray, variance: np.ndarray) -> Coordinates:
    """All columns by one sd: where a component has one variance for all of them."""
    return scaled_columns(mean, np.full(mean.size, variance.mean()))


def _positive(sd: np.ndarray) -> np.ndarray:
    """A constant column has no scale of its own."""
    return np.where(sd > 0.0, sd, 1.0)


def _constant(covariance: np.ndarray) -> np.ndarray:
    return np.diag((np.diag(covariance) <= 0.0).astype(float))
