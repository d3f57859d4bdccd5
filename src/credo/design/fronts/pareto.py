"""`non_dominated`: which of several outcomes no other beats. Lower is better in every objective."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError

__all__ = ["checked_outcomes", "non_dominated"]


def non_dominated(values: Any, *, duplicates: bool = True) -> np.ndarray:
    """Mask (n,) of the outcomes that are not dominated: q dominates p if q ≤ p in every objective and q ≠ p.

    Equal outcomes do not dominate each other: all of them are marked, or with `duplicates=False` the first of them.

    values : (n, objectives), without NaN; ±∞ compare as numbers do

    Raises
    ------
    ParameterError, DataError : another shape; NaN.

    Cost n log n with one or two objectives, else n times the number of those marked.

    >>> non_dominated([[1.0, 3.0], [2.0, 2.0], [2.0, 3.0], [1.0, 3.0]]).tolist()
    [True, True, False, True]
    """
    values = checked_outcomes("non_dominated", values)
    # In lexicographic order none dominates one before it.
    rows, first, which = np.unique(values, axis=0, return_index=True, return_inverse=True)
    kept = _by_sweep(rows) if values.shape[1] <= 2 else _by_archive(rows)
    if duplicates:
        return kept[which.reshape(-1)]
    mask = np.zeros(len(values), dtype=bool)
    mask[first[kept]] = True
    return mask


def checked_outcomes(owner: str, values: Any) -> np.ndarray:
    """values (n, objectives), numbers."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or not values.shape[1]:
        raise ParameterError(owner, "values", "of shape (n, objectives), objectives ≥ 1", values.shape)
    bad = np.flatnonzero(np.isnan(values).any(axis=1)).tolist()
    if bad:
        raise DataError(
            f"Outcomes {bad[:5]} hold NaN.", rows=bad, value=values[bad[0]], remedy="Leave failed trials out."
        )
    return values


def _by_sweep(rows: np.ndarray) -> np.ndarray:
    """Of distinct rows in order: those whose last entry is below all before."""
    last = rows[:, -1]
    least = np.minimum.accumulate(np.concatenate([[np.inf], last]))[:-1]
    kept = last < least
    kept[:1] = True  # an ∞ may be the least
    return kept if rows.shape[1] > 1 else np.arange(len(rows)) == 0


def _by_archive(rows: np.ndarray) -> np.ndarray:
    kept = np.zeros(len(rows), dtype=bool)
    archive, size = np.empty_like(rows), 0
    for i, row in enumerate(rows):
        if not np.any(np.all(archive[:size] <= row, axis=1)):
            archive[size], kept[i] = row, True
            size += 1
    return kept
