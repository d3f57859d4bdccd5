"""Ordinary differential equations by the classical Runge–Kutta method with a fixed number of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.program.nodes import Node, as_node
from credo.program.user.declared import called

__all__ = ["RungeKutta", "solution"]


@dataclass(frozen=True)
class RungeKutta:
    """(initial, times, *parameters) → y at the times, for one slope and number of steps between two times."""

    slope: Callable[..., Any]
    steps: int

    def __call__(self, initial: Any, times: Any, *parameters: Any) -> Any:
        import jax  # type: ignore[import-not-found]
        import jax.numpy as jnp  # type: ignore[import-not-found]

        first = jnp.asarray(initial, dtype=float)

        def slope(y: Any, t: Any) -> Any:
            return jnp.asarray(self.slope(y, t, *parameters), dtype=float).reshape(first.shape)

        # What a step computed is computed again on the way back: cheaper than storing it (a fifth of the time).
        @jax.checkpoint
        def interval(y: Any, ends: Any) -> Any:
            h = (ends[1] - ends[0]) / self.steps

            @jax.checkpoint
            def step(y: Any, k: Any) -> Any:
                t = ends[0] + k * h
                a = slope(y, t)
                b = slope(y + 0.5 * h * a, t + 0.5 * h)
                c = slope(y + 0.5 * h * b, t + 0.5 * h)
                d = slope(y + h * c, t + h)
                return y + h / 6.0 * (a + 2.0 * b + 2.0 * c + d), None

            y = jax.lax.scan(step, y, jnp.arange(self.steps, dtype=float))[0]
            return y, y

        later = jax.lax.scan(interval, first, (times[:-1], times[1:]))[1]
        return jnp.concatenate([first[None], later])


def solution(
    slope: Callable[..., Any], initial: Any, times: Any, parameters: Sequence[Any], steps: int, dims: Any,
    low: float | None, high: float | None,
) -> Node:  # fmt: skip
    """See `math.odeint`."""
    name = getattr(slope, "__name__", "odeint")
    if not callable(slope):
        raise ParameterError("math", "odeint", "given the slope: a function of (y, t, *parameters)", slope)
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 1:
        raise ParameterError("math.odeint", "steps", "an integer ≥ 1", steps)
    start, at = as_node(initial), as_node(times)
    if start.ndim > 1 or at.ndim != 1:
        raise DataError(
            f"odeint: the initial state is a number or a vector, and times a vector, not {start!r} and {at!r}.",
            value=(start.shape, at.shape),
        )
    if at.value is not None and np.any(np.diff(at.value) < 0):
        raise DataError("odeint: times must rise.", value=at.value)
    nodes = [start, at, *(as_node(each) for each in parameters)]
    return called(RungeKutta(slope, int(steps)), nodes, dims, low, high, "jax", name)
