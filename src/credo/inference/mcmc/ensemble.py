"""Hamiltonian Monte Carlo by many short chains at once: one evaluation moves them all.

For densities whose scale is known in advance (the curvature at a mode whitens them) and that have one mode, several
chains that share a step size need few iterations each, and a leapfrog step is one matrix product for the lot: no tree,
no bookkeeping a chain. Convergence is judged across the chains, which begin spread over the whitened Gaussian.

This is no second driver. `sample` runs chains that know nothing of each other, each with its own stream, kernel and
tuning, so that one can be resumed, or its draws compared with those of another; here one kernel moves a matrix, and
what is learned is learned from all rows. The leapfrog's constants, the averaging of the step size and the verdict on
the draws are the driver's own (docs/decisions/0005-two-ways-to-run-many-chains.md).

Reference: Hoffman, Radul and Sountsov (2021), An adaptive MCMC scheme for setting trajectory lengths.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from credo.errors import NumericalError
from credo.inference.mcmc.hamiltonian import MAX_ENERGY_ERROR, Averaging, restart
from credo.inference.mcmc.report import assess
from credo.inference.result import Result
from credo.inference.target import Target
from credo.numerics.cholesky import cholesky

__all__ = ["EnsembleDraws", "ensemble_hmc"]

TARGET_ACCEPTANCE = 0.8
# A quarter of a period, π/2, makes the draws of a whitened Gaussian independent; skew targets need somewhat more. Of 64
# runs (Gaussians of 3 and 20 dimensions, two skew logistic posteriors; 8 chains × 500 draws) all had R̂ < 1.01 at 1.75,
# two had not at 2.
TRAJECTORY = 1.75
MAX_STEPS = 64


@dataclass(frozen=True)
class EnsembleDraws:
    """positions (chains, draws, dim); acceptance rates and divergent transitions (chains, draws); gradient evaluations,
    warm-up included; seconds."""

    positions: np.ndarray
    acceptance_rate: np.ndarray
    divergent: np.ndarray
    evaluations: int
    seconds: float

    @property
    def divergences(self) -> int:
        return int(self.divergent.sum())

    def result(self, labels: Sequence[str]) -> Result:
        """The verdict, coordinates named by `labels` (dim,): that of `sample` on chains like these."""
        named = Target(None, dict.fromkeys(labels, ()))
        return assess(named, self.positions, {"divergent": self.divergent}, "hmc", self.seconds)[0]


def ensemble_hmc(
    value_and_gradient: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    starts: np.ndarray,
    precision_lower: np.ndarray,
    rng: np.random.Generator,
    *,
    warmup: int = 150,
    draws: int = 64,
) -> EnsembleDraws:
    """Draws of exp(log density).

    value_and_gradient : (chains, dim) → (chains,), (chains, dim)
    starts : (chains, dim), spread like the target or wider
    precision_lower : L with L Lᵀ a first guess of the target's precision, x = L⁻ᵀ u

    In warm-up the step size is tuned by dual averaging on the mean acceptance of all chains, and the precision is taken
    anew from the positions of all chains at the end of every window. Trajectories have a length uniform in
    (½, 3/2) · TRAJECTORY in whitened units. Cost: (warmup + draws) trajectories of a few evaluations of all chains.
    """
    chains, dim = starts.shape
    began = time.perf_counter()
    ensemble = _Ensemble(value_and_gradient, starts, precision_lower)
    kept, changes = np.empty((draws, chains, dim)), np.empty((draws, chains))
    recent: list[np.ndarray] = []
    averaging = _fresh(0.5 * dim**-0.25)
    ends = np.cumsum(np.diff(np.concatenate([[0.0], WINDOWS])) * warmup).astype(int)
    for iteration in range(warmup + draws):
        warming = iteration < warmup
        step = float(np.exp(averaging.log_step if warming else averaging.log_mean))
        change = ensemble.move(step, TRAJECTORY * (0.5 + rng.random()), rng)
        if not warming:
            kept[iteration - warmup], changes[iteration - warmup] = ensemble.x, change
            continue
        averaging = averaging.update(TARGET_ACCEPTANCE - float(np.exp(np.minimum(change, 0.0)).mean()))
        recent.append(ensemble.x)
        if iteration + 1 in ends[:-1]:
            ensemble = _rewhitened(ensemble, recent[len(recent) // 2 :])
            averaging, recent = _fresh(float(np.exp(averaging.log_mean))), []
    rates = np.exp(np.minimum(changes.T, 0.0))
    divergent = changes.T < -MAX_ENERGY_ERROR
    seconds = time.perf_counter() - began
    return EnsembleDraws(np.swapaxes(kept, 0, 1), rates, divergent, ensemble.evaluations, seconds)


# Ends of the windows of warm-up, as shares: the early ones cross the transient, the last one settles the step size.
WINDOWS = (0.15, 0.4, 0.75, 1.0)


def _fresh(step: float) -> Averaging:
    return restart(float(np.log(step)), float(np.log(10.0 * step)))


class _Ensemble:
    """All chains in whitened coordinates: positions u = Lᵀ x, log densities, whitened gradients."""

    def __init__(self, density: Callable, x: np.ndarray, lower: np.ndarray, evaluations: int = 0) -> None:
        self.density, self.lower, self.evaluations = density, lower, evaluations
        self.u = x @ lower
        self.value, self.gradient = self._evaluate(self.u)
        bad = np.flatnonzero(~np.isfinite(self.value))
        if bad.size:
            raise NumericalError(
                f"The log density is {self.value[bad[0]]}, not finite at a start of chain {bad[0]}.", value=x[bad[0]]
            )

    @property
    def x(self) -> np.ndarray:
        return self._unwhiten(self.u)

    def _unwhiten(self, u: np.ndarray) -> np.ndarray:
        return scipy.linalg.solve_triangular(self.lower, u.T, lower=True, trans=1, check_finite=False).T

    def _evaluate(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = self.density(self._unwhiten(u))
        self.evaluations += len(u)
        return value, scipy.linalg.solve_triangular(self.lower, gradient.T, lower=True, check_finite=False).T

    def move(self, step: float, length: float, rng: np.random.Generator) -> np.ndarray:
        """One trajectory of every chain, accepted or not; the energy lost by each (−∞ where it left the range)."""
        n_steps = int(np.clip(np.ceil(length / step), 1, MAX_STEPS))
        step = min(step, length / n_steps)  # lengths that are multiples of one step resonate with the whitened Gaussian
        momentum = rng.standard_normal(self.u.shape)
        energy = 0.5 * np.square(momentum).sum(axis=1) - self.value
        u, value, gradient = self.u, self.value, self.gradient
        with np.errstate(all="ignore"):  # a chain that diverges is rejected
            for _ in range(n_steps):
                momentum = momentum + 0.5 * step * gradient
                u = u + step * momentum
                value, gradient = self._evaluate(u)
                momentum = momentum + 0.5 * step * gradient
            change = energy - (0.5 * np.square(momentum).sum(axis=1) - value)
        change = np.where(np.isfinite(change), change, -np.inf)
        take = rng.random(len(change)) < np.exp(np.minimum(change, 0.0))
        self.u = np.where(take[:, None], u, self.u)
        self.value = np.where(take, value, self.value)
        self.gradient = np.where(take[:, None], gradient, self.gradient)
        return change


def _rewhitened(ensemble: _Ensemble, recent: list[np.ndarray]) -> _Ensemble:
    """The same positions, whitened by the covariance of recent ones, shrunk a little to its diagonal."""
    x = np.concatenate(recent)
    covariance = np.atleast_2d(np.cov(x.T))
    share = x.shape[1] / (x.shape[1] + 0.1 * len(x))
    covariance = (1.0 - share) * covariance + share * np.diag(np.diag(covariance))
    precision = np.linalg.inv(covariance)
    lower = cholesky(0.5 * (precision + precision.T), "the chains' precision").lower
    return _Ensemble(ensemble.density, ensemble.x, lower, ensemble.evaluations)
