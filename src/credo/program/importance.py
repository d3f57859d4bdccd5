"""Hyperparameters by adaptive importance sampling: four to a dozen of them, where quadrature has too many nodes.

The collapsed density of a few logarithms of scales is close to Normal, so that independent weighted draws need no
chain; k̂ certifies them, and where it does not, NUTS takes over.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from credo.errors import NumericalError
from credo.inference.direct.adaptive import AdaptiveSample, adaptive_importance
from credo.inference.hyper.density import Density
from credo.inference.hyper.mode import find_mode
from credo.inference.result import Result
from credo.inference.transforms import unconstrained
from credo.program.collapsed import Collapsed, in_chains, leaf_draws, ordered
from credo.program.fitting import Found
from credo.program.quadrature import block_draws, density_rows, named

__all__ = ["fit_importance"]

# Evaluations: what a fast density gets, the seconds a slow one may take, and the fewest worth trying.
EVALUATIONS, SECONDS, FEWEST = 10_000, 5.0, 800
# k̂ and effective draws that certify the answer (Vehtari et al. 2024 say 0.7; the moments of θ want a little less).
LARGEST_K, LEAST_EFFECTIVE = 0.6, 400.0
# Further searches for modes, how far about the first start they begin, and when two modes count as different: so many
# sds apart, and not so many nats lower.
MORE_STARTS, SPREAD, APART, DEPTH = 2, 1.5, 2.0, 10.0


def fit_importance(collapsed: Collapsed, draws: int, rng: np.random.Generator) -> Found | None:
    """Draws and evidence; None where the certificate fails."""
    free, bijection = unconstrained(collapsed.target)
    rows = density_rows(collapsed, free, bijection)
    density = Density(None, rows, lambda z: free.evaluate(z, gradient=True))  # type: ignore[arg-type,return-value]
    try:
        mode = _one_mode(density, bijection.inverse(collapsed.start), rng)
        if mode is None:
            return None
        covariance = _curvature(density, mode)
    except (NumericalError, np.linalg.LinAlgError):
        return None
    fast = collapsed.has_batch and collapsed.block is not None
    n = EVALUATIONS if fast else int(np.clip(SECONDS / collapsed.seconds, FEWEST, EVALUATIONS))
    found = adaptive_importance(rows, mode, covariance, n, rng)
    if found.pareto_k > LARGEST_K or found.effective < LEAST_EFFECTIVE:
        return None
    theta = bijection.forward(found.resampled(draws, rng))
    values = named(collapsed, theta)
    if collapsed.block is not None:
        values |= collapsed.split(block_draws(collapsed, theta, rng))
    values |= leaf_draws(collapsed, theta, rng)
    certificate = {"pareto_k": found.pareto_k, "effective": found.effective, "evaluations": n}
    return Found(ordered(collapsed.plan, in_chains(values)), Result("converged", "importance", certificate=certificate),
                 log_evidence=found.log_evidence if collapsed.is_proper else float("nan"),
                 moments=_moments(collapsed, found, bijection))  # fmt: skip


def _one_mode(density: Density, start: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """The mode that searches from several places agree on; None where two differ, both worth something."""
    scale = np.ones(len(start))
    found = [find_mode(density, start, scale)[:2]]
    for _ in range(MORE_STARTS):
        with contextlib.suppress(NumericalError):  # a place of density 0, or from which nothing rises
            found.append(find_mode(density, start + SPREAD * rng.standard_normal(len(start)), scale)[:2])
    mode, best = max(found, key=lambda each: each[1])
    widths = np.sqrt(np.diag(_curvature(density, mode)))
    others = [x for x, value in found if best - value < DEPTH and np.abs((x - mode) / widths).max() > APART]
    return None if others else mode


def _moments(collapsed: Collapsed, found: AdaptiveSample, bijection: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Weighted means and sds of θ."""
    moments = {}
    for name, value in named(collapsed, bijection.forward(found.positions)).items():
        mean = np.tensordot(found.weights, value, 1)
        with np.errstate(over="ignore"):
            moments[name] = (mean, np.sqrt(np.tensordot(found.weights, np.square(value - mean), 1)))
    return moments


def _curvature(density: Density, mode: np.ndarray) -> np.ndarray:
    """The inverse of −∂² log p at the mode by differences of gradients, eigenvalues kept positive."""
    d, h = len(mode), 1e-4
    rows = [
        density.gradient(mode + h * e, np.ones(d))[1] - density.gradient(mode - h * e, np.ones(d))[1] for e in np.eye(d)
    ]
    hessian = -np.array(rows) / (2.0 * h)
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    return (vectors / np.clip(values, 0.05, 1e12)) @ vectors.T
