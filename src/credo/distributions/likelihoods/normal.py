"""NormalIdentity: y | η ~ N(η, τ), τ the noise variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.likelihoods.base import Likelihood, column, gaussian
from credo.errors import ParameterError
from credo.numerics.namespace import namespace

__all__ = ["NormalIdentity"]

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class NormalIdentity(Likelihood):
    """Normal outcomes with identity link and known `noise_variance` (a number, or one a row).

    Everything is in closed form: the predictive of N(m, v) is N(m, v + noise_variance).

    Examples
    --------
    >>> import numpy as np
    >>> noise = NormalIdentity(0.25)
    >>> [part.tolist() for part in noise.value_and_derivatives(np.array([1.0]), np.array([0.5]), order=3)]
    [[-0.7257913526447274], [2.0], [-4.0], [0.0]]
    """

    noise_variance: Any = 1.0

    kind = "real"

    def __post_init__(self) -> None:
        variance = np.asarray(self.noise_variance, dtype=np.float64)
        if variance.ndim > 1 or not np.all(np.isfinite(variance) & (variance > 0)):
            raise ParameterError(
                "NormalIdentity", "noise_variance", "finite and > 0, a number or one a row", self.noise_variance
            )
        object.__setattr__(self, "noise_variance", variance[()])

    def check(self, y: Any) -> np.ndarray:
        return column("NormalIdentity", y)

    def initial_eta(self, y: Any) -> np.ndarray:
        return np.array(y, dtype=np.float64)

    def log_prob(self, y: Any, eta: Any) -> Any:
        """−½ (log 2πτ + (y − η)²/τ)."""
        return _log_normal(namespace(y, eta), y - eta, self.noise_variance)

    def value_and_derivatives(
        self, y: Any, eta: Any, order: int = 2, out: tuple[np.ndarray, ...] | None = None
    ) -> tuple[np.ndarray, ...]:
        residual = np.subtract(y, eta)
        parts = out or tuple(np.empty(residual.shape) for _ in range(order + 1))
        parts[0][...] = _log_normal(np, residual, self.noise_variance)
        if order >= 1:
            np.divide(residual, self.noise_variance, out=parts[1])
        if order >= 2:
            parts[2][...] = -1.0 / self.noise_variance
        if order >= 3:
            parts[3][...] = 0.0
        return parts[: order + 1]

    def mean(self, eta: Any) -> Any:
        return eta

    def link(self, mean: Any) -> Any:
        return mean

    def variance(self, eta: Any) -> Any:
        """The noise variance, at every η."""
        return self.noise_variance + np.zeros(np.shape(eta))

    def predictive_log_prob(self, y: Any, m: Any, v: Any) -> np.ndarray:
        """log N(y; m, v + noise_variance)."""
        m, v = gaussian("NormalIdentity", m, v)
        return _log_normal(np, np.subtract(y, m), np.add(v, self.noise_variance))

    def predictive_mean(self, m: Any, v: Any) -> np.ndarray:
        return gaussian("NormalIdentity", m, v)[0].copy()

    def aleatoric(self, m: Any, v: Any) -> np.ndarray:
        """The noise variance."""
        return self.noise_variance + np.zeros(gaussian("NormalIdentity", m, v)[0].shape)

    def epistemic(self, m: Any, v: Any) -> np.ndarray:
        """v."""
        return gaussian("NormalIdentity", m, v)[1].copy()


def _log_normal(xp: Any, residual: Any, variance: Any) -> Any:
    return -0.5 * (LOG_2PI + xp.log(variance) + residual * residual / variance)
