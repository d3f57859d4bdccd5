"""PoissonLog: log p(y | η) = y η − e^η − log y!, y = 0, 1, 2...; the mean is e^η."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from credo.distributions.likelihoods.base import bad_rows, column
from credo.distributions.likelihoods.log_link import LogLink
from credo.distributions.poisson import Poisson
from credo.distributions.stirling import log_poisson_mode
from credo.numerics.namespace import namespace

__all__ = ["PoissonLog"]


@dataclass(frozen=True)
class PoissonLog(LogLink):
    """Counts with log link. An exposure is an offset: η + log exposure.

    Derivatives in η: y − e^η; −e^η; −e^η. Above η = 709 e^η is infinite and log p is −inf, as it rounds to.

    Examples
    --------
    >>> import numpy as np
    >>> value, slope, curvature = PoissonLog().value_and_derivatives(np.array([2.0]), np.array([0.0]))
    >>> value.round(4).tolist(), slope.tolist(), curvature.tolist()
    ([-1.6931], [1.0], [-1.0])
    >>> PoissonLog().predictive_log_prob(np.array([3.0]), np.array([1.0]), np.array([0.5])).round(6).tolist()
    [-1.948294]
    """

    kind = "count"

    def check(self, y: Any) -> np.ndarray:
        y = column("PoissonLog", y)
        bad_rows("PoissonLog", y, (y < 0) | (np.floor(y) != y), "counts (integers ≥ 0)")
        return y

    def initial_eta(self, y: Any) -> np.ndarray:
        """log(y + ½)."""
        return np.log(np.asarray(y, dtype=np.float64) + 0.5)

    def _log_prob(self, y: Any, eta: Any) -> Any:
        """The log mass; relative to the mode, log p(y | log y) − y (e^t − 1 − t) with t = η − log y, where y > 0."""
        xp = namespace(y, eta)
        y = xp.asarray(y)
        log_y, at_mode = _of_counts(xp, y)
        t = eta - log_y
        # The factor 1 at y = 0 keeps 0 · ∞ out of the branch not taken.
        return xp.where(y > 0, at_mode - xp.where(y > 0, y, 1.0) * (xp.expm1(t) - t), -xp.exp(eta))

    def value_and_derivatives(
        self, y: Any, eta: Any, order: int = 2, out: tuple[np.ndarray, ...] | None = None, psi: Any = None
    ) -> tuple[np.ndarray, ...]:
        eta = np.asarray(eta, dtype=np.float64)
        shape = np.broadcast_shapes(np.shape(y), eta.shape)
        parts = out or tuple(np.empty(shape) for _ in range(order + 1))
        with np.errstate(over="ignore"):
            parts[0][...] = self._log_prob(y, eta)
            rate = np.exp(eta)
        if order >= 1:
            np.subtract(y, rate, out=parts[1])
        for part in parts[2 : order + 1]:
            np.negative(np.broadcast_to(rate, shape), out=part)
        return parts[: order + 1]

    def variance(self, eta: Any, psi: Any = None) -> Any:
        """e^η."""
        return self.mean(eta)

    def law(self, eta: Any, psi: Any = None) -> Poisson:
        """`Poisson` with rate e^η."""
        return Poisson(self._rate(eta))

    def aleatoric(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """E e^η, the mean of the variances."""
        return self.predictive_mean(m, v)


@cache
def _small_counts() -> tuple[np.ndarray, np.ndarray]:
    return _of_counts(namespace(), np.arange(1024.0), table=False)


def _of_counts(xp: Any, y: Any, *, table: bool = True) -> tuple[Any, Any]:
    """log y (0 at y = 0) and log p(y | log y): from a table for counts below 1024, which real counts nearly all are."""
    if table and xp.name == "numpy" and y.size:
        index = y.astype(np.intp)
        if index.min() >= 0 and index.max() < 1024 and np.array_equal(index, y):
            return tuple(values[index] for values in _small_counts())  # type: ignore[return-value]
    return xp.log(xp.where(y > 0, y, 1.0)), log_poisson_mode(xp, xp.where(y > 0, y, 0.0))
