"""Starts that the user gives, checked: weights, means and precisions in scikit-learn's shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import ParameterError

__all__ = ["checked_weights_init", "checked_means", "checked_precisions"]

OWNER = "GaussianMixture"
# Weights that were computed in single precision still sum to one within this.
SUM_TOLERANCE = 1e-6


def _of_shape(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(value, dtype=np.float64)
    if array.shape != shape or not np.all(np.isfinite(array)):
        raise ParameterError(OWNER, name, f"finite numbers of shape {shape}", value)
    return array


def checked_weights_init(value: Any, k: int) -> np.ndarray | None:
    if value is None:
        return None
    weights = _of_shape("weights_init", value, (k,))
    if np.any(weights < 0.0) or abs(weights.sum() - 1.0) > SUM_TOLERANCE:
        raise ParameterError(OWNER, "weights_init", "numbers ≥ 0 that sum to 1", value)
    return weights / weights.sum()


def checked_means(value: Any, k: int, d: int) -> np.ndarray | None:
    return None if value is None else _of_shape("means_init", value, (k, d))


def checked_precisions(value: Any, covariance_type: str, k: int, d: int) -> np.ndarray | None:
    """Covariances (k, d, d), (d, d) or variances (k, d) from precisions."""
    if value is None:
        return None
    shape = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}[covariance_type]
    precisions = _of_shape("precisions_init", value, shape)
    if covariance_type in ("diag", "spherical"):
        if np.any(precisions <= 0.0):
            raise ParameterError(OWNER, "precisions_init", "positive", value)
        return 1.0 / (precisions if precisions.ndim == 2 else np.repeat(precisions[:, None], d, axis=1))
    swapped = precisions.swapaxes(-1, -2)
    if not np.allclose(precisions, swapped) or np.any(np.linalg.eigvalsh(precisions) <= 0.0):
        raise ParameterError(OWNER, "precisions_init", "symmetric, positive-definite", value)
    return np.linalg.inv(0.5 * (precisions + swapped))
