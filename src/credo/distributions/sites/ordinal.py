"""Laws of ordered classes 0..K−1: P(y ≤ k) = F(c_k − η), F logistic or Normal.

Notation: P = F(b) − F(a) the probability of the class, a and b its edges less η; B = f(b)/P, B₂ = f′(b)/P,
B₃ = f″(b)/P, and A likewise at a. Then

    ∂b ℓ = B     ∂b ℓ′ = −B₂ − B ℓ′     ∂b ℓ″ = B₃ + 2 B₂ ℓ′ + B (ℓ′² − ℓ″)

and the same with A and the other sign for a. Each cut-point is the b of the class below it and the a of that above.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special

from credo.distributions import likelihoods
from credo.distributions.likelihoods import Likelihood
from credo.distributions.sites.base import SiteLaw

__all__ = ["OrdinalLogit", "OrdinalProbit"]


class OrdinalLogit(SiteLaw):
    """Ordered classes with logistic errors, ψ = (cut-points (K − 1,),) ascending.

    >>> law, cuts = OrdinalLogit(3), np.array([-1.0, 1.0])
    >>> law.derivatives(np.array([1.0]), np.array([0.0]), [cuts])[0].round(4).tolist()
    [-0.7719]
    """

    psi_names = ("cutpoints",)

    def __init__(self, n_classes: int) -> None:
        self._likelihood = self._of(n_classes)
        self.n_classes = int(n_classes)

    def _of(self, n_classes: int) -> Likelihood:
        return likelihoods.OrdinalLogit(n_classes)

    def likelihood(self, psi: Sequence[Any] = ()) -> Likelihood:
        return self._likelihood

    def psi_widths(self, n: int) -> list[int]:
        return [self.n_classes - 1]

    def is_valid(self, psi: Sequence[Any]) -> bool:
        """Finite and ascending."""
        cuts = np.atleast_1d(psi[0])
        return bool(np.isfinite(cuts).all() and (np.diff(cuts) > 0.0).all())

    def initial_eta(self, y: np.ndarray) -> np.ndarray:
        return np.zeros(len(y))

    def derivatives(
        self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any] = (), order: int = 2
    ) -> tuple[np.ndarray, ...]:
        cuts = np.atleast_1d(psi[0])
        return self._likelihood.value_and_derivatives(
            y, eta, order, psi=np.concatenate([cuts[:1], np.log(np.diff(cuts))])
        )

    def psi_slopes(self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
        cuts = np.atleast_1d(psi[0])
        value, first, second = self.derivatives(y, eta, psi, 2)
        slopes = np.zeros((3, len(y), len(cuts)))
        code, row = y.astype(np.intp), np.arange(len(y))
        for at, sign in ((code, 1.0), (code - 1, -1.0)):
            has = (at >= 0) & (at < len(cuts))
            rows, cut = row[has], at[has]
            log_f, slope, bend = self._log_density(cuts[cut] - eta[rows])
            f = sign * np.exp(log_f - value[rows])
            f2, f3, d = f * slope, f * (bend + slope * slope), first[rows]
            slopes[0, rows, cut] += f
            slopes[1, rows, cut] -= f2 + f * d
            slopes[2, rows, cut] += f3 + 2.0 * f2 * d + f * (d * d - second[rows])
        return [(slopes[0], slopes[1], slopes[2])]

    def _log_density(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log f and its first two derivatives."""
        p, q = scipy.special.expit(x), scipy.special.expit(-x)
        return -np.logaddexp(0.0, x) - np.logaddexp(0.0, -x), q - p, -2.0 * p * q

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_classes})"


class OrdinalProbit(OrdinalLogit):
    """Ordered classes with standard Normal errors, ψ = (cut-points (K − 1,),) ascending.

    >>> law, cuts = OrdinalProbit(3), np.array([-1.0, 1.0])
    >>> law.derivatives(np.array([1.0]), np.array([0.0]), [cuts])[0].round(4).tolist()
    [-0.3817]
    """

    def _of(self, n_classes: int) -> Likelihood:
        return likelihoods.OrdinalProbit(n_classes)

    def _log_density(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return -0.5 * x * x - 0.5 * np.log(2.0 * np.pi), -x, np.full_like(x, -1.0)
