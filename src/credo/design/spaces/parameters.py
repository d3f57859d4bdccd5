"""`Real` and `Integer`: a range of numbers, measured linearly or by its logarithm."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.errors import ParameterError

__all__ = ["Parameter", "Real", "Integer"]

# Above these a cell of the unit interval is no longer wide against the rounding of float64, and an integer would not
# survive encoding: (n + ½)/N·N errs by N·2⁻⁵², exp(log n) by n·2⁻⁴⁷.
MOST_INTEGERS = 2**50
LARGEST_LOG_INTEGER = 2**40
ONE_VALUE = "For one value write Constant(value), in a file {value = …}."


@dataclass(frozen=True)
class Parameter:
    """One thing that can be chosen, and how its values lie in the unit interval.

    Parameters
    ----------
    when : None if the parameter always matters; else a mapping from other parameters to the value, or the list of
        values, at which it does; an expression such as ``"depth > 2"``; or a function of the parameters chosen so far

    A subclass supplies `to_unit`, `from_unit`, `quantile`, `contains`, `narrowed` and `options`.
    """

    when: Any = dataclasses.field(default=None, kw_only=True)

    #: what the coordinate means to a model of the objective
    kind: ClassVar[str] = ""
    #: columns of the encoding
    width: ClassVar[int] = 1

    @property
    def count(self) -> float:
        """How many values there are, ∞ for a real."""
        raise NotImplementedError

    def contains(self, value: Any) -> bool:
        """Whether the parameter may take this value."""
        raise NotImplementedError

    def normal(self, value: Any) -> Any:
        """The value as a plain Python object, so that equal points are equal JSON."""
        raise NotImplementedError

    def to_unit(self, values: Sequence[Any]) -> np.ndarray:
        """Shape (n, width), within [0, 1] for values that the parameter contains."""
        raise NotImplementedError

    def from_unit(self, u: np.ndarray) -> list[Any]:
        """The values nearest to these coordinates, shape (n, width); coordinates outside [0, 1] are clipped."""
        raise NotImplementedError

    def quantile(self, u: np.ndarray) -> list[Any]:
        """One value for each number of [0, 1): uniform numbers give uniform values (of the logarithm if `log`)."""
        return self.from_unit(np.asarray(u, dtype=np.float64)[:, None])

    def narrowed(self, owner: str, to: Any) -> Parameter:
        """The parameter with fewer values; `ParameterError` if some of `to` were not allowed before."""
        raise NotImplementedError

    @property
    def midpoint(self) -> np.ndarray:
        """Coordinates for a point where the parameter is inactive: the same distance from both ends."""
        return np.full(self.width, 0.5)

    def gap(self, a: Any, b: Any) -> float:
        """Distance of two values in [0, 1]."""
        u = self.to_unit([a, b])
        return float(abs(u[0, 0] - u[1, 0]))

    @property
    def options(self) -> dict[str, Any]:
        """The constructor's arguments without `when`, as JSON data."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Range(Parameter):
    low: Any
    high: Any
    log: bool = False

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name in ("low", "high"):
            value = getattr(self, name)
            if not _is_number(value) or not math.isfinite(value):
                raise ParameterError(owner, name, "a finite number", value)
            object.__setattr__(self, name, self._plain(name, value))
        if not isinstance(self.log, (bool, np.bool_)):
            raise ParameterError(owner, "log", "True or False", self.log)
        if not self.low < self.high:
            raise ParameterError(owner, "high", f"greater than low = {self.low}", self.high, ONE_VALUE)
        if self.log and self.low <= 0:
            raise ParameterError(owner, "low", "> 0 on a logarithmic scale", self.low)

    def _plain(self, name: str, value: Any) -> Any:
        return float(value)

    def _ends(self) -> tuple[float, float]:
        """What 0 and 1 of the unit interval stand for, on the measuring scale."""
        return (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)

    def to_unit(self, values: Sequence[Any]) -> np.ndarray:
        value = np.asarray(values, dtype=np.float64)
        low, high = self._ends()
        u = (np.log(value) if self.log else value) / 2 - low / 2  # halves: high − low may overflow
        return (u / (high / 2 - low / 2))[:, None]

    def _measure(self, u: np.ndarray) -> np.ndarray:
        u = np.clip(u[:, 0], 0.0, 1.0)
        low, high = self._ends()
        scale = low * (1.0 - u) + high * u
        return np.exp(scale) if self.log else scale

    def narrowed(self, owner: str, to: Any) -> Parameter:
        low, high = _pair(owner, to)
        low = self.low if low is None else low
        high = self.high if high is None else high
        if not self.contains(low) or not self.contains(high):
            raise ParameterError(owner, "range", f"within [{self.low}, {self.high}]", to)
        if low == high:
            from credo.design.spaces.choices import Constant

            return Constant(self.normal(low), when=self.when)
        return dataclasses.replace(self, low=low, high=high)

    @property
    def options(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, **({"log": True} if self.log else {})}


def _is_number(value: Any) -> bool:
    """True and False are numbers to Python, and a slip here."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _pair(owner: str, to: Any) -> tuple[Any, Any]:
    try:
        low, high = to
    except (TypeError, ValueError):
        raise ParameterError(owner, "range", "a pair (low, high)", to) from None
    return low, high


@dataclass(frozen=True)
class Real(_Range):
    """A real number of [low, high], uniform in x or, with `log=True`, in log x.

    u = (x − low)/(high − low), or (log x − log low)/(log high − log low).

    Parameters
    ----------
    low, high : finite, low < high; low > 0 if `log`
    log : whether equal ratios are equal steps, as for a learning rate

    Examples
    --------
    >>> Real(1e-4, 1, log=True).quantile([0.0, 0.5])
    [0.0001, 0.01000...]
    """

    low: float
    high: float
    log: bool = False
    kind: ClassVar[str] = "real"

    @property
    def count(self) -> float:
        return math.inf

    def contains(self, value: Any) -> bool:
        return _is_number(value) and self.low <= float(value) <= self.high

    def normal(self, value: Any) -> float:
        return float(value)

    def from_unit(self, u: np.ndarray) -> list[float]:
        # Rounding may step over an end, which a constraint at the end would punish.
        value = np.clip(self._measure(np.asarray(u, dtype=np.float64)), self.low, self.high)
        u = np.asarray(u)[:, 0]
        return np.where(u <= 0, self.low, np.where(u >= 1, self.high, value)).tolist()


@dataclass(frozen=True)
class Integer(_Range):
    """A whole number of {low, …, high}, both ends included; with `log=True` small numbers get wider cells.

    Each number owns a cell [n − ½, n + ½] of the measuring scale and encodes as its middle (its own place on the
    logarithmic scale), so that uniform coordinates choose all numbers equally often and every number survives
    encoding exactly.

    Parameters
    ----------
    low, high : integers, low < high, fewer than 2⁵⁰ apart (high ≤ 2⁴⁰ if `log`, so that no number is lost to rounding)
    log : whether equal ratios are equal steps; needs low ≥ 1

    Examples
    --------
    >>> depth = Integer(1, 4)
    >>> depth.quantile([0.0, 0.3, 0.99])
    [1, 2, 4]
    >>> depth.to_unit([1, 4]).ravel().tolist()
    [0.125, 0.875]
    """

    low: int
    high: int
    log: bool = False
    kind: ClassVar[str] = "integer"

    def _plain(self, name: str, value: Any) -> int:
        if value != int(value):
            raise ParameterError("Integer", name, "a whole number", value)
        return int(value)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.high - self.low >= MOST_INTEGERS:
            raise ParameterError("Integer", "high", "less than low + 2**50", self.high, "Use Real and round.")
        if self.log and self.high > LARGEST_LOG_INTEGER:
            raise ParameterError("Integer", "high", "at most 2**40 on a logarithmic scale", self.high)

    def _ends(self) -> tuple[float, float]:
        if self.log:
            return math.log(self.low - 0.5), math.log(self.high + 0.5)
        return -0.5, self.high - self.low + 0.5  # counted from low, so that a far origin costs no digits

    @property
    def count(self) -> float:
        return self.high - self.low + 1

    def contains(self, value: Any) -> bool:
        return _is_number(value) and self.low <= value <= self.high and int(value) == value

    def normal(self, value: Any) -> int:
        return int(value)

    def to_unit(self, values: Sequence[Any]) -> np.ndarray:
        if self.log:
            return super().to_unit(values)
        return super().to_unit([value - self.low for value in values])

    def from_unit(self, u: np.ndarray) -> list[int]:
        scale = self._measure(np.asarray(u, dtype=np.float64))
        if self.log:
            return [min(max(math.floor(v + 0.5), self.low), self.high) for v in scale.tolist()]
        last = self.high - self.low
        return [self.low + min(max(math.floor(v + 0.5), 0), last) for v in scale.tolist()]
