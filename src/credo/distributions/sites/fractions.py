"""Laws of fractions, 0 < y < 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import digamma, expit, gammaln, logit, polygamma

from credo.distributions.likelihoods.base import bad_rows, column
from credo.distributions.sites.base import SiteLaw

__all__ = ["BetaLogit"]


class BetaLogit(SiteLaw):
    """y ~ Beta(μφ, (1 − μ)φ), μ = 1/(1 + e^−η), ψ = (φ,), the precision. Not log-concave far from the mode.

    With a = μφ, b = (1 − μ)φ, v = μ(1 − μ), w = 1 − 2μ, D = logit y − ψ₀(a) + ψ₀(b), T = ψ₁(a) + ψ₁(b),
    U = ψ₂(a) − ψ₂(b), E = (1 − μ) ψ₁(b) − μ ψ₁(a), F = μ ψ₂(a) + (1 − μ) ψ₂(b), ψ_k the polygammas:

        ℓ′ = φ v D     ℓ″ = φ v (w D − φ v T)     ℓ‴ = φ v [(w² − 2v) D − 3 φ v w T − φ² v² U]
        ∂φ ℓ′ = v (D + φ E)     ∂φ ℓ″ = v [w (D + φ E) − 2 φ v T − φ² v F]

    >>> [part.round(4).tolist() for part in BetaLogit().derivatives(np.array([0.3]), np.array([0.0]), [4.0])]
    [[0.2311], [-0.8473], [-1.2899]]
    """

    psi_names = ("precision",)
    log_concave = False

    def check(self, y: Any) -> np.ndarray:
        y = column("BetaLogit", y)
        bad_rows("BetaLogit", y, (y <= 0) | (y >= 1), "between 0 and 1, both excluded")
        return y

    def initial_eta(self, y: np.ndarray) -> np.ndarray:
        """logit y."""
        return logit(y)

    def safe_curvature(self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any] = ()) -> np.ndarray:
        """The expectation of −ℓ″."""
        (mu, rest), phi = _mean(eta), psi[0]
        return (phi * mu * rest) ** 2 * (polygamma(1, mu * phi) + polygamma(1, rest * phi))

    def derivatives(
        self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any] = (), order: int = 2
    ) -> tuple[np.ndarray, ...]:
        phi, (mu, rest) = psi[0], _mean(eta)
        a, b = mu * phi, rest * phi
        value = gammaln(phi) - gammaln(a) - gammaln(b) + (a - 1.0) * np.log(y) + (b - 1.0) * np.log1p(-y)
        if order == 0:
            return (value,)
        v, w = mu * rest, rest - mu
        D = logit(y) - digamma(a) + digamma(b)
        parts = [value, phi * v * D]
        if order >= 2:
            T = polygamma(1, a) + polygamma(1, b)
            parts.append(phi * v * (w * D - phi * v * T))
        if order >= 3:
            U = polygamma(2, a) - polygamma(2, b)
            parts.append(phi * v * ((w * w - 2.0 * v) * D - 3.0 * phi * v * w * T - (phi * v) ** 2 * U))
        return tuple(parts)

    def psi_slopes(self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
        phi, (mu, rest) = psi[0], _mean(eta)
        a, b, v, w = mu * phi, rest * phi, mu * rest, rest - mu
        own = digamma(phi) - mu * digamma(a) - rest * digamma(b) + mu * np.log(y) + rest * np.log1p(-y)
        D = logit(y) - digamma(a) + digamma(b)
        T, E = polygamma(1, a) + polygamma(1, b), rest * polygamma(1, b) - mu * polygamma(1, a)
        F = mu * polygamma(2, a) + rest * polygamma(2, b)
        moved = D + phi * E
        return [(own, v * moved, v * (w * moved - 2.0 * phi * v * T - phi * phi * v * F))]


def _mean(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """μ and 1 − μ, neither of them 0."""
    eta = np.clip(eta, -700.0, 700.0)
    return expit(eta), expit(-eta)
