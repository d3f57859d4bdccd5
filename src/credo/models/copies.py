"""Rows in an order of their own, equal ones once: fits then depend neither on the order of rows nor on how often the
same is written down.

Sums over rows in another order differ in the last digit, which chains amplify to Monte Carlo error, and eigenvectors of
a kernel with equal rows are rounding. Sorted and counted, the same data are the same arrays, bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Merged", "merged"]


class Merged(NamedTuple):
    """rows (m,): where each distinct row first stands; group (n,): which of them each row equals; counts (m,)."""

    rows: np.ndarray
    group: np.ndarray
    counts: np.ndarray


def merged(counts: np.ndarray, *columns: Any) -> Merged:
    """Distinct rows of `columns`, arrays (n,) or (n, k) of numbers or labels, in ascending order; `counts` (n,) are
    summed. Cost n log n comparisons of rows."""
    parts = [_numbers(np.asarray(c)).reshape(counts.size, -1) for c in columns if c is not None]
    _, rows, group = np.unique(np.hstack(parts), axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    return Merged(rows, group, np.bincount(group, weights=counts))


def _numbers(column: np.ndarray) -> np.ndarray:
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    return np.unique(column, return_inverse=True)[1].reshape(column.shape).astype(np.float64)
