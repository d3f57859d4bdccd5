"""Hyperparameters by adaptive importance sampling: four to a dozen of them, where quadrature has too many nodes.

The collapsed density of a few logarithms of scales is close to Normal, so that independent weighted draws need no
chain; k̂ certifies them, and where it does not, NUTS takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import NumericalError
from credo.inference.direct.adaptive import AdaptiveSample, adaptive_importance
from credo.inference.hyper.density import Density
from credo.inference.result import Result
from credo.inference.transforms import unconstrained
from credo.program.collapsed import Collapsed, in_chains, leaf_draws, ordered
from credo.program.fitting import Found
from credo.program.modes import find_modes, prior_widths, require_an_end, starting_points
from credo.program.quadrature import block_draws, density_rows, named

__all__ = ["fit_importance"]

# Evaluations: what a fast density gets, the seconds a slow one may take, and the fewest worth trying.
EVALUATIONS, SECONDS, FEWEST = 10_000, 5.0, 800
# k̂ and effective draws that certify the answer (Vehtari et al. 2024 say 0.7; the moments of θ want a little less).
LARGEST_K, LEAST_EFFECTIVE = 0.6, 400.0


def fit_importance(collapsed: Collapsed, draws: int, rng: np.random.Generator) -> Found | None:
    """Draws and evidence; None where the certificate fails."""
    free, bijection = unconstrained(collapsed.target)
    rows = density_rows(collapsed, free, bijection)
    density = Density(None, rows, lambda z: free.evaluate(z, gradient=True))  # type: ignore[arg-type,return-value]
    start = bijection.inverse(collapsed.start)
    places = starting_points(collapsed, bijection, rng)
    scale = prior_widths(places, len(start))
    try:
        modes = find_modes(collapsed, density, start, places, scale, rng)
    except (NumericalError, np.linalg.LinAlgError):
        return None
    if not modes.are_all:
        return None
    fast = collapsed.has_batch and collapsed.block is not None
    n = EVALUATIONS if fast else int(np.clip(SECONDS / collapsed.seconds, FEWEST, EVALUATIONS))
    found = adaptive_importance(rows, modes.places, modes.covariances, n, rng)
    require_an_end(collapsed, found.positions, found.weights, start, scale, rows, modes)
    if found.pareto_k > LARGEST_K or found.effective < LEAST_EFFECTIVE:
        return None
    theta = bijection.forward(found.resampled(draws, rng))
    values = named(collapsed, theta)
    if collapsed.block is not None:
        values |= collapsed.split(block_draws(collapsed, theta, rng))
    values |= leaf_draws(collapsed, theta, rng)
    certificate = {
        "pareto_k": found.pareto_k, "effective": found.effective, "evaluations": n, "modes": len(modes.places)
    }  # fmt: skip
    return Found(ordered(collapsed.plan, in_chains(values)), Result("converged", "importance", certificate=certificate),
                 log_evidence=found.log_evidence if collapsed.is_proper else float("nan"),
                 moments=_moments(collapsed, found, bijection))  # fmt: skip


def _moments(collapsed: Collapsed, found: AdaptiveSample, bijection: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Weighted means and sds of θ."""
    moments = {}
    for name, value in named(collapsed, bijection.forward(found.positions)).items():
        mean = np.tensordot(found.weights, value, 1)
        with np.errstate(over="ignore"):
            moments[name] = (mean, np.sqrt(np.tensordot(found.weights, np.square(value - mean), 1)))
    return moments
