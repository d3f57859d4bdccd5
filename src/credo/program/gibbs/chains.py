"""`fit_gibbs`: sweeps of all chains together, lengthened until R̂ and the effective draws are good."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.diagnostics.mcmc import check_convergence
from credo.errors import MemoryLimitError, ParameterError, UnavailableError
from credo.inference.result import Result
from credo.numerics.threads import single_blas_thread
from credo.program.explain import Step
from credo.program.finite.labels import Labels
from credo.program.finite.settled import in_order, mixed, told
from credo.program.fitting import Found
from credo.program.gibbs.expressions import State
from credo.program.gibbs.moves import Moves, moves_of
from credo.program.model import Factor
from credo.program.nodes import Node
from credo.program.passes.centring import typical
from credo.program.passes.finite import finite_leaves

if TYPE_CHECKING:
    from credo.program.plan import Plan

__all__ = ["explain_gibbs", "fit_gibbs", "is_all_conditional"]

CHAINS = 4
WARM_UP = 300
#: how many times as many sweeps as draws are made before giving up
LONGEST = 32
#: … and when chains so far apart are given up, which are in different modes
PATIENCE, APART = 4, 1.3
#: draws of a chain that a certificate needs to be judged by; fewer are taken from these
FEWEST = 300
#: how far early draws may lie outside the span of late ones, in spans
STRAY = 0.25


def explain_gibbs(factors: Sequence[Factor], latents: Sequence[Node]) -> list[Step]:
    """What a sweep does, one step a move. Raises `UnavailableError` where the model does not admit Gibbs sampling."""
    return _steps(moves_of(factors, latents))


def is_all_conditional(factors: Sequence[Factor], latents: Sequence[Node]) -> bool:
    """Whether every node has a conditional of a known family: then sweeps are cheap, and beat gradients where many
    scales are left (see docs/concepts/named-rungs.md for figures)."""
    try:
        moves = moves_of(factors, latents)
    except UnavailableError:
        return False
    return not moves.slices and not any(node.support.is_discrete for node in latents)


def _steps(moves: Moves) -> list[Step]:
    return [Step("gibbs", names, sentence) for names, sentence in moves.sentences]


def fit_gibbs(plan: Plan, draws: int, rng: np.random.Generator, options: Mapping[str, Any]) -> Found:
    """Draws of every latent node by Gibbs sampling.

    options : chains (4), warmup (300 sweeps), thin (first spacing of kept sweeps), initial (name → start)

    The number of draws is as asked. Where, of 300 a chain at least, R̂ ≥ 1.01 or fewer than 400 are effective, the
    chains go on, up to 32 times as long, with draws kept further apart. Ctrl-C returns what there is.
    """
    began = time.perf_counter()
    moves = moves_of(plan.factors, plan.latents)
    chains, warm_up, thin = (int(options.get(k, v)) for k, v in (("chains", CHAINS), ("warmup", WARM_UP), ("thin", 1)))
    for name, value, least in (("warmup", warm_up, 0), ("thin", thin, 1)):
        if value < least:
            raise ParameterError("Model.fit", name, f"an integer ≥ {least}", value)
    state = _start(moves, chains, rng, options.get("initial"))
    n, labels = max(1, draws // chains), _labels(plan)
    run = _Run(moves, state, rng, max(n, FEWEST), thin, labels)
    with single_blas_thread(), np.errstate(all="ignore"):
        for sweep in range(warm_up):
            run.sweep()
            if sweep in (20, 50, 100, 200):
                for move in moves.slices:
                    move.learn()
        for move in moves.slices:
            move.learn()
            move._seen = -1  # widths stay as they are
        run.fill()
        while not run.is_sound and run.sweeps * 2 <= LONGEST * run.n * thin and not run.interrupted:
            if run.sweeps >= PATIENCE * run.n * thin and run.verdict.certificate["rhat"] > APART:
                break
            run.lengthen()
    verdict = run.verdict
    status = "interrupted" if run.interrupted else "converged" if run.is_sound else "not_certified"
    still_falling = ("The chains are still on their way from where they began: give warmup= more sweeps.",)
    advice = verdict.advice if run.is_settled else (*verdict.advice, *still_falling)
    certificate = {name: verdict.certificate[name] for name in ("rhat", "ess_bulk", "ess_tail")}
    certificate["sweeps"] = run.sweeps
    result = Result(status, "gibbs", seconds=(time.perf_counter() - began,), certificate=certificate,
                    advice=(*advice, *told(labels, "gibbs")))  # fmt: skip
    spaced = np.linspace(run.n - 1, 0, n).astype(np.intp)[::-1] if not run.interrupted else slice(None)
    values = mixed(labels, {name: value[:, spaced] for name, value in run.values.items()}, rng)
    return Found(values, result, steps=_steps(moves))


def _labels(plan: Plan) -> list[Labels]:
    """Labels of states that nothing tells apart, where the sum over states that shows it can be had."""
    try:
        leaves = finite_leaves(plan.factors, plan.latents)
    except (UnavailableError, MemoryLimitError):
        return []
    return [labels for leaf in leaves for labels in leaf.labels]


class _Run:
    """Chains and what is kept of them: n draws each, `every` sweeps apart, judged with exchangeable labels in order."""

    def __init__(
        self, moves: Moves, state: State, rng: np.random.Generator, n: int, every: int, labels: Sequence[Labels]
    ) -> None:
        self.moves, self.state, self.rng, self.n, self.every = moves, state, rng, n, every
        self.labels = labels
        self.sweeps, self.interrupted = 0, False
        self._kept: list[dict[str, np.ndarray]] = []

    def sweep(self) -> None:
        for move in self.moves.moves:
            move.step(self.state, self.rng)

    def fill(self) -> None:
        """Goes on until n draws are kept."""
        try:
            while len(self._kept) < self.n:
                for _ in range(self.every):
                    self.sweep()
                self.sweeps += self.every
                self._kept.append({str(node.name): self.state[node.number] for node in self.moves.latents})
        except KeyboardInterrupt:
            if not self._kept:
                raise
            self.interrupted = True
        self.values = {name: np.stack([row[name] for row in self._kept], axis=1) for name in self._kept[0]}
        states = {str(node.name) for node in self.moves.latents if node.support.is_discrete}
        self.values |= {name: self.values[name].astype(np.int64) for name in states}
        # Labels of states have no mean; the numbers they stand for are judged.
        moving = {name: v for name, v in in_order(self.labels, self.values).items() if name not in states}
        self.verdict = check_convergence(moving or self.values)
        self.is_settled = all(_has_settled(value.reshape(*value.shape[:2], -1)) for value in moving.values())

    @property
    def is_sound(self) -> bool:
        return self.verdict.ok and self.is_settled

    def lengthen(self) -> None:
        """The first half goes, which may be of the way from the start, of the second every other draw; and as many come
        as are then missing, at twice the distance."""
        self._kept = self._kept[len(self._kept) // 2 + 1 :: 2]
        self.every *= 2
        self.fill()


def _has_settled(x: np.ndarray) -> bool:
    """Whether the first tenth of draws x (chains, draws, entries) keeps within what the last half spans, and a quarter
    of that more: a few draws on the way from the start bend sds without any R̂ telling."""
    n = x.shape[1]
    first, last = x[:, : max(1, n // 10)], x[:, n // 2 :]
    low, high = last.min(axis=(0, 1)), last.max(axis=(0, 1))
    room = STRAY * (high - low)
    return bool(np.all((first.min(axis=(0, 1)) >= low - room) & (first.max(axis=(0, 1)) <= high + room)))


def _start(moves: Moves, chains: int, rng: np.random.Generator, initial: Any) -> State:
    """Chains begin apart: scales over four orders of magnitude about the median of their priors."""
    state: State = {}
    for node in moves.augmented.latents:
        shape = (chains, *node.shape)
        if node.support.is_discrete:
            high = float(np.max(node.support.high))
            state[node.number] = np.floor(rng.random(shape) * (min(high, 1e6) + 1.0))
            continue
        centre = np.broadcast_to(_centre(node), shape)
        low, high = np.asarray(node.support.low), np.asarray(node.support.high)
        noise = rng.uniform(-1.0, 1.0, shape)
        if node.support.kind != "real":
            state[node.number] = np.array(centre)
        elif np.any(np.isfinite(low)) and np.any(np.isfinite(high)):
            state[node.number] = centre + 0.4 * noise * np.minimum(centre - low, high - centre)
        elif np.any(np.isfinite(low)):
            state[node.number] = low + (centre - low) * np.exp(2.0 * noise)
        elif np.any(np.isfinite(high)):
            state[node.number] = high - (high - centre) * np.exp(2.0 * noise)
        else:
            state[node.number] = centre + noise
    for name, value in dict(initial or {}).items():
        node = next((each for each in moves.latents if each.name == name), None)
        if node is None:
            raise ParameterError("Model.fit", "initial", "values of latent nodes by name", name)
        state[node.number] = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (chains, *node.shape)))
    return state


def _centre(node: Node) -> np.ndarray:
    return np.ones(node.shape) if node.law is None else typical(node)
