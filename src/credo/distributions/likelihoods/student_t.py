"""StudentTIdentity: y = η + σ t_ν, for outcomes with outliers.

Notation: z = (y − η)/σ, h = √(ν + z²), c = z/h, s = √ν/h (so c² + s² = 1, and nothing overflows), A = ν + 1. In η,

    ℓ′ = A c/(hσ);  ℓ″ = −A (s² − c²)/(hσ)²;  ℓ‴ = −2 A c (3s² − c²)/(hσ)³;

in τ = log σ: ℓ_τ = A c² − 1, ℓ_ητ = −2 A c s²/(hσ), ℓ_ττ = −2 A c² s²; in κ = log ν, with ψ̃(a) = ψ′(a) − 1/a,

    ℓ_κ = (ν/2)[ψ((ν+1)/2) − ψ(ν/2)] − ½ − (ν/2)[log(1 + z²/ν) − c²] + c²/2
    ℓ_ηκ = c (ν c² − s²)/(hσ),  ℓ_τκ = c² (ν c² − s²)
    ℓ_κκ = ℓ_κ + 1/(2ν + 2) + (ν²/4)[ψ̃((ν+1)/2) − ψ̃(ν/2)] + ½ c² (ν c² − 1 − s²).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.likelihoods.base import Likelihood, column, gaussian
from credo.distributions.likelihoods.integrals import HALF_LOG_2PI, log_mixture_integral
from credo.distributions.likelihoods.priors import degrees_of_freedom, flat
from credo.distributions.likelihoods.series import trigamma_excess
from credo.distributions.stirling import log_minus_digamma, stirling_error
from credo.distributions.student_t import StudentT, log1p_square
from credo.numerics.namespace import namespace

__all__ = ["StudentTIdentity"]

# A Normal sample's mean absolute deviation from its median, in sds; the inverse scales it up.
MAD_TO_SD = 1.4826


@dataclass(frozen=True, eq=False)
class StudentTIdentity(Likelihood):
    """Outcomes with Student-t noise and identity link. Not log-concave: beyond √ν scales ℓ″ > 0.

    Parameters
    ----------
    df : ν > 0. None learns it with ν ~ Gamma(shape 2, rate 0.1).
    scale : σ > 0, a number or one a row. None learns it with p(σ) ∝ 1/σ.

    A `Family` in either place learns the parameter under that prior. ψ has log ν, then log σ, of those learned.

    Examples
    --------
    >>> import numpy as np
    >>> robust = StudentTIdentity(df=4.0)
    >>> robust.auxiliary, robust.log_concave
    (('log_scale',), False)
    >>> value, gradient, _ = robust.joint_derivatives(np.array([10.0]), np.array([0.0]), np.array([0.0]))
    >>> value.round(4).tolist(), gradient.round(4).tolist()     # an outlier pulls on η less, and on the scale
    ([-9.1261], [[0.4808, 3.8077]])
    """

    df: Any = None
    scale: Any = None

    log_concave = False
    positive = ("df", "scale")

    def check(self, y: Any) -> np.ndarray:
        return column("StudentTIdentity", y)

    def initial_eta(self, y: Any) -> np.ndarray:
        """y, the mode."""
        return np.array(y, dtype=np.float64)

    def _start(self, y: np.ndarray) -> dict[str, float]:
        """ν = 10, and σ from the median absolute deviation (or the sd, or 1, where that is 0)."""
        deviation = float(np.median(np.abs(y - np.median(y)))) * MAD_TO_SD
        return {"df": 10.0, "scale": deviation or float(y.std()) or 1.0}

    def _default_prior(self, name: str) -> Any:
        return degrees_of_freedom if name == "df" else flat

    def _log_prob(self, y: Any, eta: Any, df: Any, scale: Any) -> Any:
        xp = namespace(y, eta, df, scale)
        half = 0.5 * xp.asarray(df)
        z = (y - eta) / scale
        # log Γ(h + ½) − log Γ(h) − ½ log 2πh, where the gamma functions cancel
        constant = half * xp.log1p(0.5 / half) - 0.5 + stirling_error(xp, half + 0.5) - stirling_error(xp, half)
        kernel = (half + 0.5) * log1p_square(xp, z / xp.sqrt(2.0 * half))
        return constant - HALF_LOG_2PI - xp.log(scale) - kernel

    def _derivatives(self, y: Any, eta: np.ndarray, order: int, df: Any, scale: Any) -> tuple[Any, ...]:
        _, c, s, width = _angle(y, eta, df, scale)
        c2, s2, a = c * c, s * s, df + 1.0
        return a * c / width, a * (c2 - s2) / width**2, -2.0 * a * c * (3.0 * s2 - c2) / width**3

    def _joint(self, y: Any, eta: np.ndarray, df: Any, scale: Any) -> tuple[list[Any], list[list[Any]]]:
        xp, half = namespace(), 0.5 * np.asarray(df)
        z, c, s, width = _angle(y, eta, df, scale)
        c2, s2, a = c * c, s * s, df + 1.0
        digammas = half * (np.log1p(0.5 / half) - log_minus_digamma(xp, half + 0.5) + log_minus_digamma(xp, half))
        log_ratio = log1p_square(xp, z / np.sqrt(df))
        df_slope = digammas - 0.5 - half * (log_ratio - c2) + 0.5 * c2
        trigammas = half * half * (trigamma_excess(half + 0.5) - trigamma_excess(half))
        df_bend = df_slope + 0.5 / a + trigammas + 0.5 * c2 * (df * c2 - 1.0 - s2)
        turn = df * c2 - s2
        first = [a * c / width, df_slope, a * c2 - 1.0]
        second = [
            [a * (c2 - s2) / width**2, c * turn / width, -2.0 * a * c * s2 / width],
            [df_bend, c2 * turn],
            [-2.0 * a * c2 * s2],
        ]
        return first, second

    def mean(self, eta: Any, psi: Any = None) -> Any:
        """η, the centre (for ν ≤ 1 there is no mean)."""
        return eta

    def link(self, mean: Any) -> Any:
        return mean

    def variance(self, eta: Any, psi: Any = None) -> Any:
        """σ² ν/(ν − 2) for ν > 2, ∞ for 1 < ν ≤ 2, NaN for ν ≤ 1."""
        df, scale = self.natural(psi)
        return StudentT(df, 0.0, scale).variance + np.zeros(np.shape(eta))

    def law(self, eta: Any, psi: Any = None) -> StudentT:
        """`StudentT` with mean η."""
        df, scale = self.natural(psi)
        return StudentT(df, eta, scale)

    def predictive_log_prob(self, y: Any, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """log ∫ t_ν(y; η, σ) N(η; m, v) dη; absolute error below 1e-10.

        Given the precision λ ~ Gamma(ν/2, ν/2) of a row it is N(y; m, v + σ²/λ); the integral runs over log λ.
        """
        m, v = gaussian("StudentTIdentity", m, v)
        df, scale = self.natural(psi)
        residual, v, df, scale = np.broadcast_arrays(np.subtract(y, m), v, df, scale)
        r, v, half, scale = (np.asarray(a, dtype=np.float64).ravel() for a in (residual, v, 0.5 * df, scale))
        log_scale, log_v = np.log(scale), np.log(np.maximum(v, 1e-300))
        constant = 0.5 * (np.log(half) - 2.0 * HALF_LOG_2PI) - stirling_error(namespace(), half)

        def log_joint(rows: np.ndarray, u: np.ndarray) -> np.ndarray:
            h = half[rows]
            log_spread = np.logaddexp(log_v[rows], 2.0 * log_scale[rows] - u)
            root = r[rows] * np.exp(-0.5 * log_spread)
            # h (1 + u − eᵘ) is the Gamma's log density of u = log λ, less its value at 0
            return constant[rows] + h * (u - np.expm1(u)) - HALF_LOG_2PI - 0.5 * log_spread - 0.5 * root * root

        # Left of the first bound h + ½ e-foldings a unit, right of the second e^u h, have taken 700 nats away.
        reach = np.log(1.0 + 700.0 / half) + 1.0
        far = np.log1p((r / scale) ** 2)
        return log_mixture_integral(log_joint, -700.0 / (half + 0.5) - far - 5.0, reach).reshape(residual.shape)[()]

    def predictive_mean(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """m."""
        return gaussian("StudentTIdentity", m, v)[0].copy()

    def aleatoric(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """The variance of the noise."""
        return self.variance(gaussian("StudentTIdentity", m, v)[0], psi)

    def epistemic(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """v."""
        return gaussian("StudentTIdentity", m, v)[1].copy()


def _angle(y: Any, eta: Any, df: Any, scale: Any) -> tuple[Any, Any, Any, Any]:
    """z, c, s and hσ."""
    z, root = np.subtract(y, eta) / scale, np.sqrt(df)
    h = np.hypot(root, z)
    return z, z / h, root / h, h * scale
