"""Uniform: log p(x) = −log(high − low) on [low, high]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions.base import FINITE, Constraint, is_concrete, observations
from credo.distributions.fitting import is_flat
from credo.distributions.scalar import ScalarFamily, arguments, within
from credo.distributions.support import REAL, Support
from credo.errors import DataError, ParameterError, UnavailableError

__all__ = ["Uniform"]


@dataclass(frozen=True, eq=False)
class Uniform(ScalarFamily):
    """Uniform distribution on [low, high]; as a prior, MAP is maximum likelihood within the bounds.

    Parameters
    ----------
    low, high : real, low < high, any broadcastable shapes

    Examples
    --------
    >>> import credo as cr
    >>> cr.Uniform(-1, 3).mean
    np.float64(1.0)
    """

    low: Any = 0.0
    high: Any = 1.0

    domain: ClassVar[dict[str, Constraint]] = {"low": FINITE, "high": FINITE}

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_concrete(self.low) and is_concrete(self.high) and not np.all(np.less(self.low, self.high)):
            raise ParameterError("Uniform", "high", f"> low = {self.low}", self.high)

    @property
    def support(self) -> Support:
        return Support("real", self.low, self.high)

    @property
    def mean(self) -> Any:
        """(low + high)/2."""
        return self._whole(0.5 * np.asarray(self.low) + 0.5 * np.asarray(self.high))

    @property
    def variance(self) -> Any:
        """(high − low)²/12."""
        return self._whole(np.square(self._width) / 12.0)

    @property
    def entropy(self) -> Any:
        """log(high − low), in nats."""
        return self._whole(np.log(self._width))

    @property
    def _width(self) -> Any:
        return self.high - self.low

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.low, self.high)
        return within(xp, x, (x >= self.low) & (x <= self.high), -xp.log(self._width))

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.low, self.high)
        return xp.clip((x - self.low) / self._width, 0.0, 1.0)

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.low, self.high)
        return xp.clip((self.high - x) / self._width, 0.0, 1.0)

    def quantile(self, q: Any) -> Any:
        _, q = self._levels(q)
        return self.low + q * self._width

    def upper_quantile(self, q: Any) -> Any:
        _, q = self._levels(q)
        return self.high - q * self._width

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return self.low + self._width * rng.random(size + self.batch_shape)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE: the smallest and largest observation of positive weight.

        `prior`: flat, or {"high": Pareto(…)}, the conjugate one: high is then at least the Pareto's scale (the density
        falls in `high`, so its mode is the bound).
        """
        from credo.distributions.pareto import Pareto

        x, w = observations("Uniform", x, weights, REAL)
        low, high = x[w > 0].min(), x[w > 0].max()
        if isinstance(prior, dict) and isinstance(prior.get("high"), Pareto):
            high = np.maximum(high, np.float64(prior["high"].scale))
            prior = {name: p for name, p in prior.items() if name != "high"}
        if not is_flat(prior, {"low": low, "high": high}):
            raise UnavailableError(
                "Uniform.fit takes a flat prior or {'high': Pareto(...)}.", value=prior, remedy="Use one of these."
            )
        if low == high:
            raise DataError("Uniform.fit: all observations are equal, so the interval would be empty.", value=low)
        return cls(low, high)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """mean ± √3 sd."""
        if np.any(np.asarray(sd) <= 0):
            raise ParameterError("Uniform.from_moments", "sd", "> 0", sd)
        reach = np.sqrt(3.0) * np.asarray(sd)[()]
        return cls(mean - reach, mean + reach)
