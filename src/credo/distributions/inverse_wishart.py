"""InverseWishart: log p(X) = (ν/2) log |Ψ| − ½(ν + d + 1) log |X| − ½ tr(Ψ X⁻¹) − (ν d/2) log 2 − log Γ_d(ν/2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from credo.distributions.positive_definite import log_determinants
from credo.distributions.wishart import MatrixFamily, Wishart, bartlett, log_multivariate_gamma, sum_digamma
from credo.errors import DataError, ParameterError, UnavailableError

__all__ = ["InverseWishart"]


@dataclass(frozen=True, eq=False)
class InverseWishart(MatrixFamily):
    """Distribution of X = W⁻¹ with W ~ Wishart(ν, Ψ⁻¹): the conjugate prior of a covariance.

    Parameters
    ----------
    df : ν > d − 1.
    scale_matrix : Ψ (d, d), symmetric positive definite; the mean is Ψ/(ν − d − 1) where ν > d + 1.

    Examples
    --------
    >>> p = InverseWishart(6.0, [[3.0, 1.0], [1.0, 2.0]])
    >>> p.mean.round(4).tolist(), p.mode.round(4).tolist()
    ([[1.0, 0.3333], [0.3333, 0.6667]], [[0.3333, 0.1111], [0.1111, 0.2222]])

    References
    ----------
    Mardia, Kent and Bibby (1979), Multivariate Analysis, §3.8.
    """

    df: Any
    scale_matrix: Any

    def _beyond(self, edge: int, quantity: str) -> float:
        """ν − d − `edge`, which must be positive for `quantity` to exist."""
        excess = self.df - self.dimension - edge
        if excess <= 0:
            raise UnavailableError(f"InverseWishart has a {quantity} only for df > d + {edge}, not df = {self.df:g}.")
        return excess

    @property
    def mean(self) -> Any:
        """Ψ/(ν − d − 1), for ν > d + 1."""
        return self.scale_matrix / self._beyond(1, "mean")

    @property
    def variance(self) -> Any:
        """Entry by entry, ((m + 1) Ψ_ij² + (m − 1) Ψ_ii Ψ_jj)/(m (m − 1)² (m − 3)), m = ν − d, for ν > d + 3."""
        m = self._beyond(3, "variance") + 3.0
        diagonal = np.diag(self.scale_matrix)
        square = (m + 1.0) * self.scale_matrix**2 + (m - 1.0) * np.outer(diagonal, diagonal)
        return square / (m * (m - 1.0) ** 2 * (m - 3.0))

    @property
    def mode(self) -> Any:
        """Ψ/(ν + d + 1)."""
        return self.scale_matrix / (self.df + self.dimension + 1.0)

    @property
    def mean_log_determinant(self) -> float:
        """E log |X| = log |Ψ| − Σ_i ψ((ν + 1 − i)/2) − d log 2."""
        return self.scale_log_determinant - float(sum_digamma(self.df, self.dimension))

    @property
    def _log_normaliser(self) -> float:
        d = self.dimension
        power = 0.5 * self.df * (d * np.log(2.0) - self.scale_log_determinant)
        return float(power + log_multivariate_gamma(0.5 * self.df, d))

    @property
    def entropy(self) -> Any:
        """In nats, with respect to the d (d + 1)/2 free entries."""
        d = self.dimension
        return self._log_normaliser + 0.5 * (self.df + d + 1.0) * self.mean_log_determinant + 0.5 * self.df * d

    def log_prob(self, x: Any) -> Any:
        """Log density of symmetric matrices x (..., d, d) → (...); −inf unless positive definite. Cost d³ each."""
        x = self._matrices(x)
        log_det = log_determinants(x)
        usable = np.isfinite(log_det)
        inverse = np.linalg.inv(np.where(usable[..., None, None], x, np.eye(self.dimension)))
        trace = np.sum(inverse * self.scale_matrix, axis=(-2, -1))
        power = 0.5 * (self.df + self.dimension + 1.0)
        value = -power * np.where(usable, log_det, 0.0) - 0.5 * trace - self._log_normaliser
        return np.where(usable, value, log_det)[()]

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        # X = L A⁻ᵀ A⁻¹ Lᵀ with A Aᵀ ~ Wishart(ν, I) and L Lᵀ = Ψ: W = L⁻ᵀ A Aᵀ L⁻¹.
        factor = np.linalg.solve(bartlett(self.df, self.dimension, size, rng), self.scale_lower.T)
        return np.swapaxes(factor, -1, -2) @ factor

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE from matrices (n, d, d): that of a Wishart on their inverses."""
        if prior is not None:
            raise ParameterError("InverseWishart.fit", "prior", "None", prior)
        x = np.asarray(x, dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(log_determinants(x))) if x.ndim == 3 and x.shape[1] == x.shape[2] else [0]
        if len(bad) or x.shape[0] == 0:
            raise DataError(
                f"InverseWishart.fit needs positive-definite matrices (n, d, d), got shape {x.shape}"
                + (f"; matrix {bad[0]} is not." if x.ndim == 3 and len(bad) else "."),
                rows=list(map(int, bad[:20])),
            )
        inner = Wishart.fit(np.linalg.inv(x), weights)
        return cls(inner.df, np.linalg.inv(inner.scale_matrix))
