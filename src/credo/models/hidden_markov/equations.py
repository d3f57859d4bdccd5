"""The chain's half of the M-step: rows of probabilities as posterior modes under Dirichlet priors.

Notation: N (…, K) expected counts, α concentrations; `allowed` (…, K) where a probability may be above 0.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

__all__ = ["dirichlet_modes", "log_dirichlet", "sticky_rows"]


def dirichlet_modes(counts: np.ndarray, concentration: np.ndarray | float, allowed: np.ndarray) -> np.ndarray:
    """(N + α − 1)/Σ over the allowed entries, row by row; even where there is neither count nor prior.

    >>> dirichlet_modes(np.array([[3.0, 1.0], [0.0, 0.0]]), 1.0, np.ones((2, 2), dtype=bool)).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    total = np.where(allowed, counts + (concentration - 1.0), 0.0)
    size = total.sum(axis=-1, keepdims=True)
    total = np.where(size > 0.0, total, allowed)
    return total / total.sum(axis=-1, keepdims=True)


def log_dirichlet(p: np.ndarray, concentration: np.ndarray | float, allowed: np.ndarray) -> float:
    """Σ (α − 1) log p over the allowed entries: the log prior density, up to a constant."""
    return float(xlogy(np.broadcast_to(concentration - 1.0, p.shape)[allowed], p[allowed]).sum())


def sticky_rows(size: int, rng: np.random.Generator) -> np.ndarray:
    """Transitions to start from: half the time stay, else anywhere, at random so that starts differ."""
    return 0.5 * np.eye(size) + 0.5 * rng.dirichlet(np.ones(size), size)
