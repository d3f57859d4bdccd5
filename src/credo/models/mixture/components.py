"""`Components`: a fitted mixture of Normals or Student-t's in the rows' own units, for every kind of prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from credo.distributions.normal import LOG_2PI
from credo.models.mixture.expectation import Gaussians, log_weights
from credo.models.mixture.factors import stacked_cholesky
from credo.models.mixture.missing import distances

__all__ = ["Components", "log_student"]


@dataclass(frozen=True, eq=False)
class Components:
    """Σ_k w_k p_k(x), each p_k Normal with covariance S_k, or Student-t with scale matrix S_k and `df` ν_k.

    kind : "full", "tied" or "diag"
    weights (k,) ; mean (k, d) ; factor : U with U Uᵀ = S⁻¹, (k, d, d), (d, d), (k, d), or (k,) for one variance each
    df : (k,), or None for Normals
    inference : "map" of a point estimate, "vb" where a posterior was integrated out
    independent : of "diag", whether the coordinates are independent given the component (Student-t's: univariate each)
    """

    kind: str
    weights: np.ndarray
    mean: np.ndarray
    factor: np.ndarray
    df: np.ndarray | None = None
    independent: bool = False
    inference: str = "map"

    @cached_property
    def gaussians(self) -> Gaussians:
        factor, mean = np.asarray(self.factor, dtype=np.float64), np.asarray(self.mean, dtype=np.float64)
        factor = np.broadcast_to(factor[:, None], mean.shape) if factor.ndim == 1 else factor
        return Gaussians(self.kind, np.zeros(len(mean)), mean, factor)

    @cached_property
    def scale_matrices(self) -> np.ndarray:
        """S (k, d, d)."""
        g = self.gaussians
        k, d = g.mean.shape
        if g.kind == "diag":
            return np.eye(d) / np.square(g.factor)[:, None, :]
        inverse = np.linalg.inv(g.factor)
        return np.broadcast_to(inverse.swapaxes(-1, -2) @ inverse, (k, d, d))

    def log_joint(self, X: np.ndarray) -> np.ndarray:
        """log w_k p_k(x) (k, n), of the observed cells of rows X (n, d)."""
        columns = np.ascontiguousarray(X.T, dtype=np.float64)
        if self.df is not None and self.independent:
            return log_weights(np.asarray(self.weights, dtype=np.float64))[:, None] + self._independent(columns)
        squares, log_scale, observed = distances(columns, self.gaussians)
        if self.df is None:
            density = log_scale - 0.5 * (squares + observed * LOG_2PI)
        else:
            density = log_scale + log_student(squares, np.asarray(self.df)[:, None], observed)
        return log_weights(np.asarray(self.weights, dtype=np.float64))[:, None] + density

    def _independent(self, columns: np.ndarray) -> np.ndarray:
        """Σ_j log t_ν(x_j), a column at a time."""
        assert self.df is not None
        out = np.zeros((len(self.mean), columns.shape[1]))
        df, factor = np.asarray(self.df)[:, None], self.gaussians.factor
        for j, x in enumerate(columns):
            squares = np.square(factor[:, j, None] * (x - self.gaussians.mean[:, j, None]))
            density = np.log(factor[:, j, None]) + log_student(squares, df, 1.0)
            out += np.where(np.isnan(x), 0.0, density)
        return out

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Rows (n, d) grouped by component, and their components (n,)."""
        weights = np.asarray(self.weights, dtype=np.float64)
        labels = np.repeat(np.arange(len(weights)), rng.multinomial(n, weights / weights.sum()))
        d = self.mean.shape[1]
        z = rng.standard_normal((n, d))
        for k in np.unique(labels):
            mine = labels == k
            z[mine] = z[mine] @ stacked_cholesky(self.scale_matrices[k : k + 1], "covariance")[0].T
            if self.df is not None:
                size = (int(mine.sum()), d if self.independent else 1)
                z[mine] *= np.sqrt(self.df[k] / rng.chisquare(self.df[k], size))
        return np.asarray(self.mean, dtype=np.float64)[labels] + z, labels


def log_student(squares: np.ndarray, df: np.ndarray, n: np.ndarray | float) -> np.ndarray:
    """Log density of a Student-t of n coordinates at squared distance δ, but for the scale's determinant."""
    constant = gammaln(0.5 * (df + n)) - gammaln(0.5 * df) - 0.5 * n * np.log(df * np.pi)
    return constant - 0.5 * (df + n) * np.log1p(squares / df)
