"""MultivariateNormal: log p(x) = −½ (x − μ)ᵀ Σ⁻¹ (x − μ) − ½ log |Σ| − (d/2) log 2π."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from credo.distributions.base import FINITE, Constraint, Family, is_concrete
from credo.distributions.fitting import is_flat
from credo.distributions.normal import LOG_2PI, Normal
from credo.distributions.positive_definite import checked_matrix, partition, split, values, vectors, whiten
from credo.distributions.statistics import WeightedMoments
from credo.distributions.support import REAL, Support
from credo.errors import DataError, ParameterError
from credo.numerics.cholesky import cholesky, solve_lower
from credo.numerics.namespace import namespace

__all__ = ["MultivariateNormal"]


@dataclass(frozen=True, eq=False)
class MultivariateNormal(Family):
    """Normal distribution of a vector, with `mean` μ (d,) and `covariance` Σ (d, d), factored once: Σ = L Lᵀ.

    Parameters
    ----------
    mean : (..., d); leading axes are a batch sharing Σ; a scalar is repeated.
    covariance : (d, d), symmetric positive definite.

    `mean`, `variance`, `sd`, `quantile` and `interval` are those of the coordinates. One `log_prob` costs d².

    Raises
    ------
    ParameterError, NotPositiveDefiniteError : on construction.

    Examples
    --------
    >>> import numpy as np
    >>> p = MultivariateNormal([0.0, 1.0], [[2.0, 1.0], [1.0, 3.0]])
    >>> p.marginal(1).sd.round(4).item()
    1.7321
    >>> p.condition(1, [3.0]).mean.round(4).tolist()
    [0.6667]
    >>> p.log_prob(np.zeros(2)).round(4).item()
    -2.8426

    References
    ----------
    Mardia, Kent and Bibby (1979), Multivariate Analysis, ch. 3.
    """

    mean: Any
    covariance: Any

    domain: ClassVar[dict[str, Constraint]] = {"mean": FINITE, "covariance": FINITE}
    event_ndim: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_concrete(self.covariance):
            covariance, lower = checked_matrix("MultivariateNormal", "covariance", self.covariance)
            self._settle(covariance, lower)

    def _settle(self, covariance: np.ndarray, lower: np.ndarray) -> None:
        """Store the checked covariance with its factor, and the mean at its full length."""
        object.__setattr__(self, "covariance", covariance)
        self.__dict__["scale_lower"] = lower
        if not is_concrete(self.mean):
            return
        mean = np.asarray(self.mean, dtype=np.float64)
        if mean.ndim and mean.shape[-1] != lower.shape[0]:
            constraint = f"a vector of {lower.shape[0]}, as the covariance has rows"
            raise ParameterError("MultivariateNormal", "mean", constraint, self.mean)
        object.__setattr__(self, "mean", mean if mean.ndim else np.full(lower.shape[0], mean))

    @classmethod
    def from_scale_lower(cls, mean: Any, scale_lower: Any) -> Self:
        """From a lower triangular factor L (d, d) with positive diagonal, Σ = L Lᵀ; nothing is factored again."""
        lower = np.array(scale_lower, dtype=np.float64)
        if lower.ndim != 2 or lower.shape[0] != lower.shape[1] or not np.all(np.isfinite(lower)):
            raise ParameterError("MultivariateNormal.from_scale_lower", "scale_lower", "a finite square matrix", lower)
        if np.any(np.diag(lower) <= 0) or np.any(np.triu(lower, 1)):
            constraint = "lower triangular with a positive diagonal"
            raise ParameterError("MultivariateNormal.from_scale_lower", "scale_lower", constraint, scale_lower)
        if is_concrete(mean) and not np.all(np.isfinite(mean)):
            raise ParameterError("MultivariateNormal.from_scale_lower", "mean", "finite", mean)
        made = object.__new__(cls)
        object.__setattr__(made, "mean", mean)
        made._settle(lower @ lower.T, lower)
        return made

    @classmethod
    def from_precision(cls, mean: Any, precision: Any) -> Self:
        """From the inverse covariance Λ (d, d): Λ = U Uᵀ with U upper, so L = U⁻ᵀ is the factor of Σ. Cost d³."""
        matrix, _ = checked_matrix("MultivariateNormal.from_precision", "precision", precision)
        upper = cholesky(matrix[::-1, ::-1], "precision").lower[::-1, ::-1]
        return cls.from_scale_lower(mean, np.tril(solve_lower(np.ascontiguousarray(upper.T), np.eye(len(upper)))))

    @cached_property
    def scale_lower(self) -> Any:
        """L (d, d), lower triangular, L Lᵀ = Σ."""
        return namespace(self.covariance).linalg.cholesky(self.covariance)

    @property
    def support(self) -> Support:
        return REAL

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return np.shape(self.mean)[:-1]

    @property
    def dimension(self) -> int:
        """d, the length of one value."""
        return self.covariance.shape[0]

    @property
    def variance(self) -> Any:
        """Variances of the coordinates, the diagonal of Σ, in the shape of `mean`."""
        return np.diagonal(self.covariance) + np.zeros(np.shape(self.mean))

    @property
    def mode(self) -> Any:
        return self.mean

    @property
    def entropy(self) -> Any:
        """½ (d log 2πe + log |Σ|), in nats."""
        entropy = 0.5 * self.dimension * (LOG_2PI + 1.0) + np.sum(np.log(np.diagonal(self.scale_lower)))
        return np.full(self.batch_shape, entropy)[()]

    def log_prob(self, x: Any) -> Any:
        """Log density of vectors x (..., d) → (...)."""
        xp, x = values("MultivariateNormal.log_prob", x, self.dimension, self.mean, self.scale_lower)
        z = whiten(self.scale_lower, x - self.mean)
        log_scale = xp.sum(xp.log(xp.diagonal(self.scale_lower)))
        return -0.5 * xp.sum(z * z, -1) - log_scale - 0.5 * self.dimension * LOG_2PI

    def quantile(self, q: Any) -> Any:
        """Quantiles of each coordinate: q of any shape → (*q, *mean)."""
        q = np.asarray(q, dtype=np.float64)
        return self.mean + self.sd * scipy.special.ndtri(q.reshape(q.shape + (1,) * np.ndim(self.mean)))

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        z = rng.standard_normal((*size, *self.batch_shape, self.dimension))
        return self.mean + z @ self.scale_lower.T

    def marginal(self, indices: Any) -> Normal | MultivariateNormal:
        """Of one coordinate (an int) a `Normal`, of several (a list) a `MultivariateNormal`."""
        chosen, _ = split("MultivariateNormal.marginal", indices, self.dimension)
        if np.ndim(indices) == 0:
            return Normal(self.mean[..., chosen[0]], np.sqrt(self.covariance[chosen[0], chosen[0]]))
        return MultivariateNormal(self.mean[..., chosen], self.covariance[np.ix_(chosen, chosen)])

    def condition(self, indices: Any, values: Any) -> MultivariateNormal:
        """The others given x[indices] = values: N(μ_a + Σ_ab Σ_bb⁻¹ (values − μ_b), Σ_aa − Σ_ab Σ_bb⁻¹ Σ_ba).

        `values` (..., len(indices)); leading axes give a batch of means. The coordinates left keep their order.
        """
        given, kept = split("MultivariateNormal.condition", indices, self.dimension)
        if kept.size == 0:
            raise ParameterError("MultivariateNormal.condition", "indices", "not every coordinate", indices)
        values = np.asarray(values, dtype=np.float64)
        values = values[None] if values.ndim == 0 else values
        if values.shape[-1] != given.size or not np.all(np.isfinite(values)):
            raise ParameterError("MultivariateNormal.condition", "values", f"{given.size} finite numbers", values)
        blocks = partition(self.covariance, given, kept, "MultivariateNormal.covariance")
        shift = whiten(blocks.given, values - self.mean[..., given]) @ blocks.cross.T
        return MultivariateNormal.from_scale_lower(self.mean[..., kept] + shift, blocks.kept)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE from rows (n, d): weighted mean and Σ w (x − x̄)(x − x̄)ᵀ/Σ w.

        With a `NormalInverseWishart` prior on (μ, Σ): the joint mode. Without one, at least d + 1 rows are needed.
        """
        x, w = vectors("MultivariateNormal.fit", x, weights)
        moments = WeightedMoments.accumulate(x, w, full=True)
        if not is_flat(prior, {}):
            return cls(*prior.joint_mode(moments.total, moments.mean, moments.scatter))
        rows = int(np.count_nonzero(w))
        if rows <= x.shape[1]:
            raise DataError(
                f"MultivariateNormal.fit: {rows} rows do not determine a covariance of {x.shape[1]} columns.",
                value=rows,
                remedy="Give a NormalInverseWishart prior or more rows.",
            )
        return cls(moments.mean, moments.scatter / moments.total)
