"""A bandwidth as a linear map: z = A (x − centre) has bandwidth 1 in every direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

__all__ = ["Smoothing"]


@dataclass(frozen=True)
class Smoothing:
    """centre : (d,) ; scale : (d,) bandwidths, or the lower Cholesky factor (d, d) of a bandwidth matrix.

    Subtracting the centre first keeps the digits of data far from 0.
    """

    centre: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, bandwidth: Any, X: np.ndarray) -> Smoothing:
        """bandwidth : a number, one (d,) a column, or a covariance (d, d) of the kernel."""
        h = np.asarray(bandwidth, dtype=np.float64)
        scale = np.linalg.cholesky(h) if h.ndim == 2 else np.broadcast_to(h, X.shape[1:])
        return cls(0.5 * (X.min(axis=0) + X.max(axis=0)), scale)

    def to_unit(self, X: np.ndarray) -> np.ndarray:
        """(n, d) in units of the bandwidth."""
        moved = X - self.centre
        if self.scale.ndim == 1:
            moved /= self.scale
            return moved
        return solve_triangular(self.scale, moved.T, lower=True).T

    def spread(self, Z: np.ndarray) -> np.ndarray:
        """Steps (n, d) in units of the bandwidth as steps in the columns' own."""
        return Z * self.scale if self.scale.ndim == 1 else Z @ self.scale.T

    def from_unit(self, Z: np.ndarray) -> np.ndarray:
        """The inverse of `to_unit`."""
        return self.centre + self.spread(Z)

    @property
    def log_determinant(self) -> float:
        return float(np.log(self.scale if self.scale.ndim == 1 else np.diagonal(self.scale)).sum())
