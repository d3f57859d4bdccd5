"""What Hamiltonian kernels share: the leapfrog in whitened coordinates and its warm-up.

Notation: q position (dim,), r whitened momentum, h = Aᵀ ∇log p(q) whitened gradient, A the metric's map, e the step.
H = ½ r·r − log p(q); a step r ← r + e h/2, q ← q + e A r, r ← r + e h/2 is reversible and keeps volume.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from credo.errors import ParameterError
from credo.inference.mcmc.kernel import State
from credo.inference.mcmc.metric import Diagonal, Metric, learn_metric
from credo.inference.target import Evaluation

__all__ = ["MAX_ENERGY_ERROR", "drift", "kick", "jittered", "check_settings", "HamiltonianTuner"]

#: An energy error beyond which a trajectory has diverged: its draws would have weight e^−1000 (Stan's bound).
MAX_ENERGY_ERROR = 1000.0


def drift(metric: Metric, e: float, q: np.ndarray, r: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Half a kick and the move: (r + e h/2, new q)."""
    half = r + (0.5 * e) * h
    return half, q + metric.colour(e * half)


def kick(metric: Metric, e: float, half: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The other half at the new position: (r, h)."""
    h = metric.whiten(gradient)
    return half + (0.5 * e) * h, h


def jittered(rng: np.random.Generator, step_size: float, jitter: float) -> float:
    """A step size uniform within ±jitter, so that no trajectory resonates with a period of the target."""
    return step_size * (1.0 + jitter * (2.0 * rng.random() - 1.0)) if jitter else step_size


def check_settings(kernel: Any) -> None:
    """Constraints common to HMC and NUTS, and a metric given as an array turned into a `Metric`."""
    owner = type(kernel).__name__
    if kernel.step_size is not None and not 0 < kernel.step_size < math.inf:
        raise ParameterError(owner, "step_size", "None, or finite and > 0", kernel.step_size)
    if not 0 < kernel.target_acceptance < 1:
        raise ParameterError(owner, "target_acceptance", "between 0 and 1 (exclusive)", kernel.target_acceptance)
    if not 0 <= kernel.jitter < 1:
        raise ParameterError(owner, "jitter", "≥ 0 and < 1", kernel.jitter)
    if kernel.adapt_metric not in ("auto", "diagonal", "low_rank", "dense", None):
        raise ParameterError(
            owner, "adapt_metric", '"auto", "diagonal", "low_rank", "dense" or None', kernel.adapt_metric
        )


class Averaging(NamedTuple):
    """Nesterov's dual averaging of log step sizes towards a wanted acceptance (Hoffman and Gelman 2014, §3.2).

    `centre` is what the steps are shrunk to, `error` the mean shortfall of acceptance, `log_mean` the averaged answer.
    """

    centre: float
    log_step: float
    log_mean: float
    error: float = 0.0
    count: int = 0

    def update(self, shortfall: float) -> Averaging:
        t = self.count + 1
        # t₀ = 10, κ = 0.75 are the authors' values; their γ = 0.05 lets the steps swing so far that the acceptance at
        # their average is 0.87 where 0.80 was wanted (logistic regression, 1,000 × 5: 0.25 effective draws a gradient
        # against 0.48 at 0.2, which still moves a step tenfold within four iterations).
        error = self.error + (shortfall - self.error) / (t + 10.0)
        log_step = self.centre - math.sqrt(t) / 0.2 * error
        weight = t**-0.75
        return Averaging(self.centre, log_step, self.log_mean + weight * (log_step - self.log_mean), error, t)


def restart(log_step: float, centre: float) -> Averaging:
    return Averaging(centre, log_step, log_step)


class Record(NamedTuple):
    """The averaging of the step; draws and gradients (appended in place) since the window before this one, the
    iteration at which the present window began, and the iteration."""

    averaging: Averaging
    draws: list[np.ndarray]
    gradients: list[np.ndarray]
    began: int = 0
    iteration: int = 0


# Seyboldt, Carlson and Carpenter (2025), "Preconditioning HMC by minimising Fisher divergence": short windows while the
# transient lasts, long ones after, a last stretch for the step size alone.
EARLY_SHARE, EARLY_WINDOW, WINDOW, SETTLE_SHARE = 0.3, 10, 80, 0.15
#: how often the metric is refreshed within a window, in iterations, up to MAX_DENSE dimensions
REFRESH = 10
#: a 100 × 100 product takes 3 µs; on a Normal of condition 10⁴ a dense metric needs 7 steps a draw, a diagonal one 242
MAX_DENSE = 100


@dataclass(frozen=True)
class HamiltonianTuner:
    """Learns the step size by dual averaging and the metric from draws and gradients of the last two windows."""

    kernel: Any
    dim: int
    warmup: int

    @property
    def kind(self) -> str | None:
        """What "auto" means here: dense while a product with (dim, dim) costs about what a gradient does, then low
        rank."""
        kind = self.kernel.adapt_metric
        return ("dense" if self.dim <= MAX_DENSE else "low_rank") if kind == "auto" else kind

    def start(self, rng: np.random.Generator, state: State) -> Generator[np.ndarray, Evaluation, tuple[Record, Any]]:
        kernel = self.kernel
        if state.gradient is None:
            state = State(state.position, *(yield state.position))
        if kernel.metric is None and self.kind is not None:
            # Unit draws meet gradients of this size: the first guess of σ, kept within a factor e^±7.
            size = np.clip(np.abs(state.gradient), 1e-6, 1e6)  # type: ignore[arg-type]
            kernel = replace(kernel, metric=Diagonal(1.0 / np.sqrt(size)))
        if kernel.step_size is None:
            kernel = replace(kernel, step_size=(yield from self._first_step(rng, state, kernel)))
        log_step = math.log(kernel.step_size)
        return Record(restart(log_step, log_step + math.log(10.0)), [], []), kernel

    def _first_step(self, rng: np.random.Generator, state: State, kernel: Any) -> Any:
        """Doubles or halves 1 until the acceptance of one leapfrog crosses ½ (Hoffman and Gelman 2014, algorithm 4)."""
        metric = kernel.metric or Diagonal(np.ones(self.dim))
        h = metric.whiten(state.gradient)  # type: ignore[arg-type]
        r = rng.standard_normal(self.dim)
        energy = 0.5 * r.dot(r) - state.log_density  # type: ignore[operator]
        step, direction = 1.0, 0
        for _ in range(60):
            half, q = drift(metric, step, state.position, r, h)
            value, gradient = yield q
            after, _ = kick(metric, step, half, gradient)  # type: ignore[arg-type]
            gain = energy - (0.5 * after.dot(after) - value)
            now = 1 if gain > -math.log(2.0) else -1  # NaN counts as too large a step
            if direction and now != direction:
                break
            direction = now
            step *= 2.0**direction
        return step

    def update(self, record: Record, kernel: Any, state: State, info: Any) -> tuple[Record, Any]:
        averaging = record.averaging.update(self.kernel.target_acceptance - info.acceptance_rate)
        record = record._replace(averaging=averaging, iteration=record.iteration + 1)
        kernel = self._with(kernel, step_size=math.exp(averaging.log_step))
        if self.kind is None or record.iteration > (1.0 - SETTLE_SHARE) * self.warmup:
            return record, kernel
        record.draws.append(state.position)
        record.gradients.append(state.gradient)  # type: ignore[arg-type]
        early = record.iteration <= EARLY_SHARE * self.warmup
        window = EARLY_WINDOW if early else min(max(WINDOW, self.dim), max(20, self.warmup // 5))
        switch = record.iteration - record.began >= window
        if not (switch or (record.iteration % REFRESH == 0 and self.dim <= MAX_DENSE)):
            return record, kernel
        metric = learn_metric(self.kind, np.array(record.draws), np.array(record.gradients))
        if metric is not None:
            kernel = self._with(kernel, metric=metric)
        if switch:
            keep = slice(-(record.iteration - record.began), None)
            log_step = averaging.log_mean
            record = Record(
                restart(log_step, log_step + math.log(10.0) if early else log_step),
                record.draws[keep], record.gradients[keep], record.iteration, record.iteration,
            )  # fmt: skip
        return record, kernel

    def finish(self, record: Record, kernel: Any) -> Any:
        if record.averaging.count == 0:
            return kernel
        return self._with(kernel, step_size=math.exp(record.averaging.log_mean))

    @staticmethod
    def _with(kernel: Any, **changes: Any) -> Any:
        # `dataclasses.replace` would run the checks of the constructor at every step.
        changed = object.__new__(type(kernel))
        changed.__dict__.update(kernel.__dict__, **changes)
        return changed
