"""Products M_kᵀ M_l of sparse maps, the dense columns among them (an intercept, covariates) by BLAS."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

__all__ = ["Columns", "gram"]

# A column that stores this part of its rows is dense; cells up to which they are copied: 512 MiB.
DENSE, LARGEST = 0.3, 2**26


class Columns(NamedTuple):
    """A map (n, p) in two parts: `dense` (n, q) with the columns `at` (q,), and the `rest`, CSR (n, p)."""

    dense: np.ndarray
    at: np.ndarray
    rest: Any

    @classmethod
    def of(cls, matrix: Any) -> Columns:
        n, p = matrix.shape
        is_dense = np.bincount(matrix.indices, minlength=p) >= max(1.0, DENSE * n)
        at = np.flatnonzero(is_dense)
        if not len(at) or len(at) * max(n, p) > LARGEST:
            return cls(np.zeros((n, 0)), at[:0], matrix)
        place = np.cumsum(is_dense) - 1
        row = np.repeat(np.arange(n), np.diff(matrix.indptr))
        in_dense = is_dense[matrix.indices]
        dense = np.zeros((n, len(at)))
        dense[row[in_dense], place[matrix.indices[in_dense]]] = matrix.data[in_dense]
        keep = ~in_dense
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row[keep], minlength=n))])
        rest = scipy.sparse.csr_array((matrix.data[keep], matrix.indices[keep], indptr), shape=(n, p))
        return cls(dense, at, rest)


def gram(left: Columns, right: Columns) -> Any:
    """leftᵀ right (p, p), CSR."""
    total = left.rest.T @ right.rest
    if len(left.at) or len(right.at):
        p = left.rest.shape[1]
        total = (
            total
            + _placed(left.dense.T @ right.dense, left.at, right.at, p)
            + _placed((right.rest.T @ left.dense).T, left.at, np.arange(p), p)
            + _placed(left.rest.T @ right.dense, np.arange(p), right.at, p)
        )
    return total.tocsr()


def _placed(block: np.ndarray, rows: np.ndarray, columns: np.ndarray, p: int) -> Any:
    """The block at these rows and columns of a sparse (p, p)."""
    i, j = np.nonzero(block)
    return scipy.sparse.csr_array((block[i, j], (rows[i], columns[j])), shape=(p, p))
