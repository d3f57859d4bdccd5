"""Hyperparameters by adaptive importance sampling: four to a dozen of them, where quadrature has too many nodes.

The collapsed density of a few logarithms of scales is close to Normal, so that independent weighted draws need no
chain; k̂ certifies them, and where it does not, NUTS takes over.
"""

from __future__ import annotations

import numpy as np

from credo.diagnostics.psis import K_RELIABLE, psis
from credo.errors import NumericalError
from credo.inference.direct.adaptive import adaptive_importance
from credo.inference.hyper.density import Density
from credo.inference.result import Result
from credo.inference.transforms import unconstrained
from credo.program.collapsed import Collapsed
from credo.program.fitting import Found
from credo.program.modes import find_modes, require_an_end
from credo.program.quadrature import completed, conditional_moments, density_rows, theta_moments

__all__ = ["fit_importance", "tail_of_moments"]

# Evaluations: what a fast density gets, the seconds a slow one may take, and the fewest worth trying; and for each draw
# wanted, where rows of data are gone through every time.
EVALUATIONS, SECONDS, FEWEST, FOR_EACH = 10_000, 5.0, 800, 1.5
# k̂ and effective draws that certify the answer (Vehtari et al. 2024 say 0.7; the moments of θ want a little less).
LARGEST_K, LEAST_EFFECTIVE = 0.6, 400.0


def fit_importance(collapsed: Collapsed, draws: int, rng: np.random.Generator) -> Found | None:
    """Draws and evidence; None where the certificate fails."""
    free, bijection = unconstrained(collapsed.target)
    rows = density_rows(collapsed, free, bijection)
    density = Density(None, rows, lambda z: free.evaluate(z, gradient=True))  # type: ignore[arg-type,return-value]
    try:
        modes = find_modes(collapsed, density, rng)
    except (NumericalError, np.linalg.LinAlgError):
        return None
    if not modes.are_all:
        return None
    fast = collapsed.has_batch and collapsed.block is not None
    affordable = min(SECONDS / collapsed.seconds, FOR_EACH * draws)
    n = EVALUATIONS if fast else int(np.clip(affordable, FEWEST, EVALUATIONS))
    found = adaptive_importance(rows, modes.places, modes.covariances, n, rng)
    if not require_an_end(collapsed, found.positions, found.weights, rows, modes):
        return None
    x = bijection.forward(found.positions)
    if (
        found.pareto_k > LARGEST_K
        or found.effective < LEAST_EFFECTIVE
        or tail_of_moments(x, found.weights) > K_RELIABLE
    ):
        return None
    certificate = {
        "pareto_k": found.pareto_k, "effective": found.effective, "evaluations": n, "modes": len(modes.places)
    }  # fmt: skip
    result = Result("converged", "importance", certificate=certificate)
    theta = bijection.forward(found.resampled(draws, rng))
    moments = theta_moments(collapsed, x, found.weights)
    moments |= conditional_moments(collapsed, theta, np.full(len(theta), 1.0 / len(theta)))
    return completed(collapsed, theta, result, found.log_evidence, moments, rng)


def tail_of_moments(x: np.ndarray, weights: np.ndarray) -> float:
    """The largest k̂ of w |x − mean| over the columns of x (n, d): draws whose weights w (n,) are good enough may still
    not average what has a heavy tail itself."""
    kept = weights > 0.0
    off = np.abs(x[kept] - weights @ x)
    logs = np.log(weights[kept])[:, None] + np.log(np.maximum(off, np.finfo(float).tiny))
    return float(np.max(psis(logs).k_hat))
