"""Kernels made of kernels: `Sum`, `Product` and `Scaled`. Sums and products of covariance functions are ones."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.kernels.base import HalfPullback, Hyperparameter, Kernel, Leaf, Pullback
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
        return _sum(part(X, Z) for part in self.parts)

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return np.sum([part.diagonal(X) for part in self.parts], axis=0)

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        return np.concatenate([part.gradient(X, Z, weight) for part in self.parts])

    def _value_and_pullback(self, X: np.ndarray) -> tuple[np.ndarray, Pullback]:
        values, pullbacks = zip(*(part.value_and_pullback(X) for part in self.parts), strict=True)
        return _sum(iter(values)), lambda weight: np.concatenate([pullback(weight) for pullback in pullbacks])

    def half_and_pullback(self, X: np.ndarray, factor: float = 1.0) -> tuple[np.ndarray, HalfPullback]:
        K, first = self.parts[0].half_and_pullback(X, factor)
        pullbacks = [first]
        for part in self.parts[1:]:
            more, pullback = part.half_and_pullback(X, factor)
            K += more
            pullbacks.append(pullback)

        def pullback_of_all(weight: np.ndarray) -> tuple[float, np.ndarray]:
            values, gradients = zip(*(pullback(weight) for pullback in pullbacks), strict=True)
            return sum(values), np.concatenate(gradients)

        return K, pullback_of_all

    def derivative(self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None) -> np.ndarray:
        return _sum(part.derivative(X, Z, i, j) for part in self.parts)

    def derivative_gradient(
        self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None, weight: np.ndarray
    ) -> np.ndarray:
        return np.concatenate([part.derivative_gradient(X, Z, i, j, weight) for part in self.parts])

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.concatenate([part.diagonal_gradient(X, weight) for part in self.parts])

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.sum([part.input_gradient(X, Z, weight) for part in self.parts], axis=0)


@register
@dataclasses.dataclass(frozen=True, repr=False)
class Product(Parts):
    """k₁ · k₂ · …: similar where all of them say so. A gradient passes to a part with the others as weights."""

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        self._check_range(X, Z)
        return _product([part(X, Z) for part in self.parts])

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        self._check_range(X)
        return _product([part.diagonal(X) for part in self.parts])

    def _check_range(self, *rows: np.ndarray | None) -> None:
        """k overflows nowhere if it does not at a row with itself."""
        for X in rows:
            if X is not None:
                with np.errstate(over="ignore"):
                    _check_finite(self, _product([part.diagonal(X) for part in self.parts]))

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        others = _others([part(X, Z) for part in self.parts])
        return np.concatenate([part.gradient(X, Z, weight * o) for part, o in zip(self.parts, others, strict=True)])

    def _value_and_pullback(self, X: np.ndarray) -> tuple[np.ndarray, Pullback]:
        values, pullbacks = zip(*(part.value_and_pullback(X) for part in self.parts), strict=True)

        def pullback(weight: np.ndarray) -> np.ndarray:
            others = _others(list(values))
            return np.concatenate([pull(weight * other) for pull, other in zip(pullbacks, others, strict=True)])

        self._check_range(X)
        return _product([values[0].copy(), *values[1:]]), pullback

    def derivative(self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None) -> np.ndarray:
        tables = [_table(part, X, Z, i, j) for part in self.parts]
        return functools.reduce(_leibniz, tables)[i is not None, j is not None]

    def derivative_gradient(
        self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None, weight: np.ndarray
    ) -> np.ndarray:
        """By Leibniz: of the derivatives each part takes some, and the others the rest, which weigh it."""
        tables = [_table(part, X, Z, i, j) for part in self.parts]
        gradients = []
        for n, part in enumerate(self.parts):
            others = functools.reduce(_leibniz, (*tables[:n], *tables[n + 1 :]), _ONE)
            gradients.append(
                np.sum(
                    [
                        part.derivative_gradient(X, Z, i if a else None, j if b else None, weight * rest)
                        for a, b in tables[n]
                        if (rest := others.get(((i is not None) != a, (j is not None) != b))) is not None
                    ],
                    axis=0,
                )
            )
        return np.concatenate(gradients)

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
        self._check_range(X, Z)
        return self.variance * self.kernel(X, Z)

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        self._check_range(X)
        return self.variance * self.kernel.diagonal(X)

    def _check_range(self, *rows: np.ndarray | None) -> None:
        """k overflows nowhere if it does not at a row with itself."""
        if self.variance > 1.0:
            for X in rows:
                if X is not None:
                    with np.errstate(over="ignore"):
                        _check_finite(self, self.variance * self.kernel.diagonal(X))

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        self._check_range(X, Z)
        own = [] if self.fixed else [[self.variance * np.vdot(weight, self.kernel(X, Z))]]
        return np.concatenate([*own, self.variance * self.kernel.gradient(X, Z, weight)])

    def _value_and_pullback(self, X: np.ndarray) -> tuple[np.ndarray, Pullback]:
        self._check_range(X)
        K, inner = self.kernel.value_and_pullback(X)

        def pullback(weight: np.ndarray) -> np.ndarray:
            own = [] if self.fixed else [[self.variance * np.vdot(weight, K)]]
            return np.concatenate([*own, self.variance * inner(weight)])

        return self.variance * K, pullback

    def half_and_pullback(self, X: np.ndarray, factor: float = 1.0) -> tuple[np.ndarray, HalfPullback]:
        self._check_range(X)
        K, inner = self.kernel.half_and_pullback(X, factor * self.variance)

        def pullback(weight: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = inner(weight)
            return value, np.concatenate([[] if self.fixed else [value], gradient])

        return K, pullback

    def derivative(self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None) -> np.ndarray:
        return self.variance * self.kernel.derivative(X, Z, i, j)

    def derivative_gradient(
        self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None, weight: np.ndarray
    ) -> np.ndarray:
        own = [] if self.fixed else [[self.variance * np.vdot(weight, self.kernel.derivative(X, Z, i, j))]]
        inner = self.kernel.derivative_gradient(X, Z, i, j, weight)
        return np.concatenate([*own, self.variance * inner])

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        own = [] if self.fixed else [[self.variance * np.vdot(weight, self.kernel.diagonal(X))]]
        return np.concatenate([*own, self.variance * self.kernel.diagonal_gradient(X, weight)])

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return self.variance * self.kernel.input_gradient(X, Z, weight)

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


def _check_finite(kernel: Kernel, diagonal: np.ndarray) -> None:
    if not np.all(np.isfinite(diagonal)):
        raise NumericalError(
            f"{type(kernel).__name__}: k(x, x) overflows.",
            value=kernel,
            remedy="Standardise the columns, or state a smaller variance.",
        )


def _sum(terms: Iterator[np.ndarray]) -> np.ndarray:
    total = next(terms).copy()  # its part may keep it
    for term in terms:
        total += term
    return total


def _product(factors: list[np.ndarray]) -> np.ndarray:
    total = factors[0]
    for factor in factors[1:]:
        total = total * factor
    return total


#: (whether ∂/∂x_i was taken, whether ∂/∂z_j was) → that derivative (n, m); only those that exist and are needed
Table = dict[tuple[bool, bool], np.ndarray]
_ONE: Table = {(False, False): np.ones(1)}


def _table(part: Kernel, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None) -> Table:
    taken = itertools.product([False, True] if i is not None else [False], [False, True] if j is not None else [False])
    return {(a, b): part.derivative(X, Z, i if a else None, j if b else None) for a, b in taken}


def _leibniz(left: Table, right: Table) -> Table:
    """The derivatives of a product: each goes to either factor."""
    table: Table = {}
    for ((a, b), u), ((c, d), v) in itertools.product(left.items(), right.items()):
        if not (a and c) and not (b and d):
            table[a or c, b or d] = table.get((a or c, b or d), 0.0) + u * v
    return table


def _others(factors: list[np.ndarray]) -> list[np.ndarray]:
    """The product of all factors but one, for each: never by division, since a factor may be 0."""
    return [_product([f for j, f in enumerate(factors) if j != i] or [np.ones(1)]) for i in range(len(factors))]
