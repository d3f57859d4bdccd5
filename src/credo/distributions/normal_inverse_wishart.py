"""NormalInverseWishart: μ | Σ ~ N(m, Σ/κ), Σ ~ InverseWishart(ν, Ψ); the belief about a mean and a covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.distributions.base import FINITE, POSITIVE_VALUE, Constraint, Family
from credo.distributions.inverse_wishart import InverseWishart
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.distributions.normal import LOG_2PI
from credo.distributions.positive_definite import log_determinants, pair
from credo.distributions.support import REAL, Support
from credo.errors import ParameterError

__all__ = ["NormalInverseWishart"]


@dataclass(frozen=True, eq=False)
class NormalInverseWishart(Family):
    """Joint distribution of a mean vector μ (d,) and a covariance Σ (d, d).

    Parameters
    ----------
    mean : m (d,), or a number, repeated.
    kappa : κ > 0, how many observations the prior of the mean is worth.
    df : ν > d − 1, how many that of the covariance is worth.
    scale_matrix : Ψ (d, d), positive definite; E Σ = Ψ/(ν − d − 1).

    A value is the pair (μ, Σ); `mean`, `variance` and `sd` are those of μ.

    Examples
    --------
    >>> p = NormalInverseWishart([0.0, 1.0], 2.0, 5.0, [[2.0, 0.0], [0.0, 4.0]])
    >>> p.marginal_mean.df, p.marginal_covariance.mean.tolist()
    (4.0, [[1.0, 0.0], [0.0, 2.0]])

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §3.6.
    """

    mean: Any
    kappa: Any
    df: Any
    scale_matrix: Any

    domain: ClassVar[dict[str, Constraint]] = {"mean": FINITE, "kappa": POSITIVE_VALUE, "df": FINITE}

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = "NormalInverseWishart"
        if np.ndim(self.kappa):
            raise ParameterError(owner, "kappa", "a single number", self.kappa)
        law = InverseWishart(self.df, self.scale_matrix)
        mean = np.array(self.mean, dtype=np.float64)
        if mean.ndim > 1 or (mean.ndim and mean.size != law.dimension):
            constraint = f"a vector of {law.dimension}, as the scale matrix has rows"
            raise ParameterError(owner, "mean", constraint, self.mean)
        object.__setattr__(self, "mean", mean if mean.ndim else np.full(law.dimension, mean))
        object.__setattr__(self, "scale_matrix", law.scale_matrix)
        self.__dict__["marginal_covariance"] = law

    #: the law of Σ, an `InverseWishart`; of the instance, set once on construction
    marginal_covariance: ClassVar[Any]

    @property
    def support(self) -> Support:
        return REAL

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def dimension(self) -> int:
        """d, the length of μ."""
        return self.mean.size

    @property
    def marginal_mean(self) -> MultivariateStudentT:
        """The law of μ: Student-t with ν − d + 1 degrees of freedom and scale matrix Ψ/(κ (ν − d + 1))."""
        df = self.df - self.dimension + 1.0
        return MultivariateStudentT(df, self.mean, self.scale_matrix / (self.kappa * df))

    @property
    def variance(self) -> Any:
        """Of μ: diag E Σ/κ; infinite or undefined (NaN) where `marginal_mean` says so."""
        return self.marginal_mean.variance

    @property
    def mode(self) -> tuple[Any, Any]:
        """Joint mode (m, Ψ/(ν + d + 2))."""
        return self.mean, self.scale_matrix / (self.df + self.dimension + 2.0)

    @property
    def entropy(self) -> Any:
        """H(Σ) + E H(μ | Σ), in nats."""
        d, law = self.dimension, self.marginal_covariance
        return law.entropy + 0.5 * (d * (LOG_2PI + 1.0 - np.log(self.kappa)) + law.mean_log_determinant)

    def log_prob(self, x: Any) -> Any:
        """Joint log density of pairs (μ, Σ): μ (..., d), Σ (..., d, d) → (...); −inf unless Σ is positive definite."""
        mu, sigma = pair("NormalInverseWishart.log_prob", x, self.mean.shape)
        outer = self.marginal_covariance.log_prob(sigma)
        log_det = log_determinants(sigma)
        inside = np.isfinite(log_det)
        deviation = mu - self.mean
        solved = np.linalg.solve(np.where(inside[..., None, None], sigma, np.eye(self.dimension)), deviation[..., None])
        square = self.kappa * np.sum(deviation * solved[..., 0], axis=-1)
        normal = self.dimension * (LOG_2PI - np.log(self.kappa)) + np.where(inside, log_det, 0.0) + square
        return np.where(inside, outer - 0.5 * normal, outer)[()]

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> Any:
        """A pair of arrays: μ of shape size + (d,), Σ of shape size + (d, d)."""
        sigma = self.marginal_covariance._draw(size, rng)
        z = rng.standard_normal((*size, self.dimension, 1))
        return self.mean + (np.linalg.cholesky(sigma / self.kappa) @ z)[..., 0], sigma

    def update(
        self, total: float, mean: np.ndarray, scatter: np.ndarray, count: float | None = None
    ) -> NormalInverseWishart:
        """Posterior after vectors of this weight, mean (d,) and centred scatter (d, d).

        `count` is the number of rows that Σ has seen where it differs from the weight that μ has, as in the M-step of
        a scale mixture of normals.
        """
        if total == 0:
            return self
        weight = self.kappa + total
        shift = mean - self.mean
        return NormalInverseWishart(
            self.mean + total / weight * shift,
            weight,
            self.df + (total if count is None else count),
            self.scale_matrix + scatter + self.kappa * total / weight * np.outer(shift, shift),
        )

    def joint_mode(
        self, total: float, mean: np.ndarray, scatter: np.ndarray, count: float | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mode (μ, Σ) of `update` of the same arguments."""
        return self.update(total, mean, scatter, count).mode
