"""Stacking: the weights under which a mixture of predictives gave held-out outcomes the highest density.

    maximise f(w) = Σ_i c_i log Σ_k w_k p_ik   over w ≥ 0, Σ w = 1        (c_i ≥ 0, Σ c = 1)

f is concave, and with r_k = ∂f/∂w_k = Σ_i c_i p_ik / Σ_l w_l p_il, which satisfies Σ w_k r_k = 1,

    max f − f(w) ≤ max_k r_k − 1,

so that every answer carries its own certificate. Each step solves Newton's quadratic model with w ≥ 0 as a non-negative
least-squares problem; the sum takes care of itself when Σ w is subtracted from f (Kim et al. 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.special

from credo.errors import DataError, NumericalError
from credo.numerics.cholesky import cholesky

__all__ = ["StackingWeights", "stacking_weights"]

# In nats per row: far below any standard error of a log score.
GAP = 1e-8
MAX_STEPS = 1000


@dataclass(frozen=True)
class StackingWeights:
    """weights (K,); log_score : f(w), nats per row; gap : how much more any weights could reach; steps taken."""

    weights: np.ndarray
    log_score: float
    gap: float
    steps: int


def stacking_weights(log_densities: Any, counts: Any = None, *, gap: float = GAP) -> StackingWeights:
    """Optimal weights for held-out log densities (n, K) of rows that count `counts` (n,) times.

    Raises
    ------
    DataError : a row to which every model gives density 0, or NaN.
    NumericalError : the gap stayed above `gap`.

    Cost: some ten steps of O(n K²).

    >>> p = np.log([[0.9, 0.5], [0.1, 0.5], [0.9, 0.5]])
    >>> stacking_weights(p).weights.round(3).tolist()
    [0.417, 0.583]

    References
    ----------
    Yao, Vehtari, Simpson and Gelman (2018), Bayesian Analysis 13(3); Kim, Carbonetto, Stephens and Anitescu (2020),
    J. Comp. Graph. Stat. 29(2).
    """
    table = np.asarray(log_densities, dtype=np.float64)
    top = table.max(axis=1)
    bad = np.flatnonzero(~np.isfinite(top) | np.isnan(table).any(axis=1))
    if bad.size:
        raise DataError(
            f"Stacking: no model gives row {bad[0]} a finite density ({bad.size} such rows).",
            rows=bad[:20].tolist(),
            value=table[bad[0]],
            remedy="Add a model that allows these outcomes.",
        )
    density = np.exp(table - top[:, None])
    c = np.ones(len(table)) if counts is None else np.asarray(counts, dtype=np.float64)
    c = c / c.sum()
    w = np.full(table.shape[1], 1.0 / table.shape[1])
    for step in range(MAX_STEPS):
        ratio = density / (density @ w)[:, None]
        r = c @ ratio
        if r.max() - 1.0 <= gap:
            return StackingWeights(w, float(c @ (np.log(density @ w) + top)), max(0.0, float(r.max() - 1.0)), step)
        w = _improved(density, c, w, ratio, r)
    raise NumericalError("Stacking: the optimality gap stayed above its tolerance.", value=float(r.max() - 1.0))


def _improved(density: np.ndarray, c: np.ndarray, w: np.ndarray, ratio: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Newton's step with w ≥ 0, halved until f − Σ w rises enough; the EM step w r where it never does."""
    hessian = (ratio * c[:, None]).T @ ratio
    upper = cholesky(hessian, "the curvature of the stacking objective").lower.T
    # min ½ vᵀHv − (2r − 1)ᵀv over v ≥ 0 is min ‖U v − U⁻ᵀ(2r − 1)‖
    right = scipy.linalg.solve_triangular(upper, 2.0 * r - 1.0, trans=1)
    target = scipy.optimize.nnls(upper, right)[0]
    step = target - w
    slope = float((r - 1.0) @ step)
    start, length = float(c @ np.log(density @ w) - w.sum()), 1.0
    while length > 1e-6:
        trial = w + length * step
        mixed = density @ trial
        if np.all(mixed > 0.0) and c @ np.log(mixed) - trial.sum() >= start + 1e-4 * length * slope:
            return np.maximum(trial, 0.0) / trial.sum()
        length *= 0.5
    return w * r
