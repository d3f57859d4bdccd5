"""GammaLog: positive outcomes with mean μ = e^η and shape α, variance μ²/α.

With r = log y − η and ε(r) = eʳ − 1 − r,

    ℓ = ½ log(α/2π) − δ(α) − log y − α ε(r);  ℓ′ = α (eʳ − 1);  ℓ″ = −α eʳ;  ℓ‴ = α eʳ;

in u = log α: ℓ_u = α [log α − ψ(α) − ε(r)];  ℓ_ηu = ℓ′;  ℓ_uu = ℓ_u + α − α² ψ′(α); δ is Stirling's error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.gamma import Gamma
from credo.distributions.likelihoods.base import bad_rows, column
from credo.distributions.likelihoods.log_link import LogLink
from credo.distributions.likelihoods.priors import half_normal_inverse_root
from credo.distributions.likelihoods.series import exp_excess, trigamma_excess
from credo.distributions.stirling import log_minus_digamma, stirling_error
from credo.numerics.namespace import namespace

__all__ = ["GammaLog"]

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class GammaLog(LogLink):
    """Positive outcomes with log link and a constant coefficient of variation α^(−½).

    Parameters
    ----------
    shape : α > 0, a number or one a row. None learns it with α^(−½) ~ HalfNormal(1), a `Family` learns it under that
        prior. ψ = (log α).

    Examples
    --------
    >>> import numpy as np
    >>> value, gradient, _ = GammaLog().joint_derivatives(np.array([2.0]), np.array([0.0]), np.log([4.0]))
    >>> value.round(4).tolist(), gradient.round(4).tolist()
    ([-2.1671], [[4.0, -0.7067]])
    """

    shape: Any = None

    positive = ("shape",)

    def check(self, y: Any) -> np.ndarray:
        y = column("GammaLog", y)
        bad_rows("GammaLog", y, y <= 0, "> 0", "Rows with y = 0 need another model: a hurdle, or counts.")
        return y

    def initial_eta(self, y: Any) -> np.ndarray:
        """log y, the mode."""
        return np.log(np.asarray(y, dtype=np.float64))

    def _start(self, y: np.ndarray) -> dict[str, float]:
        """1/Var log y, kept between 0.1 and 100."""
        return {"shape": float(np.clip(1.0 / max(np.var(np.log(y)), 1e-2), 0.1, 100.0))}

    def _default_prior(self, name: str) -> Any:
        return half_normal_inverse_root

    def _log_prob(self, y: Any, eta: Any, alpha: Any) -> Any:
        xp = namespace(y, eta, alpha)
        log_y = xp.log(y)
        constant = 0.5 * xp.log(alpha) - HALF_LOG_2PI - stirling_error(xp, xp.asarray(alpha))
        return constant - log_y - alpha * exp_excess(xp, log_y - eta)

    def _derivatives(self, y: Any, eta: np.ndarray, order: int, alpha: Any) -> tuple[Any, ...]:
        r = np.log(y) - eta
        ratio = alpha * np.exp(r)
        return alpha * np.expm1(r), -ratio, ratio

    def _joint(self, y: Any, eta: np.ndarray, alpha: Any) -> tuple[list[Any], list[list[Any]]]:
        xp, r = namespace(), np.log(y) - eta
        slope = alpha * np.expm1(r)
        along = alpha * (log_minus_digamma(xp, np.asarray(alpha)) - exp_excess(xp, r))
        return [slope, along], [[-alpha * np.exp(r), slope], [along - alpha * alpha * trigamma_excess(alpha)]]

    def variance(self, eta: Any, psi: Any = None) -> Any:
        """μ²/α."""
        (alpha,) = self.natural(psi)
        return self.mean(eta) ** 2 / alpha

    def law(self, eta: Any, psi: Any = None) -> Gamma:
        """`Gamma` of shape α and scale e^η/α."""
        (alpha,) = self.natural(psi)
        return Gamma(shape=alpha, rate=alpha / self._rate(eta))

    def aleatoric(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """E μ²/α."""
        (alpha,) = self.natural(psi)
        return self._second_moment(m, v) / alpha
