"""Hyperparameters by adaptive importance sampling: four to a dozen of them, where quadrature has too many nodes.

The collapsed density of a few logarithms of scales is close to Normal, so that independent weighted draws need no
chain; k̂ certifies them, and where it does not, NUTS takes over. Good weights alone do not: each sd that is told, the
block's too, has a k̂ of its own, for it may come from a few draws far out.
"""

from __future__ import annotations

import numpy as np

from credo.diagnostics.psis import K_RELIABLE, psis
from credo.errors import NotIdentifiedError, NumericalError
from credo.inference.direct.adaptive import adaptive_importance
from credo.inference.gaussian_block import GaussianBlock
from credo.inference.hyper.density import Density
from credo.inference.result import Result
from credo.inference.transforms import unconstrained
from credo.program.collapsed import Collapsed
from credo.program.fitting import Found
from credo.program.modes import find_modes, require_an_end
from credo.program.quadrature import block_laws, completed, conditional_moments, density_rows, theta_moments

__all__ = ["are_settled", "fit_importance"]

# Evaluations: what a fast density gets, the seconds a slow one may take, and the fewest worth trying; and for each draw
# wanted, where rows of data are gone through every time.
EVALUATIONS, SECONDS, FEWEST, FOR_EACH = 10_000, 5.0, 800, 1.5
# k̂ and effective draws that certify the answer (Vehtari et al. 2024 say 0.7; the moments of θ want a little less).
LARGEST_K, LEAST_EFFECTIVE = 0.6, 400.0
# Effective draws that a variance wants, so that its sd is right to 1/(2 √100) = 5 %, and as a share of all: at 1.5 to
# 1.8 % those few lay far out, and sds were seen to be 8 to 11 % short. How many of the worst variances are looked at.
LEAST_OF_SQUARES, LEAST_SHARE, LOOKED_AT = 100.0, 0.03, 12


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
    if found.pareto_k > LARGEST_K or found.effective < LEAST_EFFECTIVE:
        return None
    x, weights = bijection.forward(found.positions), found.weights
    squares = [np.square(x - weights @ x)]
    moments = theta_moments(collapsed, x, weights)
    if collapsed.has_batch and isinstance(collapsed.block, GaussianBlock):
        try:
            mean, of_block = block_squares(collapsed, x, weights)
        except (NumericalError, NotIdentifiedError):  # far out, rounding leaves the block no law
            return None
        squares.append(of_block)
        sd = collapsed.split(np.sqrt(weights @ of_block))
        moments |= {name: (value, sd[name]) for name, value in collapsed.split(mean).items()}
    if not are_settled(np.concatenate(squares, axis=1), weights):
        return None
    certificate = {
        "pareto_k": found.pareto_k, "effective": found.effective, "evaluations": n, "modes": len(modes.places)
    }  # fmt: skip
    result = Result("converged", "importance", certificate=certificate)
    theta = bijection.forward(found.resampled(draws, rng))
    if len(squares) == 1 or collapsed.plan.leaves:
        moments = conditional_moments(collapsed, theta, np.full(len(theta), 1.0 / len(theta))) | moments
    return completed(collapsed, theta, result, found.log_evidence, moments, rng)


def block_squares(collapsed: Collapsed, x: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means (m,) of the block's entries over weighted x (n, d), and var(z | x) + (E[z | x] − mean)² (n, m), whose
    weighted means are their variances."""
    block = collapsed.block
    assert isinstance(block, GaussianBlock)
    means, sds = block_laws(collapsed, block, x)
    mean = weights @ means
    with np.errstate(over="ignore", invalid="ignore"):
        return mean, np.square(sds) + np.square(means - mean)


def are_settled(squares: np.ndarray, weights: np.ndarray) -> bool:
    """Whether weights (n,) give the means of all columns of squares (n, m), ≥ 0, from draws enough: their effective
    number, (Σ wq)²/Σ (wq)², is large, and k̂ of w q says that there is no more to come from draws not seen.

    A column that is infinite somewhere tells of a law that has no variance; nothing is asked of it.
    """
    kept = weights > 0.0
    parts = weights[kept, None] * squares[kept]
    parts = parts[:, np.isfinite(parts).all(axis=0) & (parts.max(axis=0, initial=0.0) > 0.0)]
    if not parts.size:
        return True
    parts = parts / parts.max(axis=0)
    effective = np.square(parts.sum(axis=0)) / np.square(parts).sum(axis=0)
    worst = np.argsort(effective)[:LOOKED_AT]
    if effective[worst[0]] < max(LEAST_OF_SQUARES, LEAST_SHARE * len(weights)):
        return False
    return bool(np.max(psis(np.log(np.maximum(parts[:, worst], np.finfo(float).tiny))).k_hat) <= K_RELIABLE)
