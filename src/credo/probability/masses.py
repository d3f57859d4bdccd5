"""Masses of finitely many outcomes, exact or floating: numerators over one common denominator.

Exact masses are integers over an integer, so that a sum over a million equally likely outcomes is one NumPy sum and the
answer still a `Fraction`; floating masses are float64 over 1.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from credo.errors import ParameterError

__all__ = ["Masses", "exactly", "is_exact"]

# Sums below 2⁶² leave room for one more addition in int64; beyond, Python's integers take over.
INT64 = 1 << 62
# How far a sum of stated floating probabilities may be from 1: three printed digits per outcome are not enough, the
# rounding of any arithmetic is.
ROUNDING = 1e-9


def is_exact(value: Any) -> bool:
    """Whether arithmetic with it loses nothing: an integer or a `Fraction`, not a bool."""
    return isinstance(value, numbers.Rational) and not isinstance(value, bool)


def exactly(value: Any) -> Fraction:
    """The `Fraction` in Python's own integers: of a NumPy integer `Fraction` would keep its width, and overflow.

    >>> exactly(np.int8(100)) + exactly(np.int8(100))
    Fraction(200, 1)
    """
    return Fraction(int(value.numerator), int(value.denominator))


@dataclass(frozen=True, eq=False)
class Masses:
    """Numerators (n,), int64, Python integers or float64, over `denominator`: an int if exact, else 1.0."""

    numerators: np.ndarray
    denominator: Any

    @property
    def exact(self) -> bool:
        return self.numerators.dtype.kind != "f"

    @classmethod
    def equal(cls, n: int) -> Masses:
        """1/n each."""
        return cls(np.ones(n, dtype=np.int64), n)

    @classmethod
    def of(cls, owner: str, names: Sequence[Any], values: Sequence[Any]) -> Masses:
        """From probabilities that sum to 1: exactly where all are rational, within 1e-9 where one is a float."""
        for name, value in zip(names, values, strict=True):
            if not (isinstance(value, numbers.Real) and math.isfinite(value) and float(value) >= 0.0):
                raise ParameterError(owner, f"probabilities[{name!r}]", "a number ≥ 0", value)
        if all(is_exact(value) for value in values):
            fractions = [exactly(value) for value in values]
            total: Any = sum(fractions)
            if total != 1:
                raise _unnormalised(owner, total)
            return cls.of_fractions(fractions)
        array = np.array([float(value) for value in values])
        total = math.fsum(array)
        if abs(total - 1.0) > ROUNDING:
            raise _unnormalised(owner, total)
        return cls(array / total, 1.0)

    @classmethod
    def of_fractions(cls, fractions: Sequence[Fraction]) -> Masses:
        denominator = math.lcm(*(f.denominator for f in fractions))
        return cls._integers([f.numerator * (denominator // f.denominator) for f in fractions], denominator)

    @classmethod
    def _integers(cls, values: Any, denominator: int) -> Masses:
        return cls(np.array(values, dtype=np.int64 if denominator < INT64 else object), denominator)

    def sum(self, mask: np.ndarray) -> Any:
        """Their sum where mask (n,) holds: a `Fraction` or a float."""
        return self._value(self.numerators[mask].sum())

    def at(self, i: int) -> Any:
        return self._value(self.numerators[i])

    def _value(self, numerator: Any) -> Any:
        return Fraction(int(numerator), self.denominator) if self.exact else float(numerator)

    def floats(self) -> np.ndarray:
        """(n,) float64, summing to 1 up to rounding."""
        return np.asarray(self.numerators / self.denominator, dtype=np.float64)

    def renormalised(self, mask: np.ndarray) -> Masses:
        """Those where mask holds, as a share of their sum, which must not be 0."""
        kept = self.numerators[mask]
        total = kept.sum()
        return Masses(kept, int(total)) if self.exact else Masses(kept / total, 1.0)

    def outer(self, other: Masses) -> Masses:
        """All products, the other's index running fastest, (n m,)."""
        if not (self.exact and other.exact):
            return Masses(np.outer(self.floats(), other.floats()).ravel(), 1.0)
        denominator = self.denominator * other.denominator
        kind: Any = np.int64 if denominator < INT64 else object
        return Masses(np.outer(self.numerators.astype(kind), other.numerators.astype(kind)).ravel(), denominator)


def _unnormalised(owner: str, total: Any) -> ParameterError:
    return ParameterError(
        owner, "probabilities", "numbers that sum to 1", total, "Divide them by their sum, or pass weights=."
    )
