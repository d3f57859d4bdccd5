"""The contract of a Markov kernel: `init(position, target) -> state` and `step(rng, state) -> (state, info)`.

`step` is a generator. Where it needs the target it *asks*: it yields a position (dim,) and is sent back the
`Evaluation` there. A kernel thus knows neither the model nor how it is evaluated: `advance` answers one kernel from one
target; the driver answers all chains in one vectorised call, or over threads; `Gibbs` answers a kernel that moves one
block by filling in the others.

What a chain carries is a `State`; what it reports is an info record (a NamedTuple of numbers) of the kernel's own;
what warm-up learns is a third record, held by the kernel's `Tuner` and discarded when warm-up ends.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, Protocol

import numpy as np

from credo.inference.target import Evaluation, Target

__all__ = ["State", "Step", "Kernel", "Tuner", "NoTuning", "advance", "answer", "initial_state"]


class State(NamedTuple):
    """Where a chain is. `log_density` and `gradient` belong to `position`; None when not known there."""

    position: np.ndarray
    log_density: float | None = None
    gradient: np.ndarray | None = None


#: a step in progress: yields positions, is sent evaluations, returns (state, info)
Step = Generator[np.ndarray, Evaluation, tuple[State, Any]]


class Tuner(Protocol):
    """What warm-up learns about a kernel, in one record; pure: `update` returns the next record and kernel.

    `start` may ask for evaluations (a first step size needs some), like a step.
    """

    def start(
        self, rng: np.random.Generator, state: State
    ) -> Generator[np.ndarray, Evaluation, tuple[Any, Kernel]]: ...

    def update(self, record: Any, kernel: Any, state: State, info: Any) -> tuple[Any, Kernel]: ...

    def finish(self, record: Any, kernel: Any) -> Kernel: ...


class Kernel(Protocol):
    """A frozen record of settings. `inference` names it in results, `needs_gradient` says what evaluations must hold,
    `unconstrained` whether it moves on ℝᵏ (True), on the support itself (False), or wherever is possible (None).
    """

    @property
    def inference(self) -> str: ...
    @property
    def needs_gradient(self) -> bool: ...
    @property
    def unconstrained(self) -> bool | None: ...

    def init(self, position: np.ndarray, target: Target) -> State: ...

    def step(self, rng: np.random.Generator, state: State) -> Step: ...

    def tuner(self, dim: int, warmup: int) -> Tuner: ...


class NoTuning:
    """The tuner of a kernel with nothing to learn."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def start(self, rng: np.random.Generator, state: State) -> Any:
        return None, self.kernel
        yield  # a generator that asks nothing

    def update(self, record: Any, kernel: Any, state: State, info: Any) -> tuple[Any, Kernel]:
        return None, kernel

    def finish(self, record: Any, kernel: Any) -> Kernel:
        return kernel


def initial_state(position: Any, target: Target, gradient: bool) -> State:
    """The checked state at a start; see `Target.check_start` for the errors."""
    x = np.array(position, dtype=np.float64)
    if not target.has_density:
        return State(x)
    return State(x, *target.check_start(x, gradient, "chain"))


def answer(step: Generator[np.ndarray, Evaluation, Any], evaluate: Callable[[np.ndarray], Evaluation]) -> Any:
    """Run a generator of requests to its end with `evaluate`; its return value."""
    try:
        asked = next(step)
        while True:
            asked = step.send(evaluate(asked))
    except StopIteration as done:
        return done.value


def advance(kernel: Kernel, rng: np.random.Generator, state: State, target: Target) -> tuple[State, Any]:
    """One step of one chain on one target.

    >>> from credo.inference.mcmc import RandomWalk
    >>> target = Target(lambda x: -0.5 * x @ x, {"x": ()})
    >>> kernel = RandomWalk()
    >>> state, info = advance(kernel, np.random.default_rng(0), kernel.init(np.zeros(1), target), target)
    >>> 0.0 <= info.acceptance_rate <= 1.0
    True
    """
    return answer(kernel.step(rng, state), lambda x: target.evaluate(x, kernel.needs_gradient))
