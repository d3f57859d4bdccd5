"""A population of particles on the path from proposal to target, in independent islands, and the moves that refresh it.

π_β(x) ∝ q(x)^(1 − β) p̃(x)^β for 0 ≤ β ≤ 1: with the prior as q, the likelihood enters bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.inference.direct.densities import Density, Proposal
from credo.inference.direct.resampling import resample
from credo.inference.mcmc.kernel import Kernel, State
from credo.inference.mcmc.random_walk import optimal_acceptance
from credo.inference.target import Evaluation

__all__ = ["Path", "Population", "RandomWalkMoves", "KernelMoves", "conditional_ess", "next_temperature"]


@dataclass(frozen=True)
class Path:
    """The densities between q and p̃; positions are rows (n, dim), flat whatever the draws' shape."""

    density: Density
    proposal: Proposal
    shape: tuple[int, ...]

    def start(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of q with log q and log p̃."""
        x, log_q = self.proposal.draw(n, rng)
        return x.reshape(n, -1), log_q, self.density(x)

    def evaluate(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log q and log p̃ at rows; a move to where q is not positive is refused, whatever p̃ is there."""
        x = rows.reshape(len(rows), *self.shape)
        log_q = self.proposal.at(x)
        log_q = np.where(np.isnan(log_q), -np.inf, log_q)
        inside = log_q > -np.inf
        log_p = np.full(len(rows), -np.inf)
        if inside.any():
            log_p[inside] = self.density(x[inside])
        return log_q, log_p

    @staticmethod
    def at(beta: float, log_q: np.ndarray, log_p: np.ndarray) -> np.ndarray:
        """log π_β up to its constant."""
        tempered = log_p if beta == 1.0 else (1.0 - beta) * log_q + beta * log_p
        return np.where(log_q > -np.inf, tempered, -np.inf)


@dataclass
class Population:
    """n = islands × particles rows with what is known of them.

    x (n, dim); log_q, log_p (n,); log_w (islands, particles) normalised within each island;
    log_z (islands,) estimates of the log evidence so far; root (n,) the first ancestor.
    """

    x: np.ndarray
    log_q: np.ndarray
    log_p: np.ndarray
    log_w: np.ndarray
    log_z: np.ndarray
    root: np.ndarray

    @classmethod
    def draw(cls, path: Path, islands: int, particles: int, rng: np.random.Generator) -> Population:
        n = islands * particles
        x, log_q, log_p = path.start(n, rng)
        log_w = np.full((islands, particles), -np.log(particles))
        return cls(x, log_q, log_p, log_w, np.zeros(islands), np.arange(n))

    @property
    def log_ratio(self) -> np.ndarray:
        """log p̃ − log q, (islands, particles)."""
        return (self.log_p - self.log_q).reshape(self.log_w.shape)

    @property
    def ess(self) -> np.ndarray:
        """(islands,) effective numbers of particles."""
        return np.exp(-np.logaddexp.reduce(2.0 * self.log_w, axis=1))

    def reweight(self, step: float, owner: str) -> None:
        """From π_β to π_{β + step}: weights grow by (p̃/q)^step, the evidence by their mean."""
        log_w = self.log_w + step * self.log_ratio
        growth = np.logaddexp.reduce(log_w, axis=1)
        dead = np.flatnonzero(growth == -np.inf)
        if dead.size:
            raise NumericalError(
                f"{owner}: all particles of island {dead[0]} are where the target is zero.",
                value=int(dead[0]),
                remedy="Take more particles an island, or a proposal nearer to the target.",
            )
        self.log_z = self.log_z + growth
        self.log_w = log_w - growth[:, None]

    def resample(self, below: float, rng: np.random.Generator) -> np.ndarray:
        """Resample the islands whose ESS is below a share of their particles; which ones."""
        particles = self.log_w.shape[1]
        poor = self.ess < below * particles
        for i in np.flatnonzero(poor):
            rows = i * particles + resample(np.exp(self.log_w[i]), particles, rng)
            own = slice(i * particles, (i + 1) * particles)
            for name in ("x", "log_q", "log_p", "root"):
                values = getattr(self, name)
                values[own] = values[rows]
            self.log_w[i] = -np.log(particles)
        return poor


def conditional_ess(weights: np.ndarray, increment: np.ndarray) -> float:
    """(Σ w v)²/Σ w v² ≤ 1 for weights w that sum to 1 and v = exp(increment): what a step leaves, as a share.

    Reference: Zhou, Johansen and Aston (2016), Toward automatic model comparison, JCGS 25.
    """
    v = np.exp(increment)
    return float((weights @ v) ** 2 / (weights @ np.square(v)))


def next_temperature(beta: float, log_w: np.ndarray, log_ratio: np.ndarray, share: float) -> float:
    """The largest β' ≤ 1 whose step from β keeps the conditional ESS at `share` of what any step at all leaves."""
    alive = (log_ratio > -np.inf) & (log_w > -np.inf)
    weights = np.exp(log_w[alive] - log_w[alive].max())
    weights, below = weights / weights.sum(), log_ratio[alive] - log_ratio[alive].max()

    def kept(step: float) -> float:
        return conditional_ess(weights, step * below)

    if kept(1.0 - beta) >= share:
        return 1.0
    low, high = -80.0, float(np.log(1.0 - beta))  # log of the step: it can be tiny where the prior is vague
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if kept(np.exp(middle)) >= share else (low, middle)
    return beta + float(np.exp(low))


@dataclass(frozen=True)
class RandomWalkMoves:
    """Random-walk Metropolis of all particles at once, x + s L ξ with L Lᵀ the particles' covariance.

    One evaluation moves them all, as in `mcmc.ensemble`; the scale aims at the acceptance of `mcmc.RandomWalk`.
    """

    factor: np.ndarray
    scale: float

    @classmethod
    def tuned(cls, x: np.ndarray, weights: np.ndarray, scale: float | None) -> RandomWalkMoves:
        """For particles (n, dim) with weights; `scale` is that of the temperature before."""
        dim = x.shape[1]
        centred = x - weights @ x
        covariance = (centred * weights[:, None]).T @ centred
        spread = np.sqrt(np.diag(covariance))
        # A factor exists even where few particles or a constant coordinate leave the covariance singular.
        share = dim / (dim + 1.0 / np.sum(weights**2))
        floor = np.maximum(spread, 1e-10 * np.maximum(np.abs(x).max(axis=0), 1e-290)) ** 2
        covariance = (1.0 - share) * covariance + np.diag(share * floor + 1e-12 * floor)
        return cls(np.linalg.cholesky(covariance), 2.38 / np.sqrt(dim) if scale is None else scale)

    def sweep(self, path: Path, beta: float, population: Population, rng: np.random.Generator) -> float:
        """One step of every particle; the mean acceptance rate."""
        n, dim = population.x.shape
        proposed = population.x + self.scale * rng.standard_normal((n, dim)) @ self.factor.T
        log_q, log_p = path.evaluate(proposed)
        with np.errstate(invalid="ignore"):
            change = path.at(beta, log_q, log_p) - path.at(beta, population.log_q, population.log_p)
        change = np.where(np.isnan(change), -np.inf, change)  # from zero to zero: stay
        take = -rng.standard_exponential(n) < change
        for name, values in (("x", proposed), ("log_q", log_q), ("log_p", log_p)):
            getattr(population, name)[take] = values[take]
        return float(np.exp(np.minimum(change, 0.0)).mean())

    def adapted(self, acceptance: float) -> RandomWalkMoves:
        """A scale nearer to the acceptance at which a random walk is fastest."""
        change = np.clip(4.0 * (acceptance - optimal_acceptance(len(self.factor))), -1.0, 1.0)
        return RandomWalkMoves(self.factor, self.scale * float(np.exp(change)))


@dataclass(frozen=True)
class KernelMoves:
    """Steps of a kernel of `inference.mcmc` without gradients, all particles in lockstep: one evaluation for all."""

    kernel: Kernel

    @classmethod
    def tuned(cls, make: Any, x: np.ndarray, weights: np.ndarray) -> KernelMoves:
        """With the kernel given, or with the one that a function makes of particles (n, dim) and weights (n,)."""
        kernel: Any = make
        if callable(make) and not isinstance(make, type) and not hasattr(make, "step"):
            kernel = make(x, weights)
        if isinstance(kernel, type) or not hasattr(kernel, "step") or kernel.needs_gradient:
            raise ParameterError(
                "smc", "kernel", "a kernel without gradients, such as Slice(), or a function that makes one of "
                "particles and weights", kernel, "The proposal has no gradient; None is an adaptive random walk.",
            )  # fmt: skip
        return cls(kernel)

    def sweep(self, path: Path, beta: float, population: Population, rng: np.random.Generator) -> float:
        known = path.at(beta, population.log_q, population.log_p)
        steps, found = {}, {}
        for i, x in enumerate(population.x):
            steps[i] = self.kernel.step(rng, State(x.copy(), float(known[i])))
        infos: list[Any] = []
        answers: dict[int, Any] = dict.fromkeys(steps)
        while answers:
            asked = {}
            for i, evaluation in answers.items():
                try:
                    asked[i] = steps[i].send(evaluation)
                except StopIteration as done:
                    found[i], info = done.value
                    infos.append(info)
            if asked:
                values = path.at(beta, *path.evaluate(np.array(list(asked.values()))))
                answers = {i: Evaluation(float(value)) for i, value in zip(asked, values)}
            else:
                answers = {}
        population.x[:] = [found[i].position for i in range(len(found))]
        population.log_q, population.log_p = path.evaluate(population.x)
        rates = [info.acceptance_rate for info in infos if hasattr(info, "acceptance_rate")]
        return float(np.mean(rates)) if rates else 1.0

    def adapted(self, acceptance: float) -> KernelMoves:
        return self
