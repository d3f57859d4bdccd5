"""Belief about the noise scale of a linear-Gaussian model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.errors import ParameterError
from credo.numerics.inversion import invert_cdf

__all__ = ["NoiseScaleMarginal"]


@dataclass(frozen=True)
class NoiseScaleMarginal:
    """σ as a mixture over J nodes: σ² is df s_j²/χ²_df where df is finite, else s_j² itself (J nodes of a quadrature).

    weights, variance : (J, ...) w_j, s_j²

    Moments are exact to the quadrature's error. Where σ is known at nodes only, `cdf` and `quantile` interpolate their
    cumulative weights in log σ, to some 1e-2 of an sd.
    """

    weights: np.ndarray
    variance: np.ndarray
    df: float

    def _moment(self, power: int) -> np.ndarray:
        """E σ^power; ∞ where the degrees of freedom do not carry it."""
        factor = 1.0
        if np.isfinite(self.df):
            half = 0.5 * self.df
            if half <= 0.5 * power:
                return np.full(self.variance.shape[1:], np.inf)[()]
            logs = scipy.special.gammaln(half - 0.5 * power) - scipy.special.gammaln(half)
            factor = float(np.exp(0.5 * power * np.log(half) + logs))
        return factor * (self.weights * self.variance ** (0.5 * power)).sum(axis=0)

    @property
    def mean(self) -> np.ndarray:
        return self._moment(1)

    @property
    def variance_of_scale(self) -> np.ndarray:
        """Var σ."""
        if np.isfinite(self.df):
            return self._moment(2) - np.square(self._moment(1))
        return (self.weights * np.square(np.sqrt(self.variance) - self.mean)).sum(axis=0)

    @property
    def sd(self) -> np.ndarray:
        return np.sqrt(self.variance_of_scale)

    def cdf(self, x: Any) -> np.ndarray:
        """P(σ ≤ x)."""
        x = np.asarray(x, dtype=np.float64)
        if np.isfinite(self.df):
            with np.errstate(divide="ignore"):
                parts = scipy.special.gammaincc(0.5 * self.df, 0.5 * self.df * self.variance / np.square(x))
            return (self.weights * parts).sum(axis=0)
        with np.errstate(divide="ignore"):
            return self._interpolated(lambda t, level: np.interp(np.log(x), t, level))

    def quantile(self, q: Any) -> np.ndarray:
        """Quantiles, shape (*shape of q, ...)."""
        q = np.asarray(q, dtype=np.float64)
        if not np.all((q >= 0) & (q <= 1)):
            raise ParameterError("NoiseScaleMarginal", "q", "between 0 and 1", q)
        if np.isinf(self.df):
            return np.exp(self._interpolated(lambda t, level: np.interp(q, level, t)))
        level = q.reshape(q.shape + (1,) * (self.variance.ndim - 1))
        of_parts = np.expand_dims(level, q.ndim) if q.ndim else level
        parts = np.sqrt(0.5 * self.df * self.variance / scipy.special.gammainccinv(0.5 * self.df, of_parts))
        low, high = parts.min(axis=q.ndim), parts.max(axis=q.ndim)
        if self.variance.shape[0] == 1:
            return low
        return invert_cdf(self._cdf_of_many, np.broadcast_to(level, low.shape), low, high)

    def _cdf_of_many(self, x: np.ndarray) -> np.ndarray:
        axis = x.ndim - (self.variance.ndim - 1)
        ratio = self.variance / np.square(np.expand_dims(x, axis))
        return (self.weights * scipy.special.gammaincc(0.5 * self.df, 0.5 * self.df * ratio)).sum(axis=axis)

    def interval(self, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Central interval holding `mass`."""
        if not 0.0 < mass < 1.0:
            raise ParameterError("NoiseScaleMarginal", "mass", "between 0 and 1 (exclusive)", mass)
        lower, upper = self.quantile(np.array([(1.0 - mass) / 2.0, (1.0 + mass) / 2.0]))
        return lower, upper

    def _interpolated(self, read: Any) -> np.ndarray:
        flat = self.variance.reshape(self.variance.shape[0], -1)
        weights = np.broadcast_to(self.weights, self.variance.shape).reshape(flat.shape)
        columns = []
        for variance, weight in zip(flat.T, weights.T, strict=True):
            order = np.argsort(variance)
            level = np.cumsum(weight[order]) - 0.5 * weight[order]
            columns.append(read(0.5 * np.log(variance[order]), level))
        stacked = np.stack(columns, axis=-1)
        return stacked.reshape(*stacked.shape[:-1], *self.variance.shape[1:])
