"""`OutcomeShape`: what the outcomes look like, by which a candidate says whether it fits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

__all__ = ["OutcomeShape"]

# Least squares on so many rows tell the tails of the noise, in some milliseconds.
ROWS = 2000


@dataclass(frozen=True)
class OutcomeShape:
    """Of outcomes y (n,): numbers, or codes of classes.

    n, low, high, mean, variance, skewness ; distinct values ; whole : all are whole numbers
    tails : excess kurtosis of what least squares on the columns leave (of y itself without columns)
    ordered : codes of classes are in an order
    measured : the columns are measurements, rather than categories or yes and no
    """

    n: int
    low: float
    high: float
    mean: float
    variance: float
    skewness: float
    distinct: int
    whole: bool
    tails: float
    ordered: bool = False
    measured: bool = False

    @classmethod
    def of(cls, y: Any, X: Any = None, *, ordered: bool = False, families: Sequence[str] | None = None) -> Self:
        """Of y (n,), beside columns X (n, P); `families` say what each column of the table holds, if that is known."""
        y = np.asarray(y, dtype=np.float64)
        mean, variance = float(y.mean()), float(y.var())
        z = (y - mean) / (np.sqrt(variance) or 1.0)
        return cls(
            len(y), float(y.min()), float(y.max()), mean, variance, float(np.mean(z**3)), np.unique(y).size,
            bool(np.all(y == np.round(y))), _tails(z, X), ordered, _measured(X, families),
        )  # fmt: skip

    @property
    def tails_error(self) -> float:
        """Standard error of `tails` for Normal noise, √(24/n)."""
        return float(np.sqrt(24.0 / min(self.n, ROWS)))


def _measured(X: Any, families: Sequence[str] | None) -> bool:
    if families is not None:
        return all(family in ("auto", "count") for family in families)
    return X is not None and not any(np.isin(column, (column.min(), column.max())).all() for column in np.asarray(X).T)


def _tails(z: np.ndarray, X: Any) -> float:
    rows = np.linspace(0, len(z) - 1, min(len(z), ROWS)).astype(int)
    residual = z[rows]
    if X is not None and len(rows) > 2 * X.shape[1] + 2:
        design = np.asarray(X, dtype=np.float64)[rows]
        scale = design.std(axis=0)
        design = np.column_stack([np.ones(len(rows)), (design - design.mean(axis=0)) / np.where(scale > 0, scale, 1.0)])
        residual = residual - design @ np.linalg.lstsq(design, residual, rcond=None)[0]
    spread = float(np.mean(np.square(residual - residual.mean())))
    return float(np.mean((residual - residual.mean()) ** 4)) / spread**2 - 3.0 if spread > 0.0 else 0.0
