"""What must hold between parameters: linear, an expression, or a function."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.spaces.expressions import Expression
from credo.errors import ParameterError

__all__ = ["LinearConstraint", "constraint_of", "holds", "names_of"]


@dataclass(frozen=True)
class LinearConstraint:
    """lower ≤ Σ c_j x_j ≤ upper over named numeric parameters.

    Parameters
    ----------
    coefficients : parameter name → c_j, finite
    lower, upper : finite numbers or None; at least one

    Where one of the parameters is inactive, the constraint does not apply.

    Examples
    --------
    >>> LinearConstraint({"x": 1, "y": 2}, upper=3).holds({"x": 1, "y": 1})
    True
    """

    coefficients: Mapping[str, float]
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.coefficients, Mapping) or not self.coefficients:
            raise ParameterError("LinearConstraint", "coefficients", "a mapping name → number", self.coefficients)
        for value in self.coefficients.values():
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
                raise ParameterError("LinearConstraint", "coefficients", "finite numbers", value)
        if self.lower is None and self.upper is None:
            raise ParameterError("LinearConstraint", "upper", "given, or lower, or both", None)
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound is not None and not (isinstance(bound, numbers.Real) and math.isfinite(bound)):
                raise ParameterError("LinearConstraint", name, "a finite number or None", bound)
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise ParameterError("LinearConstraint", "upper", f"≥ lower = {self.lower}", self.upper)
        object.__setattr__(self, "coefficients", {str(k): float(v) for k, v in self.coefficients.items()})

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.coefficients.items())), self.lower, self.upper))

    def holds(self, params: Mapping[str, Any]) -> bool:
        """Whether it is true of these parameters."""
        total = math.fsum(c * params[name] for name, c in self.coefficients.items())
        return (self.lower is None or total >= self.lower) and (self.upper is None or total <= self.upper)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters it reads."""
        return tuple(self.coefficients)

    @property
    def state(self) -> dict[str, Any]:
        """JSON form."""
        bounds = {"lower": self.lower, "upper": self.upper}
        return {"coefficients": dict(self.coefficients), **{k: v for k, v in bounds.items() if v is not None}}


Constraint = LinearConstraint | Expression | Callable[[Mapping[str, Any]], Any]


def constraint_of(given: Any) -> Constraint:
    """A constraint from what the user wrote."""
    if isinstance(given, (LinearConstraint, Expression)):
        return given
    if isinstance(given, str):
        return Expression(given)
    if isinstance(given, Mapping):
        known = {"coefficients", "lower", "upper"}
        if not set(given) <= known or "coefficients" not in given:
            raise ParameterError("Space", "constraints", "with the keys coefficients, lower, upper", dict(given))
        return LinearConstraint(**given)
    if callable(given):
        return given
    raise ParameterError("Space", "constraints", "LinearConstraint, expressions or functions", given)


def names_of(constraint: Constraint) -> tuple[str, ...]:
    """The parameters it reads, as far as can be known."""
    return constraint.names if isinstance(constraint, (LinearConstraint, Expression)) else ()


def holds(constraint: Constraint, params: Mapping[str, Any]) -> bool:
    """Whether the constraint is true here; it is where one of its parameters is inactive."""
    if isinstance(constraint, (LinearConstraint, Expression)):
        return any(name not in params for name in constraint.names) or constraint.holds(params)
    name = f"constraint {getattr(constraint, '__name__', constraint)!r}"
    wanted = "a function of the active parameters that returns True or False"
    try:
        answer = constraint(dict(params))
    except Exception as error:
        remedy = "An inactive parameter is absent: read it with params.get(name)."
        raise ParameterError("Space", name, f"{wanted} ({error!r})", dict(params), remedy) from error
    if not isinstance(answer, (bool, np.bool_)):  # None of a forgotten return would be read as False, "no" as True
        raise ParameterError("Space", name, wanted, answer)
    return bool(answer)
