"""Scores of predictives against outcomes, one per row: what is reported as a mean is computed row by row, so
that two models can be compared on the same rows.

    log score   log p(y)                                          larger is better
    CRPS        E|Y − y| − ½ E|Y − Y′| = ∫ (F(x) − 1[x ≥ y])² dx   smaller is better, in the units of y

Both are strictly proper: their expectation is best for the true law alone (Gneiting and Raftery, JASA 102,
2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaln, ndtr, stdtr

from credo.diagnostics.labels import class_table, label_codes
from credo.diagnostics.quadrature import integrate, panel_edges
from credo.diagnostics.views import draws_of, kind, outcomes, quantiles, shape, survival
from credo.distributions.normal import Normal
from credo.distributions.student_t import StudentT
from credo.errors import DataError, ParameterError

__all__ = ["log_score", "crps", "ScoreDifference", "score_differences"]


def log_score(predictive: Any, y: Any, classes: Any = None) -> np.ndarray:
    """Log predictive density or probability of each outcome (n,), in nats; −inf for a class of probability 0.

    Parameters
    ----------
    predictive : a predictive of n rows, or class probabilities (n, k); (n,) are those of the second of two
        classes
    y : (n,) outcomes or labels
    classes : (k,) labels of an array's columns, by default 0..k−1

    >>> log_score([[0.5, 0.5], [0.25, 0.75]], [0, 1]).round(4).tolist()
    [-0.6931, -0.2877]
    """
    if kind(predictive) in ("real", "count"):
        return predictive.log_prob(outcomes("log_score", predictive, y))
    table, classes = class_table(predictive, classes)
    codes = label_codes(classes, y, "log_score")
    if codes.shape != table.shape[:1]:
        raise DataError(f"log_score: {codes.size} labels for {len(table)} rows of probabilities.", value=codes.shape)
    with np.errstate(divide="ignore"):
        return np.log(table[np.arange(len(table)), codes])


def crps(predictive: Any, y: Any) -> np.ndarray:
    """Continuous ranked probability score of each outcome, ≥ 0 (or −1/S for fair draws), in the units of y.

    Closed forms for Normal and Student-t, and mixtures of Normals; the fair (unbiased) estimate for draws,
    whose expectation does not depend on their number; exact sums for counts; otherwise quadrature of ∫ (F −
    1[x ≥ y])² between quantiles (about 1e-9 relative). Classes have no distance: use `brier`.

    Parameters
    ----------
    predictive : a predictive, or draws (S, *shape) with S ≥ 2
    y : (*shape,) outcomes

    Raises
    ------
    ParameterError : classes, or a single draw.

    >>> crps(np.array([[0.0], [2.0]]), [1.0]).tolist()
    [0.0]

    References
    ----------
    Gneiting and Raftery, JASA 102 (2007) 359-378; Jordan, Krüger and Lerch, J. Stat. Software 90(12) (2019);
    Grimit et al., QJRMS 132 (2006) 2925-2942 (mixtures); Ferro, QJRMS 140 (2014) 1917-1923 (fair scores).
    """
    draws = draws_of(predictive)
    if draws is not None:
        return _crps_draws(draws, y)
    y = outcomes("crps", predictive, y)
    if kind(predictive) == "count":
        return _crps_counts(predictive, y)
    normals = _normal_parts(predictive)
    if normals is not None:
        return _crps_normals(*normals, y)
    family = getattr(predictive, "family", predictive)
    return _crps_student_t(family, y) if isinstance(family, StudentT) else _crps_quadrature(predictive, y)


def _normal_parts(predictive: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(weights (K,), means (K, *shape), sds) if the predictive is a mixture of Normals (or one)."""
    components = getattr(predictive, "components", [predictive])
    families = [getattr(p, "family", p) for p in components]
    if not all(isinstance(family, Normal) for family in families):
        return None
    rows = shape(predictive)
    means, sds = (np.stack([np.broadcast_to(getattr(f, name), rows) for f in families]) for name in ("mean", "sd"))
    return getattr(predictive, "weights", np.ones(1)), means, sds


def _mean_absolute(mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """E|N(mean, sd²)| = 2 sd φ(z) + mean (2Φ(z) − 1), z = mean/sd."""
    z = mean / sd
    return sd * (np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z * z) + z * (2.0 * ndtr(z) - 1.0))


def _crps_normals(weights: np.ndarray, means: np.ndarray, sds: np.ndarray, y: np.ndarray) -> np.ndarray:
    total = np.tensordot(weights, _mean_absolute(y - means, sds), axes=(0, 0))
    for w, mean, sd in zip(weights, means, sds):
        total = total - 0.5 * w * np.tensordot(weights, _mean_absolute(mean - means, np.hypot(sd, sds)), axes=(0, 0))
    return total


def _crps_student_t(family: StudentT, y: np.ndarray) -> np.ndarray:
    """Jordan, Krüger and Lerch (2019), appendix; ν > 1."""
    df, scale = np.asarray(family.df, dtype=np.float64), family.scale
    if np.any(df <= 1.0):
        raise ParameterError("crps", "predictive", "of finite mean: a Student-t with df > 1", df, "Use log_score.")
    z = (y - family.mean) / scale
    density = np.exp(-0.5 * (df + 1.0) * np.log1p(z * z / df) - 0.5 * np.log(df) - betaln(0.5, 0.5 * df))
    spread = 2.0 * np.sqrt(df) / (df - 1.0) * np.exp(betaln(0.5, df - 0.5) - 2.0 * betaln(0.5, 0.5 * df))
    return scale * (z * (2.0 * stdtr(df, z) - 1.0) + 2.0 * density * (df + z * z) / (df - 1.0) - spread)


def _crps_draws(draws: np.ndarray, y: Any) -> np.ndarray:
    """(1/S) Σ|x_i − y| − 1/(2S(S−1)) Σ|x_i − x_j|; the double sum from order statistics, O(S log S)."""
    if draws.ndim < 2 or len(draws) < 2:
        raise ParameterError("crps", "predictive", "at least two draws, (S, rows)", draws.shape)
    y, size = outcomes("crps", draws, y), len(draws)
    # Centred first: the weighted sum below cancels the level, and with it digits.
    ordered = np.sort(draws - draws.mean(axis=0), axis=0)
    pairs = np.tensordot(2.0 * np.arange(size) - size + 1.0, ordered, axes=(0, 0))
    return np.mean(np.abs(draws - y), axis=0) - pairs / (size * (size - 1.0))


def _crps_counts(predictive: Any, y: np.ndarray) -> np.ndarray:
    """Σ_k (F(k) − 1[k ≥ y])² over the counts of the bulk (all but 1e-15) and the outcome."""
    low, high = (
        np.min(np.minimum(predictive.quantile(1e-15), y)),
        np.max(np.maximum(predictive.quantile(1.0 - 1e-15), y)),
    )
    total = np.zeros(y.shape)
    for k in np.arange(low, high + 1.0):
        total += np.square(predictive.cdf(np.full(y.shape, k)) - (k >= y))
    return total


def _crps_quadrature(predictive: Any, y: np.ndarray) -> np.ndarray:
    levels = quantiles(predictive, panel_edges())
    below = np.concatenate([np.minimum(levels, y), y[None]])
    above = np.concatenate([y[None], np.maximum(levels, y)])
    left = integrate(lambda x: np.square(predictive.cdf(x)), below)
    return left + integrate(lambda x: np.square(survival(predictive, x)), above)


@dataclass(frozen=True)
class ScoreDifference:
    """Mean of paired differences a − b with its standard error.

    difference : mean over rows
    standard_error : of `difference`; by groups when they were given
    n : rows; groups : independent units behind the standard error
    """

    difference: float
    standard_error: float
    n: int
    groups: int

    @property
    def total(self) -> float:
        """Sum of the differences: n × difference."""
        return self.n * self.difference

    @property
    def z(self) -> float:
        """difference / standard_error; NaN-free: 0/0 is 0."""
        return 0.0 if self.difference == 0.0 else float(np.divide(self.difference, self.standard_error))


def score_differences(a: Any, b: Any, groups: Any = None) -> ScoreDifference:
    """Compare two models' scores on the same rows.

    The standard error is sd(a_i − b_i)/√n, which the part common to both models does not inflate. With
    `groups` (n,) rows of a group count as one: √(G/(G−1) Σ_g (Σ_{i∈g} (d_i − d̄))²)/n.

    Raises
    ------
    DataError : unequal lengths, fewer than two rows (or groups), non-finite scores.

    >>> d = score_differences([1.0, 2.0, 3.0], [0.5, 1.0, 3.0])
    >>> d.difference, round(d.standard_error, 4)
    (0.5, 0.2887)
    """
    a, b = np.asarray(a, dtype=np.float64).ravel(), np.asarray(b, dtype=np.float64).ravel()
    if a.shape != b.shape:
        raise DataError(f"score_differences: {a.size} scores against {b.size}.", value=(a.size, b.size))
    bad = np.flatnonzero(~(np.isfinite(a) & np.isfinite(b)))
    if bad.size:
        raise DataError(
            f"score_differences: the score of row {bad[0]} is not finite ({bad.size} such rows).",
            rows=bad[:20].tolist(),
            remedy="A class given probability 0 scores −inf: compare Brier scores, or smooth the model.",
        )
    d = a - b
    codes = np.arange(d.size) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    units = int(codes.max(initial=-1)) + 1
    if codes.size != d.size or units < 2:
        raise DataError("score_differences: needs two or more rows (or groups), and a group for each row.", value=units)
    sums = np.bincount(codes, weights=d - d.mean())
    error = np.sqrt(units / (units - 1.0) * np.sum(np.square(sums))) / d.size
    return ScoreDifference(float(d.mean()), float(error), d.size, units)
