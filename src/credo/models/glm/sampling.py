"""The last rung for a generalised linear model: Hamiltonian Monte Carlo on coefficients and the prior's learned scale.

The posterior has one mode and the curvature there whitens it, so many short chains serve; all are evaluated in one pass
over the rows, their predictors the columns of one product.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg

from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.diagnostics.mcmc import check_convergence
from credo.inference.mcmc.ensemble import ensemble_hmc
from credo.inference.result import Result
from credo.inference.weighted import WeightedDraws
from credo.models.glm.equations import Design
from credo.models.glm.laplace import GlmFit, GlmPrior
from credo.numerics.cholesky import cholesky

__all__ = ["sampled_posterior", "AFFORDABLE"]

# rows × parameters up to which "auto" climbs here by itself: a few seconds of gradients.
AFFORDABLE = 100_000
CHAINS, WARMUP, DRAWS = 8, 200, 500


def sampled_posterior(
    source: Source, design: Design, prior: GlmPrior, fit: GlmFit, labels: list[str]
) -> tuple[WeightedDraws, Result]:
    """Draws of Θ with equal weights, τ integrated out, and the sampler's report, by `labels` of the kD coefficients.

    The seed is fixed, so that a fit is a function of its data.
    """
    d = fit.mode.size
    rng = np.random.default_rng(0)
    gauge = prior.gauge(fit.statistics.curvature)
    _, precision = prior.mean_and_precision(fit.tau)
    lower = cholesky(fit.statistics.curvature + gauge + precision, "the posterior precision").lower
    z = rng.standard_normal((CHAINS, d))
    starts = fit.mode + scipy.linalg.solve_triangular(lower, z.T, lower=True, trans=1).T

    def density(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = reduce(
            source, lambda block: chains_gradient(block, theta, design), lambda a, b: (a[0] + b[0], a[1] + b[1])
        )
        prior_value, prior_gradient = prior.log_density(theta, gradient=True)
        pinned = theta @ gauge
        return value + prior_value - 0.5 * (pinned * theta).sum(axis=1), gradient + prior_gradient - pinned

    began = time.perf_counter()
    draws = ensemble_hmc(density, starts, lower, rng, warmup=WARMUP, draws=DRAWS)
    verdict = check_convergence({label: draws.positions[..., i] for i, label in enumerate(labels)})
    advice = verdict.advice
    if draws.divergences:
        advice = (*advice, f"{draws.divergences} of {CHAINS * DRAWS} trajectories diverged: the draws may be biased.")
    result = Result(
        "not_certified" if advice else "converged",
        "hmc",
        seconds=(time.perf_counter() - began,),
        certificate={"rhat": verdict.rhat, "ess_bulk": verdict.ess_bulk, "ess_tail": verdict.ess_tail},
        advice=tuple(advice),
    )
    points = draws.positions.reshape(-1, d)[rng.permutation(CHAINS * DRAWS)]  # any prefix is a fair sample
    equal = np.full(len(points), 1.0 / len(points))
    covariance = np.cov(points.T).reshape(d, d)
    return WeightedDraws(points, equal, points.mean(axis=0), covariance, np.nan, verdict.ess_bulk, np.nan), result


def chains_gradient(block: Block, theta: np.ndarray, design: Design) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood (c,) and gradient (c, kD) of a prepared block at c positions."""
    phi, y, k = block.X, block.y, design.n_predictors
    assert y is not None
    weights = None if block.weights is None else np.asarray(block.weights, dtype=np.float64)[:, None]
    if k == 1:
        value, slope = design.likelihood.value_and_derivatives(y[:, None], phi @ theta.T, order=1)
    else:
        eta = (phi @ theta.reshape(-1, phi.shape[1]).T).reshape(len(phi), -1, k)
        codes = np.broadcast_to(y[:, None], eta.shape[:2])
        value, slope = design.likelihood.value_and_derivatives(codes, eta, order=1)
    if weights is not None:
        value, slope = value * weights, slope * (weights if k == 1 else weights[..., None])
    gradient = slope.reshape(len(phi), -1).T @ phi
    return value.sum(axis=0), gradient.reshape(len(theta), -1)
