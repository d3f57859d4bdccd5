"""Categorical: log p(x) = log p_x for the codes x = 0 … k − 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special

from credo.distributions.base import Constraint, observations
from credo.distributions.choices import Choices, are_choices
from credo.distributions.fitting import is_flat
from credo.distributions.scalar import PROBABILITY_VECTOR, ScalarFamily, arguments, within
from credo.distributions.statistics import CategoryCounts
from credo.distributions.support import COUNTS, Support
from credo.errors import ParameterError

__all__ = ["Categorical"]


@dataclass(frozen=True, eq=False)
class Categorical(ScalarFamily):
    """One of k categories, coded 0 … k − 1.

    Parameters
    ----------
    p : probabilities over the last axis, shape (..., k); the leading axes are the batch

    Moments are those of the code, which mean something for ordered categories only.

    A list that cannot be probabilities (text, booleans, None, whole numbers) names *choices* instead, for a
    `Space`: `Categorical(["rbf", "linear"])` is a `Choices` record, which has no density.

    Examples
    --------
    >>> import credo as cr
    >>> cr.Categorical([0.2, 0.3, 0.5]).prob([0, 2]).round(3).tolist()
    [0.2, 0.5]
    >>> cr.Categorical.fit([0, 2, 2, 1]).p.tolist()
    [0.25, 0.25, 0.5]
    """

    p: Any

    domain: ClassVar[dict[str, Constraint]] = {"p": PROBABILITY_VECTOR}

    def __new__(cls, p: Any = None, *, when: Any = None) -> Any:
        if isinstance(p, (list, tuple)) and not p:
            raise ParameterError("Categorical", "p", "not empty: probabilities, or choices of a Space", p)
        return Choices(tuple(p), when=when) if are_choices(p) else super().__new__(cls)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return np.shape(self.p)[:-1]

    @property
    def n_categories(self) -> int:
        """k."""
        return np.shape(self.p)[-1]

    @property
    def support(self) -> Support:
        return Support("integer", 0, self.n_categories - 1)

    @property
    def mean(self) -> Any:
        """Σ x p_x."""
        return np.asarray(self.p) @ np.arange(self.n_categories, dtype=np.float64)

    @property
    def variance(self) -> Any:
        """Σ (x − mean)² p_x."""
        codes = np.arange(self.n_categories)
        return np.sum(np.square(codes - np.asarray(self.mean)[..., None]) * self.p, axis=-1)

    @property
    def entropy(self) -> Any:
        """−Σ p_x log p_x, in nats."""
        return np.sum(special.entr(self.p), axis=-1)

    def _at(self, xp: Any, x: Any, table: Any) -> Any:
        """table[..., x], x broadcast against the batch."""
        shape = np.broadcast_shapes(np.shape(x), self.batch_shape)
        code = xp.broadcast_to(xp.clip(x, 0, self.n_categories - 1), shape)
        code = xp.where(xp.isnan(code), 0, code).astype(int)
        table = xp.broadcast_to(table, (*shape, self.n_categories))
        return xp.take_along_axis(table, code[..., None], axis=-1)[..., 0]

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.p)
        inside = (x >= 0) & (x < self.n_categories) & (xp.floor(x) == x)
        return within(xp, x, inside, xp.special.xlogy(1.0, self._at(xp, x, self.p)))

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.p)
        value = self._at(xp, xp.floor(x), xp.minimum(xp.cumsum(xp.asarray(self.p), axis=-1), 1.0))
        value = xp.where(x < 0, 0.0, xp.where(x >= self.n_categories - 1, 1.0, value))
        return xp.where(xp.isnan(x), xp.nan, value)[()]

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.p)
        above = xp.cumsum(xp.asarray(self.p)[..., ::-1], axis=-1)[..., ::-1]  # P(X ≥ code)
        above = xp.concatenate([above[..., 1:], xp.zeros_like(above[..., :1])], axis=-1)
        value = xp.where(x < 0, 1.0, self._at(xp, xp.floor(x), above))
        return xp.where(xp.isnan(x), xp.nan, value)[()]

    def quantile(self, q: Any) -> Any:
        """The smallest code with cdf ≥ q."""
        return self._search(q, lambda q, cdf, survival: cdf < q)

    def upper_quantile(self, q: Any) -> Any:
        """The smallest code with P(X > code) ≤ q."""
        return self._search(q, lambda q, cdf, survival: survival > q)

    def _search(self, q: Any, short: Any) -> Any:
        """Number of codes that fall short of q."""
        xp, q = self._levels(q)
        codes = np.arange(self.n_categories).reshape((-1,) + (1,) * len(np.broadcast_shapes(q.shape, self.batch_shape)))
        value = np.sum(short(q, self.cdf(codes), self.survival(codes))[:-1], axis=0, dtype=np.float64)
        return xp.where(xp.isnan(q), xp.nan, value)[()]

    def _map(self, function: Callable[[Any, int], Any]) -> Self:
        return type(self)(function(self.p, 1))

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        cumulative = np.cumsum(self.p, axis=-1)
        cumulative = cumulative / cumulative[..., -1:]  # so that a last category of probability 0 is never drawn
        u = rng.random(size + self.batch_shape)
        if cumulative.ndim == 1:
            return np.searchsorted(cumulative, u, side="right")
        return np.sum(cumulative[..., :-1] <= u[..., None], axis=-1)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None, *, n_categories: int | None = None) -> Self:
        """MLE: relative frequencies of `n_categories` codes (default: the largest code + 1). With a `Dirichlet(α)`
        prior: (α − 1 + counts)/Σ, which needs α + counts ≥ 1 for a mode."""
        x, w = observations("Categorical", x, weights, COUNTS)
        k = int(x.max()) + 1 if n_categories is None else n_categories
        if prior is not None and hasattr(prior, "concentration"):
            k = max(k, np.shape(prior.concentration)[-1]) if n_categories is None else k
            counts = CategoryCounts.accumulate(x, w, n_categories=k).counts
            if np.shape(prior.concentration)[-1] != k:
                raise ParameterError("Categorical.fit", "prior", f"a Dirichlet over {k} categories", prior)
            counts = counts + np.asarray(prior.concentration) - 1.0
            if np.any(counts < 0) or counts.sum() <= 0:
                raise ParameterError(
                    "Categorical.fit",
                    "prior",
                    "of concentration ≥ 1 in every empty category, for a mode to exist",
                    prior,
                )
            return cls(counts / counts.sum())
        counts = CategoryCounts.accumulate(x, w, n_categories=k).counts
        if not is_flat(prior, {"p": counts}):
            raise ParameterError("Categorical.fit", "prior", "None, Flat() or a Dirichlet", prior)
        return cls(counts / counts.sum())
