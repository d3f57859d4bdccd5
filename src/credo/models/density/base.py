"""What kernel densities and histograms share: everything that follows from log f and from quantiles."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from credo.errors import DataError, ParameterError

__all__ = ["Density"]


class Density(BaseEstimator):
    """A fitted density of rows (n, d)."""

    n_features_in_: int

    @abstractmethod
    def score_samples(self, X: Any) -> np.ndarray:
        """log f(x) of rows X (q, d)."""

    @abstractmethod
    def quantile(self, q: Any) -> np.ndarray:
        """The x with P(X ≤ x) = q in one column; any shape."""

    def log_prob(self, X: Any) -> np.ndarray:
        """log f(x), as `score_samples`; one column may come in any shape."""
        check_is_fitted(self)
        if self.n_features_in_ > 1 or hasattr(X, "columns"):
            return self.score_samples(X)
        values = np.asarray(X, dtype=np.float64)
        return self.score_samples(values.reshape(-1, 1)).reshape(values.shape)

    def score(self, X: Any, y: Any = None) -> float:
        """Σ log f(x) over rows X, as in scikit-learn: the total, not the mean."""
        return float(np.sum(self.score_samples(X)))

    def interval(self, mass: float = 0.9) -> np.ndarray:
        """(lower, upper) of the central interval that holds `mass`, in one column."""
        self._check_mass("interval", mass)
        return self.quantile([0.5 * (1.0 - mass), 0.5 * (1.0 + mass)])

    def _check_mass(self, method: str, mass: float) -> None:
        if not 0.0 < mass < 1.0:
            raise ParameterError(f"{type(self).__name__}.{method}", "mass", "between 0 and 1 (exclusive)", mass)

    def _checked_levels(self, q: Any) -> np.ndarray:
        levels = np.asarray(q, dtype=np.float64)
        if not np.all((levels >= 0.0) & (levels <= 1.0)):
            raise ParameterError(f"{type(self).__name__}.quantile", "q", "between 0 and 1", q)
        return levels

    def _checked_number(self, n_samples: Any) -> int:
        if not isinstance(n_samples, numbers.Integral) or isinstance(n_samples, bool) or int(n_samples) < 1:
            raise ParameterError(f"{type(self).__name__}.sample", "n_samples", "an integer ≥ 1", n_samples)
        return int(n_samples)

    def _check_one_column(self, method: str) -> None:
        check_is_fitted(self)
        if self.n_features_in_ != 1:
            raise DataError(
                f"{type(self).__name__}.{method} needs one column; the density has {self.n_features_in_}.",
                value=self.n_features_in_, remedy="Fit it to the column alone.",
            )  # fmt: skip
