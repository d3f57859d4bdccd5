"""`learn_bent`: hyperparameters and the bends of columns, together where their posterior density is highest.

Notation
    bends (2k,) log a and log b of the first k columns, see `bends`; each N(0, `SPREAD`²) before any trial
    M (n, n)    ½(ααᵀ − P + P1 1ᵀP/A), as in `evidence`: ∂ log evidence/∂x_a = 2 Σ_b M_ab ∂k(x_a, x_b)/∂x_a
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from credo.design.ascent import ascend
from credo.design.surrogates.bends import bend, bends_slopes
from credo.design.surrogates.evidence import evidence_of
from credo.design.surrogates.gaussian_process import (
    COLD,
    FIRST,
    RACE,
    TOLERANCE,
    TYPICAL,
    WARM,
    Posterior,
    normal_prior,
    starts_of,
)
from credo.errors import NumericalError
from credo.models.gaussian_process.belief import Belief

__all__ = ["learn_bent", "posterior_of_bent"]

# sd of log a and log b: within a factor of e of 1, which reaches from a logarithm of some two decades to its inverse.
SPREAD = 0.5
LIMIT = 2.0


def bent(belief: Belief, bends: np.ndarray) -> Belief:
    """The belief whose first k columns are bent."""
    return replace(belief, observations=replace(belief.observations, X=_bent_rows(belief.observations.X, bends)))


def _bent_rows(X: np.ndarray, bends: np.ndarray) -> np.ndarray:
    k = bends.size // 2
    return np.column_stack([bend(X[:, :k], bends), X[:, k:]])


def learn_bent(belief: Belief, bends: np.ndarray, *, warm: bool) -> tuple[np.ndarray, np.ndarray]:
    """θ (h,) and bends (2k,) at which the posterior density is highest, searched from the belief's own and `bends`.

    belief : about rows that are not bent. Cost n³ a step, some three times that of a search for θ alone.
    """
    h = belief.theta.size
    starts = [np.concatenate([theta, bends]) for theta in starts_of(belief)]
    objective = posterior_of_bent(belief)

    def at_all(parts: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = [objective(TYPICAL * part) for part in parts]
        return np.array([value for value, _ in found]), TYPICAL * np.array([slope for _, slope in found])

    limits = np.concatenate([belief.bounds, np.tile([-LIMIT, LIMIT], (bends.size, 1))])
    low, high = limits.T / TYPICAL
    points, values = ascend(at_all, np.array(starts) / TYPICAL, low, high, max_iter=WARM if warm else COLD,
                            tol=TOLERANCE, race=RACE, first=FIRST)  # fmt: skip
    best = int(np.argmax(values))
    if values[best] == -np.inf:
        evidence_of(bent(belief, bends))(belief.theta)  # says what is wrong
    found = TYPICAL * points[best]
    return found[:h], found[h:]


def posterior_of_bent(belief: Belief) -> Posterior:
    """(θ, bends) (h + 2k,) → log p(z | θ, bends) + log p(θ, bends), up to a constant, and its slope."""
    centre, spread = normal_prior(belief)
    h, X = belief.theta.size, belief.observations.X

    def objective(both: np.ndarray) -> tuple[float, np.ndarray]:
        theta, bends = both[:h], both[h:]
        try:
            with np.errstate(all="ignore"):
                at = bent(belief, bends).at(theta)
                value, slope = evidence_of(at)(theta)
                k = bends.size // 2
                by_rows = _by_rows(at)[:, :k]
        except NumericalError:
            return -np.inf, np.zeros(both.size)
        by_bends = [np.sum(by_rows * part, axis=0) for part in bends_slopes(X[:, :k], bends)]
        gap = (theta - centre) / spread
        value -= 0.5 * float(gap @ gap) + 0.5 * float(bends @ bends) / SPREAD**2
        slope = np.concatenate([slope - gap / spread, np.concatenate(by_bends) - bends / SPREAD**2])
        return (value, slope) if np.isfinite(value) and np.isfinite(slope).all() else (-np.inf, np.zeros(both.size))

    return objective


def _by_rows(belief: Belief) -> np.ndarray:
    """Slope (n, columns) of the log evidence in the rows that were seen."""
    conditioned, X = belief.conditioned, belief.observations.X
    inverse = conditioned.factored.solve(np.eye(len(X)))
    ones = conditioned.factored.solve(conditioned.design)[:, 0]
    alpha = conditioned.dual[:, 0]
    M = np.outer(alpha, alpha) - inverse + np.outer(ones, ones / ones.sum())
    np.fill_diagonal(M, 0.0)  # a point's covariance with itself does not move
    return belief.kernel.input_gradient(X, X, M)
