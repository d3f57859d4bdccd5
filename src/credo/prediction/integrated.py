"""`IntegratedPredictive`: the law of y given parameters, averaged over weighted points of their posterior.

p(y | x) = Σ_s w_s p(y | x, θ_s)      aleatoric = Σ w_s Var(y | θ_s)      epistemic = Var_s E(y | θ_s)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtri

from credo.distributions.mixture import Mixture
from credo.errors import ParameterError
from credo.numerics.inversion import invert_cdf
from credo.prediction.predictive import Predictive

__all__ = ["IntegratedPredictive", "representatives"]

# Cells of a (points × rows) chunk: 4 MiB an array of float64.
CHUNK_CELLS = 2**19
# Points that may stand for 4,096 in a distribution function: reweighted to share their mean and covariance they err by
# 6e-4 at most where the weights stay positive (GLMs of 5 columns, 100 to 1,000 rows); as they are, by 1e-3 to 2e-2.
REPRESENTATIVES = 512
# Every k-th point, this many or more, finds the neighbourhood of a quantile before the others settle it.
COARSE_POINTS = 32, 256
# Half the width, in sds of y, of the bracket about a first guess, and about what those points found.
WIDTHS = 0.5, 0.1, 0.02
# Between the quartiles of a Normal, in sds.
QUARTILES = 1.35
# 2⁶⁴ times a hundredth of the standard deviation reaches any quantile that a float can ask for.
MAX_DOUBLINGS = 64


@dataclass(frozen=True, eq=False, repr=False)
class IntegratedPredictive(Predictive):
    """A mixture over S points of the posterior, whose parameters are made a few rows at a time.

    Parameters
    ----------
    weights : (S,) > 0, any positive total (rescaled to 1)
    law : rows (an index array) → the `Family` of y there, of a batch shape that broadcasts to (S, rows)
    n_rows : how many rows there are
    kind : "real" or "count"
    inference : the rung that found the points; "map" has one point and no epistemic part
    few : indices and weights of points that stand for all in `cdf` and `quantile`, as `representatives` finds them

    Cost S evaluations of the law a row; for a quantile some five times that, of all or the few.

    Examples
    --------
    >>> import credo as cr
    >>> rates = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> p = IntegratedPredictive([0.5, 0.5], lambda rows: cr.Poisson(rates[:, rows]), 2, "count")
    >>> p.mean.tolist(), p.aleatoric.tolist(), p.epistemic.tolist(), p.quantile(0.5).tolist()
    ([2.0, 3.0], [2.0, 3.0], [1.0, 1.0], [2.0, 3.0])
    """

    weights: np.ndarray
    law: Callable[[np.ndarray], Any]
    n_rows: int
    kind: str = "real"
    inference: str = "draws"
    few: tuple[np.ndarray, np.ndarray] | None = None

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.ndim != 1 or not np.all(np.isfinite(weights) & (weights >= 0)) or not weights.sum() > 0:
            raise ParameterError(
                "IntegratedPredictive", "weights", "(points,), finite, ≥ 0 and not all zero", self.weights
            )
        if self.kind not in ("real", "count"):
            raise ParameterError("IntegratedPredictive", "kind", "'real' or 'count'", self.kind)
        object.__setattr__(self, "weights", weights / weights.sum())

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n_rows,)

    @property
    def mean(self) -> np.ndarray:
        return self.average(lambda law, rows: law.mean)

    @property
    def variance(self) -> np.ndarray:
        return self.aleatoric if self.inference == "map" else self.aleatoric + self.epistemic

    @property
    def aleatoric(self) -> np.ndarray:
        # A law without a variance (a Student-t of df ≤ 1) leaves the mixture none either.
        def spread(law: Any, rows: np.ndarray) -> np.ndarray:
            return self._average(np.nan_to_num(law.variance, nan=np.inf, posinf=np.inf), rows)

        return self._over_rows(spread)

    @property
    def epistemic(self) -> np.ndarray:
        if self.inference == "map":
            return super().epistemic

        def spread(law: Any, rows: np.ndarray) -> np.ndarray:
            each = self._each(law.mean, rows)
            return self.weights @ np.square(each - self.weights @ each)

        return self._over_rows(spread)

    def average(self, value: Callable[[Any, np.ndarray], Any]) -> np.ndarray:
        """Σ_s w_s of `value(law, rows)`, (..., S, rows) of the laws of some rows, for all rows: (..., n_rows)."""
        return self._over_rows(lambda law, rows: self._average(value(law, rows), rows))

    def cdf(self, y: Any) -> np.ndarray:
        y = self._against_rows(y)
        return self._thinned().average(lambda law, rows: law.cdf(y[..., None, rows]))

    def log_prob(self, y: Any) -> np.ndarray:
        y = self._against_rows(y)
        weights = self.weights[:, None]

        def averaged(law: Any, rows: np.ndarray) -> np.ndarray:
            return np.asarray(logsumexp(law.log_prob(y[..., None, rows]), axis=-2, b=weights))

        return self._over_rows(averaged)

    def quantile(self, q: Any) -> np.ndarray:
        """The y with cdf(y) = q to 4 ulp; the smallest such count."""
        q = np.asarray(q, dtype=np.float64)
        if not np.all((q >= 0) & (q <= 1)):
            raise ParameterError("IntegratedPredictive", "q", "between 0 and 1", q)
        thin = self._thinned()
        parts = [thin._invert(q, rows) for rows in thin._chunks()]
        return np.concatenate(parts, axis=-1) if parts else np.empty((*q.shape, 0))

    def _invert(self, q: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Quantiles (*q, rows) of a chunk, whose law is made once: first of a few points, then of all."""
        whole = _Rows(self.weights, self.law(rows), rows.size)
        stages = [whole.every(len(self.weights) // few) for few in COARSE_POINTS if len(self.weights) >= 2 * few]
        stages.append(whole)
        centre, spread = stages[0].located()
        support = whole.family.support
        ends = float(np.min(support.low)), float(np.max(support.high))
        settle = _smallest_count if self.kind == "count" else _inverted
        found = []
        for level in q.ravel():
            if level in (0.0, 1.0):
                found.append(np.full(rows.size, ends[int(level)]))
                continue
            guess = np.clip(centre + ndtri(level) * spread, *ends)
            for law, width in zip(stages, WIDTHS[-len(stages) :], strict=True):
                guess = settle(law, float(level), guess, width * spread, *ends)
            found.append(guess)
        return np.stack(found).reshape(*q.shape, rows.size)

    def _thinned(self) -> IntegratedPredictive:
        if self.few is None:
            return self
        (points, weights), law = self.few, self.law
        return dataclasses.replace(
            self, few=None, weights=weights, law=lambda rows: _taken(law(rows), points, np.arange(len(rows)))
        )

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        # One point for all rows of a draw: rows are then jointly distributed as the posterior says.
        picked = rng.choice(len(self.weights), size=n, p=self.weights)
        out = np.empty((n, self.n_rows))
        for rows in self._chunks():
            family = _taken(self.law(rows), picked, np.arange(len(rows)))
            out[:, rows] = np.broadcast_to(family.sample(None, rng), (n, len(rows)))
        return out

    def __getitem__(self, rows: Any) -> IntegratedPredictive:
        index = np.atleast_1d(np.arange(self.n_rows)[rows])
        return dataclasses.replace(self, law=lambda some: self.law(index[some]), n_rows=index.size)

    def _chunks(self) -> Iterator[np.ndarray]:
        size = max(1, CHUNK_CELLS // len(self.weights))
        for start in range(0, self.n_rows, size):
            yield np.arange(start, min(start + size, self.n_rows))

    def _over_rows(self, reduce: Callable[[Any, np.ndarray], np.ndarray]) -> np.ndarray:
        parts = [reduce(self.law(rows), rows) for rows in self._chunks()]
        return np.concatenate(parts, axis=-1) if parts else np.empty(0)

    def _each(self, value: Any, rows: np.ndarray) -> np.ndarray:
        """(..., S, rows)."""
        return np.broadcast_to(value, np.broadcast_shapes(np.shape(value), (len(self.weights), len(rows))))

    def _average(self, value: Any, rows: np.ndarray) -> np.ndarray:
        return self.weights @ self._each(value, rows)

    def _against_rows(self, y: Any) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64)
        return np.broadcast_to(y, np.broadcast_shapes(y.shape, self.shape))


def representatives(points: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Indices and weights of 512 of S weighted points (S, K) that share their mean and covariance; None if none do.

    Every k-th, with the weights of least change (in the weighted sum of squares) that meet those K(K + 3)/2 conditions:
    None where some were to be negative, or the conditions are too many. What is smooth in the points is then averaged
    to third order. Cost 512 K⁴/4.

    Reference: Deville and Särndal (1992), Calibration estimators in survey sampling, JASA 87.
    """
    (n, k), step = points.shape, len(points) // REPRESENTATIVES
    if step < 2 or 2 * (k + 1) * (k + 2) > REPRESENTATIVES:
        return None
    away = points - weights @ points
    away /= np.maximum(np.sqrt(weights @ np.square(away)), np.finfo(float).tiny)
    values, vectors = np.linalg.eigh((away * weights[:, None]).T @ away)
    if values[0] <= n * np.finfo(float).eps:
        return None
    z = away @ vectors / np.sqrt(values)
    i, j = np.triu_indices(k)
    some = np.arange(0, n, step)
    kept, start = z[some], weights[some] / weights[some].sum()
    features = np.column_stack([np.ones(len(kept)), kept, kept[:, i] * kept[:, j]])
    target = np.concatenate([[1.0], np.zeros(k), (i == j).astype(float)])
    change = np.linalg.lstsq(features.T @ (features * start[:, None]), target - start @ features, rcond=None)[0]
    calibrated = start * (1.0 + features @ change)
    return (some, calibrated) if np.all(calibrated >= 0.0) else None


@dataclass(frozen=True)
class _Rows:
    """A mixture over a chunk of rows: weights (S,) and a family of batch shape (S, n)."""

    weights: np.ndarray
    family: Any
    n: int

    def average(self, value: Any) -> np.ndarray:
        return self.weights @ np.broadcast_to(value, (len(self.weights), np.shape(value)[-1]))

    def cdf(self, y: np.ndarray) -> np.ndarray:
        return self.average(self.family.cdf(y))

    def density(self, y: np.ndarray) -> np.ndarray:
        return self.average(self.family.prob(y))

    def only(self, rows: np.ndarray) -> _Rows:
        return _Rows(self.weights, _taken(self.family, slice(None), rows), rows.size)

    def every(self, k: int) -> _Rows:
        """Every k-th point."""
        some = slice(None, None, k)
        weights = self.weights[some] / self.weights[some].sum()
        return _Rows(weights, _taken(self.family, some, np.arange(self.n)), self.n)

    def located(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and sd (n,); from the quartiles of the laws where these do not exist."""
        shape = (len(self.weights), self.n)
        each = np.broadcast_to(self.family.mean, shape)
        with np.errstate(invalid="ignore"):
            mean = self.weights @ each
            square = np.broadcast_to(self.family.variance, shape) + np.square(each - mean)
            sd = np.sqrt(self.average(square))
        odd = np.flatnonzero(~np.isfinite(sd))
        if odd.size:
            few = self.only(odd)
            low, middle, high = (few.average(few.family.quantile(level)) for level in (0.25, 0.5, 0.75))
            mean, sd = mean.copy(), sd.copy()
            mean[odd], sd[odd] = middle, (high - low) / QUARTILES
        return mean, sd


def _smallest_count(
    law: _Rows, level: float, guess: np.ndarray, width: np.ndarray, low: float, high: float
) -> np.ndarray:
    """The smallest count with cdf ≥ level: doubling steps from the guess, then bisection, of the rows still open."""
    below, above = np.full(law.n, low - 1.0), np.full(law.n, high)
    trial, step = np.floor(guess), np.maximum(np.floor(width), 1.0)
    active = np.arange(law.n)
    while active.size:
        y = trial[active]
        reached = law.only(active).cdf(y) >= level
        above[active] = np.where(reached, y, above[active])
        below[active] = np.where(reached, below[active], y)
        active = active[above[active] - below[active] > 1.0]
        a, b, t = below[active], above[active], step[active]
        middle = np.floor(0.5 * (a + b))
        falling = (trial[active] == b) & (a == low - 1.0)
        rising = np.isinf(b)
        trial[active] = np.where(rising, a + t, np.where(falling, np.maximum(b - t, a + 1.0), middle))
        step[active] = np.where(rising | falling, 2.0 * t, t)
    return above


def _inverted(law: _Rows, level: float, start: np.ndarray, width: np.ndarray, low: float, high: float) -> np.ndarray:
    """cdf(y) = level: a bracket by doubling about the start, within it Newton or bisection."""
    width = np.maximum(width, 1e-12 * (1.0 + np.abs(start)))
    start = np.clip(start, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
    below, above = np.maximum(start - width, low), np.minimum(start + width, high)
    for _ in range(MAX_DOUBLINGS):
        short, long = law.cdf(below) > level, law.cdf(above) < level
        if not np.any(short | long):
            break
        below = np.where(short, np.maximum(below - width, low), below)
        above = np.where(long, np.minimum(above + width, high), above)
        width = 2.0 * width
    return invert_cdf(law.cdf, level, below, above, law.density, np.clip(start, below, above))


def _taken(family: Any, points: Any, rows: np.ndarray) -> Any:
    """The members of a batch (S, rows) at some points and rows; parameters of fewer axes are shared."""

    def take(value: Any) -> Any:
        value = np.asarray(value)
        if value.ndim < 2:
            return value[rows] if value.ndim == 1 and value.size > 1 else value
        if value.shape[0] > 1:
            value = value[points]
        return value[:, rows] if value.shape[1] > 1 else value

    if isinstance(family, Mixture):  # the batch of its components' weights is before their last axis
        weights = np.moveaxis(np.asarray(family.weights), -1, 0)
        parts = tuple(_taken(part, points, rows) for part in family.components)
        return Mixture(np.stack([take(w) for w in weights], axis=-1), parts)
    return dataclasses.replace(family, **{k: take(v) for k, v in family.parameters.items() if v is not None})
