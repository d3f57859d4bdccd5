"""Univariate slice sampling, one coordinate after the other (Neal 2003, Annals of Statistics 31, §4).

A level log u = log p(x) + log U(0, 1) is drawn; an interval around x_i is grown until both ends are below the level, by
stepping out or by doubling; a point uniform in it is accepted if above the level, and otherwise shrinks it towards x_i.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.inference.mcmc.kernel import State, Step, Tuner, initial_state
from credo.inference.target import Evaluation, Target

__all__ = ["Slice", "SliceInfo", "Line"]


class SliceInfo(NamedTuple):
    """`n_evaluations` of the density in this sweep."""

    n_evaluations: int


class Line:
    """The log density along coordinate `i` through `x`: `yield from line(t)` asks for it at x_i = t."""

    def __init__(self, x: np.ndarray, i: int) -> None:
        self.x, self.i, self.count = x, i, 0

    def __call__(self, t: float) -> Generator[np.ndarray, Evaluation, float]:
        moved = self.x.copy()
        moved[self.i] = t
        self.count += 1
        value = (yield moved).log_density
        return -math.inf if math.isnan(value) else value


@dataclass(frozen=True, eq=False)
class Slice:
    """Slice sampling of every coordinate in turn; needs neither a gradient nor tuning to be right.

    Parameters
    ----------
    width : first width of the interval, a number or one per coordinate; warm-up learns it (twice the mean move).
    expand : "stepping_out" or "doubling" (better when the width is far too small).
    max_expansions : steps (or doublings) at most; past 10 doublings the width is 1,000 times too small (Neal, §4.1).
    adapt : whether warm-up learns the width.

    Cost: about 5 evaluations a coordinate and sweep at a good width.

    >>> Slice(width=2.0).expand
    'stepping_out'
    """

    width: Any = 1.0
    expand: str = "stepping_out"
    max_expansions: int | None = None
    adapt: bool = True
    unconstrained: bool | None = None
    inference: str = "slice"
    needs_gradient = False

    def __post_init__(self) -> None:
        if self.expand not in ("stepping_out", "doubling"):
            raise ParameterError("Slice", "expand", '"stepping_out" or "doubling"', self.expand)
        if not np.all(np.isfinite(self.width) & (np.asarray(self.width) > 0)):
            raise ParameterError("Slice", "width", "finite and > 0", self.width)
        if self.max_expansions is not None and self.max_expansions < 1:
            raise ParameterError("Slice", "max_expansions", "≥ 1", self.max_expansions)

    def init(self, position: np.ndarray, target: Target) -> State:
        return initial_state(position, target, gradient=False)

    def step(self, rng: np.random.Generator, state: State) -> Step:
        if state.log_density is None:
            state = State(state.position, *(yield state.position))
        x, value, count = state.position, state.log_density, 0
        widths = np.broadcast_to(np.asarray(self.width, dtype=np.float64), x.shape)
        for i in range(x.size):
            line = Line(x, i)
            at, value = yield from self._move(rng, line, x[i], value, widths[i])  # type: ignore[arg-type]
            x = x.copy()
            x[i] = at
            count += line.count
        return State(x, value), SliceInfo(count)

    def _move(self, rng: np.random.Generator, line: Line, x: float, value: float, width: float) -> Any:
        level = value - rng.exponential()
        grow = self._step_out if self.expand == "stepping_out" else self._double
        left, right = yield from grow(rng, line, x, level, width)
        low, high = left, right
        while True:
            t = low + rng.random() * (high - low)
            at = yield from line(t)
            if at > level and (
                self.expand == "stepping_out" or (yield from _reachable(line, x, t, level, width, left, right))
            ):
                return t, at
            if t < x:
                low = t
            else:
                high = t
            if high - low <= 4.0 * np.spacing(abs(x)):  # only a density that changes under us gets here
                raise NumericalError(
                    f"Slice: coordinate {line.i} has no point above the level but its own ({x:.6g}).",
                    value=x,
                    remedy="The log density must be a function of its argument alone: no randomness, no state.",
                )

    def _step_out(self, rng: np.random.Generator, line: Line, x: float, level: float, width: float) -> Any:
        left = x - rng.random() * width
        right = left + width
        limit = self.max_expansions or 1000
        steps_left = int(limit * rng.random())
        for _ in range(steps_left):
            if (yield from line(left)) <= level:
                break
            left -= width
        for _ in range(limit - 1 - steps_left):
            if (yield from line(right)) <= level:
                break
            right += width
        return left, right

    def _double(self, rng: np.random.Generator, line: Line, x: float, level: float, width: float) -> Any:
        left = x - rng.random() * width
        right = left + width
        at_left, at_right = (yield from line(left)), (yield from line(right))
        for _ in range(self.max_expansions or 10):
            if at_left <= level and at_right <= level:
                break
            if rng.random() < 0.5:
                left -= right - left
                at_left = yield from line(left)
            else:
                right += right - left
                at_right = yield from line(right)
        return left, right

    def tuner(self, dim: int, warmup: int) -> Tuner:
        return SliceTuner(self)


def _reachable(line: Line, x: float, t: float, level: float, width: float, left: float, right: float) -> Any:
    """Whether doubling from `t` could have produced this interval (Neal 2003, figure 6): without this test the
    acceptance is not reversible."""
    differ = False
    while right - left > 1.1 * width:
        middle = 0.5 * (left + right)
        differ = differ or (x < middle) != (t < middle)
        if t < middle:
            right = middle
        else:
            left = middle
        if differ and (yield from line(left)) <= level and (yield from line(right)) <= level:
            return False
    return True


@dataclass(frozen=True)
class SliceTuner:
    """Width of each coordinate: twice the running mean of its moves |x' − x|: about one step out.

    The record is (number of sweeps, mean moves, last position).
    """

    kernel: Slice

    def start(self, rng: np.random.Generator, state: State) -> Generator[np.ndarray, Evaluation, tuple[Any, Slice]]:
        return (0, np.zeros_like(state.position), state.position), self.kernel
        yield

    def update(self, record: Any, kernel: Slice, state: State, info: SliceInfo) -> tuple[Any, Slice]:
        if not kernel.adapt:
            return record, kernel
        n, mean, last = record
        # The weight 1/√n forgets the transient while still averaging ever more sweeps.
        mean = mean + (np.abs(state.position - last) - mean) / math.sqrt(n + 1)
        width = np.where(mean > 0.0, 2.0 * mean, kernel.width)
        return (n + 1, mean, state.position), replace(kernel, width=width) if n >= 5 else kernel

    def finish(self, record: Any, kernel: Slice) -> Slice:
        return kernel
