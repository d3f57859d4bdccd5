"""Kernels from kernels: a cycle applies each in turn, a mixture picks one at random; both keep the target invariant."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from credo.errors import ParameterError
from credo.inference.mcmc.kernel import Kernel, State, Step, Tuner, initial_state
from credo.inference.target import Evaluation, Target

__all__ = ["Cycle", "Mixture", "ComposedInfo"]


class ComposedInfo(NamedTuple):
    """`acceptance_rate` of each component, shape (kernels,): NaN where it did not run or reports none; `divergent` if
    any component's step was; `parts`, for the tuners, the (index, state, info) of each that ran."""

    acceptance_rate: np.ndarray
    divergent: bool
    parts: tuple[tuple[int, State, Any], ...]


@dataclass(frozen=True)
class Cycle:
    """Each kernel once a step, in the given order (Tierney 1994, Annals of Statistics 22, §2.4).

    >>> from credo.inference.mcmc import RandomWalk, Slice
    >>> Cycle((RandomWalk(), Slice())).needs_gradient
    False
    """

    kernels: Sequence[Kernel]
    label: str | None = None

    def __post_init__(self) -> None:
        if len(self.kernels) == 0:
            raise ParameterError(type(self).__name__, "kernels", "a non-empty sequence of kernels", self.kernels)

    @property
    def inference(self) -> str:
        return self.label or " + ".join(dict.fromkeys(kernel.inference for kernel in self.kernels))

    @property
    def needs_gradient(self) -> bool:
        return any(kernel.needs_gradient for kernel in self.kernels)

    @property
    def unconstrained(self) -> bool | None:
        wishes = {kernel.unconstrained for kernel in self.kernels} - {None}
        if len(wishes) == 2:
            raise ParameterError(
                type(self).__name__, "kernels", "all on the support or all on the transformed line", self.kernels,
                "Set unconstrained= of the kernels to the same value.",
            )  # fmt: skip
        return wishes.pop() if wishes else None

    def init(self, position: np.ndarray, target: Target) -> State:
        return initial_state(position, target, self.needs_gradient)

    def step(self, rng: np.random.Generator, state: State) -> Step:
        return self._run(rng, state, range(len(self.kernels)))

    def _run(self, rng: np.random.Generator, state: State, order: Any) -> Step:
        rates, parts = np.full(len(self.kernels), np.nan), []
        for i in order:
            state, info = yield from self.kernels[i].step(rng, state)
            rates[i] = np.mean(getattr(info, "acceptance_rate", np.nan))
            parts.append((i, state, info))
        divergent = any(getattr(info, "divergent", False) for _, _, info in parts)
        return state, ComposedInfo(rates, divergent, tuple(parts))

    def tuner(self, dim: int, warmup: int) -> Tuner:
        return ComposedTuner(self, tuple(kernel.tuner(dim, warmup) for kernel in self.kernels))


@dataclass(frozen=True)
class Mixture(Cycle):
    """`picks` kernels a step, each picked with probability `weights` (uniform when None) whatever the position.

    >>> from credo.inference.mcmc import RandomWalk, Slice
    >>> Mixture((RandomWalk(), Slice()), weights=(0.9, 0.1)).inference
    'metropolis + slice'
    """

    weights: Sequence[float] | None = None
    picks: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights is not None:
            weights = np.asarray(self.weights, dtype=np.float64)
            if weights.shape != (len(self.kernels),) or not np.all(weights >= 0) or not 0 < weights.sum() < np.inf:
                raise ParameterError("Mixture", "weights", "one number ≥ 0 per kernel, not all zero", self.weights)

    def step(self, rng: np.random.Generator, state: State) -> Step:
        cumulative = np.cumsum(np.ones(len(self.kernels)) if self.weights is None else self.weights)
        points = rng.random(self.picks) * cumulative[-1]
        return self._run(rng, state, np.searchsorted(cumulative, points, side="right").tolist())


@dataclass(frozen=True)
class ComposedTuner:
    """Tunes every component by its own tuner; a component that did not run learns nothing that step."""

    kernel: Cycle
    tuners: tuple[Tuner, ...]

    def start(self, rng: np.random.Generator, state: State) -> Generator[np.ndarray, Evaluation, tuple[Any, Cycle]]:
        started = []
        for tuner in self.tuners:
            started.append((yield from tuner.start(rng, state)))
        return tuple(record for record, _ in started), replace(self.kernel, kernels=tuple(k for _, k in started))

    def update(self, record: Any, kernel: Cycle, state: State, info: ComposedInfo) -> tuple[Any, Cycle]:
        records, kernels = list(record), list(kernel.kernels)
        for i, after, part in info.parts:
            records[i], kernels[i] = self.tuners[i].update(records[i], kernels[i], after, part)
        return tuple(records), replace(kernel, kernels=tuple(kernels))

    def finish(self, record: Any, kernel: Cycle) -> Cycle:
        finished = tuple(t.finish(r, k) for t, r, k in zip(self.tuners, record, kernel.kernels))
        return replace(kernel, kernels=finished)
