"""`LinearGaussian`: what a continuous node is, given its continuous parents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.saving import register

__all__ = ["LinearGaussian", "number"]


@register
@dataclass(frozen=True)
class LinearGaussian:
    """x = intercept + Σ coefficient · parent + N(0, sd²): a node of a Gaussian network.

    Parameters
    ----------
    intercept : real; the mean of a node without parents
    coefficients : parent → real
    sd : ≥ 0, in units of x; with 0 the node is a function of its parents

    Examples
    --------
    >>> LinearGaussian(1.0, {"rain": 0.5}, sd=0.2)
    LinearGaussian(1.0, {'rain': 0.5}, sd=0.2)
    >>> LinearGaussian(sd=-1)
    Traceback (most recent call last):
    credo.errors.ParameterError: LinearGaussian.sd must be ≥ 0, got -1.
    """

    intercept: float = 0.0
    coefficients: Mapping[str, float] = field(default_factory=dict)
    sd: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.coefficients, Mapping) or not all(isinstance(name, str) for name in self.coefficients):
            raise ParameterError("LinearGaussian", "coefficients", "a mapping {parent: number}", self.coefficients)
        weights = {p: number("LinearGaussian", f"coefficients[{p!r}]", w) for p, w in self.coefficients.items()}
        sd = number("LinearGaussian", "sd", self.sd)
        if sd < 0.0:
            raise ParameterError("LinearGaussian", "sd", "≥ 0", self.sd)
        object.__setattr__(self, "intercept", number("LinearGaussian", "intercept", self.intercept))
        object.__setattr__(self, "coefficients", MappingProxyType(weights))
        object.__setattr__(self, "sd", sd)

    def state(self) -> dict[str, Any]:
        """What a file keeps."""
        return {"intercept": self.intercept, "coefficients": dict(self.coefficients), "sd": self.sd}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], version: int) -> LinearGaussian:
        """The inverse of `state`."""
        return cls(**state)

    def __reduce__(self) -> Any:
        return LinearGaussian, (self.intercept, dict(self.coefficients), self.sd)

    def __repr__(self) -> str:
        weights = f"{dict(self.coefficients)!r}, " if self.coefficients else ""
        return f"LinearGaussian({self.intercept!r}, {weights}sd={self.sd!r})"


def number(owner: str, parameter: str, value: Any) -> float:
    """A finite float, or a named error."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if found.ndim or not np.isfinite(found) or isinstance(value, str):
        raise ParameterError(owner, parameter, "a finite number", value)
    return float(found)
