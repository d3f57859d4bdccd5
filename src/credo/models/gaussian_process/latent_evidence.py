"""`LatentTask` and `LatentEvidence`: log p(y | θ, ψ, m) of a latent Gaussian process, with its gradient.

    f ~ GP(m + offset, k_θ),  y_i ~ p(y_i | f_i, ψ)

Notation
    θ (h,) logs of the kernel's free hyperparameters; ψ (a,) those of the likelihood; m the constant of the mean
    position (h + a + 1 or less,): θ, ψ and, where it is learned, m
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.likelihoods import Likelihood
from credo.errors import ConvergenceWarning, NumericalError
from credo.inference.latent_gaussian import (
    LatentPosterior,
    LatentPrior,
    Sites,
    expectation_propagation,
    laplace_latent,
)
from credo.kernels import Kernel

__all__ = ["LatentEvidence", "LatentTask"]

# A learned log scale, log dispersion or log degrees of freedom moves this far from its start: four decades.
PSI_REACH = float(np.log(1e4))
# How far the mean of a latent function may lie from where the outcomes put it: e²⁰ of odds or rates; for real outcomes
# ten of their spreads.
MEAN_REACH, SPREADS = 20.0, 10.0
# While hyperparameters still move: moments of EP, in which the evidence is stationary, and the gain of Newton's last
# step, which the polishing after it squares: either leaves evidence and gradient right to 1e-7.
LOOSE = {"ep": 1e-5, "laplace": 1e-8}
# Newton's steps, n each, for how much of the last α to start from.
SHARE_STEPS = 6


@dataclass(frozen=True, eq=False)
class LatentTask:
    """What is held still while hyperparameters are learned.

    kernel : at the hyperparameters to start from ; likelihood : a record of `distributions/likelihoods`
    X (n, d), y (n,), checked ; offset (n,) or None : known part of the prior mean
    weights (n,) or None : times a row counts
    mean : the constant of the prior mean; None is learned
    """

    kernel: Kernel
    likelihood: Likelihood
    X: np.ndarray
    y: np.ndarray
    offset: np.ndarray | None = None
    weights: np.ndarray | None = None
    mean: float | None = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Of the entries of a position."""
        last = ("mean",) if self.mean is None else ()
        return (*self.kernel.names, *self.likelihood.auxiliary, *last)

    def start(self) -> np.ndarray:
        """The kernel as it is; ψ and m from the outcomes alone."""
        kind: Any = self.likelihood
        psi = kind.initial_auxiliary(self.y) if self.likelihood.auxiliary else np.zeros(0)
        return np.concatenate([self.kernel.theta, psi, [self._level()] if self.mean is None else []])

    def bounds(self) -> np.ndarray:
        """(p, 2) of positions."""
        rest = self.start()[self.kernel.theta.size :]
        reach = np.full(rest.size, PSI_REACH)
        if self.mean is None:
            reach[-1] = MEAN_REACH if self.likelihood.kind != "real" else SPREADS * (float(np.std(self.y)) or 1.0)
        return np.concatenate([self.kernel.bounds.reshape(-1, 2), np.stack([rest - reach, rest + reach], axis=1)])

    def _level(self) -> float:
        """Where the outcomes put the latent function on average: their median if they are real, for outliers' sake."""
        each = self.likelihood.initial_eta(self.y) - (0.0 if self.offset is None else self.offset)
        if self.likelihood.kind == "real":
            return float(np.median(each))
        return float(np.average(each, weights=self.weights))

    def parts(self, position: np.ndarray) -> tuple[Kernel, np.ndarray | None, float]:
        """The kernel, ψ (None where there is none) and m."""
        h, a = self.kernel.theta.size, len(self.likelihood.auxiliary)
        psi = position[h : h + a] if a else None
        return self.kernel.with_theta(position[:h]), psi, float(position[-1]) if self.mean is None else self.mean

    def prior_mean(self, constant: float) -> np.ndarray:
        return np.broadcast_to(constant, self.y.shape) + (0.0 if self.offset is None else self.offset)


class LatentEvidence:
    """position → (log evidence + log priors of θ and ψ, gradient), by Laplace's method or EP.

    Each evaluation starts where the last one ended, carried to the new covariance to first order.
    """

    def __init__(self, task: LatentTask, engine: str) -> None:
        self.task, self.engine = task, engine
        self.last: LatentPosterior | None = None
        self.at = np.empty(0)  # the last position, and what was found there: a search asks for its start twice
        self.found: tuple[float, np.ndarray] = 0.0, np.empty(0)

    def __call__(self, position: np.ndarray) -> tuple[float, np.ndarray]:
        if self.last is None or not np.array_equal(position, self.at):
            self.found = self._evaluate(position)
            self.at = position.copy()
        return self.found

    def _evaluate(self, position: np.ndarray) -> tuple[float, np.ndarray]:
        task = self.task
        kernel, psi, constant = task.parts(position)
        K, pullback = kernel.value_and_pullback(task.X)
        with warnings.catch_warnings():  # the fit at the end says it
            warnings.simplefilter("ignore", ConvergenceWarning)
            posterior = self._posterior(K, psi, constant, LOOSE[self.engine])
        if posterior.result.status == "not_identified":
            raise NumericalError("The mode of the latent function is no maximum.", value=position)
        weight, along = posterior.evidence_weights()
        value, gradient = posterior.log_evidence + kernel.log_prior(), pullback(weight) + kernel.log_prior_gradient()
        parts = [gradient]
        if psi is not None:
            log_prior, slope, _ = task.likelihood.auxiliary_log_prior(psi)
            value += float(log_prior)
            parts.append(posterior.auxiliary_gradient() + slope)
        if task.mean is None:
            parts.append(np.array([along.sum()]))
        return value, np.concatenate(parts)

    def posterior(self, position: np.ndarray) -> LatentPosterior:
        """q(f) there, the moments of EP to full accuracy."""
        if self.last is not None and self.engine == "laplace" and np.array_equal(position, self.at):
            return self.last
        kernel, psi, constant = self.task.parts(position)
        return self._posterior(kernel(self.task.X), psi, constant, None)

    def _posterior(self, K: np.ndarray, psi: np.ndarray | None, constant: float, tol: float | None) -> LatentPosterior:
        task = self.task
        if not np.all(np.isfinite(K)):
            raise NumericalError(
                f"{type(task.kernel).__name__}: covariances of the rows are not finite.", value=task.kernel,
                remedy="Rescale the columns of X, or the lengthscales with them.",
            )  # fmt: skip
        prior = LatentPrior(K, task.prior_mean(constant), known=True)
        options: dict[str, Any] = {"checked": True} if tol is None else {"tol": tol, "checked": True}
        if self.engine == "ep":
            start = None if self.last is None else (self.last.state.tau, self.last.state.nu)
            found = expectation_propagation(prior, task.likelihood, task.y, psi, task.weights, start=start, **options)
        else:
            sites = Sites.of("LatentEvidence", prior, task.likelihood, task.y, psi, task.weights, True)
            start = self._carried(prior, sites)
            found = laplace_latent(prior, task.likelihood, task.y, psi, task.weights, start, **options)
        self.last = found
        return found

    def _carried(self, prior: LatentPrior, sites: Sites) -> np.ndarray:
        """α to start from: the last one moved to first order, dα = −R (dK α + dm), or, after a long step, a share of
        it; at the very start a share of the slope."""
        if self.last is None:
            coordinates = sites.derivatives(prior.mean, 1)[1]
            return _share(prior, sites, coordinates, prior.covariance @ coordinates)[0] * coordinates
        state = self.last.state
        shift = prior.covariance @ state.coordinates
        moved = state.coordinates - state.reduce(prior.mean + shift - state.mean)
        f = prior.mean + prior.covariance @ moved
        reached = float(np.sum(sites.derivatives(f, 0)[0])) - 0.5 * float(moved @ (f - prior.mean))
        share, without = _share(prior, sites, state.coordinates, shift)
        return moved if reached >= without else share * state.coordinates


def _share(prior: LatentPrior, sites: Sites, coordinates: np.ndarray, shift: np.ndarray) -> tuple[float, float]:
    """The s at which f = m + s K α is most probable, and log p + log prior there, by Newton's method: n a step."""
    pull, share = float(coordinates @ shift), 1.0
    for _ in range(SHARE_STEPS):
        _, first, second = sites.derivatives(prior.mean + share * shift)
        slope, bend = float(first @ shift) - pull * share, float(second @ shift**2) - pull
        if not (np.isfinite(slope) and bend < 0.0):
            break
        share = min(max(share - slope / bend, 0.3 * share), 3.0 * share)
    value = float(np.sum(sites.derivatives(prior.mean + share * shift, 0)[0])) - 0.5 * pull * share**2
    return share, value
