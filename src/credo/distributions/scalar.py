"""`ScalarFamily`: a family over the real line or the integers, with both tails at full accuracy.

Besides the contract of `Family` it supplies P(X > x) and its inverse, which keep their digits where 1 − cdf(x) has
none left:

    survival(x)        P(X > x)
    upper_quantile(q)  the x with P(X > x) = q (integers: the smallest with P(X > x) ≤ q)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from credo.distributions.base import Constraint, Family, is_concrete
from credo.errors import ParameterError
from credo.numerics.namespace import namespace

__all__ = ["ScalarFamily", "COUNT", "POSITIVE_PROBABILITY", "PROBABILITY_VECTOR", "arguments", "within",
           "spread", "member", "implied_sd"]  # fmt: skip

COUNT = Constraint("an integer ≥ 0", lambda v: np.isfinite(v) & (v >= 0) & (np.floor(v) == v))
POSITIVE_PROBABILITY = Constraint("> 0 and ≤ 1", lambda v: (v > 0) & (v <= 1))
#: 1e-6: above the rounding of a float32 table, far below a forgotten category
PROBABILITY_VECTOR = Constraint(
    "probabilities ≥ 0 that sum to 1 over the last axis",
    lambda v: np.asarray(v.ndim > 0 and np.all(v >= 0) and np.all(np.abs(v.sum(-1) - 1.0) <= 1e-6)),
)


class ScalarFamily(Family):
    """Base of the families whose values are single numbers."""

    def cdf(self, x: Any) -> Any:
        """P(X ≤ x)."""
        raise NotImplementedError

    def survival(self, x: Any) -> Any:
        """P(X > x), accurate in the upper tail."""
        raise NotImplementedError

    def quantile(self, q: Any) -> Any:
        """The x with P(X ≤ x) = q; for integers the smallest with P(X ≤ x) ≥ q."""
        raise NotImplementedError

    def upper_quantile(self, q: Any) -> Any:
        """The x with P(X > x) = q, accurate for tiny q."""
        raise NotImplementedError

    @property
    def median(self) -> Any:
        """The quantile of ½."""
        return self.quantile(0.5)

    def _whole(self, value: Any) -> Any:
        """`value` broadcast to the batch shape (a scalar stays a NumPy scalar)."""
        return value + np.zeros(self.batch_shape)

    def _map(self, function: Callable[[Any, int], Any]) -> Self:
        """The family with `function(value, trailing)` for each parameter; `trailing` axes are not of the batch."""
        return dataclasses.replace(self, **{n: function(v, 0) for n, v in self.parameters.items()})  # type: ignore[type-var]

    def _levels(self, q: Any) -> tuple[Any, Any]:
        """Namespace and probabilities of a quantile, checked; NaN passes."""
        if is_concrete(q):
            q = np.asarray(q, dtype=np.float64)
            if np.any((q < 0) | (q > 1)):
                raise ParameterError(type(self).__name__, "q", "between 0 and 1", q)
        return namespace(q, *self.parameters.values()), q


def arguments(x: Any, *parameters: Any) -> tuple[Any, Any]:
    """The namespace of `x` and the parameters, and `x` as an array (lists too)."""
    return namespace(x, *parameters), np.asarray(x)[()] if is_concrete(x) else x


def within(xp: Any, x: Any, inside: Any, value: Any) -> Any:
    """`value` inside the support, −∞ outside, NaN for NaN."""
    return xp.where(inside, value, xp.where(xp.isnan(x), xp.nan, -xp.inf))[()]


def spread(family: ScalarFamily, shape: tuple[int, ...]) -> ScalarFamily:
    """The family with its parameters broadcast to a batch shape."""
    return family._map(lambda v, k: np.broadcast_to(v, shape + np.shape(v)[np.ndim(v) - k :]))


def member(family: ScalarFamily, shape: tuple[int, ...], index: tuple[int, ...]) -> ScalarFamily:
    """One element of the family broadcast to a batch shape."""
    return spread(family, shape)._map(lambda v, k: v[index])


def implied_sd(owner: str, sd: Any, implied: Any) -> None:
    """Check the sd given to a one-parameter family against the one that its mean implies (six digits, as typed)."""
    if sd is not None and not np.allclose(sd, implied, rtol=1e-6, atol=0.0):
        raise ParameterError(
            f"{owner}.from_moments",
            "sd",
            f"{np.asarray(implied)}, which the mean implies",
            sd,
            "Leave it out, or choose a family with two parameters.",
        )
