"""`LogLink`: what every likelihood with E[y | η] = e^η shares. The moments of e^η are a log-normal's."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.distributions.likelihoods.base import Likelihood, gaussian
from credo.numerics.namespace import namespace

__all__ = ["LogLink"]


class LogLink(Likelihood):
    """Mean e^η; beyond η = 709 it is infinite, as it rounds to."""

    def mean(self, eta: Any, psi: Any = None) -> Any:
        """e^η."""
        return namespace(eta).exp(eta)

    def link(self, mean: Any) -> Any:
        """log."""
        return namespace(mean).log(mean)

    def _rate(self, eta: Any) -> np.ndarray:
        """e^η for a law's parameter, kept within floating point: beyond ±700 no outcome could tell the difference."""
        return np.exp(np.clip(eta, -700.0, 700.0))

    def predictive_mean(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """E e^η = e^(m + v/2); infinite where that exceeds 1.8e308."""
        m, v = gaussian(type(self).__name__, m, v)
        with np.errstate(over="ignore"):
            return np.exp(m + 0.5 * v)

    def epistemic(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """Var e^η = (1 − e^−v) e^(2m + 2v): the factors overflow only where the product does."""
        m, v = gaussian(type(self).__name__, m, v)
        with np.errstate(over="ignore"):
            return np.where(v > 0, -np.expm1(-v) * np.exp(2.0 * (m + v)), 0.0)[()]

    def _second_moment(self, m: Any, v: Any) -> np.ndarray:
        """E e^2η = e^(2m + 2v)."""
        m, v = gaussian(type(self).__name__, m, v)
        with np.errstate(over="ignore"):
            return np.exp(2.0 * (m + v))
