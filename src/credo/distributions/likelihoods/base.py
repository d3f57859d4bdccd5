"""`Likelihood`: log p(y | η) of one row given its latent predictor η, everything an engine asks of it.

GLMs, latent-Gaussian models and Gaussian-process counts and classes share these records. All arguments are arrays over
rows; weights multiply outside. Scalar likelihoods take η (rows,); any shape that broadcasts with y will do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.distributions.likelihoods.integrals import log_gaussian_integral
from credo.errors import DataError, ParameterError
from credo.saving.registry import register

__all__ = ["Likelihood", "bad_rows", "column", "gaussian"]


class Likelihood:
    """A log-concave likelihood of one outcome a row. A subclass is a frozen dataclass with

        check(y)                           outcomes as float64 (or codes), `DataError` naming the bad rows
        initial_eta(y)                     a finite start for Newton, near the mode of log p(y | ·)
        log_prob(y, eta)                   on NumPy or JAX arrays
        value_and_derivatives(y, eta, order, out)
        mean(eta), link(mean)              E[y | η] and its inverse
        variance(eta)                      Var(y | η)
        predictive_mean(m, v)              E[y], η ~ N(m, v)
        aleatoric(m, v), epistemic(m, v)   E Var(y | η) and Var E(y | η)

    and this class adds the predictive probability of an outcome.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register(cls)  # every likelihood can be saved

    #: "real", "count" or "class", as in `Predictive.kind`
    kind: str = "real"

    def check(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def initial_eta(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def log_prob(self, y: Any, eta: Any) -> Any:
        raise NotImplementedError

    def value_and_derivatives(
        self, y: Any, eta: Any, order: int = 2, out: tuple[np.ndarray, ...] | None = None
    ) -> tuple[np.ndarray, ...]:
        """(log p, its first, ..., its `order`-th derivative in η), order ≤ 3, in one pass.

        `out` is a tuple of order + 1 float64 arrays to write into (allocated when None).
        """
        raise NotImplementedError

    def mean(self, eta: Any) -> Any:
        raise NotImplementedError

    def link(self, mean: Any) -> Any:
        raise NotImplementedError

    def variance(self, eta: Any) -> Any:
        raise NotImplementedError

    def predictive_mean(self, m: Any, v: Any) -> np.ndarray:
        raise NotImplementedError

    def aleatoric(self, m: Any, v: Any) -> np.ndarray:
        raise NotImplementedError

    def epistemic(self, m: Any, v: Any) -> np.ndarray:
        raise NotImplementedError

    def predictive_log_prob(self, y: Any, m: Any, v: Any) -> np.ndarray:
        """log ∫ p(y | η) N(η; m, v) dη, row by row; absolute error below 1e-10 (see `log_gaussian_integral`)."""
        y, m, v = np.broadcast_arrays(np.asarray(y, dtype=np.float64), *gaussian(type(self).__name__, m, v))
        flat = y.ravel()
        return log_gaussian_integral(
            lambda rows, eta: self.log_prob(flat[rows], eta),
            lambda rows, eta: self.value_and_derivatives(flat[rows], eta, order=2)[1:],
            self.initial_eta(y),
            m,
            v,
        )


def gaussian(owner: str, m: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """The mean and variance of η, broadcast, finite, v ≥ 0."""
    m, v = np.broadcast_arrays(np.asarray(m, dtype=np.float64), np.asarray(v, dtype=np.float64))
    if not np.all(np.isfinite(m)):
        raise ParameterError(owner, "m", "finite", m)
    if not np.all(np.isfinite(v) & (v >= 0)):
        raise ParameterError(owner, "v", "finite and ≥ 0, a variance", v)
    return m, v


def column(owner: str, y: Any) -> np.ndarray:
    """Outcomes (rows,) as float64; `DataError` for another shape, for no rows, and naming rows that are not finite."""
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{owner}: outcomes must be numbers.", value=y) from None
    if values.ndim != 1 or values.size == 0:
        raise DataError(f"{owner}: outcomes must be one number a row, got shape {values.shape}.", value=values.shape)
    bad_rows(owner, values, ~np.isfinite(values), "finite")
    return values


def bad_rows(owner: str, y: np.ndarray, bad: np.ndarray, constraint: str, remedy: str | None = None) -> None:
    """Raise the `DataError` that names the rows where `bad`, if there are any."""
    rows = np.flatnonzero(bad)
    if rows.size:
        more = f" ({rows.size} such rows)" if rows.size > 1 else ""
        raise DataError(
            f"{owner}: outcomes must be {constraint}, got {y[rows[0]].item()!r} in row {rows[0]}{more}.",
            rows=rows[:20].tolist(),
            value=y[rows[:20]],
            remedy=remedy,
        )
