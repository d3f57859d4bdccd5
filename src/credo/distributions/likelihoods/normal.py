"""NormalIdentity: y | η ~ N(η, σ²).

With z = (y − η)/σ: ℓ′ = z/σ, ℓ″ = −1/σ², ℓ‴ = 0; in τ = log σ: ℓ_τ = z² − 1, ℓ_ητ = −2z/σ, ℓ_ττ = −2z².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.likelihoods.base import Likelihood, column, gaussian
from credo.distributions.normal import Normal
from credo.numerics.namespace import namespace

__all__ = ["NormalIdentity"]

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class NormalIdentity(Likelihood):
    """Normal outcomes with identity link.

    Parameters
    ----------
    scale : σ > 0, a number or one a row. None learns it with p(σ) ∝ 1/σ, a `Family` under that prior. ψ = (log σ).

    Everything is in closed form: the predictive of N(m, v) is N(m, v + σ²).

    Examples
    --------
    >>> import numpy as np
    >>> noise = NormalIdentity(0.5)
    >>> [part.tolist() for part in noise.value_and_derivatives(np.array([1.0]), np.array([0.5]), order=3)]
    [[-0.7257913526447274], [2.0], [-4.0], [0.0]]
    """

    scale: Any = 1.0

    positive = ("scale",)

    def check(self, y: Any) -> np.ndarray:
        return column("NormalIdentity", y)

    def initial_eta(self, y: Any) -> np.ndarray:
        return np.array(y, dtype=np.float64)

    def _start(self, y: np.ndarray) -> dict[str, float]:
        """The sd, or 1 where that is 0."""
        return {"scale": float(y.std()) or 1.0}

    def _log_prob(self, y: Any, eta: Any, scale: Any) -> Any:
        """−½ (log 2πσ² + z²)."""
        xp = namespace(y, eta, scale)
        return _log_normal(xp, (y - eta) / scale, xp.log(scale))

    def _derivatives(self, y: Any, eta: np.ndarray, order: int, scale: Any) -> tuple[Any, ...]:
        return np.subtract(y, eta) / scale**2, -1.0 / scale**2, 0.0

    def _joint(self, y: Any, eta: np.ndarray, scale: Any) -> tuple[list[Any], list[list[Any]]]:
        z = np.subtract(y, eta) / scale
        return [z / scale, z * z - 1.0], [[-1.0 / scale**2, -2.0 * z / scale], [-2.0 * z * z]]

    def mean(self, eta: Any, psi: Any = None) -> Any:
        return eta

    def link(self, mean: Any) -> Any:
        return mean

    def variance(self, eta: Any, psi: Any = None) -> Any:
        """σ², at every η."""
        (scale,) = self.natural(psi)
        return scale**2 + np.zeros(np.shape(eta))

    def law(self, eta: Any, psi: Any = None) -> Normal:
        """`Normal` with mean η."""
        return Normal(eta, *self.natural(psi))

    def predictive_log_prob(self, y: Any, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """log N(y; m, v + σ²)."""
        m, v = gaussian("NormalIdentity", m, v)
        sd = np.hypot(np.sqrt(v), *self.natural(psi))
        return _log_normal(np, np.subtract(y, m) / sd, np.log(sd))

    def predictive_mean(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        return gaussian("NormalIdentity", m, v)[0].copy()

    def aleatoric(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """σ²."""
        return self.variance(gaussian("NormalIdentity", m, v)[0], psi)

    def epistemic(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """v."""
        return gaussian("NormalIdentity", m, v)[1].copy()

    def tilted_moments(
        self, y: Any, m: Any, v: Any, psi: Any = None, power: Any = 1.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """In closed form: noise variance σ²/power."""
        (scale,) = self.natural(psi)
        noise = scale**2 / power
        share = v / (v + noise)
        log_z = _log_normal(np, np.subtract(y, m) / np.sqrt(v + noise), 0.5 * np.log(v + noise))
        constant = 0.5 * (1.0 - power) * (LOG_2PI + 2.0 * np.log(scale)) - 0.5 * np.log(power)
        return log_z + constant, m + share * np.subtract(y, m), share * noise


def _log_normal(xp: Any, z: Any, log_sd: Any) -> Any:
    return -0.5 * (LOG_2PI + z * z) - log_sd
