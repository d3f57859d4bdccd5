"""Truncated: log p(x) = log p₀(x) − log P₀(low ≤ X ≤ high) on [low, high]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions import expectation
from credo.distributions.base import Constraint, is_concrete, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.scalar import ScalarFamily, arguments, within
from credo.distributions.support import Support
from credo.errors import ParameterError, UnavailableError
from credo.numerics.namespace import namespace

__all__ = ["Truncated"]


@dataclass(frozen=True, eq=False)
class Truncated(ScalarFamily):
    """A scalar family conditioned on low ≤ X ≤ high (both ends included, which matters for integers only).

    Parameters
    ----------
    base : a scalar family
    low, high : bounds, low < high (low ≤ high for integers); −∞ and ∞ leave an end open

    Quantiles work from the nearer tail, so that a far truncation keeps its digits as long as the base's probability of
    the interval is above 1e-308 (37 sd for a Normal); below it the interval is a `ParameterError`. Moments and entropy
    are by quadrature or summation, to about 1e-10.

    Examples
    --------
    >>> import credo as cr
    >>> cr.Truncated(cr.Normal(0, 1), low=0).mean.round(6).item()
    0.797885
    """

    base: ScalarFamily
    low: Any = -np.inf
    high: Any = np.inf

    domain: ClassVar[dict[str, Constraint]] = {}

    def __post_init__(self) -> None:
        if not isinstance(self.base, ScalarFamily):
            raise ParameterError("Truncated", "base", "a scalar family", self.base)
        for name in ("low", "high"):
            value = getattr(self, name)
            if isinstance(value, (list, tuple)):
                object.__setattr__(self, name, np.asarray(value, dtype=np.float64))
            if is_concrete(value) and np.any(np.isnan(np.asarray(value, dtype=np.float64))):
                raise ParameterError("Truncated", name, "a number or ±∞", value)
        if not (is_concrete(self.low) and is_concrete(self.high)):
            return
        low, high = self._ends
        if not np.all(low <= high if self.base.support.is_discrete else low < high):
            raise ParameterError("Truncated", "high", f"above low = {self.low}", self.high)
        if all(is_concrete(v) for v in self.base.parameters.values()) and not np.all(self._mass(namespace(0.0)) > 0):
            raise ParameterError(
                "Truncated",
                "low",
                "such that the base gives [low, high] a probability above 1e-308",
                (self.low, self.high),
            )

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self.base.batch_shape, np.shape(self.low), np.shape(self.high))

    @property
    def _ends(self) -> tuple[Any, Any]:
        """Bounds, rounded inward to integers for a discrete base."""
        if self.base.support.is_discrete:
            return np.ceil(self.low), np.floor(self.high)
        return self.low, self.high

    @property
    def support(self) -> Support:
        base, (low, high) = self.base.support, self._ends
        return Support(base.kind, np.maximum(base.low, low), np.minimum(base.high, high))

    @property
    def _below(self) -> Any:
        """The point up to which the base's mass is cut off."""
        return self._ends[0] - 1.0 if self.base.support.is_discrete else self.low

    def _between(self, xp: Any, low: Any, high: Any) -> Any:
        """P₀(low < X ≤ high), as a difference of the smaller tails."""
        below = self.base.cdf(low)
        left = self.base.cdf(high) - below
        return xp.where(below < 0.5, left, self.base.survival(low) - self.base.survival(high))[()]

    def _mass(self, xp: Any) -> Any:
        return self._between(xp, self._below, self._ends[1])

    def _arguments(self, x: Any) -> tuple[Any, Any]:
        return arguments(x, self.low, self.high, *self.base.parameters.values())

    def log_prob(self, x: Any) -> Any:
        xp, x = self._arguments(x)
        inside = (x >= self.low) & (x <= self.high)
        return within(xp, x, inside, self.base.log_prob(x) - xp.log(self._mass(xp)))

    def cdf(self, x: Any) -> Any:
        xp, x = self._arguments(x)
        part = self._between(xp, self._below, xp.clip(x, self._below, self._ends[1]))
        return xp.clip(part / self._mass(xp), 0.0, 1.0)

    def survival(self, x: Any) -> Any:
        xp, x = self._arguments(x)
        part = self._between(xp, xp.clip(x, self._below, self._ends[1]), self._ends[1])
        return xp.clip(part / self._mass(xp), 0.0, 1.0)

    def quantile(self, q: Any) -> Any:
        _, q = self._levels(q)
        return self._invert(q, 1.0 - q)

    def upper_quantile(self, q: Any) -> Any:
        _, q = self._levels(q)
        return self._invert(1.0 - q, q)

    def _invert(self, lower: Any, upper: Any) -> Any:
        """The value with a share `lower` of the mass below it and `upper` above, from the tail with less beyond it."""
        below, above, mass = self.base.cdf(self._below), self.base.survival(self._ends[1]), self._mass(namespace(0.0))
        from_left = below + lower * mass
        from_right = above + upper * mass
        left = self.base.quantile(np.clip(from_left, 0.0, 1.0))
        right = self.base.upper_quantile(np.clip(from_right, 0.0, 1.0))
        low, high = self.support.low, self.support.high
        inner = np.clip(np.where(from_left <= from_right, left, right), low, high)
        return np.where(lower == 0, low, np.where(upper == 0, high, inner))[()]

    @property
    def mean(self) -> Any:
        """E[X], by quadrature or summation; `UnavailableError` where an open end and the base leave it undefined."""
        self._check_moment("mean", self.base.mean)  # type: ignore[attr-defined]
        return expectation.expect(self, lambda x: x)

    @property
    def variance(self) -> Any:
        """E[(X − mean)²], by quadrature or summation."""
        self._check_moment("variance", self.base.variance)  # type: ignore[attr-defined]

        def spread(one: Truncated) -> Any:
            mean = expectation.expect(one, lambda x: x)
            return expectation.expect(one, lambda x: np.square(x - mean))

        return expectation.each(self, spread) if self.support.is_discrete else spread(self)

    def _check_moment(self, name: str, of_base: Any) -> None:
        bounded = np.isfinite(self.support.low) & np.isfinite(self.support.high)
        if not np.all(bounded | np.isfinite(of_base)):
            raise UnavailableError(
                f"Truncated: the base has no finite {name} and an end is open.", value=self, remedy="Give both bounds."
            )

    @property
    def entropy(self) -> Any:
        """−E[log p(X)], in nats, by quadrature or summation."""
        return expectation.entropy(self)

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        draws = self.quantile(rng.random(size + self.batch_shape))
        return draws.astype(np.int64) if self.base.support.is_discrete else draws

    @classmethod
    def fit(
        cls, x: Any, weights: Any = None, prior: Any = None, *, base: Any = None, low: Any = -np.inf, high: Any = np.inf
    ) -> Self:
        """MLE of the base's parameters given the bounds, or the mode under a dict of families; numerical.

        `base` is a member of the family to start from, such as `Normal(0, 1)`.
        """
        if not isinstance(base, ScalarFamily):
            raise ParameterError("Truncated.fit", "base", "a scalar family to start from", base)
        x, w = observations("Truncated", x, weights, cls(base, low, high).support)
        return cls(posterior_mode(base, x, w, prior, within=lambda member: cls(member, low, high)), low, high)

    def _map(self, function: Callable[[Any, int], Any]) -> Self:
        return type(self)(self.base._map(function), function(self.low, 0), function(self.high, 0))
