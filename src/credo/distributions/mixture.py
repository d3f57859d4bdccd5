"""Mixture: log p(x) = log Σ_j w_j p_j(x)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions import expectation
from credo.distributions.base import Constraint
from credo.distributions.categorical import Categorical
from credo.distributions.scalar import PROBABILITY_VECTOR, ScalarFamily, arguments, spread
from credo.distributions.support import Support
from credo.errors import ParameterError, UnavailableError
from credo.numerics.inversion import boundary, integer_quantile

__all__ = ["Mixture"]


@dataclass(frozen=True, eq=False)
class Mixture(ScalarFamily):
    """A finite mixture of scalar families, all continuous or all discrete.

    Parameters
    ----------
    weights : (..., k) probabilities over the last axis; leading axes are part of the batch
    components : k scalar families

    Quantiles are found by bisection, to rounding; the entropy by quadrature or summation (it has no closed form).
    To fit one, see `GaussianMixture`.

    Examples
    --------
    >>> import credo as cr
    >>> m = cr.Mixture([0.3, 0.7], [cr.Normal(-1, 1), cr.Normal(2, 0.5)])
    >>> m.mean.round(6).item(), m.cdf(m.quantile(0.2)).round(12).item()
    (1.1, 0.2)
    """

    weights: Any
    components: tuple[ScalarFamily, ...]

    domain: ClassVar[dict[str, Constraint]] = {"weights": PROBABILITY_VECTOR}

    def __post_init__(self) -> None:
        super().__post_init__()
        components = tuple(self.components)
        object.__setattr__(self, "components", components)
        if not components or not all(isinstance(c, ScalarFamily) for c in components):
            raise ParameterError("Mixture", "components", "at least one scalar family", self.components)
        if len({c.support.is_discrete for c in components}) > 1:
            raise ParameterError("Mixture", "components", "all continuous or all discrete", self.components)
        if np.shape(self.weights)[-1:] != (len(components),):
            raise ParameterError("Mixture", "weights", f"of length {len(components)}, one per component", self.weights)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(np.shape(self.weights)[:-1], *(c.batch_shape for c in self.components))

    @property
    def support(self) -> Support:
        """The hull of the supports of the components of positive weight."""
        supports, charged = [c.support for c in self.components], np.moveaxis(np.asarray(self.weights) > 0, -1, 0)
        low, high = np.inf, -np.inf
        for weighs, s in zip(charged, supports, strict=True):
            low = np.minimum(low, np.where(weighs, s.low, np.inf))
            high = np.maximum(high, np.where(weighs, s.high, -np.inf))
        return Support(supports[0].kind, low, high)

    def _blend(self, xp: Any, values: list[Any]) -> Any:
        """Σ w_j values_j; a component of weight 0 does not count, even where its value is not finite."""
        weights = [xp.asarray(self.weights)[..., j] for j in range(len(values))]
        return sum(w * xp.where(w > 0, v, 0.0) for w, v in zip(weights, values, strict=True))

    def _arguments(self, x: Any) -> tuple[Any, Any]:
        return arguments(x, self.weights, *(v for c in self.components for v in c.parameters.values()))

    @property
    def mean(self) -> Any:
        """Σ w_j μ_j."""
        return self._whole(self._blend(np, [c.mean for c in self.components]))  # type: ignore[attr-defined]

    @property
    def variance(self) -> Any:
        """Σ w_j (σ_j² + (μ_j − mean)²)."""
        mean = self.mean
        with np.errstate(invalid="ignore"):  # ∞ − ∞ where a mean is infinite
            parts = [c.variance + np.square(c.mean - mean) for c in self.components]  # type: ignore[attr-defined]
        return self._whole(self._blend(np, parts))

    @property
    def entropy(self) -> Any:
        """−E[log p(X)], in nats: each component's expectation by quadrature or summation, to about 1e-10."""

        def scalar(one: Mixture) -> float:
            charged = [(w, c) for w, c in zip(np.asarray(one.weights), one.components, strict=True) if w > 0]
            return sum(w * expectation.expect(c, lambda x: -one.log_prob(x)) for w, c in charged)

        return expectation.each(self, scalar)

    def log_prob(self, x: Any) -> Any:
        xp, x = self._arguments(x)
        weights = xp.asarray(self.weights)
        parts = [xp.special.xlogy(1.0, weights[..., j]) + c.log_prob(x) for j, c in enumerate(self.components)]
        return xp.special.logsumexp(xp.stack(xp.broadcast_arrays(*parts)), axis=0)

    def cdf(self, x: Any) -> Any:
        xp, x = self._arguments(x)
        return self._blend(xp, [c.cdf(x) for c in self.components])

    def survival(self, x: Any) -> Any:
        xp, x = self._arguments(x)
        return self._blend(xp, [c.survival(x) for c in self.components])

    # NumPy only: searches, between the components' smallest and largest quantile
    def quantile(self, q: Any) -> Any:
        _, q = self._levels(q)
        ends = [c.quantile(q) for c in self.components]
        return self._search(q, ends, lambda x: self.cdf(x) >= q, upper=False)

    def upper_quantile(self, q: Any) -> Any:
        _, q = self._levels(q)
        ends = [c.upper_quantile(q) for c in self.components]
        return self._search(q, ends, lambda x: self.survival(x) <= q, upper=True)

    def _search(self, q: Any, ends: list[Any], reached: Callable[[Any], Any], upper: bool) -> Any:
        charged = [np.asarray(self.weights)[..., j] > 0 for j in range(len(ends))]
        low = np.min(np.stack(np.broadcast_arrays(*map(np.where, charged, ends, [np.inf] * len(ends)))), axis=0)
        high = np.max(np.stack(np.broadcast_arrays(*map(np.where, charged, ends, [-np.inf] * len(ends)))), axis=0)
        at_ends = (high, low) if upper else (low, high)
        if self.support.is_discrete:
            return integer_quantile(q, reached, at_ends, low, high, low)
        q, low, high = np.broadcast_arrays(q, low, high)
        proper = (q > 0) & (q < 1)
        found = boundary(reached, np.where(proper, low, 0.0), np.where(proper, high, 0.0))
        return np.where(proper, found, np.where(q == 0, at_ends[0], np.where(q == 1, at_ends[1], np.nan)))[()]

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        batch = self.batch_shape
        codes = spread(Categorical(self.weights), batch)._draw(size, rng)
        draws = np.stack([spread(c, batch)._draw(size, rng) for c in self.components])
        return np.take_along_axis(draws, np.asarray(codes)[None], axis=0)[0]

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        raise UnavailableError(
            "Mixture.fit: a mixture is fitted by EM, from a stated number of components and starts.",
            remedy="Use GaussianMixture.",
        )

    def _map(self, function: Callable[[Any, int], Any]) -> Self:
        return type(self)(function(self.weights, 1), tuple(c._map(function) for c in self.components))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Mixture)
            and np.array_equal(self.weights, other.weights)
            and self.components == other.components
        )

    def __hash__(self) -> int:
        return hash((Mixture, np.asarray(self.weights, dtype=np.float64).tobytes(), self.components))
