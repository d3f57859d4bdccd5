"""Gibbs sampling: each block in turn from its conditional distribution given the present values of all the others.

    x' ~ p(x | y, z),   y' ~ p(y | x', z),   z' ~ p(z | x', y').

A block is drawn exactly by a function of yours, or moved by any kernel that sees it alone (`Slice()`,
`AdaptiveRejection()`, `RandomWalk()`...). All blocks at once from the *old* values is not a Gibbs sampler: it does not
leave the target invariant. `ParallelGibbs` makes such a sweep a proposal, which Metropolis–Hastings corrects.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.inference.mcmc.kernel import Kernel, NoTuning, State, Step, Tuner, initial_state
from credo.inference.mcmc.metropolis import MetropolisHastings
from credo.inference.mcmc.mixture import Cycle, Mixture
from credo.inference.target import Evaluation, Target

__all__ = ["Gibbs", "ParallelGibbs", "Exact", "Within"]

Draw = Callable[[np.random.Generator, dict[str, np.ndarray]], Any]


class ExactInfo(NamedTuple):
    """An exact draw has nothing to report: it is always taken."""

    acceptance_rate: float = 1.0


def places(target: Target, names: Sequence[str]) -> np.ndarray:
    """Indices of these variables in the flat vector."""
    unknown = [name for name in names if name not in target.shapes]
    if unknown:
        raise ParameterError("Gibbs", "blocks", f"made of {', '.join(target.shapes)}", unknown[0])
    everything = np.arange(target.dim)
    return np.concatenate([everything[target.slices[name]] for name in names])


@dataclass(frozen=True, eq=False)
class Exact:
    """The kernel that replaces the variables `names` by `draw(rng, values)`: an array for one name, else a dict."""

    target: Target
    names: tuple[str, ...]
    draw: Draw
    inference: str = "gibbs"
    needs_gradient = False
    unconstrained = False

    def init(self, position: np.ndarray, target: Target) -> State:
        return initial_state(position, target, gradient=False)

    def step(self, rng: np.random.Generator, state: State) -> Step:
        drawn = self.draw(rng, self.target.split(state.position))
        x = state.position.copy()
        for name in self.names:
            x[self.target.slices[name]] = self._checked(name, drawn if len(self.names) == 1 else drawn[name])
        return State(x), ExactInfo()
        yield  # a generator that asks nothing: an exact draw needs no density

    def _checked(self, name: str, value: Any) -> np.ndarray:
        value, shape = np.asarray(value, dtype=np.float64), tuple(self.target.shapes[name])
        if value.shape != shape:
            raise ParameterError("Gibbs", f"conditional of {name}", f"a draw of shape {shape}", value)
        if not np.all(np.isfinite(value)):
            raise NumericalError(f"Gibbs: the conditional of {name} drew {value}.", value=value)
        return value.ravel()

    def tuner(self, dim: int, warmup: int) -> Tuner:
        return NoTuning(self)


@dataclass(frozen=True, eq=False)
class Within:
    """The kernel that moves the variables `names` by `kernel`, the others held where they are."""

    target: Target
    names: tuple[str, ...]
    kernel: Kernel
    unconstrained = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "_at", places(self.target, self.names))

    @property
    def inference(self) -> str:
        return self.kernel.inference

    @property
    def needs_gradient(self) -> bool:
        return self.kernel.needs_gradient

    def init(self, position: np.ndarray, target: Target) -> State:
        return initial_state(position, target, self.needs_gradient)

    def _part(self, state: State) -> State:
        at: np.ndarray = self._at  # type: ignore[attr-defined]
        return State(state.position[at], state.log_density, None if state.gradient is None else state.gradient[at])

    def _asks(self, inner: Generator[np.ndarray, Evaluation, Any], whole: np.ndarray) -> Any:
        """Passes on a block's requests with the other blocks filled in, and its share of the answers."""
        at: np.ndarray = self._at  # type: ignore[attr-defined]
        try:
            asked = next(inner)
            while True:
                x = whole.copy()
                x[at] = asked
                value, gradient = yield x
                asked = inner.send(Evaluation(value, None if gradient is None else gradient[at]))
        except StopIteration as done:
            return done.value

    def step(self, rng: np.random.Generator, state: State) -> Step:
        part, info = yield from self._asks(self.kernel.step(rng, self._part(state)), state.position)
        x = state.position.copy()
        x[self._at] = part.position  # type: ignore[attr-defined]
        return State(x, part.log_density), info

    def tuner(self, dim: int, warmup: int) -> Tuner:
        return WithinTuner(self, self.kernel.tuner(self._at.size, warmup))  # type: ignore[attr-defined]


@dataclass(frozen=True)
class WithinTuner:
    """The inner kernel's tuner, shown the block alone."""

    kernel: Within
    inner: Tuner

    def start(self, rng: np.random.Generator, state: State) -> Generator[np.ndarray, Evaluation, tuple[Any, Within]]:
        begun = self.inner.start(rng, self.kernel._part(state))
        record, kernel = yield from self.kernel._asks(begun, state.position)
        return record, self._around(kernel)

    def update(self, record: Any, kernel: Within, state: State, info: Any) -> tuple[Any, Within]:
        record, inner = self.inner.update(record, kernel.kernel, kernel._part(state), info)
        return record, self._around(inner)

    def finish(self, record: Any, kernel: Within) -> Within:
        return self._around(self.inner.finish(record, kernel.kernel))

    def _around(self, kernel: Kernel) -> Within:
        return Within(self.kernel.target, self.kernel.names, kernel)


def Gibbs(target: Target, blocks: Mapping[Any, Any], scan: str = "systematic") -> Cycle:
    """A Gibbs sampler over blocks that together cover every variable.

    Parameters
    ----------
    target : its `shapes` name the variables; its `log_density` may be None if every conditional is an exact draw.
    blocks : a name, or a tuple of names drawn together → a function (rng, values) → draw (a dict for a tuple), or a
        kernel that moves the block.
    scan : "systematic" takes the blocks in order; "random" as many blocks, each picked uniformly.

    Raises `ParameterError` naming a variable that no block updates.

    Examples
    --------
    >>> target = Target(None, {"x": (), "y": ()})
    >>> half = lambda other: (lambda rng, v: rng.normal(0.5 * v[other], np.sqrt(0.75)))
    >>> kernel = Gibbs(target, {"x": half("y"), "y": half("x")})
    >>> kernel.inference
    'gibbs'

    References
    ----------
    Geman and Geman (1984); Liu, Wong and Kong (1994) on blocking, Biometrika 81.
    """
    if scan not in ("systematic", "random"):
        raise ParameterError("Gibbs", "scan", '"systematic" or "random"', scan)
    kernels = []
    for key, move in blocks.items():
        names = key if isinstance(key, tuple) else (key,)
        places(target, names)
        kernels.append(Within(target, names, move) if hasattr(move, "step") else Exact(target, names, move))
    covered = {name for kernel in kernels for name in kernel.names}
    missing = [name for name in target.shapes if name not in covered]
    if missing:
        raise ParameterError(
            "Gibbs", "blocks", f"a cover of every variable; {missing[0]} is updated by none", list(blocks)
        )
    if scan == "systematic":
        return Cycle(tuple(kernels), label="gibbs")
    return Mixture(tuple(kernels), label="gibbs", picks=len(kernels))


def ParallelGibbs(
    target: Target, conditionals: Mapping[str, Callable[[dict[str, np.ndarray]], Any]]
) -> MetropolisHastings:
    """All variables drawn at once from their conditionals given the *old* values, as a Metropolis–Hastings proposal.

    `conditionals[name](values)` returns the conditional distribution, with `sample(None, rng)` and `log_prob(value)`.
    The correction is Π p(x_b | y₋b) / Π p(y_b | x₋b). Without it the sweep leaves another distribution invariant (for a
    bivariate Normal of correlation ρ, one with no correlation at all); see docs/concepts/mcmc-parallel-gibbs.md.

    >>> from credo.distributions.normal import Normal
    >>> target = Target(lambda x: -(x[0] ** 2 - x[0] * x[1] + x[1] ** 2) / 1.5, {"x": (), "y": ()})
    >>> half = lambda other: (lambda v: Normal(0.5 * v[other], np.sqrt(0.75)))
    >>> ParallelGibbs(target, {"x": half("y"), "y": half("x")}).inference
    'parallel_gibbs'
    """
    if set(conditionals) != set(target.shapes):
        raise ParameterError(
            "ParallelGibbs", "conditionals", f"one for each of {', '.join(target.shapes)}", list(conditionals)
        )

    def propose(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
        values = target.split(x)
        return target.join({name: conditional(values).sample(None, rng) for name, conditional in conditionals.items()})

    def log_proposal(y: np.ndarray, x: np.ndarray) -> float:
        old, new = target.split(x), target.split(y)
        return sum(float(np.sum(conditional(old).log_prob(new[name]))) for name, conditional in conditionals.items())

    return MetropolisHastings(propose, log_proposal, inference="parallel_gibbs")
