"""LaplaceIdentity: log p(y | η) = −|y − η|/b − log 2b.

In η: ℓ′ = sign(y − η)/b, ℓ″ = ℓ‴ = 0 (almost everywhere; at η = y the two slopes average to 0). In u = log b:
ℓ_u = |y − η|/b − 1, ℓ_ηu = −ℓ′, ℓ_uu = −|y − η|/b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.distributions.laplace import Laplace
from credo.distributions.likelihoods.base import Likelihood, column, gaussian
from credo.distributions.likelihoods.probit import inverse_mills
from credo.numerics.namespace import namespace

__all__ = ["LaplaceIdentity"]

LOG_2 = float(np.log(2.0))


@dataclass(frozen=True, eq=False)
class LaplaceIdentity(Likelihood):
    """Outcomes with Laplace noise and identity link: the absolute loss. Concave, with a kink at η = y.

    Its curvature is zero wherever there is one, so Newton and Laplace's approximation say nothing about it: `smooth`
    is False. Expectation propagation and MCMC apply.

    Parameters
    ----------
    scale : b > 0, a number or one a row; the sd is √2 b. None learns it with p(b) ∝ 1/b, a `Family` under that prior.
        ψ = (log b).

    Examples
    --------
    >>> import numpy as np
    >>> noise = LaplaceIdentity(2.0)
    >>> [part.round(4).tolist() for part in noise.value_and_derivatives(np.array([3.0]), np.array([0.0]))]
    [[-2.8863], [0.5], [0.0]]
    """

    scale: Any = None

    smooth = False
    positive = ("scale",)

    def check(self, y: Any) -> np.ndarray:
        return column("LaplaceIdentity", y)

    def initial_eta(self, y: Any) -> np.ndarray:
        return np.array(y, dtype=np.float64)

    def _start(self, y: np.ndarray) -> dict[str, float]:
        """The mean absolute deviation from the median, or 1 where that is 0."""
        return {"scale": float(np.mean(np.abs(y - np.median(y)))) or 1.0}

    def _log_prob(self, y: Any, eta: Any, scale: Any) -> Any:
        xp = namespace(y, eta, scale)
        return -xp.abs(y - eta) / scale - LOG_2 - xp.log(scale)

    def _derivatives(self, y: Any, eta: np.ndarray, order: int, scale: Any) -> tuple[Any, ...]:
        return np.sign(np.subtract(y, eta)) / scale, 0.0, 0.0

    def _joint(self, y: Any, eta: np.ndarray, scale: Any) -> tuple[list[Any], list[list[Any]]]:
        size, slope = np.abs(np.subtract(y, eta)) / scale, np.sign(np.subtract(y, eta)) / scale
        return [slope, size - 1.0], [[0.0, -slope], [-size]]

    def mean(self, eta: Any, psi: Any = None) -> Any:
        return eta

    def link(self, mean: Any) -> Any:
        return mean

    def variance(self, eta: Any, psi: Any = None) -> Any:
        """2 b²."""
        (scale,) = self.natural(psi)
        return 2.0 * scale**2 + np.zeros(np.shape(eta))

    def law(self, eta: Any, psi: Any = None) -> Laplace:
        """`Laplace` with mean η."""
        return Laplace(eta, *self.natural(psi))

    def predictive_log_prob(self, y: Any, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """log ∫ p(y | η) N(η; m, v) dη in closed form: the two sides of y, a = |y − m|/s and k = s/b apart.

        e^(k²/2 − ak) Φ(a − k) + e^(k²/2 + ak) Φ(−a − k), over 2b; each written so that nothing large cancels.
        """
        (b,), (m, v) = self.natural(psi), gaussian("LaplaceIdentity", m, v)
        # A width of nothing takes the same path as v = 0.
        s = np.maximum(np.sqrt(v), 1e-150)
        distance = np.subtract(y, m)
        sides = (_log_side(side * distance, s, b) for side in (1.0, -1.0))
        return (np.logaddexp(*sides) - LOG_2 - np.log(b))[()]

    def tilted_moments(
        self, y: Any, m: Any, v: Any, psi: Any = None, power: Any = 1.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """In closed form, from two derivatives of log Z in m; a power divides b."""
        (scale,), s = self.natural(psi), np.sqrt(v)
        b = scale / power
        distance = np.subtract(y, m)
        logs = [_log_side(side * distance, s, b) for side in (1.0, -1.0)]
        log_z = np.logaddexp(*logs)
        share, slope, bend = [], [], []
        for side, log_side in zip((1.0, -1.0), logs, strict=True):
            ratio, excess, _ = inverse_mills(side * distance / s - s / b)
            share.append(np.exp(log_side - log_z))
            slope.append(side * (ratio / s - 1.0 / b))
            bend.append(-ratio * excess / v)
        first = share[0] * slope[0] + share[1] * slope[1]
        spread = share[0] * share[1] * (slope[0] - slope[1]) ** 2
        second = share[0] * bend[0] + share[1] * bend[1] + spread
        return log_z - power * (LOG_2 + np.log(scale)), m - v * first, v + v * v * second

    def predictive_mean(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        return gaussian("LaplaceIdentity", m, v)[0].copy()

    def aleatoric(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """2 b²."""
        return self.variance(gaussian("LaplaceIdentity", m, v)[0], psi)

    def epistemic(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """v."""
        return gaussian("LaplaceIdentity", m, v)[1].copy()


def _log_side(distance: Any, s: Any, b: Any) -> Any:
    """log of e^(k²/2 − ak) Φ(a − k), a = distance/s, k = s/b."""
    a, k = distance / s, s / b
    with np.errstate(over="ignore"):
        beyond = np.log(scipy.special.erfcx(np.maximum(k - a, 0.0) / np.sqrt(2.0))) - 0.5 * a * a - LOG_2
        near = 0.5 * k * k - distance / b + scipy.special.log_ndtr(np.maximum(a - k, 0.0))
    return np.where(a > k, near, beyond)
