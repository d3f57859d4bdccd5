"""MultivariateStudentT: log p(x) = log Γ((ν + d)/2) − log Γ(ν/2) − ½ log |νπ S| − ((ν + d)/2) log(1 + δ/ν),

with δ = (x − μ)ᵀ S⁻¹ (x − μ).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy.special

from credo.distributions.base import FINITE, POSITIVE_VALUE, Constraint, Family, is_concrete
from credo.distributions.fitting import is_flat
from credo.distributions.positive_definite import checked_matrix, partition, split, values, vectors, whiten
from credo.distributions.statistics import WeightedMoments
from credo.distributions.stirling import stirling_error
from credo.distributions.student_t import StudentT
from credo.distributions.support import REAL, Support
from credo.errors import ConvergenceWarning, DataError, ParameterError, UnavailableError, warn
from credo.numerics.cholesky import cholesky
from credo.numerics.namespace import namespace

__all__ = ["MultivariateStudentT"]

# Below, the tails are too heavy for any moment to be of use; above, a Student-t is a Normal to 1e-3 in density.
DF_RANGE = (0.1, 1e4)


@dataclass(frozen=True, eq=False)
class MultivariateStudentT(Family):
    """Student-t distribution of a vector: x = μ + L z √(ν/χ²_ν), with L Lᵀ = S.

    Parameters
    ----------
    df : ν > 0.
    mean : location μ (d,) or a scalar (the mean where ν > 1).
    scale_matrix : S (d, d), symmetric positive definite; the covariance is ν/(ν − 2) S where ν > 2.

    Examples
    --------
    >>> p = MultivariateStudentT(5.0, [0.0, 1.0], [[2.0, 1.0], [1.0, 3.0]])
    >>> p.covariance.round(4).tolist()
    [[3.3333, 1.6667], [1.6667, 5.0]]
    >>> p.log_prob([0.0, 0.0]).round(4).item()
    -2.912

    References
    ----------
    Kotz and Nadarajah (2004), Multivariate t Distributions and Their Applications.
    """

    df: Any
    mean: Any
    scale_matrix: Any

    domain: ClassVar[dict[str, Constraint]] = {"df": POSITIVE_VALUE, "mean": FINITE, "scale_matrix": FINITE}
    event_ndim: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_concrete(self.df) and np.ndim(self.df):
            raise ParameterError("MultivariateStudentT", "df", "a single number", self.df)
        if not is_concrete(self.scale_matrix):
            return
        matrix, lower = checked_matrix("MultivariateStudentT", "scale_matrix", self.scale_matrix)
        object.__setattr__(self, "scale_matrix", matrix)
        self.__dict__["scale_lower"] = lower
        if is_concrete(self.mean):
            mean = np.asarray(self.mean, dtype=np.float64)
            if mean.ndim > 1 or (mean.ndim and mean.size != len(lower)):
                constraint = f"a vector of {len(lower)}, as the scale matrix has rows"
                raise ParameterError("MultivariateStudentT", "mean", constraint, self.mean)
            object.__setattr__(self, "mean", mean if mean.ndim else np.full(len(lower), mean))

    @cached_property
    def scale_lower(self) -> Any:
        """L (d, d), lower triangular, L Lᵀ = S."""
        return namespace(self.scale_matrix).linalg.cholesky(self.scale_matrix)

    @property
    def support(self) -> Support:
        return REAL

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def dimension(self) -> int:
        """d, the length of one value."""
        return self.scale_matrix.shape[0]

    @property
    def variance(self) -> Any:
        """ν/(ν − 2) diag S; infinite for 1 < ν ≤ 2, NaN (undefined) for ν ≤ 1."""
        if self.df > 2.0:
            return self.df / (self.df - 2.0) * np.diagonal(self.scale_matrix)
        return np.full(self.dimension, np.inf if self.df > 1.0 else np.nan)

    @property
    def covariance(self) -> Any:
        """ν/(ν − 2) S; `UnavailableError` for ν ≤ 2."""
        if self.df <= 2.0:
            raise UnavailableError(f"MultivariateStudentT has a covariance only for df > 2, not df = {self.df:g}.")
        return self.df / (self.df - 2.0) * self.scale_matrix

    @property
    def mode(self) -> Any:
        return self.mean

    def _log_normaliser(self) -> Any:
        """log of the density at the mode."""
        xp = namespace(self.df, self.scale_lower)
        d = self.dimension
        log_scale = xp.sum(xp.log(xp.diagonal(self.scale_lower)))
        return _log_gamma_ratio(0.5 * self.df, 0.5 * d) - 0.5 * d * xp.log(self.df * np.pi) - log_scale

    @property
    def entropy(self) -> Any:
        """((ν + d)/2)(ψ((ν + d)/2) − ψ(ν/2)) − log p(μ), in nats."""
        half, total = 0.5 * self.df, 0.5 * (self.df + self.dimension)
        return total * (scipy.special.digamma(total) - scipy.special.digamma(half)) - self._log_normaliser()

    def log_prob(self, x: Any) -> Any:
        """Log density of vectors x (..., d) → (...). Cost d² each."""
        xp, x = values("MultivariateStudentT.log_prob", x, self.dimension, self.df, self.mean, self.scale_lower)
        z = whiten(self.scale_lower, x - self.mean)
        power = 0.5 * (self.df + self.dimension)
        return self._log_normaliser() - power * xp.log1p(xp.sum(z * z, -1) / self.df)

    def quantile(self, q: Any) -> Any:
        """Quantiles of each coordinate: q of any shape → (*q, d)."""
        coordinates = StudentT(self.df, self.mean, np.sqrt(np.diagonal(self.scale_matrix)))
        return coordinates.quantile(np.asarray(q, dtype=np.float64)[..., None])

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        z = rng.standard_normal((*size, self.dimension)) @ self.scale_lower.T
        return self.mean + z * np.sqrt(self.df / rng.chisquare(self.df, size))[..., None]

    def marginal(self, indices: Any) -> StudentT | MultivariateStudentT:
        """Of one coordinate (an int) a `StudentT`, of several (a list) a `MultivariateStudentT`."""
        chosen, _ = split("MultivariateStudentT.marginal", indices, self.dimension)
        if np.ndim(indices) == 0:
            return StudentT(self.df, self.mean[chosen[0]], np.sqrt(self.scale_matrix[chosen[0], chosen[0]]))
        return MultivariateStudentT(self.df, self.mean[chosen], self.scale_matrix[np.ix_(chosen, chosen)])

    def condition(self, indices: Any, values: Any) -> MultivariateStudentT:
        """The others given x[indices] = values (m,): df ν + m, scale (ν + δ_b)/(ν + m) (S_aa − S_ab S_bb⁻¹ S_ba)."""
        owner = "MultivariateStudentT.condition"
        given, kept = split(owner, indices, self.dimension)
        if kept.size == 0:
            raise ParameterError(owner, "indices", "not every coordinate", indices)
        values = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if values.shape != given.shape or not np.all(np.isfinite(values)):
            raise ParameterError(owner, "values", f"{given.size} finite numbers", values)
        blocks = partition(self.scale_matrix, given, kept, "MultivariateStudentT.scale_matrix")
        z = whiten(blocks.given, values - self.mean[given])
        df = self.df + given.size
        stretch = (self.df + z @ z) / df
        return MultivariateStudentT(df, self.mean[kept] + blocks.cross @ z, stretch * blocks.kept @ blocks.kept.T)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None, df: float | None = None) -> Self:
        """MLE from rows (n, d) by EM; `df` is held fixed, or learned within 0.1..1e4 when None.

        With a `NormalInverseWishart` prior on (μ, S): maximum a posteriori. Stops when the log posterior gains less
        than 1e-10 a unit of weight, a change no sample could tell; a `ConvergenceWarning` after 2,000 steps.

        References
        ----------
        Liu and Rubin (1995), Statistica Sinica 5 (ECME); Kent, Tyler and Vardi (1994), Commun. Stat. Simul. 23.
        """
        x, w = vectors("MultivariateStudentT.fit", x, weights)
        rows = int(np.count_nonzero(w))
        if is_flat(prior, {}) and rows <= x.shape[1]:
            raise DataError(
                f"MultivariateStudentT.fit: {rows} rows do not determine a scale matrix of {x.shape[1]} columns.",
                value=rows,
                remedy="Give a NormalInverseWishart prior or more rows.",
            )
        return cls(*_expectation_maximisation(x, w, prior, df))


def _log_gamma_ratio(z: Any, a: Any) -> Any:
    """log Γ(z + a)/Γ(z), for z, a > 0: Stirling's formula of both subtracted, so that large z loses no digits."""
    xp = namespace(z, a)
    error = stirling_error(xp, z + a) - stirling_error(xp, z)
    return a * xp.log(z) + (z + a - 0.5) * xp.log1p(a / z) - a + error


def _expectation_maximisation(
    x: np.ndarray, w: np.ndarray, prior: Any, df: float | None
) -> tuple[float, np.ndarray, np.ndarray]:
    """(df, mean, scale_matrix). E: τ = (ν + d)/(ν + δ). M: moments weighted by w τ; then ν on the exact likelihood."""
    d, total = x.shape[1], w.sum()
    if is_flat(prior, {}):
        prior = None
    nu = 10.0 if df is None else float(df)
    moments = WeightedMoments.accumulate(x, w, full=True)
    mean, scatter = moments.mean, moments.scatter
    scale = scatter / total if prior is None else prior.joint_mode(total, mean, scatter)[1]
    previous = -np.inf
    for _ in range(2000):
        lower = cholesky(scale, "MultivariateStudentT.fit: the scale matrix").lower
        delta = np.sum(whiten(lower, x - mean) ** 2, axis=1)
        if df is None:
            nu = _best_df(delta, w, d)
        objective = w @ MultivariateStudentT(nu, mean, scale).log_prob(x)
        objective += 0.0 if prior is None else prior.log_prob((mean, scale))
        if objective - previous < 1e-10 * total:
            return nu, mean, scale
        previous = objective
        tau = w * (nu + d) / (nu + delta)
        moments = WeightedMoments.accumulate(x, tau, full=True)
        if prior is None:
            # Σ τ rather than n below: the parameter-expanded step has the same fixed point and gets there faster.
            mean, scale = moments.mean, moments.scatter / moments.total
        else:
            mean, scale = prior.joint_mode(moments.total, moments.mean, moments.scatter, count=total)
    warn("MultivariateStudentT.fit stopped after 2,000 EM steps.", ConvergenceWarning)
    return nu, mean, scale


def _best_df(delta: np.ndarray, w: np.ndarray, d: int) -> float:
    """argmax over ν of Σ w log t_ν(δ), on a log scale within `DF_RANGE`."""
    from scipy.optimize import minimize_scalar

    def negative(log_df: float) -> float:
        nu = np.exp(log_df)
        value = w.sum() * (_log_gamma_ratio(0.5 * nu, 0.5 * d) - 0.5 * d * np.log(nu))
        return -float(value - 0.5 * (nu + d) * (w @ np.log1p(delta / nu)))

    best: Any = minimize_scalar(negative, bounds=np.log(DF_RANGE), method="bounded")
    return float(np.exp(best.x))
