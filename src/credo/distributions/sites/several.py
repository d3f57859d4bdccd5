"""Laws with a linear predictor for more than their mean: a Normal's mean and log sd, the log odds of classes.

Notation: η (..., K, n), K predictors of n cells; ℓ (..., n), ℓ′ (..., K, n), ℓ″ (..., K, K, n), ℓ‴ (..., K, K, K, n).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from credo.distributions.sites.base import SiteLaw
from credo.errors import DataError

__all__ = ["CategoricalLogit", "NormalLogScale"]

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


class NormalLogScale(SiteLaw):
    """y ~ Normal(η₁, e^η₂). Not log-concave: ℓ = −½ log 2π − η₂ − ½ r², r = (y − η₁) e^−η₂.

        ℓ′ = (r e^−η₂, r² − 1)          ℓ″ = −[[e^−2η₂, 2 r e^−η₂], [·, 2 r²]]
        ℓ‴₁₁₂ = 2 e^−2η₂                ℓ‴₁₂₂ = 4 r e^−η₂                         ℓ‴₂₂₂ = 4 r²

    >>> law = NormalLogScale()
    >>> [part.ravel().round(4).tolist() for part in law.derivatives(np.array([2.0]), np.zeros((2, 1)))]
    [[-2.9189], [2.0, 3.0], [-1.0, -4.0, -4.0, -8.0]]
    """

    predictors = 2
    log_concave = False

    def check(self, y: Any) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64)
        if bad := np.flatnonzero(~np.isfinite(y)).tolist():
            raise DataError("Outcomes of a Normal must be finite.", rows=bad[:20], value=y[bad[0]])
        return y

    def initial_eta(self, y: np.ndarray) -> np.ndarray:
        """Each cell's own value, and the log sd of all."""
        spread = float(y.std()) if len(y) > 1 else 1.0
        return np.stack([y, np.full(len(y), np.log(spread) if spread > 0.0 else 0.0)])

    def derivatives(
        self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any] = (), order: int = 2
    ) -> tuple[np.ndarray, ...]:
        log_scale = eta[..., 1, :]
        inverse = np.exp(-log_scale)
        r = (y - eta[..., 0, :]) * inverse
        square = r * r
        found = [-HALF_LOG_2PI - log_scale - 0.5 * square]
        if order > 0:
            found.append(np.stack([r * inverse, square - 1.0], axis=-2))
        if order > 1:
            precision, cross = -inverse * inverse, -2.0 * r * inverse
            found.append(_symmetric(precision, cross, -2.0 * square))
        if order > 2:
            twice, cross = 2.0 * inverse * inverse, 4.0 * r * inverse
            by_mean = _symmetric(np.zeros_like(r), twice, cross)
            by_scale = _symmetric(twice, cross, 4.0 * square)
            found.append(np.stack([by_mean, by_scale], axis=-4))
        return tuple(found)

    def safe_curvature(self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any] = ()) -> np.ndarray:
        """Fisher's information, diag(e^−2η₂, 2)."""
        nothing = np.zeros(eta.shape[-1])
        precision = np.clip(np.exp(-2.0 * eta[..., 1, :]), 0.0, 1e300)
        return _symmetric(precision, nothing, nothing + 2.0)


def _symmetric(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """[[a, b], [b, c]] of every cell, (..., 2, 2, n)."""
    return np.stack([np.stack([a, b], axis=-2), np.stack([b, c], axis=-2)], axis=-3)


class CategoricalLogit(SiteLaw):
    """y in {0, …, K}, P(y = k) ∝ e^η_k with η₀ = 0: p_k = e^η_k/(1 + Σ e^η).

        ℓ′_k = [y = k] − p_k          ℓ″ = −(diag p − p pᵀ)          ℓ‴ = −(third cumulants of [y = k])

    Parameters
    ----------
    classes : K + 1 ≥ 2.

    >>> law = CategoricalLogit(3)
    >>> [part.ravel().round(4).tolist() for part in law.derivatives(np.array([2.0]), np.zeros((2, 1)), order=1)]
    [[-1.0986], [-0.3333, 0.6667]]
    """

    def __init__(self, classes: int) -> None:
        self.classes = int(classes)
        self.predictors = self.classes - 1  # type: ignore[misc]

    def check(self, y: Any) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64)
        wrong = ~((y >= 0) & (y < self.classes) & (y == np.floor(y)))
        if bad := np.flatnonzero(wrong).tolist():
            raise DataError(f"Outcomes must be classes 0 … {self.classes - 1}.", rows=bad[:20], value=float(y[bad[0]]))
        return y

    def initial_eta(self, y: np.ndarray) -> np.ndarray:
        """A logit of ½ or so: how often each class comes up is for the block to say."""
        return np.where(y == np.arange(1, self.classes)[:, None], 1.0, -0.5)

    def derivatives(
        self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any] = (), order: int = 2
    ) -> tuple[np.ndarray, ...]:
        K = self.predictors
        every = np.concatenate([np.zeros_like(eta[..., :1, :]), eta], axis=-2)
        total = np.asarray(logsumexp(every, axis=-2))
        seen = y == np.arange(1, self.classes)[:, None]
        found = [np.where(seen, eta, 0.0).sum(axis=-2) - total]
        p = np.exp(eta - total[..., None, :]) if order > 0 else eta
        if order > 0:
            found.append(seen - p)
        if order > 1:
            found.append(p[..., :, None, :] * p[..., None, :, :] - np.eye(K)[:, :, None] * p[..., None, :, :])
        if order > 2:
            one, two = p[..., :, None, None, :], p[..., None, :, None, :]
            three, same = p[..., None, None, :, :], np.eye(K)
            ij, ik, jk = same[:, :, None, None], same[:, None, :, None], same[None, :, :, None]
            cumulant = ij * jk * one - ij * one * three - ik * one * two - jk * one * two + 2.0 * one * two * three
            found.append(-cumulant)
        return tuple(found)

    def safe_curvature(self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any] = ()) -> np.ndarray:
        return -self.derivatives(y, eta, psi, 2)[2]

    def __repr__(self) -> str:
        return f"CategoricalLogit({self.classes})"
