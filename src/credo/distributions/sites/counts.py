"""Laws of counts with mean μ = e^η."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special

from credo.distributions import likelihoods
from credo.distributions.sites.base import ExponentialForm, SiteLaw, slopes_in_logs

__all__ = ["PoissonLog", "NegativeBinomialLog"]


class PoissonLog(SiteLaw):
    """Counts y ~ Poisson(e^η). An exposure is a term of η.

    >>> [part.round(4).tolist() for part in PoissonLog().derivatives(np.array([2.0]), np.array([0.0]))]
    [[-1.6931], [1.0], [-1.0]]
    """

    def likelihood(self, psi: Sequence[Any] = ()) -> likelihoods.PoissonLog:
        return likelihoods.PoissonLog()

    def exponential_form(self, y: np.ndarray, psi: Sequence[Any] = ()) -> ExponentialForm:
        """y η − e^η − log y!."""
        return ExponentialForm(0, 1.0, 0.0, y, np.ones(len(y)), -scipy.special.gammaln(y + 1.0))


class NegativeBinomialLog(SiteLaw):
    """Counts of mean μ = e^η and variance μ + μ²/φ, ψ = (φ,).

    With p = μ/(μ + φ), q = 1 − p: ∂φ ℓ′ = p ℓ′/φ and ∂φ ℓ″ = p q [(y + φ)(q − p)/φ − 1].

    >>> law, y, eta = NegativeBinomialLog(), np.array([3.0]), np.array([0.0])
    >>> [part.round(4).tolist() for part in law.psi_slopes(y, eta, [2.0])[0]]
    [[0.0112], [0.2222], [-0.037]]
    """

    psi_names = ("shape",)

    def likelihood(self, psi: Sequence[Any] = ()) -> likelihoods.NegativeBinomialLog:
        return likelihoods.NegativeBinomialLog(dispersion=psi[0])

    def exponential_form(self, y: np.ndarray, psi: Sequence[Any] = ()) -> ExponentialForm:
        """y x − (y + φ) log(1 + eˣ) + log Γ(y + φ)/(Γ(φ) y!), x = η − log φ."""
        phi, log_gamma = psi[0], scipy.special.gammaln
        constant = log_gamma(y + phi) - log_gamma(phi) - log_gamma(y + 1.0)
        return ExponentialForm(1, 1.0, -np.log(phi), y, y + phi, constant)

    def psi_slopes(self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
        phi = psi[0]
        own = slopes_in_logs(likelihoods.NegativeBinomialLog(), y, eta, psi)[0] / phi
        t = eta - np.log(phi)
        p, q = scipy.special.expit(t), scipy.special.expit(-t)
        total = y + phi
        return [(own, p * (y * q - phi * p) / phi, p * q * (total * (q - p) / phi - 1.0))]
