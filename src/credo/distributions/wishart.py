"""Wishart: log p(X) = ½(ν − d − 1) log |X| − ½ tr(S⁻¹ X) − (ν d/2) log 2 − (ν/2) log |S| − log Γ_d(ν/2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy.special

from credo.distributions.base import FINITE, Constraint, Family
from credo.distributions.positive_definite import checked_matrix, log_determinants
from credo.distributions.support import POSITIVE_DEFINITE, Support
from credo.errors import DataError, NotIdentifiedError, ParameterError, UnavailableError
from credo.numerics.cholesky import log_determinant, solve_lower

__all__ = ["Wishart", "MatrixFamily", "bartlett", "sum_digamma", "log_multivariate_gamma"]


class MatrixFamily(Family):
    """What the Wishart and its inverse share: parameters `df` ν > d − 1 and `scale_matrix` (d, d), factored once."""

    domain: ClassVar[dict[str, Constraint]] = {"df": FINITE, "scale_matrix": FINITE}
    event_ndim: ClassVar[int] = 2
    df: Any
    scale_matrix: Any
    scale_lower: ClassVar[Any]  # of the instance: kept out of the fields, set once on construction

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        matrix, lower = checked_matrix(owner, "scale_matrix", self.scale_matrix)
        object.__setattr__(self, "scale_matrix", matrix)
        self.__dict__["scale_lower"] = lower
        if np.ndim(self.df) or not self.df > len(matrix) - 1:
            raise ParameterError(owner, "df", f"a number > d − 1 = {len(matrix) - 1}", self.df)

    @property
    def support(self) -> Support:
        return POSITIVE_DEFINITE

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def dimension(self) -> int:
        """d, the rows of one value."""
        return self.scale_matrix.shape[0]

    @cached_property
    def scale_log_determinant(self) -> float:
        """log |S|."""
        return log_determinant(self.scale_lower)

    @cached_property
    def _inverse_lower(self) -> np.ndarray:
        """L⁻¹ where L Lᵀ = S."""
        return solve_lower(self.scale_lower, np.eye(self.dimension))

    def _matrices(self, x: Any) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        if x.shape[-2:] != (self.dimension, self.dimension):
            constraint = f"matrices of {self.dimension} × {self.dimension}"
            raise ParameterError(f"{type(self).__name__}.log_prob", "x", constraint, x.shape)
        return x


@dataclass(frozen=True, eq=False)
class Wishart(MatrixFamily):
    """Wishart distribution: Σ_{i ≤ ν} z_i z_iᵀ with z_i ~ N(0, S), for any real ν.

    Parameters
    ----------
    df : ν > d − 1.
    scale_matrix : S (d, d), symmetric positive definite; the mean is ν S.

    Values are symmetric (d, d); densities are over their d (d + 1)/2 free entries. Cost d³ a value.

    Examples
    --------
    >>> p = Wishart(5.0, [[2.0, 1.0], [1.0, 3.0]])
    >>> p.mean.tolist()
    [[10.0, 5.0], [5.0, 15.0]]
    >>> p.log_prob([[1.0, 0.0], [0.0, 1.0]]).round(4).item()
    -8.8464

    References
    ----------
    Mardia, Kent and Bibby (1979), Multivariate Analysis, §3.4.
    """

    df: Any
    scale_matrix: Any

    @property
    def mean(self) -> Any:
        return self.df * self.scale_matrix

    @property
    def variance(self) -> Any:
        """Entry by entry, ν (S_ij² + S_ii S_jj)."""
        diagonal = np.diag(self.scale_matrix)
        return self.df * (self.scale_matrix**2 + np.outer(diagonal, diagonal))

    @property
    def mode(self) -> Any:
        """(ν − d − 1) S, for ν ≥ d + 1."""
        if self.df < self.dimension + 1:
            raise UnavailableError(f"Wishart has a mode only for df ≥ d + 1 = {self.dimension + 1}.")
        return (self.df - self.dimension - 1.0) * self.scale_matrix

    @property
    def mean_log_determinant(self) -> float:
        """E log |X| = Σ_i ψ((ν + 1 − i)/2) + d log 2 + log |S|."""
        return float(sum_digamma(self.df, self.dimension)) + self.scale_log_determinant

    @property
    def _log_normaliser(self) -> float:
        d = self.dimension
        power = 0.5 * self.df * (d * np.log(2.0) + self.scale_log_determinant)
        return float(power + log_multivariate_gamma(0.5 * self.df, d))

    @property
    def entropy(self) -> Any:
        """In nats, with respect to the d (d + 1)/2 free entries."""
        d = self.dimension
        return self._log_normaliser - 0.5 * (self.df - d - 1.0) * self.mean_log_determinant + 0.5 * self.df * d

    def log_prob(self, x: Any) -> Any:
        """Log density of symmetric matrices x (..., d, d) → (...); −inf unless positive definite."""
        x = self._matrices(x)
        log_det = log_determinants(x)
        trace = np.einsum("ij,...jk,ik->...", self._inverse_lower, x, self._inverse_lower)
        inside = 0.5 * (self.df - self.dimension - 1.0) * np.where(np.isneginf(log_det), 0.0, log_det)
        value = inside - 0.5 * trace - self._log_normaliser
        return np.where(np.isneginf(log_det), -np.inf, value)[()]

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        factor = self.scale_lower @ bartlett(self.df, self.dimension, size, rng)
        return factor @ np.swapaxes(factor, -1, -2)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE from matrices (n, d, d): S = x̄/ν, and ν makes E log |X| the average of log |x|."""
        if prior is not None:
            raise ParameterError("Wishart.fit", "prior", "None", prior)
        x = np.asarray(x, dtype=np.float64)
        if x.ndim != 3 or x.shape[0] == 0 or x.shape[1] != x.shape[2]:
            raise DataError(f"Wishart.fit needs matrices (n, d, d), got shape {x.shape}.", value=x.shape)
        w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
        if w.shape != (len(x),) or not np.all(np.isfinite(w) & (w >= 0)) or w.sum() <= 0:
            raise ParameterError("Wishart.fit", "weights", "one a matrix, finite, ≥ 0 and not all zero", weights)
        logs = log_determinants(x)
        bad = np.flatnonzero(~np.isfinite(logs))
        if bad.size:
            raise DataError(f"Wishart.fit: matrix {bad[0]} is not positive definite.", rows=bad[:20].tolist())
        mean = np.tensordot(w, x, 1) / w.sum()
        gap = float(w @ logs / w.sum() - log_determinants(mean))
        df = _df_from_gap(gap, x.shape[1])
        return cls(df, mean / df)


def log_multivariate_gamma(a: Any, d: int) -> Any:
    """log Γ_d(a) = (d(d − 1)/4) log π + Σ_{i < d} log Γ(a − i/2)."""
    return 0.25 * d * (d - 1) * np.log(np.pi) + np.sum(scipy.special.gammaln(a - 0.5 * np.arange(d)))


def sum_digamma(df: Any, d: int) -> Any:
    """Σ_{i < d} ψ((ν − i)/2) + d log 2."""
    return np.sum(scipy.special.digamma(0.5 * (df - np.arange(d)))) + d * np.log(2.0)


def _df_from_gap(gap: float, d: int) -> float:
    """ν with Σ ψ((ν + 1 − i)/2) + d log 2 − d log ν = gap < 0; the left side rises to 0 as −d(d + 1)/(2ν)."""
    from scipy.optimize import brentq

    # Beyond 1e8 degrees of freedom the two sides differ by less than their rounding.
    low, high = d - 1 + 1e-8, 1e8
    if gap >= -0.5 * d * (d + 1) / high:
        raise NotIdentifiedError("Wishart.fit: the matrices are all alike, so df has no finite estimate.", value=gap)
    root: Any = brentq(lambda t: sum_digamma(np.exp(t), d) - d * t - gap, np.log(low), np.log(high))
    return float(np.exp(root))


def bartlett(df: float, d: int, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Lower factors A of A Aᵀ ~ Wishart(ν, I): χ with ν − i degrees on the diagonal, normals below (Bartlett 1933)."""
    lower = np.tril(rng.standard_normal((*size, d, d)), -1)
    index = np.arange(d)
    lower[..., index, index] = np.sqrt(rng.chisquare(df - index, (*size, d)))
    return lower
