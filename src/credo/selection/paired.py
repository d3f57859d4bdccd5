"""Means of pointwise scores with standard errors, over rows that count several times or come in dependent units."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["mean_and_error"]


def mean_and_error(scores: Any, weights: Any = None, units: Any = None) -> tuple[float, float]:
    """m = Σ w_i s_i / W with W = Σ w, and its standard error.

    Rows (w copies of each):   √(Σ w (s − m)² / (W (W − 1)))
    Units of dependent rows:   √(U/(U − 1) Σ_u (Σ_{i∈u} w_i (s_i − m))²) / W

    Without weights these are those of `credo.diagnostics.score_differences`. The error is ∞ where a single unit
    leaves it unknown.
    """
    scores = np.asarray(scores, dtype=np.float64)
    w = np.ones(scores.size) if weights is None else np.asarray(weights, dtype=np.float64)
    total = float(w.sum())
    mean = float(w @ scores) / total
    deviations = scores - mean
    if units is None:
        return mean, float(np.sqrt((w @ np.square(deviations)) / (total * (total - 1.0)))) if total > 1.0 else np.inf
    codes = np.unique(np.asarray(units), return_inverse=True)[1].ravel()
    sums = np.bincount(codes, weights=w * deviations)
    if sums.size < 2:
        return mean, np.inf
    return mean, float(np.sqrt(sums.size / (sums.size - 1.0) * np.square(sums).sum())) / total
