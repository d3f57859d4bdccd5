"""The last rung for a generalised linear model: chains on Θ, with the prior's learned scale integrated out.

The posterior has one mode and the curvature there whitens it, so many short chains serve; all are evaluated in one pass
over the rows, their predictors the columns of one product.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import scipy.linalg

from credo.errors import ConvergenceWarning
from credo.inference.mcmc.driver import sample
from credo.inference.mcmc.ensemble import ensemble_hmc
from credo.inference.mcmc.nuts import NUTS
from credo.inference.mcmc.report import assess
from credo.inference.result import Result
from credo.inference.target import Target
from credo.inference.weighted import WeightedDraws
from credo.models.glm.bounded import Unbounded
from credo.models.glm.laplace import DataTerm, GlmMode
from credo.models.glm.prior import GlmPrior

__all__ = ["AFFORDABLE", "ENGINES", "sampled_posterior"]

# rows × parameters up to which "auto" climbs here by itself: a few seconds of gradients.
AFFORDABLE = 100_000
ENGINES = ("nuts", "hmc")
CHAINS, WARMUP, DRAWS = 8, 200, 500
# Whitened, step size is all that warm-up has to find.
NUTS_CHAINS, NUTS_WARMUP, NUTS_DRAWS = 4, 300, 1000

Density = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def sampled_posterior(
    data: DataTerm, prior: GlmPrior, mode: GlmMode, labels: list[str], engine: str
) -> tuple[WeightedDraws, Result]:
    """Draws of Θ with equal weights, τ integrated out, and the sampler's report, by `labels` of the K parameters.

    The seed is fixed, so that a fit is a function of its data.
    """
    rng = np.random.default_rng(0)
    gauge = prior.gauge(mode.statistics.curvature)
    line, lower = Unbounded(prior), mode.precision_lower(prior)
    centre = mode.position
    if line.bounded.any():
        centre = line.inverse(centre)
        lower = line.precision_lower(lower @ lower.T, centre)
    z = rng.standard_normal((CHAINS, centre.size))
    starts = centre + scipy.linalg.solve_triangular(lower, z.T, lower=True, trans=1).T

    def density(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        theta = line.theta(u)
        value, gradient = data.gradients(theta)
        prior_value, prior_gradient = prior.log_density(theta, gradient=True)
        pinned = theta @ gauge
        value = value + prior_value - 0.5 * (pinned * theta).sum(axis=1)
        stretch, more = line.log_slope(u)
        return value + stretch, (gradient + prior_gradient - pinned) * line.slope(u) + more

    began = time.perf_counter()
    run = _nuts if engine == "nuts" else _ensemble
    positions, statistics = run(density, starts, lower, rng)
    positions = line.theta(positions)
    named = Target(None, dict.fromkeys(labels, ()))
    result, _ = assess(named, positions, statistics, engine, time.perf_counter() - began)
    # trajectories of one length keep no energies to take a BFMI of
    known = {name: value for name, value in result.certificate.items() if not np.all(np.isnan(value))}
    result = replace(result, certificate=known)
    return equally_weighted(positions, rng, float(result.certificate["ess_bulk"])), result


def _ensemble(
    density: Density, starts: np.ndarray, lower: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
    """Positions (chains, draws, K) of trajectories of one length for all chains, and which diverged."""
    draws = ensemble_hmc(density, starts, lower, rng, warmup=WARMUP, draws=DRAWS)
    return draws.positions, {"divergent": draws.divergent}


def _nuts(
    density: Density, starts: np.ndarray, lower: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
    """The same by the no-U-turn sampler on u = Lᵀθ, four chains."""

    def whitened(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        theta = scipy.linalg.solve_triangular(lower, u.T, lower=True, trans=1, check_finite=False).T
        value, gradient = density(theta)
        return value, scipy.linalg.solve_triangular(lower, gradient.T, lower=True, check_finite=False).T

    target = Target(
        None,
        {"u": (starts.shape[1],)},
        value_and_gradient=whitened,
        initial=(starts @ lower)[:NUTS_CHAINS],
        vectorised=True,
    )
    with warnings.catch_warnings():  # what it would warn of is in the report that is made of its draws
        warnings.simplefilter("ignore", ConvergenceWarning)
        draws = sample(target, NUTS(), chains=NUTS_CHAINS, draws=NUTS_DRAWS, warmup=NUTS_WARMUP, rng=rng)
    u = draws.values["u"]
    flat = scipy.linalg.solve_triangular(lower, u.reshape(-1, u.shape[-1]).T, lower=True, trans=1).T
    return flat.reshape(u.shape), draws.sample_stats


def equally_weighted(positions: np.ndarray, rng: np.random.Generator, ess: float) -> WeightedDraws:
    """Draws (chains, draws, K) as weighted points, shuffled: any prefix is a fair sample."""
    points = positions.reshape(-1, positions.shape[-1])
    points = points[rng.permutation(len(points))]
    equal = np.full(len(points), 1.0 / len(points))
    covariance = np.cov(points.T).reshape(points.shape[1], points.shape[1])
    return WeightedDraws(points, equal, points.mean(axis=0), covariance, np.nan, ess, np.nan)
