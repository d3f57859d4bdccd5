"""Kernels made of kernels: `Sum`, `Product` and `Scaled`. Sums and products of covariance functions are ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from credo.errors import ParameterError
from credo.kernels.base import Hyperparameter, Kernel, Leaf
from credo.kernels.constant import Constant
from credo.saving.registry import register

__all__ = ["Product", "Scaled", "Sum", "add", "multiply"]


@dataclasses.dataclass(frozen=True, repr=False)
class Parts(Kernel):
    """Base of sums and products; hyperparameters are named by part: "0.lengthscale", "1.variance"."""

    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts or not all(isinstance(part, Kernel) for part in self.parts):
            raise ParameterError(type(self).__name__, "parts", "one kernel or more", self.parts)

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return tuple(
            dataclasses.replace(hyper, name=f"{i}.{hyper.name}")
            for i, part in enumerate(self.parts)
            for hyper in part.hyperparameters
        )

    def _with_values(self, values: Mapping[str, np.ndarray]) -> Kernel:
        parts = []
        for i, part in enumerate(self.parts):
            prefix = f"{i}."
            own = {name.removeprefix(prefix): v for name, v in values.items() if name.startswith(prefix)}
            parts.append(part._with_values(own))
        return dataclasses.replace(self, parts=tuple(parts))


@register
@dataclasses.dataclass(frozen=True, repr=False)
class Sum(Parts):
    """k₁ + k₂ + …: a function that is the sum of independent ones."""

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        total = self.parts[0](X, Z)
        for part in self.parts[1:]:
            total = total + part(X, Z)
        return total

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return np.sum([part.diagonal(X) for part in self.parts], axis=0)

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        return np.concatenate([part.gradient(X, Z, weight) for part in self.parts])

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.concatenate([part.diagonal_gradient(X, weight) for part in self.parts])

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.sum([part.input_gradient(X, Z, weight) for part in self.parts], axis=0)


@register
@dataclasses.dataclass(frozen=True, repr=False)
class Product(Parts):
    """k₁ · k₂ · …: similar where all of them say so. A gradient passes to a part with the others as weights."""

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        return _product([part(X, Z) for part in self.parts])

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return _product([part.diagonal(X) for part in self.parts])

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        others = _others([part(X, Z) for part in self.parts])
        return np.concatenate([part.gradient(X, Z, weight * o) for part, o in zip(self.parts, others, strict=True)])

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        others = _others([part.diagonal(X) for part in self.parts])
        return np.concatenate(
            [part.diagonal_gradient(X, weight * o) for part, o in zip(self.parts, others, strict=True)]
        )

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        others = _others([part(X, Z) for part in self.parts])
        return np.sum(
            [part.input_gradient(X, Z, weight * o) for part, o in zip(self.parts, others, strict=True)], axis=0
        )


@register
@dataclasses.dataclass(frozen=True, repr=False)
class Scaled(Leaf):
    """variance · kernel, what a number × a kernel is. Hyperparameters: "variance", then "kernel.…"."""

    positive: ClassVar[tuple[str, ...]] = ("variance",)

    kernel: Kernel
    variance: Any = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.kernel, Kernel):
            raise ParameterError("Scaled", "kernel", "a kernel", self.kernel)
        if self.active_dims is not None:
            raise ParameterError("Scaled", "active_dims", "None", self.active_dims, "State them on the kernel inside.")

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        return self.variance * self.kernel(X, Z)

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return self.variance * self.kernel.diagonal(X)

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        weight = self.variance * weight
        own = [] if self.fixed else [[np.vdot(weight, self.kernel(X, Z))]]
        return np.concatenate([*own, self.kernel.gradient(X, Z, weight)])

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        weight = self.variance * weight
        own = [] if self.fixed else [[np.vdot(weight, self.kernel.diagonal(X))]]
        return np.concatenate([*own, self.kernel.diagonal_gradient(X, weight)])

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return self.kernel.input_gradient(X, Z, self.variance * weight)

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        inner = (dataclasses.replace(hyper, name=f"kernel.{hyper.name}") for hyper in self.kernel.hyperparameters)
        return (*super().hyperparameters, *inner)

    def _with_values(self, values: Mapping[str, np.ndarray]) -> Kernel:
        inner = {name.removeprefix("kernel."): v for name, v in values.items() if name.startswith("kernel.")}
        variance = float(values["variance"][0]) if "variance" in values else self.variance
        return dataclasses.replace(self, variance=variance, kernel=self.kernel._with_values(inner))


def add(left: Any, right: Any) -> Kernel:
    """left + right; a number is a `Constant` of that variance, and sums of sums are one sum."""
    return Sum(tuple(part for side in (left, right) for part in _parts(side, Sum)))


def multiply(left: Any, right: Any) -> Kernel:
    """left · right; a number scales, and products of products are one product."""
    for number, kernel in ((left, right), (right, left)):
        if _is_number(number):
            return Scaled(kernel, number)
    return Product(tuple(part for side in (left, right) for part in _parts(side, Product)))


def _parts(side: Any, kind: type) -> tuple[Kernel, ...]:
    if isinstance(side, kind):
        return side.parts  # type: ignore[attr-defined]
    if _is_number(side):
        return (Constant(side),)
    if not isinstance(side, Kernel):
        raise ParameterError("Kernel", "operand", "a kernel or a number > 0", side)
    return (side,)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) or (isinstance(value, np.ndarray) and value.ndim == 0)


def _product(factors: list[np.ndarray]) -> np.ndarray:
    total = factors[0]
    for factor in factors[1:]:
        total = total * factor
    return total


def _others(factors: list[np.ndarray]) -> list[np.ndarray]:
    """The product of all factors but one, for each: never by division, since a factor may be 0."""
    return [_product([f for j, f in enumerate(factors) if j != i] or [np.ones(1)]) for i in range(len(factors))]
