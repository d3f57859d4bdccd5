"""What a `Model` believes about outcomes: the law of an observed node at each draw of the posterior, averaged.

`ModelPredictive` is one row of outcomes, `ShapedPredictive` an array of more axes; both know the laws, so that means,
densities, distribution functions and quantiles are averages and inversions, not Monte Carlo over outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from credo.distributions.base import Family
from credo.distributions.slopes import unchecked
from credo.errors import ParameterError
from credo.prediction.integrated import IntegratedPredictive
from credo.prediction.predictive import Predictive

__all__ = ["Members", "ModelPredictive", "ShapedPredictive", "averaged"]

# Cells (draws × rows) of which quantiles are settled by the laws, a second or so a level; of more they are those of the
# outcomes drawn. A distribution function of those that are SLOW costs up to 2.6 µs, of most others a fiftieth.
SETTLED, SETTLED_SLOWLY = 8_000_000, 400_000
SLOW = ("StudentT", "NegativeBinomial", "BetaBinomial", "BetaNegativeBinomial")
# Newton's steps from a quantile of the draws, off by 1 % in probability: two do, but in far tails.
MOST_STEPS, CLOSE = 6, 1e-10


@dataclass(frozen=True)
class Members:
    """rows (places in C order) → the family of y there at each draw, of batch shape (S, rows).

    law : parameters broadcast against (S, *shape)
    """

    law: Any
    shape: tuple[int, ...]

    def __call__(self, rows: np.ndarray) -> Any:
        whole = rows.size == int(np.prod(self.shape)) and np.array_equal(rows, np.arange(rows.size))
        at = np.unravel_index(rows, self.shape)
        some = {name: self._some(value, at, whole) for name, value in self.law.parameters.items() if value is not None}
        return unchecked(type(self.law), {**self.law.parameters, **some})

    def _some(self, value: Any, at: tuple[np.ndarray, ...], whole: bool) -> np.ndarray:
        value = np.asarray(value)
        own = value.shape[max(value.ndim - len(self.shape), 0) :]  # what it has of the outcomes' axes
        lead = value.shape[: value.ndim - len(own)]
        if all(size == 1 for size in own):
            return value.reshape(*lead, 1) if lead else value.reshape(())
        if whole and own == self.shape:
            return value.reshape(*lead, -1)
        places = at[len(at) - len(own) :]
        return value[(..., *(np.zeros_like(i) if size == 1 else i for size, i in zip(own, places)))]


@dataclass(frozen=True, eq=False, repr=False)
class ModelPredictive(IntegratedPredictive):
    """The mixture over posterior draws of the laws of a row of outcomes; see `IntegratedPredictive`.

    conditional : the law at every draw, its parameters broadcast against (S, rows)
    outcomes : makes `draws`

    Examples
    --------
    >>> import credo as cr
    >>> m = cr.Model()
    >>> mu = m.latent("mu", cr.Normal(0, 1))
    >>> y = m.observed("y", cr.Normal(mu, 1), [0.4, 1.2, -0.1])
    >>> p = m.fit(random_state=0).predict()
    >>> p.draws.shape, bool(np.allclose(p.cdf(p.quantile(0.9)), 0.9))
    ((4000, 3), True)
    """

    conditional: Any = None
    outcomes: Callable[[], np.ndarray] = field(default=lambda: np.empty((0, 0)))

    @property
    def draws(self) -> np.ndarray:
        """(S, rows): one outcome for each posterior draw and row, those of a draw together; always the same."""
        return self.outcomes()

    def quantile(self, q: Any) -> np.ndarray:
        """The y with cdf(y) = q to 1e-10, the smallest such count; of very many rows the quantile of `draws`, with a
        Monte Carlo error of √(q(1 − q)/S) in probability."""
        levels = np.asarray(q, dtype=np.float64)
        if not np.all((levels >= 0) & (levels <= 1)):
            raise ParameterError("ModelPredictive", "q", "between 0 and 1", q)
        draws = self.draws
        guess = np.quantile(draws, levels, axis=0, method="inverted_cdf" if self.kind == "count" else "linear")
        guess = guess.astype(np.float64)
        if draws.size > (SETTLED_SLOWLY if type(self.conditional).__name__ in SLOW else SETTLED):
            return guess
        settle = self._counted if self.kind == "count" else self._newton
        flat = [settle(float(level), row) for level, row in zip(levels.ravel(), guess.reshape(-1, self.n_rows))]
        return np.array(flat).reshape(guess.shape)

    def _newton(self, level: float, y: np.ndarray) -> np.ndarray:
        """From a guess; what does not settle soon is left to a bracketing search."""
        y, open_ = y.copy(), np.arange(self.n_rows)
        if level in (0.0, 1.0):
            return super().quantile(level)
        for _ in range(MOST_STEPS):
            part = self._rows(open_)
            missing = level - part.cdf(y[open_])
            wrong = np.abs(missing) > CLOSE * min(level, 1.0 - level)
            if not wrong.any():
                return y
            open_, missing = open_[wrong], missing[wrong]
            part = self._rows(open_)
            with np.errstate(all="ignore"):
                step = missing / np.exp(part.log_prob(y[open_]))
            y[open_] += np.where(np.isfinite(step), step, 0.0)
        y[open_] = self._rows(open_).quantile(level)
        return y

    def _counted(self, level: float, y: np.ndarray) -> np.ndarray:
        """From a guess, one count at a time, as most are right or off by one."""
        y, open_ = y.copy(), np.arange(self.n_rows)
        if level in (0.0, 1.0):
            return super().quantile(level)
        for _ in range(MOST_STEPS):
            part = self._rows(open_)
            high = part.cdf(y[open_]) >= level
            higher = part.cdf(y[open_] - 1.0) >= level
            y[open_] += np.where(high, np.where(higher, -1.0, 0.0), 1.0)
            open_ = open_[~high | higher]
            if not open_.size:
                return y
        y[open_] = self._rows(open_).quantile(level)
        return y

    def _rows(self, some: np.ndarray) -> IntegratedPredictive:
        """Some of the rows, without their draws."""
        return IntegratedPredictive(self.weights, lambda rows: self.law(some[rows]), some.size, self.kind)

    def __getitem__(self, rows: Any) -> ModelPredictive:
        index = np.atleast_1d(np.arange(self.n_rows)[rows])
        return replace(
            self, law=lambda some: self.law(index[some]), n_rows=index.size, conditional=self.law(index),
            outcomes=lambda: self.outcomes()[:, index],
        )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class ShapedPredictive(Predictive):
    """A `ModelPredictive` of outcomes that have several axes.

    flat : of the outcomes in C order ; outcome_shape : their sizes ; conditional : the laws against (S, *shape)
    """

    flat: ModelPredictive
    outcome_shape: tuple[int, ...]
    conditional: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.flat.kind)
        object.__setattr__(self, "inference", self.flat.inference)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.outcome_shape

    @property
    def draws(self) -> np.ndarray:
        """(S, *shape): one outcome for each posterior draw and cell."""
        return self._shaped(self.flat.draws)

    @property
    def mean(self) -> np.ndarray:
        return self._shaped(self.flat.mean)

    @property
    def variance(self) -> np.ndarray:
        return self._shaped(self.flat.variance)

    @property
    def aleatoric(self) -> np.ndarray:
        return self._shaped(self.flat.aleatoric)

    @property
    def epistemic(self) -> np.ndarray:
        return self._shaped(self.flat.epistemic)

    def cdf(self, y: Any) -> np.ndarray:
        return self._shaped(self.flat.cdf(self._flattened(y)))

    def quantile(self, q: Any) -> np.ndarray:
        return self._shaped(self.flat.quantile(q))

    def log_prob(self, y: Any) -> np.ndarray:
        return self._shaped(self.flat.log_prob(self._flattened(y)))

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self._shaped(self.flat._draw(n, rng))

    def __getitem__(self, rows: Any) -> Predictive:
        rows = np.atleast_1d(rows) if isinstance(rows, (int, np.integer)) else rows
        places = np.arange(self.flat.n_rows).reshape(self.shape)[rows]
        part = self.flat[places.ravel()]
        return part if places.ndim == 1 else ShapedPredictive(part, places.shape, _reshaped(part, places.shape))

    def _shaped(self, value: np.ndarray) -> np.ndarray:
        return value.reshape(*value.shape[:-1], *self.shape)

    def _flattened(self, y: Any) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64)
        y = np.broadcast_to(y, np.broadcast_shapes(y.shape, self.shape))
        return y.reshape(*y.shape[: y.ndim - len(self.shape)], -1)


def averaged(
    law: Family, shape: tuple[int, ...], n: int, kind: str, inference: str, outcomes: Callable[[], np.ndarray]
) -> Predictive:
    """The predictive of an array of outcomes, from their law at n equally weighted draws.

    outcomes : makes one outcome for each draw, (n, *shape); called when they are first asked for
    """
    rows = int(np.prod(shape))
    made: list[np.ndarray] = []

    def flat() -> np.ndarray:
        if not made:
            made.append(outcomes().reshape(n, rows))
        return made[0]

    members = Members(law, shape)
    given = law if len(shape) == 1 else members(np.arange(rows))
    row = ModelPredictive(np.ones(n), members, rows, kind, inference, None, given, flat)
    return row if len(shape) == 1 else ShapedPredictive(row, shape, law)


def _reshaped(part: ModelPredictive, shape: tuple[int, ...]) -> Any:
    """Its laws against (S, *shape)."""
    law = part.conditional
    n, rows = len(part.weights), part.n_rows
    wide = {k: np.broadcast_to(v, (n, rows)).reshape(n, *shape) for k, v in law.parameters.items() if v is not None}
    return unchecked(type(law), {**law.parameters, **wide})
