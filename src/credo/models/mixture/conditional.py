"""Some columns given others: p(x_b | x_a) = Σ_k p(k | x_a) p_k(x_b | x_a)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from credo.distributions.normal import LOG_2PI
from credo.errors import DataError, ParameterError, UnavailableError
from credo.models.mixture.components import Components
from credo.models.mixture.expectation import normalise
from credo.models.mixture.factors import stacked_cholesky
from credo.models.mixture.missing import conditionals, distances, patterns
from credo.numerics.inversion import invert_cdf
from credo.prediction.predictive import Predictive

__all__ = ["ConditionalPredictive", "conditional", "imputed", "rows_given"]


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalPredictive(Predictive):
    """A mixture for each row, over the columns that were not given; densities and quantiles are those of single cells.

    weights : p(k | x_a), (k, rows)
    location : (k, rows, targets)
    lower : Cholesky factors of the scale matrices, (k, targets, targets)
    stretch : (k, rows), by which the scale matrices are multiplied; 1 for Normals
    df : degrees of freedom (k,), or None for Normals
    """

    weights: np.ndarray
    location: np.ndarray
    lower: np.ndarray
    stretch: np.ndarray
    df: np.ndarray | None = None
    inference: str = "map"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.location.shape[1:]

    @property
    def scale(self) -> np.ndarray:
        """(k, rows, targets)."""
        own = np.sqrt(np.square(self.lower).sum(axis=2))
        return np.sqrt(self.stretch)[:, :, None] * own[:, None, :]

    @property
    def mean(self) -> np.ndarray:
        return self._average(self.location)

    @property
    def variance(self) -> np.ndarray:
        within = np.square(self.scale)
        if self.df is not None:
            df = self.df[:, None, None]
            with np.errstate(divide="ignore", invalid="ignore"):  # infinite for two degrees of freedom and fewer
                within = np.where(df > 2.0, within * df / (df - 2.0), np.inf)
        return self._average(within + np.square(self.location - self.mean))

    @property
    def aleatoric(self) -> np.ndarray:
        """All of the variance, of a point estimate."""
        if self.inference == "map":
            return self.variance
        raise UnavailableError("The variance of some columns given others is not split under variational Bayes.")

    @property
    def epistemic(self) -> np.ndarray:
        return super().epistemic if self.inference == "map" else self.aleatoric

    def cdf(self, y: Any) -> np.ndarray:
        z = (np.asarray(y, dtype=np.float64) - self.location) / self.scale
        return self._average(ndtr(z) if self.df is None else stdtr(self.df[:, None, None], z))

    def log_prob(self, y: Any) -> np.ndarray:
        z, log_scale = (np.asarray(y, dtype=np.float64) - self.location) / self.scale, np.log(self.scale)
        if self.df is None:
            each = -0.5 * (z**2 + LOG_2PI) - log_scale
        else:
            df = self.df[:, None, None]
            constant = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * np.log(df * np.pi)
            each = constant - 0.5 * (df + 1.0) * np.log1p(z**2 / df) - log_scale
        highest = each.max(axis=0)
        return highest + np.log(self._average(np.exp(each - highest)))

    def quantile(self, q: Any) -> np.ndarray:
        """The y with cdf(y) = q to 4 ulp, between the components' own quantiles."""
        q = np.asarray(q, dtype=np.float64)
        if not np.all((q >= 0.0) & (q <= 1.0)):
            raise ParameterError("ConditionalPredictive", "q", "between 0 and 1", q)
        return np.stack([self._invert(float(level)) for level in q.ravel()]).reshape(q.shape + self.shape)

    def _invert(self, q: float) -> np.ndarray:
        if self.df is None:
            z: Any = ndtri(q)
        else:
            z = np.where(q in (0.0, 1.0), np.inf * (2.0 * q - 1.0), stdtrit(self.df, 0.5 if q in (0.0, 1.0) else q))
            z = z[:, None, None]
        each = self.location + self.scale * z
        with np.errstate(invalid="ignore"):  # infinite ends
            middle = self._average(each)
        low, high = each.min(axis=0), each.max(axis=0)
        if not np.all(np.isfinite(middle)):
            return invert_cdf(self.cdf, q, low, high)
        return invert_cdf(self.cdf, q, low, high, lambda y: np.exp(self.log_prob(y)), middle)

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Targets of one row are drawn jointly."""
        _, rows, targets = self.location.shape
        edges = np.cumsum(self.weights, axis=0)
        edges /= edges[-1]
        chosen = (rng.random((n, 1, rows)) > edges[None, :-1]).sum(axis=1)
        z = (self.lower[chosen] @ rng.standard_normal((n, rows, targets, 1)))[..., 0]
        stretch = self.stretch[chosen, np.arange(rows)]
        if self.df is not None:
            df = self.df[chosen]
            stretch = stretch * df / rng.chisquare(df)
        return self.location[chosen, np.arange(rows)] + np.sqrt(stretch)[..., None] * z

    def __getitem__(self, rows: Any) -> ConditionalPredictive:
        rows = np.atleast_1d(np.arange(self.shape[0])[rows])
        return replace(
            self, weights=self.weights[:, rows], location=self.location[:, rows], stretch=self.stretch[:, rows]
        )

    def _average(self, each: np.ndarray) -> np.ndarray:
        return np.einsum("kn,kn...->n...", self.weights, each)


def conditional(components: Components, X: np.ndarray, owner: str) -> ConditionalPredictive:
    """The missing cells of rows X (n, d), all in the same columns, given the others."""
    missing = np.isnan(X)
    if not missing[0].any() or not np.array_equal(missing, np.broadcast_to(missing[0], missing.shape)):
        raise DataError(
            f"{owner}: the cells to predict must be NaN, in the same columns of every row.",
            value=missing.sum(axis=0).tolist(),
            remedy="Predict rows of one pattern at a time, or fill single cells with impute(X).",
        )
    g = components.gaussians
    o, m = np.flatnonzero(~missing[0]), np.flatnonzero(missing[0])
    given = conditionals(g, o, m)
    k, n = len(g.mean), len(X)
    weights = components.log_joint(X)
    normalise(weights, None)
    deviation = X.T[o].astype(np.float64) - g.mean[:, o, None]
    shift = np.broadcast_to(given.regression, (k, m.size, o.size)) @ deviation
    location = g.mean[:, None, m] + shift.swapaxes(1, 2)
    lower = np.broadcast_to(stacked_cholesky(given.covariance, "conditional covariance"), (k, m.size, m.size))
    if components.df is None:
        return ConditionalPredictive(weights, location, lower, np.ones((k, n)))
    df, stretch = np.asarray(components.df), np.ones((k, n))
    if not components.independent:
        squares = distances(np.ascontiguousarray(X.T, dtype=np.float64), g)[0]
        stretch = (df[:, None] + squares) / (df + o.size)[:, None]
        df = df + o.size
    return ConditionalPredictive(weights, location, lower, stretch, df, components.inference)


def imputed(components: Components, X: np.ndarray) -> np.ndarray:
    """X (n, d) with NaN replaced by E[x_m | x_o]."""
    g, out = components.gaussians, np.array(X, dtype=np.float64)
    if not np.isnan(out).any():
        return out
    shares = components.log_joint(X)
    normalise(shares, None)
    for rows, o, m in patterns(np.ascontiguousarray(out.T)):
        if m.size:
            deviation = out[np.ix_(rows, o)].T - g.mean[:, o, None]
            filled = g.mean[:, m, None] + conditionals(g, o, m).regression @ deviation
            out[np.ix_(rows, m)] = np.einsum("kn,kmn->nm", shares[:, rows], filled)
    return out


def rows_given(owner: str, columns: Any, values: Any, names: Sequence[str]) -> np.ndarray:
    """Rows (n, d) that hold `values` in `columns` and NaN elsewhere."""
    listed = [columns] if np.ndim(columns) == 0 else list(columns)
    numbers = [names.index(c) if isinstance(c, str) and c in names else c for c in listed]
    good = all(isinstance(c, (int, np.integer)) and 0 <= c < len(names) for c in numbers)
    if not good or len(set(numbers)) < len(numbers) or len(numbers) >= len(names):
        raise ParameterError(owner, "columns", f"some, not all, of {len(names)} columns, by number or name", columns)
    values = np.asarray(values, dtype=np.float64)
    values = values.reshape(-1, len(numbers)) if values.ndim < 2 else values
    if values.shape[1] != len(numbers) or not np.all(np.isfinite(values)):
        raise ParameterError(owner, "values", f"finite numbers of shape (rows, {len(numbers)})", values)
    rows = np.full((len(values), len(names)), np.nan)
    rows[:, np.asarray(numbers, dtype=np.intp)] = values
    return rows
