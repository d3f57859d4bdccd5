"""Transition probabilities as a user gives them: exact or floating, dense or sparse, with or without names."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

from credo.errors import DataError, ParameterError
from credo.probability.masses import exactly, is_exact

__all__ = ["ROUNDING", "as_transitions", "names_of"]

# What printing and arithmetic leave of a row's sum; rows are divided by it.
ROUNDING = 1e-9
# The same of numbers in single precision.
SINGLE = 1e-5
# A tenth of a gigabyte of Fractions or a few minutes of elimination.
MOST_EXACT = 400


def names_of(P: Any) -> Any:
    """Of a data frame's columns, which its index must not contradict; None of anything else."""
    names = getattr(P, "columns", None)
    if names is None:
        return None
    rows = list(getattr(P, "index", range(len(names))))
    if rows not in (list(range(len(names))), list(names)):
        raise ParameterError(
            "MarkovChain", "P", "a data frame whose rows and columns are the same states in one order", rows
        )
    return list(names)


def as_transitions(P: Any) -> tuple[list[list[Fraction]] | None, Any]:
    """Rows of Fractions, or None; and P as a sparse array with its zeros left out and rows of sum 1."""
    exact, tolerance = None, ROUNDING
    kind = getattr(P, "dtype", None)
    if kind is not None and getattr(kind, "kind", "") == "c":
        raise ParameterError("MarkovChain", "P", "real numbers", P)
    if kind is not None and getattr(kind, "kind", "") == "f" and kind.itemsize < 8:
        tolerance = SINGLE
    if scipy.sparse.issparse(P):
        sparse: Any = scipy.sparse.csr_array(P, dtype=np.float64)
    else:
        listed = np.array(P, dtype=object) if not isinstance(P, np.ndarray) else P
        if listed.ndim != 2 or listed.shape[0] != listed.shape[1] or listed.size == 0:
            raise ParameterError("MarkovChain", "P", "square, one row and one column a state", listed.shape)
        if listed.dtype == object and listed.shape[0] <= MOST_EXACT and all(map(is_exact, listed.ravel())):
            exact = [[exactly(value) for value in row] for row in listed]
            _check_exact_rows(exact)
        try:
            sparse = scipy.sparse.csr_array(listed.astype(np.float64))
        except (TypeError, ValueError):
            raise ParameterError("MarkovChain", "P", "numbers", P) from None
    if sparse.shape[0] != sparse.shape[1] or sparse.shape[0] == 0:
        raise ParameterError("MarkovChain", "P", "square, one row and one column a state", sparse.shape)
    sparse.sum_duplicates()
    rows = np.repeat(np.arange(sparse.shape[0]), np.diff(sparse.indptr))
    bad = np.flatnonzero(~(sparse.data >= 0.0))
    if bad.size:
        raise _row_error(int(rows[bad[0]]), f"holds {sparse.data[bad[0]]}", sparse.data[bad[0]])
    sparse.eliminate_zeros()
    totals = np.asarray(sparse.sum(axis=1)).ravel()
    wrong = np.flatnonzero(~(np.abs(totals - 1.0) <= tolerance))
    if wrong.size:
        raise _row_error(int(wrong[0]), f"sums to {totals[wrong[0]]:.12g}", float(totals[wrong[0]]))
    sparse.data /= np.repeat(totals, np.diff(sparse.indptr))
    return exact, sparse


def _check_exact_rows(rows: list[list[Fraction]]) -> None:
    for i, row in enumerate(rows):
        if min(row) < 0:
            raise _row_error(i, f"holds {min(row)}", min(row))
        if sum(row) != 1:
            raise _row_error(i, f"sums to {sum(row)}", sum(row))


def _row_error(row: int, what: str, value: Any) -> DataError:
    return DataError(
        f"MarkovChain.P: row {row} {what}; rows must be ≥ 0 and sum to 1.",
        value=value,
        rows=[row],
        remedy="Rows are where the chain comes from, columns where it goes: transpose P if it is the other way round.",
    )
