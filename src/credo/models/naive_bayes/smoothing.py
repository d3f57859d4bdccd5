"""How strong a prior on probabilities is: `alpha` a cell, or m (equivalent sample size) and p (prior estimate)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from credo.errors import DataWarning, ParameterError, warn

__all__ = ["Smoothing", "checked_smoothing", "per_column"]

# scikit-learn's: below it a probability of 0 is likely meant as "hardly any smoothing".
_LEAST_ALPHA = 1e-10


class Smoothing(NamedTuple):
    """alpha (d,), used where `strength` is None; strength m (d,); prior p as the user gave it, or None for uniform."""

    alpha: np.ndarray
    strength: np.ndarray | None
    prior: Any


def checked_smoothing(owner: str, model: Any, n_columns: int) -> Smoothing:
    """The smoothing that `alpha`, `force_alpha`, `equivalent_sample_size` and `prior_estimate` of a model say.

    Raises
    ------
    ParameterError : alpha is given beside the others; a negative or infinite value; a wrong length.
    """
    m, p = model.equivalent_sample_size, model.prior_estimate
    if model.alpha is not None and (m is not None or p is not None):
        raise ParameterError(
            owner,
            "alpha",
            "None where equivalent_sample_size or prior_estimate is given",
            model.alpha,
            "alpha on each of k levels is equivalent_sample_size = k alpha with a uniform prior_estimate.",
        )
    alpha = floored(owner, model.alpha, model.force_alpha, n_columns)
    strength = None if m is None else per_column(owner, "equivalent_sample_size", m, n_columns)
    return Smoothing(np.broadcast_to(alpha, (n_columns,)).astype(np.float64), strength, p)


def floored(owner: str, alpha: Any, force: bool, n_columns: int) -> Any:
    """alpha, a number or (d,), None as 1; raised to 1e-10 with a warning unless `force`."""
    value = 1.0 if alpha is None else alpha
    if np.ndim(value):
        value = np.asarray(value, dtype=np.float64)
        if value.shape != (n_columns,):
            raise ParameterError(
                owner, "alpha", f"a number or {n_columns} of them", alpha,
                f"When alpha is an array, it should contains `n_features` ({n_columns}) entries.",
            )  # fmt: skip
    if not np.all(np.isfinite(value)) or np.min(value) < 0.0:
        raise ParameterError(owner, "alpha", "≥ 0", alpha, "All values in alpha must be greater than 0.")
    if np.min(value) < _LEAST_ALPHA and not force:
        warn(
            f"alpha too small will result in numeric errors, setting alpha = {_LEAST_ALPHA:.1e}. "
            "Use `force_alpha=True` to keep alpha unchanged.",
            DataWarning,
        )
        return np.maximum(value, _LEAST_ALPHA)
    return value


def per_column(owner: str, name: str, value: Any, n_columns: int) -> np.ndarray:
    """A number ≥ 0, or one for each column, as (d,)."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n_columns,)) or not np.all(np.isfinite(array)) or np.any(array < 0.0):
        raise ParameterError(owner, name, f"a number ≥ 0, or {n_columns} of them", value)
    return np.broadcast_to(array, (n_columns,)).copy()


def probability(owner: str, value: Any, n_columns: int) -> np.ndarray:
    """p of 1 (d,), in [0, 1]."""
    p = per_column(owner, "prior_estimate", value, n_columns)
    if np.any(p > 1.0):
        raise ParameterError(owner, "prior_estimate", "probabilities", value)
    return p


def distribution(owner: str, value: Any, size: int) -> np.ndarray:
    """Probabilities (size,) that sum to 1."""
    p = np.asarray(value, dtype=np.float64)
    if p.shape != (size,) or not np.all(p >= 0.0) or abs(p.sum() - 1.0) > 1e-6:
        raise ParameterError(owner, "prior_estimate", f"{size} probabilities that sum to 1", value)
    return p / p.sum()
