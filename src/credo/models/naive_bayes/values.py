"""Columns whose law needs every value: distinct values with their weights, kept for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse

from credo.models.generative.memberships import Memberships
from credo.saving.registry import register

__all__ = ["ClassValues", "each_column"]


@register
@dataclass(frozen=True, eq=False)
class ClassValues:
    """For every column its distinct values (u,), ascending, and their weights (u, k) in every class.

    Sufficient for any family, and mergeable; memory is that of the distinct values times the classes.
    """

    values: tuple[np.ndarray, ...]
    weights: tuple[np.ndarray, ...]

    @classmethod
    def accumulate(cls, X: np.ndarray, rows: Memberships) -> Self:
        values, weights = [], []
        for column in X.T:
            seen = ~np.isnan(column)
            distinct, place = np.unique(column[seen].astype(np.float64), return_inverse=True)
            at = np.full(len(column), len(distinct))  # a missing cell is put after the last value, and dropped
            at[seen] = place.ravel()
            members = scipy.sparse.csr_array(
                (np.ones(len(at)), (at, np.arange(len(at)))), shape=(len(distinct) + 1, len(at))
            )
            weights.append((members @ _table(rows))[:-1])
            values.append(distinct)
        return cls(tuple(values), tuple(weights))

    def merge(self, other: Self) -> Self:
        values, weights = [], []
        for a, wa, b, wb in zip(self.values, self.weights, other.values, other.weights, strict=True):
            both = np.union1d(a, b)
            total = np.zeros((len(both), wa.shape[1]))
            total[np.searchsorted(both, a)] += wa
            total[np.searchsorted(both, b)] += wb
            values.append(both)
            weights.append(total)
        return type(self)(tuple(values), tuple(weights))


def _table(rows: Memberships) -> np.ndarray:
    """R (n, k)."""
    if rows.shares is not None:
        return rows.shares
    return np.eye(rows.n_classes)[rows.codes] * (1.0 if rows.weights is None else rows.weights[:, None])


def each_column(cells: np.ndarray, beliefs: tuple[Any, ...], method: str, n_classes: int) -> np.ndarray:
    """Σ over columns of belief.method(observed cells) (n, k)."""
    total = np.zeros((len(cells), n_classes))
    for column, belief in zip(cells.T, beliefs, strict=True):
        seen = np.flatnonzero(~np.isnan(column))
        total[seen] += getattr(belief, method)(column[seen].astype(np.float64))
    return total
