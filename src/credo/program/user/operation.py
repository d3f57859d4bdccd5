"""The operation `call`: a function of the user's, by JAX, or on NumPy arrays with slopes by differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.program.op import Array, Op, Static

__all__ = ["CALL", "UserFunction"]

# Central differences lose least at ε^⅓ of the argument's size; SMALL is the least size that counts.
STEP, SMALL = float(np.finfo(float).eps) ** (1 / 3), 1e-3


@dataclass(frozen=True, eq=False)
class UserFunction:
    """function : the user's; by_jax : whether JAX compiles and differentiates it; integers : which of its arguments are
    codes, which it gets as integers; cells : of its value as declared"""

    function: Callable[..., Any]
    by_jax: bool
    integers: tuple[bool, ...]
    cells: int = 1

    def given(self, values: Sequence[Array]) -> list[Array]:
        """Arguments as the function wants them."""
        return [
            np.asarray(v).astype(np.int64) if whole else np.asarray(v, dtype=np.float64)
            for v, whole in zip(values, self.integers)
        ]

    def value(self, values: Sequence[Array]) -> Array:
        """Of the declared shapes, or of others that fit together."""
        if self.by_jax:
            from credo.program.user import compiled

            return compiled.value(self.function, self.given(values))
        return np.asarray(self.function(*self.given(values)), dtype=np.float64)

    def rows(self, values: Sequence[Array], lead: Sequence[bool]) -> Array:
        """At each row of the arguments that have a leading axis of draws."""
        arguments = self.given(values)
        if self.by_jax:
            from credo.program.user import compiled

            return compiled.rows(self.function, arguments, lead, self.cells)
        n = next(len(a) for a, has in zip(arguments, lead) if has)
        return np.stack([self.value([a[i] if has else a for a, has in zip(arguments, lead)]) for i in range(n)])

    def linear(self, values: Sequence[Array], varies: tuple[bool, ...]) -> tuple[Array, Callable[[Array], Any]]:
        """The value and its pull."""
        if self.by_jax:
            from credo.program.user import compiled

            return compiled.linear(self.function, self.given(values), varies)
        return self.value(values), lambda gradient: self._differences(gradient, values, varies)

    def _differences(self, gradient: Array, values: Sequence[Array], varies: tuple[bool, ...]) -> list[Array | None]:
        found: list[Array | None] = []
        for i, (x, has) in enumerate(zip(values, varies)):
            if not has:
                found.append(None)
                continue
            slopes, steps = np.empty(np.shape(x)), STEP * np.maximum(np.abs(x), SMALL)
            for at in np.ndindex(*np.shape(x)):
                ends = []
                for side in (1.0, -1.0):
                    moved = [np.array(v) for v in values]
                    moved[i][at] += side * steps[at]
                    ends.append((moved[i][at], self.value(moved)))
                (high, above), (low, below) = ends
                slopes[at] = np.sum(gradient * (above - below)) / (high - low)
            found.append(slopes)
        return found


def _forward(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    function = static["function"]
    return function.rows(values, lead) if any(lead) else function.value(values)


def _pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array | None]:
    return static["function"].linear(values, static["varies"])[1](g)


CALL = Op(
    "call",
    _forward,
    _pull,
    lambda ranges, static: static["range"],
    linear=lambda values, static: static["function"].linear(values, static["varies"]),
)
