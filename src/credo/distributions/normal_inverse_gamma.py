"""NormalInverseGamma: θ | σ² ~ N(m, σ² V), σ² ~ InverseGamma(a, b); the belief about a mean and a variance.

log p(θ, σ²) = log N(θ; m, σ² V) + a log b − log Γ(a) − (a + 1) log σ² − b/σ²
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.special

from credo.distributions.base import FINITE, POSITIVE_VALUE, Constraint, Family
from credo.distributions.inverse_gamma import InverseGamma
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.distributions.normal import LOG_2PI
from credo.distributions.positive_definite import checked_matrix, pair, whiten
from credo.distributions.student_t import StudentT
from credo.distributions.support import REAL, Support
from credo.errors import ParameterError
from credo.numerics.cholesky import log_determinant

__all__ = ["NormalInverseGamma", "normal_inverse_gamma_mode"]


@dataclass(frozen=True, eq=False)
class NormalInverseGamma(Family):
    """Joint distribution of a location θ (a number or P coefficients) and a noise variance σ².

    Parameters
    ----------
    mean : m, a number or (P,).
    covariance : V, of θ in units of σ²: a number > 0, (P,) for a diagonal, or (P, P) positive definite. One over
        the number of observations that the prior is worth.
    shape, scale : a, b > 0, of σ² ~ InverseGamma(a, b).

    A value is the pair (θ, σ²): `log_prob((theta, variance))`; `sample` returns such a pair. `mean`, `variance` and
    `sd` are those of θ; σ² has its own law in `marginal_variance`.

    Examples
    --------
    >>> p = NormalInverseGamma(0.0, 0.5, shape=3.0, scale=4.0)
    >>> p.marginal_mean.sd.round(4).item(), p.marginal_variance.mean.item()
    (1.0, 2.0)
    >>> p.log_prob((0.0, 1.0)).round(4).item()
    -1.1066
    >>> NormalInverseGamma([0.0, 1.0], [[2.0, 1.0], [1.0, 3.0]], 3.0, 4.0).marginal_mean.df
    6.0

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §3.3; O'Hagan and Forster (2004), §11.
    """

    mean: Any
    covariance: Any
    shape: Any
    scale: Any

    domain: ClassVar[dict[str, Constraint]] = {
        "mean": FINITE,
        "covariance": FINITE,
        "shape": POSITIVE_VALUE,
        "scale": POSITIVE_VALUE,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = "NormalInverseGamma"
        for name in ("shape", "scale"):
            if np.ndim(getattr(self, name)):
                raise ParameterError(owner, name, "a single number", getattr(self, name))
            object.__setattr__(self, name, float(getattr(self, name)))
        mean, covariance = (np.array(v, dtype=np.float64) for v in (self.mean, self.covariance))
        if mean.ndim > 1 or (mean.ndim and covariance.ndim and covariance.shape[0] != mean.size):
            raise ParameterError(owner, "mean", "a number, or as long as the covariance has rows", self.mean)
        if covariance.ndim == 2:
            covariance, self.__dict__["covariance_lower"] = checked_matrix(owner, "covariance", covariance)
        elif covariance.ndim > 2 or np.any(covariance <= 0):
            raise ParameterError(owner, "covariance", "> 0: a number, a diagonal or a matrix", self.covariance)
        if covariance.ndim and not mean.ndim:
            mean = np.full(covariance.shape[0], mean)
        object.__setattr__(self, "mean", mean[()])
        object.__setattr__(self, "covariance", covariance[()])

    @property
    def support(self) -> Support:
        return REAL

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def dimension(self) -> int:
        """P, the number of entries of θ (1 for a number)."""
        return int(np.size(self.mean))

    @property
    def covariance_matrix(self) -> np.ndarray:
        """V in full, (P, P)."""
        if np.ndim(self.covariance) == 2:
            return self.covariance
        return np.diag(self.covariance + np.zeros(self.dimension))

    @cached_property
    def _log_determinant(self) -> float:
        """log |V|."""
        if np.ndim(self.covariance) == 2:
            return log_determinant(self.__dict__["covariance_lower"])
        return float(np.sum(np.log(self.covariance) + np.zeros(np.shape(self.mean))))

    def _mahalanobis(self, theta: np.ndarray) -> np.ndarray:
        """(θ − m)ᵀ V⁻¹ (θ − m)."""
        deviation = np.asarray(theta, dtype=np.float64) - self.mean
        if np.ndim(self.covariance) == 2:
            return np.sum(whiten(self.__dict__["covariance_lower"], deviation) ** 2, axis=-1)
        square = deviation**2 / self.covariance
        return square.sum(-1) if np.ndim(self.mean) else square

    @property
    def marginal_variance(self) -> InverseGamma:
        """The law of σ²."""
        return InverseGamma(shape=self.shape, scale=self.scale)

    @property
    def marginal_mean(self) -> StudentT | MultivariateStudentT:
        """The law of θ: Student-t with 2a degrees of freedom, location m and squared scale (b/a) V."""
        square = self.scale / self.shape
        if np.ndim(self.mean) == 0:
            return StudentT(2.0 * self.shape, self.mean, np.sqrt(square * self.covariance))
        return MultivariateStudentT(2.0 * self.shape, self.mean, square * self.covariance_matrix)

    @property
    def variance(self) -> Any:
        """Of θ: b/(a − 1) diag V; infinite for ½ < a ≤ 1, NaN (undefined) for a ≤ ½."""
        spread = np.diagonal(self.covariance) if np.ndim(self.covariance) == 2 else self.covariance
        if self.shape > 1.0:
            factor = self.scale / (self.shape - 1.0)
        else:
            factor = np.inf if self.shape > 0.5 else np.nan
        return factor * spread + np.zeros(np.shape(self.mean))

    @property
    def mode(self) -> tuple[Any, Any]:
        """Joint mode (θ, σ²) = (m, b/(a + 1 + P/2))."""
        return self.mean, self.scale / (self.shape + 1.0 + 0.5 * self.dimension)

    @property
    def entropy(self) -> Any:
        """H(σ²) + E H(θ | σ²), in nats."""
        expected_log = np.log(self.scale) - scipy.special.digamma(self.shape)
        given = 0.5 * (self.dimension * (LOG_2PI + 1.0 + expected_log) + self._log_determinant)
        return given + self.marginal_variance.entropy

    def log_prob(self, x: Any) -> Any:
        """Joint log density of pairs (θ, σ²): θ (...) or (..., P), σ² (...) → (...)."""
        theta, variance = pair("NormalInverseGamma.log_prob", x, np.shape(self.mean))
        variance = np.asarray(variance, dtype=np.float64)
        safe = np.where(variance > 0, variance, 1.0)
        normal = self.dimension * (LOG_2PI + np.log(safe)) + self._log_determinant + self._mahalanobis(theta) / safe
        return np.where(variance <= 0, -np.inf, self.marginal_variance.log_prob(variance) - 0.5 * normal)[()]

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> Any:
        """A pair of arrays: θ of shape size (+ (P,)), σ² of shape size."""
        variance = self.marginal_variance._draw(size, rng)
        z = rng.standard_normal(size + np.shape(self.mean))
        if np.ndim(self.covariance) == 2:
            z = z @ self.__dict__["covariance_lower"].T
        else:
            z = z * np.sqrt(self.covariance)
        sd = np.sqrt(variance)
        return self.mean + (sd[..., None] if np.ndim(self.mean) else sd) * z, variance

    def update(self, total: float, mean: Any, scatter: Any) -> NormalInverseGamma:
        """Posterior of a scalar (μ, σ²) after Normal data of this weight, mean and centred scatter Σ w (x − x̄)²."""
        if self.dimension != 1 or np.ndim(self.mean):
            raise ParameterError("NormalInverseGamma.update", "mean", "a number (one unknown mean)", self.mean)
        if total == 0:
            return self
        own = 1.0 / self.covariance
        weight = own + total
        shift = mean - self.mean
        return NormalInverseGamma(
            self.mean + total / weight * shift,
            1.0 / weight,
            self.shape + 0.5 * total,
            self.scale + 0.5 * (scatter + own * total / weight * shift**2),
        )


def normal_inverse_gamma_mode(prior: NormalInverseGamma, total: float, mean: Any, scatter: Any) -> tuple[Any, Any]:
    """Joint posterior mode (μ, σ²) of Normal data with these statistics under a scalar `NormalInverseGamma` prior.

    >>> mean, variance = normal_inverse_gamma_mode(NormalInverseGamma(0.0, 1.0, 2.0, 1.0), 4, 1.0, 2.0)
    >>> round(mean, 12), round(variance, 12)
    (0.8, 0.436363636364)
    """
    mode = prior.update(total, mean, scatter).mode
    return float(mode[0]), float(mode[1])
