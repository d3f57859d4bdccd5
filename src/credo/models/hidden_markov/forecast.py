"""`Forecast`: the rows after those seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from credo.distributions.mixture import Mixture
from credo.distributions.poisson import Poisson
from credo.errors import ParameterError
from credo.models.mixture.components import Components
from credo.models.mixture.conditional import ConditionalPredictive
from credo.models.mixture.factors import stacked_cholesky
from credo.prediction.classes import ClassPredictive
from credo.prediction.predictive import Predictive

__all__ = ["CountsAhead", "Forecast", "categories_ahead", "numbers_ahead"]


@dataclass(frozen=True, eq=False)
class Forecast:
    """states : p(z of the h-th next row | the rows seen), (steps, K)
    observation : the law of those rows, a mixture over the states: a `Predictive` of shape (steps, d); of categories a
        tuple of them, one a column. The fitted parameters are plugged in
    """

    states: np.ndarray
    observation: Any


def numbers_ahead(states: np.ndarray, components: Components) -> ConditionalPredictive:
    """Σ_k p(z = k) N(μ_k, Σ_k) of each step."""
    steps, k = states.shape
    mean = components.mean
    lower = stacked_cholesky(components.scale_matrices, "covariance of a state")
    location = np.broadcast_to(mean[:, None, :], (k, steps, mean.shape[1]))
    return ConditionalPredictive(states.T, location, lower, np.ones((k, steps)))


def categories_ahead(
    states: np.ndarray, probabilities: list[np.ndarray], categories: list[np.ndarray]
) -> tuple[ClassPredictive, ...]:
    """Σ_k p(z = k) θ_kj of each step, column by column."""
    return tuple(
        ClassPredictive(states @ p, known, inference="map") for p, known in zip(probabilities, categories, strict=True)
    )


@dataclass(frozen=True, eq=False, repr=False)
class CountsAhead(Predictive):
    """Σ_k p(z = k) Π_j Poisson(λ_kj) of each step; masses and quantiles are those of single cells.

    states (steps, K) ; rates : λ (K, d)
    """

    states: np.ndarray
    rates: np.ndarray
    kind = "count"
    inference: str = "map"

    @cached_property
    def _law(self) -> Mixture:
        """Of batch shape (steps, d)."""
        return Mixture(self.states[:, None, :], tuple(Poisson(rate) for rate in self.rates))

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.states), self.rates.shape[1]

    @property
    def mean(self) -> np.ndarray:
        return self.states @ self.rates

    @property
    def variance(self) -> np.ndarray:
        return self.mean + self.states @ np.square(self.rates) - np.square(self.mean)

    @property
    def aleatoric(self) -> np.ndarray:
        """All of the variance, of a point estimate."""
        return self.variance

    def cdf(self, y: Any) -> np.ndarray:
        return np.asarray(self._law.cdf(np.asarray(y, dtype=np.float64)))

    def log_prob(self, y: Any) -> np.ndarray:
        return np.asarray(self._law.log_prob(np.asarray(y, dtype=np.float64)))

    def quantile(self, q: Any) -> np.ndarray:
        """The smallest count with cdf ≥ q."""
        q = np.asarray(q, dtype=np.float64)
        if not np.all((q >= 0.0) & (q <= 1.0)):
            raise ParameterError("CountsAhead", "q", "between 0 and 1", q)
        return np.broadcast_to(self._law.quantile(q[..., None, None]), q.shape + self.shape)

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """The columns of a row are drawn from one state."""
        edges = np.cumsum(self.states, axis=1)
        chosen = (rng.random((n, len(edges), 1)) * edges[:, -1:] > edges[:, :-1]).sum(axis=2)
        return rng.poisson(self.rates[chosen]).astype(np.float64)

    def __getitem__(self, rows: Any) -> CountsAhead:
        return replace(self, states=self.states[np.atleast_1d(np.arange(len(self))[rows])])
