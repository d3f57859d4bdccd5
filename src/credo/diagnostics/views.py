"""A predictive, a scalar family and an array of draws seen alike, by the few things that scores ask of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.distributions.base import Family
from credo.errors import DataError, ParameterError

__all__ = ["kind", "shape", "quantiles", "survival", "draws_of", "outcomes"]


def kind(predictive: Any) -> str:
    """ "real", "count" or "class"; "" for what is no predictive."""
    if isinstance(predictive, Family):
        return ("count" if predictive.support.is_discrete else "real") if predictive.event_ndim == 0 else ""
    return getattr(predictive, "kind", "")


def shape(predictive: Any) -> tuple[int, ...]:
    """Shape of one outcome for each row."""
    return predictive.batch_shape if isinstance(predictive, Family) else predictive.shape


def quantiles(predictive: Any, q: Any) -> np.ndarray:
    """Quantiles with the axes of q leading: families broadcast instead."""
    q = np.asarray(q, dtype=np.float64)
    if isinstance(predictive, Family):
        q = q.reshape(q.shape + (1,) * len(predictive.batch_shape))
    return np.asarray(predictive.quantile(q), dtype=np.float64)  # type: ignore[attr-defined]


def survival(predictive: Any, y: Any) -> np.ndarray:
    """P(Y > y), with the digits of the upper tail where the predictive has them."""
    own = getattr(predictive, "survival", None)
    return 1.0 - predictive.cdf(y) if own is None else own(y)


def draws_of(predictive: Any) -> np.ndarray | None:
    """Draws (S, *shape) of a draws predictive or of an array; None for anything else."""
    draws = getattr(predictive, "draws", predictive if isinstance(predictive, (np.ndarray, list)) else None)
    return None if draws is None else np.asarray(draws, dtype=np.float64)


def outcomes(owner: str, predictive: Any, y: Any) -> np.ndarray:
    """Finite outcomes of the shape of a predictive of numbers (or of (S, *shape) draws).

    `ParameterError` for a predictive of anything else, `DataError` naming the rows that are not finite.
    """
    if isinstance(predictive, np.ndarray):
        expected = predictive.shape[1:]
    elif kind(predictive) in ("real", "count"):
        expected = shape(predictive)
    else:
        raise ParameterError(
            owner, "predictive", "one of numbers, or draws (S, rows)", predictive,
            "For classes use brier, reliability and log_score.",
        )  # fmt: skip
    y = np.asarray(y, dtype=np.float64)
    if y.shape != expected or y.size == 0:
        raise DataError(f"{owner}: outcomes of shape {y.shape} for predictives of shape {expected}.", value=y.shape)
    bad = np.flatnonzero(~np.isfinite(y))
    if bad.size:
        raise DataError(f"{owner}: outcome {y.ravel()[bad[0]]} in row {bad[0]}.", rows=bad[:20].tolist(), value=y)
    return y
