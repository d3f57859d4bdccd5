"""`Choice`, `Ordinal`, `Boolean`, `Constant`: finitely many values."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.design.spaces.parameters import Parameter
from credo.errors import ParameterError

__all__ = ["Choice", "Ordinal", "Boolean", "Constant", "identity"]


def identity(value: Any) -> tuple[str, Any]:
    """Equal for the same choice: 1 and 1.0 are one value, 1 and True are two, and so are 1 and "1"."""
    if isinstance(value, (bool, np.bool_)):
        return "bool", bool(value)
    if isinstance(value, numbers.Real):
        return "number", float(value)
    return type(value).__name__, value


def plain(owner: str, parameter: str, value: Any) -> Any:
    """A JSON scalar: text, a finite number, a boolean or None."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    remedy = "Name each by a text, and look the object up under that name."
    raise ParameterError(owner, parameter, "text, finite numbers, booleans or None", value, remedy)


def _distinct(owner: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray, set, frozenset, range)):
        raise ParameterError(owner, "choices", "a list of values", values)
    if isinstance(values, (set, frozenset)):
        raise ParameterError(owner, "choices", "a list: a set has no order, and the encoding needs one", values)
    listed = tuple(plain(owner, "choices", value) for value in values)
    if not listed:
        raise ParameterError(owner, "choices", "not empty", values)
    if len({identity(value) for value in listed}) < len(listed):
        raise ParameterError(owner, "choices", "distinct", values)
    return listed


@dataclass(frozen=True)
class _Listed(Parameter):
    choices: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", _distinct(type(self).__name__, self.choices))
        object.__setattr__(self, "_place", {identity(value): i for i, value in enumerate(self.choices)})

    @property
    def count(self) -> float:
        return len(self.choices)

    def index(self, value: Any) -> int:
        """Place of the value in the list, −1 if it is not there."""
        try:
            return self._place.get(identity(value), -1)  # type: ignore[attr-defined]
        except TypeError:  # unhashable
            return -1

    def contains(self, value: Any) -> bool:
        return self.index(value) >= 0

    def normal(self, value: Any) -> Any:
        return self.choices[self.index(value)]

    def quantile(self, u: np.ndarray) -> list[Any]:
        k = len(self.choices)
        return [self.choices[i] for i in np.clip(np.floor(np.asarray(u) * k), 0, k - 1).astype(int).tolist()]

    def narrowed(self, owner: str, to: Any) -> Parameter:
        kept = _distinct(owner, [to] if isinstance(to, str) or not isinstance(to, (Sequence, np.ndarray)) else to)
        missing = [value for value in kept if not self.contains(value)]
        if missing:
            raise ParameterError(owner, "choices", f"among {list(self.choices)}", missing[0])
        if len(kept) == 1:
            return Constant(self.normal(kept[0]), when=self.when)
        places = sorted(self.index(value) for value in kept)
        return self._of(tuple(self.choices[i] for i in places))

    def _of(self, choices: tuple[Any, ...]) -> Parameter:
        return dataclasses.replace(self, choices=choices)

    @property
    def options(self) -> dict[str, Any]:
        return {"choices": list(self.choices)}


@dataclass(frozen=True)
class Choice(_Listed):
    """One of several values without order; `cr.Categorical([…])` inside a `Space` is this.

    Encoded one-hot, so that any two values are equally far apart. Values are text, numbers, booleans or None.

    Examples
    --------
    >>> Choice(["rbf", "matern"]).to_unit(["matern"]).tolist()
    [[0.0, 1.0]]
    """

    kind: ClassVar[str] = "categorical"

    @property
    def width(self) -> int:  # type: ignore[override]
        return len(self.choices)

    @property
    def midpoint(self) -> np.ndarray:
        return np.full(self.width, 1.0 / self.width)

    def to_unit(self, values: Sequence[Any]) -> np.ndarray:
        return np.eye(self.width)[[self.index(value) for value in values]]

    def from_unit(self, u: np.ndarray) -> list[Any]:
        return [self.choices[i] for i in np.argmax(u, axis=1).tolist()]

    def gap(self, a: Any, b: Any) -> float:
        return float(self.index(a) != self.index(b))


@dataclass(frozen=True)
class Ordinal(_Listed):
    """One of several values in their order, such as ``["small", "medium", "large"]`` or ``[16, 32, 64]``.

    The i-th of k encodes as (i + ½)/k: neighbours are near, and their distance is not the difference of their names.

    Examples
    --------
    >>> Ordinal([16, 32, 64, 128]).to_unit([16, 128]).ravel().tolist()
    [0.125, 0.875]
    """

    kind: ClassVar[str] = "ordinal"

    def to_unit(self, values: Sequence[Any]) -> np.ndarray:
        place = np.array([self.index(value) for value in values], dtype=np.float64)
        return ((place + 0.5) / len(self.choices))[:, None]

    def from_unit(self, u: np.ndarray) -> list[Any]:
        return self.quantile(np.asarray(u)[:, 0])


@dataclass(frozen=True)
class Boolean(Ordinal):
    """True or False.

    Examples
    --------
    >>> Boolean().quantile([0.2, 0.8])
    [False, True]
    """

    choices: tuple[Any, ...] = dataclasses.field(default=(False, True), init=False)
    kind: ClassVar[str] = "boolean"

    @property
    def options(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class Constant(Parameter):
    """A parameter that takes one value: fixed, yet still named in every point. It has no coordinate."""

    value: Any
    kind: ClassVar[str] = "constant"
    width: ClassVar[int] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", plain("Constant", "value", self.value))

    @property
    def count(self) -> float:
        return 1

    def contains(self, value: Any) -> bool:
        return identity(value) == identity(self.value)

    def normal(self, value: Any) -> Any:
        return self.value

    def to_unit(self, values: Sequence[Any]) -> np.ndarray:
        return np.empty((len(values), 0))

    def from_unit(self, u: np.ndarray) -> list[Any]:
        return [self.value] * len(u)

    def quantile(self, u: np.ndarray) -> list[Any]:
        return [self.value] * len(u)

    def gap(self, a: Any, b: Any) -> float:
        return 0.0

    def narrowed(self, owner: str, to: Any) -> Parameter:
        ends = list(to) if isinstance(to, (Sequence, np.ndarray)) and not isinstance(to, str) else [to]
        numeric = len(ends) == 2 and all(isinstance(end, numbers.Real) for end in [*ends, self.value])
        if any(self.contains(end) for end in ends) or (numeric and ends[0] <= self.value <= ends[1]):
            return self
        raise ParameterError(owner, "range", f"to hold the fixed value {self.value!r}", to)

    @property
    def options(self) -> dict[str, Any]:
        return {"value": self.value}
