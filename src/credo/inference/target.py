"""`Target`: all that an engine knows of a model: an unnormalised log density over named blocks of a flat vector.

Notation: x (dim,) is the flat position, the blocks of `shapes` in order, each in C order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from credo.distributions.support import REAL, Support
from credo.errors import NumericalError, ParameterError

__all__ = ["Target", "Evaluation"]


class Evaluation(NamedTuple):
    """log p(x) up to a constant, and ∂ log p/∂x (dim,) where it was asked for."""

    log_density: float
    gradient: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Target:
    """An unnormalised log density with what engines may use of it.

    Parameters
    ----------
    log_density : x (dim,) → float; −inf outside the support. None suits a Gibbs sampler with exact draws only.
    shapes : name → shape of each variable, in the order of the flat vector.
    gradient : x → (dim,).
    value_and_gradient : x → (float, (dim,)), when computing both at once is cheaper.
    hessian : x → (dim, dim), symmetric.
    supports : name → `Support`; the real line where absent. A position outside a bounded support has density zero,
        whatever `log_density` says there. The simplex and the positive-definite cone are over the last axes.
    dims : name → names of its axes, for reports.
    initial : a start (dim,), one a chain (chains, dim), or rng → (dim,).
    vectorised : the functions take (n, dim) and return (n,), (n, dim): all chains are then evaluated in one call.

    Examples
    --------
    >>> target = Target(lambda x: -0.5 * x @ x, {"w": (2,), "b": ()}, gradient=lambda x: -x)
    >>> target.dim, target.split(np.arange(3.0))["w"]
    (3, array([0., 1.]))
    >>> target.evaluate(np.ones(3), gradient=True).log_density
    -1.5
    """

    log_density: Callable[[np.ndarray], Any] | None
    shapes: Mapping[str, tuple[int, ...]]
    gradient: Callable[[np.ndarray], Any] | None = None
    value_and_gradient: Callable[[np.ndarray], tuple[Any, Any]] | None = None
    hessian: Callable[[np.ndarray], np.ndarray] | None = None
    supports: Mapping[str, Support] = field(default_factory=dict)
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    initial: Any = None
    vectorised: bool = False
    #: of a transformed target: how messages show a position, in the user's own coordinates
    shown_as: Callable[[np.ndarray], str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.shapes:
            raise ParameterError("Target", "shapes", "a non-empty mapping of names to shapes", self.shapes)
        empty = [name for name, shape in self.shapes.items() if 0 in tuple(shape)]
        if empty:
            raise ParameterError("Target", f"shape of {empty[0]}", "without an empty axis", self.shapes[empty[0]])
        unknown = [name for name in (*self.supports, *self.dims) if name not in self.shapes]
        if unknown:
            raise ParameterError(
                "Target", "supports", f"about variables of shapes ({', '.join(self.shapes)})", unknown[0]
            )

    # -- the flat vector and its blocks ------------------------------------------------------------------------------

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Name → its place in the flat vector."""
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes.values())])
        return {name: slice(int(a), int(b)) for name, a, b in zip(self.shapes, ends, ends[1:])}

    @cached_property
    def dim(self) -> int:
        return list(self.slices.values())[-1].stop

    def support(self, name: str) -> Support:
        return self.supports.get(name, REAL)

    def split(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Views of the blocks of x (..., dim): name → (..., *shape)."""
        return {name: x[..., at].reshape(x.shape[:-1] + tuple(self.shapes[name])) for name, at in self.slices.items()}

    def join(self, values: Mapping[str, Any]) -> np.ndarray:
        """The flat vector of one value of every variable; a missing or misshapen one is a `ParameterError`."""
        x = np.empty(self.dim)
        for name, at in self.slices.items():
            if name not in values:
                raise ParameterError("Target", name, "given a value", sorted(values))
            value = np.asarray(values[name], dtype=np.float64)
            if value.shape != tuple(self.shapes[name]):
                raise ParameterError("Target", name, f"of shape {tuple(self.shapes[name])}", value)
            x[at] = value.ravel()
        return x

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One name per entry of the flat vector: w[0], w[1], b."""
        return tuple(
            name + (f"[{','.join(map(str, index))}]" if shape else "")
            for name, shape in self.shapes.items()
            for index in np.ndindex(*shape)
        )

    def describe(self, x: np.ndarray, limit: int = 6) -> str:
        """'w[0] = 1.5, b = nan' for messages: what is not finite or outside its support first, `limit` entries."""
        if self.shown_as is not None:
            return self.shown_as(x)
        odd = ~np.isfinite(x) | (x < self.bounds[0]) | (x > self.bounds[1])
        order = np.argsort(~odd, kind="stable")[:limit]
        text = ", ".join(f"{self.labels[i]} = {x[i]:.6g}" for i in order)
        return text + (", ..." if self.dim > limit else "")

    # -- supports ----------------------------------------------------------------------------------------------------

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Elementwise (low, high), each (dim,); infinite where there is none (a simplex is within 0 and 1)."""
        low, high = np.full(self.dim, -np.inf), np.full(self.dim, np.inf)
        for name, at in self.slices.items():
            support, shape = self.support(name), tuple(self.shapes[name])
            if support.kind == "simplex":
                low[at], high[at] = 0.0, 1.0
            elif support.kind != "positive_definite":
                low[at] = np.broadcast_to(support.low, shape).ravel()
                high[at] = np.broadcast_to(support.high, shape).ravel()
        return low, high

    @cached_property
    def is_bounded(self) -> bool:
        return bool(np.any(np.isfinite(self.bounds)))

    @cached_property
    def is_box(self) -> bool:
        """Whether every support is an interval, so that a coordinate can be moved alone."""
        return all(self.support(name).kind in ("real", "integer") for name in self.shapes)

    @property
    def has_density(self) -> bool:
        return self.log_density is not None or self.value_and_gradient is not None

    @property
    def has_gradient(self) -> bool:
        return self.gradient is not None or self.value_and_gradient is not None

    def outside(self, x: np.ndarray) -> Any:
        """Which of the positions (..., dim) lie outside the bounds."""
        low, high = self.bounds
        return np.any((x < low) | (x > high), axis=-1)

    # -- evaluation --------------------------------------------------------------------------------------------------

    def evaluate(self, x: np.ndarray, gradient: bool = False) -> Evaluation:
        """log p, and its gradient if asked, at one position (dim,)."""
        if self.is_bounded and self.outside(x):
            return Evaluation(-np.inf, np.zeros(self.dim) if gradient else None)
        if self.vectorised:
            values, gradients = self._functions(x[None], gradient)
            return Evaluation(_number(_one_a_row(values, 1)[0]), None if gradients is None else gradients[0])
        value, slope = self._functions(x, gradient)
        return Evaluation(_number(value), slope)

    def evaluate_rows(self, x: np.ndarray, gradient: bool = False) -> tuple[np.ndarray, np.ndarray | None]:
        """The same at positions (n, dim): values (n,) and gradients (n, dim)."""
        if not self.vectorised:
            each = [self.evaluate(row, gradient) for row in x]
            values = np.array([e.log_density for e in each])
            return values, np.array([e.gradient for e in each]) if gradient else None
        values, gradients = self._functions(x, gradient)
        values = _one_a_row(values, len(x))
        if self.is_bounded:
            values = np.where(self.outside(x), -np.inf, values)
        return values, gradients

    def _functions(self, x: np.ndarray, gradient: bool) -> tuple[Any, np.ndarray | None]:
        if not gradient:
            if self.log_density is not None:
                return self.log_density(x), None
            if self.value_and_gradient is None:
                raise ParameterError("Target", "log_density", "given for this engine", None)
            return self.value_and_gradient(x)[0], None
        if self.value_and_gradient is not None:
            value, slope = self.value_and_gradient(x)
        elif self.gradient is not None and self.log_density is not None:
            value, slope = self.log_density(x), self.gradient(x)
        else:
            raise ParameterError(
                "Target",
                "gradient",
                "given for this engine",
                self.gradient,
                "Use a sampler without gradients, such as Slice.",
            )
        return value, np.asarray(slope, dtype=np.float64)

    def check_start(self, x: np.ndarray, gradient: bool, who: str) -> Evaluation:
        """The evaluation at a start, or an error that names the variable, its value and `who` (the chain).

        Raises `NumericalError` for a density that is NaN, infinite or zero and for a NaN gradient, and
        `ParameterError` for a gradient of the wrong shape.
        """
        evaluation = self.evaluate(x, gradient)
        value, slope = evaluation
        if slope is not None and np.shape(slope) != (self.dim,):
            raise ParameterError(
                "Target", "gradient", f"of shape ({self.dim},), one entry per parameter", np.shape(slope),
                f"Met at the start of {who}.",
            )  # fmt: skip
        if not np.isfinite(value):
            kind = "zero" if value == -np.inf else "NaN" if np.isnan(value) else "infinite"
            raise NumericalError(
                f"{who}: the density is {kind} at the start ({self.describe(x)}).",
                value=x.copy(),
                remedy="Give a start inside the support, or check the log density there.",
            )
        if slope is not None and not np.all(np.isfinite(slope)):
            bad = int(np.flatnonzero(~np.isfinite(slope))[0])
            raise NumericalError(
                f"{who}: the gradient with respect to {self.labels[bad]} is {slope[bad]} at the start "
                f"({self.labels[bad]} = {x[bad]:.6g}).",
                value=x.copy(),
                remedy="Check the gradient against finite differences of the log density.",
            )
        return evaluation


ONE_NUMBER = "one number per position: a scalar, or (n,) for (n, dim) if vectorised"


def _number(value: Any) -> float:
    try:
        if not isinstance(value, complex):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise ParameterError("Target", "log_density", ONE_NUMBER, value) from None


def _one_a_row(values: Any, n: int) -> np.ndarray:
    values = np.asarray(values)
    if values.shape != (n,) or values.dtype.kind not in "fiub":
        raise ParameterError("Target", "log_density", ONE_NUMBER, values)
    return values
