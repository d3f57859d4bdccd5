"""Laws of positive outcomes with mean μ = e^η."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special

from credo.distributions import likelihoods
from credo.distributions.likelihoods.series import exp_excess
from credo.distributions.sites.base import ExponentialForm, SiteLaw
from credo.distributions.stirling import log_minus_digamma
from credo.numerics.namespace import namespace

__all__ = ["GammaLog", "ExponentialLog"]


class GammaLog(SiteLaw):
    """y > 0 of mean e^η and shape α, ψ = (α,): variance μ²/α.

    With r = log y − η: ∂α ℓ = log α − digamma(α) − (eʳ − 1 − r), ∂α ℓ′ = eʳ − 1, ∂α ℓ″ = −eʳ.

    >>> [part.round(4).tolist() for part in GammaLog().psi_slopes(np.array([2.0]), np.array([0.0]), [4.0])[0]]
    [[-0.1767], [1.0], [-2.0]]
    """

    psi_names = ("shape",)

    def likelihood(self, psi: Sequence[Any] = ()) -> likelihoods.GammaLog:
        return likelihoods.GammaLog(shape=psi[0])

    def exponential_form(self, y: np.ndarray, psi: Sequence[Any] = ()) -> ExponentialForm:
        """α x − α y eˣ + α log α − log Γ(α) + (α − 1) log y, x = −η."""
        alpha = np.broadcast_to(psi[0], len(y)).astype(np.float64)
        constant = alpha * np.log(alpha) - scipy.special.gammaln(alpha) + (alpha - 1.0) * np.log(y)
        return ExponentialForm(0, -1.0, 0.0, alpha, alpha * y, constant)

    def psi_slopes(self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
        xp, r = namespace(), np.log(y) - eta
        own = log_minus_digamma(xp, np.asarray(psi[0])) - exp_excess(xp, r)
        return [(own, np.expm1(r), -np.exp(r))]


class ExponentialLog(SiteLaw):
    """y > 0, exponential of mean e^η.

    >>> [part.round(4).tolist() for part in ExponentialLog().derivatives(np.array([2.0]), np.array([0.0]))]
    [[-2.0], [1.0], [-2.0]]
    """

    def likelihood(self, psi: Sequence[Any] = ()) -> likelihoods.GammaLog:
        return likelihoods.GammaLog(shape=1.0)

    def exponential_form(self, y: np.ndarray, psi: Sequence[Any] = ()) -> ExponentialForm:
        """x − y eˣ, x = −η."""
        return ExponentialForm(0, -1.0, 0.0, np.ones(len(y)), y, np.zeros(len(y)))
