"""Leave-one-out log predictive densities from one fit, where the algebra allows.

Linear-Gaussian, given the hyperparameters of node j (Normal or Student-t), for a row with g = w/v (w copies, noise
variance v σ²), leverage h = φᵀ Σ φ/σ² and residual e = y − φᵀ m:

    without the row     mean y − e/(1 − g h),   scale² σ₋² (v + h/(1 − g h)),   df − w degrees of freedom
    σ₋² df₋ = σ² df − g e²/(1 − g h)            (σ² itself where it is given)

and nodes are weighed again by what the row said of them: p(r_j | y₋ᵢ) ∝ p(r_j | y) / p(yᵢ | y₋ᵢ, r_j). This is exact
for a fixed prior; where the prior's units come from the columns (the default), those stay the ones of all rows.

Logit classes, with the posterior of the linear predictors η_i taken as Normal (means m, covariance V):

    1/p(y_i | y₋ᵢ) = E[1/p(y_i | η_i)] = Σ_c exp(m_c − m_y + ½ Var(η_c − η_y))

which is closed because 1/softmax is a sum of exponentials. Fits that were not certified are not used, nor those whose
predictors are too uncertain for the Normal to be trusted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.special

from credo.diagnostics.psis import K_RELIABLE
from credo.errors import NumericalError, UnavailableError
from credo.inference.exact.belief import LinearBelief
from credo.models.featured.estimator import FeaturedModel
from credo.models.glm import LogisticRegression
from credo.models.linear import LinearRegression

__all__ = ["leave_one_out", "linear_leave_one_out", "logit_leave_one_out"]

# 1 − g h is known to 1e-16 and divides the residual: below this a log density has fewer than eight digits.
LEVERAGE_LIMIT = 1e-8
# Variance of one row's linear predictor beyond which E[1/p] rests on the far tail of the Normal approximation: on the
# titanic's two rows without a port (variance 9) the formula gives −17 nats where refits give −0.5.
ROW_VARIANCE = 4.0
# Mean variance of the predictors up to which the Normal's log scores are within 0.003 of fits without each row, a
# tenth of their standard error (tests/selection/test_leave_one_out.py).
PREDICTOR_VARIANCE = 0.5
# Rows a chunk: nodes × rows × coordinates stay in the second-level cache.
ROWS = 1024


@singledispatch
def leave_one_out(model: Any, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
    """log p(y_i | x_i, the other rows) (n,) of a model fitted to X, y, sample_weight, without fitting it again.

    A row of weight w is left out whole. Targets are summed. Other models take part by a method `leave_one_out`.

    Raises
    ------
    UnavailableError : no closed form for this model, or its posterior was not certified.
    NumericalError : a row has leverage 1, so that the others say nothing of it.

    >>> import credo as cr
    >>> X, y = np.arange(5.0)[:, None], np.array([0.1, 0.9, 2.2, 2.8, 4.1])
    >>> leave_one_out(cr.LinearRegression().fit(X, y), X, y).shape
    (5,)

    References
    ----------
    Gelfand, Dey and Chang (1992), Bayesian Statistics 4; Vehtari, Mononen, Tolvanen, Sivula and Winther (2016), JMLR
    17(103).
    """
    own: Callable[..., np.ndarray] | None = getattr(model, "leave_one_out", None)
    if own is None:
        raise UnavailableError(
            f"{type(model).__name__} has no closed form for leaving one row out.", remedy="Use folds (cv=5)."
        )
    return own(X, y, sample_weight)


@leave_one_out.register
def _(model: FeaturedModel, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
    return leave_one_out(model.estimator_, model.features_.transform(X), y, sample_weight)


@leave_one_out.register
def _(model: LinearRegression, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
    scale = None if model.noise is None else model.noise.scale
    variance = None if scale is None else np.square(np.asarray(scale, dtype=np.float64))
    return linear_leave_one_out(model.posterior_.belief, X, y, sample_weight, variance)


@leave_one_out.register
def _(model: LogisticRegression, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
    draws = model.posterior_.draws
    if draws is None or not draws.k_hat < K_RELIABLE:
        raise UnavailableError(
            "This LogisticRegression has no certified posterior to leave a row out of.", remedy="Use folds (cv=5)."
        )
    if sample_weight is not None and np.any(np.asarray(sample_weight) != 1.0):
        raise UnavailableError("The closed form for classes is of rows of weight 1.", remedy="Use folds (cv=5).")
    k, width = model.mode_.shape
    codes = np.searchsorted(model.classes_, np.asarray(y))
    lead = width - np.shape(X)[1]
    phi = np.column_stack([np.ones((len(codes), lead)), np.asarray(X, dtype=np.float64)])
    return logit_leave_one_out(phi, codes, draws.mean.reshape(k, width), draws.covariance)


def linear_leave_one_out(belief: LinearBelief, X: Any, y: Any, weights: Any = None, variance: Any = None) -> np.ndarray:
    """The linear-Gaussian formulas, summed over targets, (n,).

    belief : posterior of all rows
    X (n, P), y (n,) or (n, T) : those rows; weights (n,) copies; variance v, a scalar or (n,), of known noise
    Cost O(nodes · n · P).
    """
    X = np.asarray(X, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
    v = np.broadcast_to(1.0 if variance is None else variance, (len(X),))
    parts = [
        _linear_rows(belief, X[i : i + ROWS], y[i : i + ROWS], w[i : i + ROWS, None], v[i : i + ROWS, None])
        for i in range(0, len(X), ROWS)
    ]
    return np.concatenate(parts)


def _linear_rows(belief: LinearBelief, X: np.ndarray, y: np.ndarray, w: np.ndarray, v: np.ndarray) -> np.ndarray:
    mean, h = belief.evaluate(X)  # (J, n, T), h in units of the noise variance
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


def logit_leave_one_out(phi: np.ndarray, codes: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """The formula for classes, (n,).

    phi : (n, D) rows; codes (n,) classes; mean (k, D) and covariance (kD, kD) of the coefficients, k = 1 for two
        classes
    Cost O(n D² k²).
    """
    k, d = mean.shape
    eta = phi @ mean.T
    if k == 1:
        sign = np.where(codes == 1, -1.0, 1.0)
        spread = np.einsum("nd,nd->n", phi @ covariance, phi)
        ratio = np.column_stack([np.zeros(len(phi)), sign * eta[:, 0]])
        variance = np.column_stack([np.zeros(len(phi)), spread])
    else:
        blocks = covariance.reshape(k, d, k, d)
        cross = np.stack([[np.einsum("nd,nd->n", phi @ blocks[a, :, b], phi) for b in range(k)] for a in range(k)])
        own = np.einsum("aan->na", cross)
        rows = np.arange(len(phi))
        variance = own + own[rows, codes][:, None] - 2.0 * cross[codes, :, rows]
        ratio = eta - eta[rows, codes][:, None]
    variance = np.maximum(variance, 0.0)
    largest = float(variance.max())
    if largest > ROW_VARIANCE:
        raise UnavailableError(
            f"Row {int(np.argmax(variance.max(axis=1)))} alone decides a coefficient (its linear predictor has "
            f"variance {largest:.2g}), so the Normal approximation says nothing of the fit without it.",
            value=largest,
            remedy="Use folds (cv=5).",
        )
    average = float(variance.sum(axis=1).mean()) / (variance.shape[1] - 1)
    if average > PREDICTOR_VARIANCE:
        raise UnavailableError(
            f"The linear predictors have variance {average:.2g} on average: too few rows for the Normal approximation.",
            value=average,
            remedy="Use folds (cv=5).",
        )
    return -np.asarray(scipy.special.logsumexp(ratio + 0.5 * variance, axis=1))
