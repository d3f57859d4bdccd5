"""The driver: chains, warm-up, thinning, interruption and resume.

All chains advance together on one thread. Each is a generator that asks for evaluations (see `kernel`); in every round
the pending requests of all chains are answered, in one call when the target is vectorised, over a pool of threads when
one evaluation is slow, else one by one. Chains need not be at the same iteration: a chain with short trajectories
simply finishes sooner. A vectorised call always has one row a chain, so that its rounding, and therefore every draw,
depends neither on the other chains nor on an interruption.
"""

from __future__ import annotations

import contextlib
import copy
import math
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from credo.errors import CredoError, NumericalError, ParameterError
from credo.inference.draws import Draws
from credo.inference.mcmc.kernel import Kernel, State, Tuner
from credo.inference.mcmc.progress import Meter, Progress, Report, watching
from credo.inference.mcmc.report import build_draws
from credo.inference.mcmc.starts import starting_positions
from credo.inference.target import Evaluation, Target
from credo.inference.transforms import Bijection, unconstrained
from credo.numerics.random import as_generator
from credo.numerics.threads import available_threads, single_blas_thread

__all__ = ["sample", "Checkpoint", "Chain"]

#: an evaluation slower than this gains from threads more than the 50 µs that handing it over costs
SLOW_EVALUATION = 1e-3


@dataclass
class Chain:
    """One chain under way: what it carries, what it has stored, and the faults it met.

    `faults` counts evaluations after warm-up that were NaN; `first_fault` is where the first one was.
    """

    number: int
    kernel: Kernel
    tuner: Tuner
    state: State
    rng: np.random.Generator
    record: Any = None
    started: bool = False
    iteration: int = 0
    positions: list[np.ndarray] = field(default_factory=list)
    log_densities: list[float | None] = field(default_factory=list)
    infos: list[Any] = field(default_factory=list)
    divergences: int = 0
    faults: int = 0
    first_fault: np.ndarray | None = None

    def copy(self) -> Chain:
        """One that runs on without changing this."""
        return replace(
            self,
            rng=copy.deepcopy(self.rng),
            record=copy.deepcopy(self.record),
            positions=list(self.positions),
            log_densities=list(self.log_densities),
            infos=list(self.infos),
        )

    def run(self, warmup: int, draws: int, thin: int) -> Generator[np.ndarray | None, Any, None]:
        """The chain's program, from wherever it stands: yields requests, and None before every iteration."""
        if not self.started:
            self.record, self.kernel = yield from self.tuner.start(self.rng, self.state)
            self.started = True
            if warmup == 0:
                self.kernel = self.tuner.finish(self.record, self.kernel)
        while self.iteration < warmup + draws * thin:
            yield None  # between iterations: all that is carried is in the record
            state, info = yield from self.kernel.step(self.rng, self.state)
            self.state = state
            self.iteration += 1
            if self.iteration <= warmup:
                self.record, self.kernel = self.tuner.update(self.record, self.kernel, state, info)
                if self.iteration == warmup:
                    self.kernel, self.record = self.tuner.finish(self.record, self.kernel), None
                continue
            self.divergences += bool(getattr(info, "divergent", False))
            if (self.iteration - warmup) % thin == 0:
                self.positions.append(state.position)
                self.log_densities.append(state.log_density)
                self.infos.append(info)


@dataclass(frozen=True)
class Checkpoint:
    """Chains as they stand, with the settings they ran under: what `sample(resume=...)` continues from."""

    chains: tuple[Chain, ...]
    warmup: int
    thin: int


def sample(
    target: Target,
    kernel: Kernel,
    *,
    chains: int = 4,
    draws: int = 1000,
    warmup: int = 1000,
    thin: int = 1,
    rng: Any = None,
    initial: Any = None,
    progress: bool | str | Callable[[Progress], Any] = "auto",
    threads: int | None = None,
    resume: Draws | Checkpoint | None = None,
) -> Draws:
    """Draws of the target by Markov chains.

    Parameters
    ----------
    target, kernel : what is sampled, and how.
    chains, draws, warmup : chains, draws kept of each, and iterations of tuning before them, which are discarded.
        Four chains are what R̂ needs to see that they disagree.
    thin : every `thin`-th iteration is kept; it saves memory, never accuracy.
    rng : a seed or generator; each chain has a stream of its own spawned from it.
    initial : starts as in `Target.initial`, which it overrides. Without any, each chain starts uniformly within ±2 of
        the transformed line.
    progress : "auto" draws one line on the terminal (draws per second, divergences, R̂ so far) once sampling takes
        longer than a second, True at once, False never; nothing is drawn where standard error is no terminal. A
        function is called every 0.2 s with a `Progress`.
    threads : for the evaluations of a target that is not vectorised; None uses all cores if one takes over 1 ms.
    resume : earlier draws (or their checkpoint), interrupted or complete; continues to `draws` a chain, and gives the
        draws of a run that was never interrupted. Chains, kernel, warm-up, thinning and generator are those of that
        run.

    Returns
    -------
    Draws, whose `result` holds the verdict. Ctrl-C returns what there is, with status "interrupted".

    Raises
    ------
    NumericalError : the density is NaN, infinite or zero, or the gradient NaN, at a start; or infinite anywhere.

    Warns
    -----
    ConvergenceWarning : R̂, ESS, divergences; a chain that never moved; a density that was NaN at a proposal.

    Examples
    --------
    >>> from credo.inference.mcmc import NUTS
    >>> target = Target(lambda x: -0.5 * x @ x, {"w": (2,)}, gradient=lambda x: -x)
    >>> posterior = sample(target, NUTS(), rng=0, draws=500, warmup=300)
    >>> bool(np.all(np.abs(posterior.mean) < 0.2)), posterior.result.status
    (True, 'converged')
    """
    for name, value, least in (("chains", chains, 1), ("draws", draws, 1), ("warmup", warmup, 0), ("thin", thin, 1)):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise ParameterError("sample", name, f"an integer ≥ {least}", value)
    if threads is not None and threads < 1:
        raise ParameterError("sample", "threads", "None or ≥ 1", threads)
    if isinstance(kernel, type) or not hasattr(kernel, "step"):
        raise ParameterError("sample", "kernel", "a kernel, such as NUTS()", kernel)
    where, bijection = _space(target, kernel)
    if resume is not None:
        saved = resume.checkpoint if isinstance(resume, Draws) else resume
        if saved is None:
            raise ParameterError("sample", "resume", "draws that still hold their checkpoint", resume)
        crew, warmup, thin = [chain.copy() for chain in saved.chains], saved.warmup, saved.thin
    else:
        streams = as_generator(rng).spawn(chains)
        starts = starting_positions(
            target, where, bijection, target.initial if initial is None else initial, streams, kernel
        )
        crew = [
            Chain(i, kernel, kernel.tuner(where.dim, warmup), kernel.init(start, where), stream)
            for i, (start, stream) in enumerate(zip(starts, streams))
        ]
    began = time.perf_counter()
    # An overflow at a far proposal is ordinary: what comes of it, infinite or NaN, is counted and reported.
    with single_blas_thread(), np.errstate(all="ignore"), watching(progress) as report, _deferred_interrupt() as stop:
        _run(crew, where, warmup, draws, thin, threads, report, stop)
    if not all(chain.positions for chain in crew):
        raise KeyboardInterrupt("sampling was interrupted before any draw")
    found = build_draws(target, where, bijection, crew, draws, time.perf_counter() - began, stop.is_set())
    return replace(found, checkpoint=Checkpoint(tuple(crew), warmup, thin))


def _space(target: Target, kernel: Kernel) -> tuple[Target, Bijection | None]:
    """Where the kernel moves: on the support, or on the transformed line with the bijection back."""
    wish = kernel.unconstrained
    if wish or (wish is None and not target.is_box):
        return unconstrained(target)
    return target, None


@contextlib.contextmanager
def _deferred_interrupt() -> Iterator[threading.Event]:
    """Ctrl-C sets the event, so that chains stop between iterations; a second one interrupts at once.

    Only in the main thread, and only where Ctrl-C has its usual meaning: a host's own handler is left alone.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread() or (
        signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield stop
        return

    def handler(number: int, frame: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, handler)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Evaluator:
    """Answers the pending requests of the chains, one row a chain, and records what is not a number."""

    def __init__(self, target: Target, crew: list[Chain], warmup: int, threads: int | None) -> None:
        self.target, self.crew, self.warmup = target, crew, warmup
        self.gradient = crew[0].kernel.needs_gradient
        self.rows = np.array([chain.state.position for chain in crew])
        workers = 1 if target.vectorised else threads if threads is not None else self._worthwhile()
        self.pool = ThreadPoolExecutor(min(workers, len(crew))) if min(workers, len(crew)) > 1 else None

    def _worthwhile(self) -> int:
        if not self.target.has_density:
            return 1
        began = time.perf_counter()
        self.target.evaluate(self.rows[0], self.gradient)
        return available_threads() if time.perf_counter() - began > SLOW_EVALUATION else 1

    def answer_through(
        self, asked: dict[int, np.ndarray | None], stop: threading.Event
    ) -> dict[int, Evaluation | None]:
        """`answer`, asked again after a first KeyboardInterrupt, so that every chain can end its iteration."""
        pending = {i: x for i, x in asked.items() if x is not None}
        if not pending:
            return dict.fromkeys(asked)
        try:
            found = self.answer(pending)
        except KeyboardInterrupt:
            if stop.is_set():
                raise
            stop.set()
            found = self.answer(pending)
        return {i: found.get(i) for i in asked}

    def answer(self, asked: dict[int, np.ndarray]) -> dict[int, Evaluation]:
        """Evaluations of the requests, chain → position."""
        if self.target.vectorised:
            for i, x in asked.items():
                self.rows[i] = x
            values, gradients = self.target.evaluate_rows(self.rows, self.gradient)
            each = {i: Evaluation(float(values[i]), None if gradients is None else gradients[i]) for i in asked}
        elif self.pool is None:
            each = {i: self._one(x) for i, x in asked.items()}
        else:
            each = dict(zip(asked, self.pool.map(self._one_quietly, asked.values())))
        for i, (value, slope) in each.items():
            if slope is not None and slope.shape != asked[i].shape:
                raise ParameterError(
                    "Target", "gradient", f"of shape {asked[i].shape}, one entry per parameter", slope.shape,
                    f"Met in chain {i} at {self.target.describe(asked[i])}.",
                )  # fmt: skip
            # One dot product sees NaN and infinity in the gradient; an overflow of finite entries is looked at twice.
            if not (math.isfinite(value) and (slope is None or math.isfinite(slope.dot(slope)))):
                self._fault(i, asked[i], value, slope)
        return each

    def _one(self, x: np.ndarray) -> Evaluation:
        """An evaluation; a singular matrix or a division by zero met on the way counts as a density that is NaN."""
        try:
            return self.target.evaluate(x, self.gradient)
        except (ArithmeticError, np.linalg.LinAlgError):
            return Evaluation(math.nan, np.full(self.target.dim, math.nan) if self.gradient else None)

    def _one_quietly(self, x: np.ndarray) -> Evaluation:
        with np.errstate(all="ignore"):  # a setting of each thread
            return self._one(x)

    def _fault(self, i: int, x: np.ndarray, value: float, slope: np.ndarray | None) -> None:
        if value == math.inf:
            raise NumericalError(
                f"chain {i}: the density is infinite at {self.target.describe(x)}.",
                value=x.copy(),
                remedy="A density that diverges traps the chain: bound it, or reparametrise.",
            )
        if math.isnan(value) or (value > -math.inf and slope is not None and not np.all(np.isfinite(slope))):
            chain = self.crew[i]
            if chain.iteration >= self.warmup:  # in warm-up, too large a first step may well reach anywhere
                chain.faults += 1
                if chain.first_fault is None:
                    chain.first_fault = np.array(x)

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait=True, cancel_futures=True)


def _located(error: CredoError, chain: Chain, target: Target) -> CredoError:
    """What a kernel complains of, with the chain and where it stood."""
    error.args = (f"chain {chain.number}, at {target.describe(chain.state.position)}: {error}",)
    return error


def _run(
    crew: list[Chain],
    target: Target,
    warmup: int,
    draws: int,
    thin: int,
    threads: int | None,
    report: Report | None,
    stop: threading.Event,
) -> None:
    """Advance every chain to its end, or to the end of its present iteration once `stop` is set."""
    evaluator = Evaluator(target, crew, warmup, threads)
    meter = Meter(crew, warmup, warmup + draws * thin, report)
    programs = {chain.number: chain.run(warmup, draws, thin) for chain in crew}
    answers: Mapping[int, Evaluation | None] = dict.fromkeys(programs)
    try:
        while answers:
            asked = {}
            for i, evaluation in answers.items():
                try:
                    request = programs[i].send(evaluation)
                    if request is None and not stop.is_set():
                        request = programs[i].send(None)
                        asked[i] = request  # None again: a whole iteration without a request, back to the others
                    elif request is not None:
                        asked[i] = request
                except StopIteration:
                    continue
                except CredoError as error:
                    raise _located(error, crew[i], target) from error.__cause__
            meter.tick()
            if stop.is_set():
                asked = {i: request for i, request in asked.items() if request is not None}
            answers = evaluator.answer_through(asked, stop)
    except KeyboardInterrupt:  # a second Ctrl-C, or one raised by the user's own functions: stop where we are
        stop.set()
    finally:
        evaluator.close()
    meter.tick(last=True)
