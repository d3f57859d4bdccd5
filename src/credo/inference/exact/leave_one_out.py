"""One row left out of a linear-Gaussian belief, from one fit.

Given the hyperparameters of node j (Normal or Student-t), for a row with g = w/v (w copies, noise variance v σ²),
leverage h = φᵀ Σ φ/σ² and residual e = y − φᵀ m:

    without the row     mean y − e/(1 − g h),   scale² σ₋² (v + h/(1 − g h)),   df − w degrees of freedom
    σ₋² df₋ = σ² df − g e²/(1 − g h)            (σ² itself where it is given)

and nodes are weighed again by what the row said of them: p(r_j | y₋ᵢ) ∝ p(r_j | y) / p(yᵢ | y₋ᵢ, r_j). This is exact
for a fixed prior; where the prior's units come from the columns (the default), those stay the ones of all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from credo.errors import DataError, NumericalError
from credo.inference.exact.belief import LinearBelief
from credo.inference.exact.sparse import csr_of, is_sparse

__all__ = ["linear_leave_one_out"]

# 1 − g h is known to 1e-16 and divides the residual: below this a log density has fewer than eight digits.
LEVERAGE_LIMIT = 1e-8
# Rows a chunk: nodes × rows × coordinates stay in the second-level cache.
ROWS = 1024


def linear_leave_one_out(
    belief: LinearBelief,
    X: Any,
    y: Any,
    weights: Any = None,
    variance: Any = None,
    evaluate: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None,
) -> np.ndarray:
    """Log predictive densities of rows left out, summed over targets, (n,).

    belief : posterior of all rows
    X (n, P), also sparse, y (n,) or (n, T) : those rows; weights (n,) copies
    variance : v, a scalar or (n,), of known noise
    evaluate : rows → mean and variance (J, n, T) of f there; by default the belief's own
    Cost O(nodes · n · P).

    Raises
    ------
    NumericalError : a row has leverage 1, so that the others say nothing of it.

    References
    ----------
    Gelfand, Dey and Chang (1992), Bayesian Statistics 4; Vehtari et al. (2016), JMLR 17(103).
    """
    X = csr_of(X) if is_sparse(X) else np.asarray(X, dtype=np.float64)
    n = X.shape[0]
    y = np.asarray(y, dtype=np.float64)
    if y.shape[:1] != (n,):
        raise DataError(f"Leave-one-out takes an outcome for each of {n} rows, got shape {y.shape}.", value=y.shape)
    y = y.reshape(n, -1)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    v = np.broadcast_to(1.0 if variance is None else variance, (n,))
    parts = [
        _rows(belief, (evaluate or belief.evaluate)(X[part]), y[part], w[part, None], v[part, None])
        for part in (slice(i, i + ROWS) for i in range(0, n, ROWS))
    ]
    return np.concatenate(parts)


def _rows(
    belief: LinearBelief, f: tuple[np.ndarray, np.ndarray], y: np.ndarray, w: np.ndarray, v: np.ndarray
) -> np.ndarray:
    mean, h = f  # (J, n, T), h in units of the noise variance
    noise = belief.noise_variance[:, None, :]
    node_weights = belief.weights[:, None, :]
    g = w / v
    rest = 1.0 - g * h
    matters = node_weights > 1e-6  # lighter nodes move a log density by less than their weight
    if np.any((rest < LEVERAGE_LIMIT) & matters):
        row = int(np.argwhere((rest < LEVERAGE_LIMIT) & matters)[0][1])
        raise NumericalError(
            f"Row {row} (of its block) has leverage 1: without it the posterior is another one altogether.",
            value=float(rest[:, row].min()),
            remedy="Use folds (cv=5), or a proper prior.",
        )
    rest = np.maximum(rest, LEVERAGE_LIMIT)
    e = y - mean
    squared = g * np.square(e) / rest
    width = v + h / rest
    if np.isinf(belief.df):
        shift = np.square(e / rest) / (noise * width)
        log_new = -0.5 * (np.log(2.0 * np.pi * noise * width) + shift)
        log_all = 0.5 * np.log(rest) - 0.5 * w * np.log(2.0 * np.pi * v * noise) - 0.5 * squared / noise
    else:
        df = belief.df - w
        if np.any(df <= 0.0):
            raise NumericalError("Without one row the noise scale is not identified.", remedy="Add rows.")
        total = belief.df * noise
        left = np.maximum(total - squared, np.finfo(float).tiny)
        log_new = _log_student_t(e / rest, df, left / df * width)
        # p(the w copies | the rest): the ratio of two evidences
        gamma = scipy.special.gammaln(0.5 * belief.df) - scipy.special.gammaln(0.5 * df)
        log_all = gamma + 0.5 * (df * np.log(0.5 * left) - belief.df * np.log(0.5 * total) + np.log(rest))
        log_all = log_all - 0.5 * w * np.log(2.0 * np.pi * v)
    with np.errstate(divide="ignore"):
        log_node = np.log(node_weights) - log_all
    log_node = log_node - np.asarray(scipy.special.logsumexp(log_node, axis=0))
    return np.asarray(scipy.special.logsumexp(log_node + log_new, axis=0)).sum(axis=1)


def _log_student_t(deviation: np.ndarray, df: np.ndarray, squared_scale: np.ndarray) -> np.ndarray:
    constant = scipy.special.gammaln(0.5 * (df + 1.0)) - scipy.special.gammaln(0.5 * df) - 0.5 * np.log(df * np.pi)
    z = np.square(deviation) / squared_scale
    return constant - 0.5 * np.log(squared_scale) - 0.5 * (df + 1.0) * np.log1p(z / df)
