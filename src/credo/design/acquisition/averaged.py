"""`averaged`: moments of the belief with its hyperparameters integrated out, for answers that are read by people.

While trials are few, many lengthscales and noises explain them, and an sd at the likeliest is too small by what they
differ in. Their posterior is drawn from by importance sampling: a Student-t at the mode, as wide as the curvature says,
then another that has the moments of the first's draws; all draws count, weighted by the posterior over the mixture of
both (deterministic mixture weights).

Notation
    θ (h,)     logs of lengthscales and of the noise's sd;  w (k,) weights of draws, Σw = 1
    E f        Σ w μ(θ);   Var f = Σ w σ²(θ) + Σ w (μ(θ) − E f)²

Owen & Zhou (2000), Safe and effective importance sampling, Journal of the American Statistical Association 95.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.special

from credo.design.acquisition.points import even_normals
from credo.design.surrogates.gaussian_process import Posterior, learn, posterior_of
from credo.design.surrogates.surrogate import Surrogate
from credo.errors import NumericalError
from credo.models.gaussian_process.belief import Belief
from credo.numerics.cholesky import cholesky

__all__ = ["averaged", "drawn_hyperparameters", "likely_hyperparameters", "moments_over"]

# Draws of each of two rounds: with them the sd of what is recommended differs by some 7 % between seeds, with half by
# 15 % and at times a quarter.
DRAWS = 128
# Heavy tails: weights are bounded where the posterior's are those of its Normal and LogNormal priors.
DF = 4.0
# Rounds are wider than the moments say by this factor in variance: too wide costs draws, too narrow whole regions.
WIDER = 1.5
# θ of less weight change no digit that is shown; more trials than this leave nothing open that is worth their cubes.
NEGLIGIBLE, MOST = 1e-4, 300
# Step of differences between slopes, and the least sd of a round, in logs.
STEP, LEAST = 0.1, 0.03
# A direction in which the posterior is flat, or rises, is as wide as its prior: some 1.7 in logs.
FLATTEST = 1.0 / 3.0


def averaged(surrogate: Surrogate, X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Means (m,) and sds (m,) of standardised values, without noise, at points X (m, d).

    Cost 256 n³ for n ≤ 300 trials; with more, those at the likeliest hyperparameters.
    """
    return moments_over(surrogate, X, *likely_hyperparameters(surrogate.belief, rng))


def likely_hyperparameters(belief: Belief, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`drawn_hyperparameters`, or of more than 300 trials the likeliest alone, (1, h) and (1,)."""
    if len(belief.observations.y) > MOST:
        return belief.theta[None], np.ones(1)
    return drawn_hyperparameters(belief, rng)


def moments_over(
    surrogate: Surrogate, X: np.ndarray, thetas: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means (m,) and sds (m,) as of `averaged`, over hyperparameters drawn before. Cost a draw n³ + m n²."""
    rows, belief = surrogate.cube.rows(X), surrogate.belief
    only = len(thetas) == 1 and np.array_equal(thetas[0], belief.theta)  # its factor is there
    parts = [(belief if only else belief.at(theta)).latent(rows) for theta in thetas]
    means, variances = np.array([mean[:, 0] for mean, _ in parts]), np.array([variance for _, variance in parts])
    mean = weights @ means
    return mean, np.sqrt(np.maximum(weights @ variances + weights @ np.square(means - mean), 0.0))


def drawn_hyperparameters(belief: Belief, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draws θ (k, h) of the posterior of hyperparameters and their weights (k,)."""
    posterior, bounds = posterior_of(belief, of_logs=True), belief.bounds
    mode = learn(belief, warm=False, of_logs=True)
    rounds: list[_Students] = []
    thetas, values = np.empty((0, belief.theta.size)), np.empty(0)
    centre, covariance = mode, _width(posterior, mode, bounds)
    for _ in range(2):
        rounds.append(_Students.of(centre, WIDER * covariance))
        drawn = rounds[-1].sample(DRAWS, rng)
        thetas = np.concatenate([thetas, drawn])
        values = np.concatenate([values, [_value(posterior, theta, bounds) for theta in drawn]])
        if not np.any(np.isfinite(values)):
            return belief.theta[None], np.ones(1)
        proposed = scipy.special.logsumexp([each.log_prob(thetas) for each in rounds], axis=0)
        weights = scipy.special.softmax(values - proposed)
        centre = weights @ thetas
        gap = thetas - centre
        covariance = (weights[:, None] * gap).T @ gap + LEAST**2 * np.eye(centre.size)
    kept = weights > NEGLIGIBLE
    return thetas[kept], weights[kept] / weights[kept].sum()


class _Students(NamedTuple):
    """Student-t in h dimensions: centre + L t, of `DF` degrees of freedom."""

    centre: np.ndarray
    lower: np.ndarray

    @classmethod
    def of(cls, centre: np.ndarray, covariance: np.ndarray) -> _Students:
        return cls(centre, cholesky(covariance, "The width of hyperparameters").lower)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        scale = np.sqrt(DF / rng.chisquare(DF, n))
        return self.centre + scale[:, None] * (even_normals(n, len(self.centre), rng) @ self.lower.T)

    def log_prob(self, theta: np.ndarray) -> np.ndarray:
        """(n,), up to a constant that all in h dimensions share."""
        t = scipy.linalg.solve_triangular(self.lower, (theta - self.centre).T, lower=True)
        far = np.log1p(np.sum(np.square(t), axis=0) / DF)
        return -0.5 * (DF + len(self.centre)) * far - np.log(self.lower.diagonal()).sum()


def _value(posterior: Posterior, theta: np.ndarray, bounds: np.ndarray) -> float:
    if np.any(theta < bounds[:, 0]) or np.any(theta > bounds[:, 1]):
        return -np.inf
    try:
        value = posterior(theta)[0]
    except NumericalError:
        return -np.inf
    return value if np.isfinite(value) else -np.inf


def _width(posterior: Posterior, mode: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Covariance (h, h) that the curvature at the mode says, no wider than the prior in any direction."""
    low, high = np.clip(mode + np.array([[-STEP], [STEP]]), *bounds.T)
    curvature = np.empty((mode.size, mode.size))
    for j in range(mode.size):
        ends = [np.where(np.arange(mode.size) == j, end, mode) for end in (low, high)]
        curvature[j] = (posterior(ends[0])[1] - posterior(ends[1])[1]) / (high[j] - low[j])
    values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
    return (vectors / np.maximum(values, FLATTEST)) @ vectors.T
