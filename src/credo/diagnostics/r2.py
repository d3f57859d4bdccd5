"""Bayesian R²: the share of variance that a model explains, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError

__all__ = ["BayesianR2", "bayesian_r2"]


@dataclass(frozen=True, eq=False)
class BayesianR2:
    """Belief about R²: draws (S,) in [0, 1] with weights (S,) that sum to 1."""

    draws: np.ndarray
    weights: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.weights @ self.draws)

    @property
    def sd(self) -> float:
        return float(np.sqrt(self.weights @ np.square(self.draws - self.mean)))

    def quantile(self, q: Any) -> Any:
        """Weighted quantiles, of the shape of q."""
        order = np.argsort(self.draws)
        middle = np.cumsum(self.weights[order]) - 0.5 * self.weights[order]
        return np.interp(q, middle, self.draws[order])

    def interval(self, mass: float = 0.9) -> tuple[float, float]:
        """Central interval that holds `mass`."""
        if not 0.0 < mass < 1.0:
            raise ParameterError("BayesianR2", "mass", "between 0 and 1 (exclusive)", mass)
        lower, upper = self.quantile([(1.0 - mass) / 2.0, (1.0 + mass) / 2.0])
        return float(lower), float(upper)

    def __str__(self) -> str:
        lower, upper = self.interval()
        return f"R² {self.mean:.3f} ± {self.sd:.3f} (90 % interval {lower:.3f} … {upper:.3f})"


def bayesian_r2(means: Any, variances: Any, weights: Any = None, counts: Any = None) -> BayesianR2:
    """R²_s = V_s/(V_s + E_s): variance over rows of E[y | x_i, θ_s], against the mean of Var(y | x_i, θ_s).

    Both are the model's own, so that R² is below 1, needs no outcomes, and has a distribution.

    Parameters
    ----------
    means : (S, n) E[y_i | θ_s], n ≥ 2 ; variances : broadcasts to (S, n), ≥ 0
    weights : (S,) of the draws; counts : (n,) rows that each row stands for

    >>> bayesian_r2([[0.0, 2.0], [0.0, 4.0]], [[1.0], [1.0]]).draws.tolist()
    [0.5, 0.8]

    References
    ----------
    Gelman, Goodrich, Gabry and Vehtari (2019), The American Statistician 73.
    """
    means = np.asarray(means, dtype=np.float64)
    if means.ndim != 2 or means.shape[1] < 2:
        raise DataError(
            f"bayesian_r2 takes expectations (draws, rows) of two rows or more, got {means.shape}.", value=means.shape
        )
    variances = np.broadcast_to(np.asarray(variances, dtype=np.float64), means.shape)
    w = np.ones(len(means)) if weights is None else np.asarray(weights, dtype=np.float64)
    c = np.ones(means.shape[1]) if counts is None else np.asarray(counts, dtype=np.float64)
    c = c / c.sum()
    explained = np.square(means - (means @ c)[:, None]) @ c
    total = explained + variances @ c
    return BayesianR2(np.divide(explained, total, out=np.zeros(len(means)), where=total > 0.0), w / w.sum())
