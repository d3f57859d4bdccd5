"""The rows of a site's η, whose products with weights are added to the precision at every step.

Notation: A (n, p) = Σ_k a_k M_k = [D | S]: columns that most rows have (an intercept, covariates) are kept dense, D
(n, q), and multiplied by BLAS; the others are a sparse S with few entries a row (the effects of a row's groups).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from credo.inference.gaussian_block.rowwise import factor_pattern, row_pairs
from credo.inference.laplace_block.site import Site

__all__ = ["COMPILES", "Entries", "SiteRows"]

# A column that this part of the rows has is dense; cells up to which such columns are kept: 1 GiB.
DENSE, LARGEST = 0.3, 2**27
# Rows from which compiled loops are worth the third of a second that numba takes to load, and where it is loaded
# already; dense columns up to which a loop beats BLAS.
COMPILES, FEW, LARGEST_LOOP = 20000, 500, 12


class Entries(NamedTuple):
    """Numbers where A has entries: dense (n, q) and sparse (E,)."""

    dense: np.ndarray
    sparse: np.ndarray


class SiteRows:
    """columns : (q,) of D. row, column : (E,) of the entries of S, row by row.
    touched : (u,) columns that S has, local : (E,) numbers among them
    left, right : (Z,) pairs of entries of one row of S, left ≥ right
    """

    def __init__(self, site: Site, size: int) -> None:
        # Rows, and outcomes: as many, or K rows an outcome that has K predictors.
        self.n, self.cells, self.size = site.form.n, site.n, size
        pattern = factor_pattern(site.form, size)
        is_dense = np.bincount(pattern.indices, minlength=size) >= max(1.0, DENSE * self.cells)
        if is_dense.sum() * self.n > LARGEST:
            is_dense[:] = False
        self.columns = np.flatnonzero(is_dense)
        sparse = ~is_dense[pattern.indices]
        row = np.repeat(np.arange(self.n), np.diff(pattern.indptr))
        self.row, self.column = row[sparse], pattern.indices[sparse].astype(np.int64)
        self.cell = self.row % self.cells
        self.indptr = np.concatenate([[0], np.cumsum(np.bincount(self.row, minlength=self.n))]).astype(np.int64)
        self.touched, local = np.unique(self.column, return_inverse=True)
        self.local = local.astype(np.int64)
        self.left, self.right = row_pairs(self.indptr)
        self._parts = [self._part(matrix, is_dense) for matrix in site.maps]
        self._last: tuple[tuple[float, ...], Entries] | None = None
        self._compiled = False

    def _part(self, matrix: Any, is_dense: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """One map: which dense columns it has, these (n, ·), which sparse entries, and their values."""
        row = np.repeat(np.arange(self.n), np.diff(matrix.indptr))
        dense = is_dense[matrix.indices]
        at = np.searchsorted(self.columns, matrix.indices[dense])
        has, place = np.unique(at, return_inverse=True)
        columns = np.zeros((self.n, len(has)))
        columns[row[dense], place] = matrix.data[dense]
        keys = self.row * self.size + self.column
        where = np.searchsorted(keys, row[~dense] * self.size + matrix.indices[~dense])
        return has, columns, where, matrix.data[~dense]

    @property
    def _incidence(self) -> Any:
        """(cells, p), sparse: which columns of S a cell has."""
        return scipy.sparse.coo_array(
            (np.ones(len(self.row)), (self.cell, self.column)), shape=(self.cells, self.size)
        ).tocsr()

    @property
    def joined(self) -> Any:
        """Pattern (p, p), sparse, of the pairs of columns that share a cell; those of D count as in every one."""
        ones = self._incidence
        dense, every = np.repeat(self.columns, self.size), np.tile(np.arange(self.size), len(self.columns))
        here = np.isin(every, np.concatenate([self.columns, self.touched]))
        dense, every = dense[here], every[here]
        across = scipy.sparse.csr_array((np.ones(len(dense)), (dense, every)), shape=(self.size, self.size))
        return (ones.T @ ones + across + across.T).tocsr()

    @property
    def has_dense(self) -> np.ndarray:
        """(n, q) whether any map has the entry of D."""
        has = np.zeros((self.n, len(self.columns)), dtype=bool)
        for at, columns, _, _ in self._parts:
            has[:, at] |= columns != 0.0
        return has

    @property
    def adjacent(self) -> Any:
        """Pattern (p, p), sparse, of the pairs of columns that share a cell in truth."""
        ones, q = self._incidence, len(self.columns)
        any_row: Any = self.has_dense.reshape(self.n // max(self.cells, 1), self.cells, q).any(axis=0)
        has = any_row.astype(np.float64)
        i, j = np.nonzero(has.T @ has)
        every, other = [self.columns[i]], [self.columns[j]]
        for k, column in enumerate(self.columns):
            seen = self.touched[_sums(self.local, has[self.cell, k], len(self.touched)) > 0.0]
            every += [seen, np.full(len(seen), column)]
            other += [np.full(len(seen), column), seen]
        at, to = np.concatenate(every), np.concatenate(other)
        return ones.T @ ones + scipy.sparse.csr_array((np.ones(len(at)), (at, to)), shape=(self.size, self.size))

    def place(self, precision: Any) -> None:
        """Finds where products of entries go in an assembled precision."""
        q = len(self.columns)
        across, down = np.meshgrid(self.columns, self.columns)
        self.at_dense = precision.once(across.ravel(), down.ravel()).reshape(q, q)
        upper = np.triu_indices(q)
        self.at_upper, self._upper = self.at_dense[upper], upper
        wide, tall = np.repeat(self.touched, q), np.tile(self.columns, len(self.touched))
        self.at_table = precision.once(wide, tall).reshape(len(self.touched), q)
        self.at_pairs = precision.once(self.column[self.left], self.column[self.right])
        many = self.n > COMPILES or (precision.compiles and self.n > FEW)
        self._compiled = bool(many and q <= LARGEST_LOOP)

    # -- at given coefficients ---------------------------------------------------------------------------------------

    def entries(self, a: list[Any]) -> Entries:
        """A at the coefficients of the maps, numbers or (n,) each."""
        key = tuple(float(each) for each in a) if all(np.ndim(each) == 0 for each in a) else None
        if self._last is not None and key == self._last[0]:
            return self._last[1]
        dense, sparse = np.zeros((self.n, len(self.columns))), np.zeros(len(self.row))
        for each, (has, columns, where, values) in zip(a, self._parts, strict=True):
            dense[:, has] += columns * (each[:, None] if np.ndim(each) else each)
            sparse[where] += values * (each[self.row[where]] if np.ndim(each) else each)
        made = Entries(dense, sparse)
        self._last = None if key is None else (key, made)
        return made

    def times(self, entries: Entries, z: np.ndarray) -> np.ndarray:
        """A z, (n,)."""
        if self._compiled:
            out = np.empty(self.n)
            _kernels().times(*entries, self.indptr, self.column, z[self.columns], z, out)
            return out
        return entries.dense @ z[self.columns] + self._sums(entries.sparse * z[self.column])

    def back(self, entries: Entries, r: np.ndarray) -> np.ndarray:
        """Aᵀ r, (p,)."""
        if self._compiled:
            of_dense, total = np.zeros(len(self.columns)), np.zeros(self.size)
            _kernels().back(*entries, self.indptr, self.column, r, of_dense, total)
            total[self.columns] += of_dense
            return total
        total = _sums(self.column, entries.sparse * r[self.row], self.size)
        total[self.columns] += r @ entries.dense
        return total

    def totals(self, r: np.ndarray) -> np.ndarray:
        """Of each column Σ r over the rows that have it, (p,)."""
        total = _sums(self.column, r[self.row], self.size)
        total[self.columns] += r @ self.has_dense
        return total

    def map_times(self, k: int, z: np.ndarray) -> np.ndarray:
        """M_k z, (n,)."""
        has, columns, where, values = self._parts[k]
        total = columns @ z[self.columns[has]]
        return total + _sums(self.row[where], values * z[self.column[where]], self.n)

    def add(self, entries: Entries, weights: np.ndarray, h: np.ndarray) -> None:
        """Adds Aᵀ diag(weights) A to an assembled precision, at the entries that it reads."""
        dense, sparse = entries
        weighted = dense * weights[:, None]
        h[self.at_upper] += (weighted.T @ dense)[self._upper]
        if self._compiled:
            table = np.zeros(self.at_table.shape)
            _kernels().add_products(dense, sparse, self.indptr, self.local, weights, self.at_pairs, table, h)
            h[self.at_table] += table
            return
        for k in range(dense.shape[1]):
            h[self.at_table[:, k]] += _sums(self.local, sparse * weighted[self.row, k], len(self.touched))
        products = sparse[self.left] * sparse[self.right] * weights[self.row[self.left]]
        h += _sums(self.at_pairs, products, len(h))

    def solved(self, entries: Entries, inverse: np.ndarray) -> tuple[Entries, np.ndarray]:
        """H⁻¹ a_i where row i has entries, from the entries of H⁻¹ where H has any; and a_iᵀH⁻¹a_i (n,)."""
        dense, sparse = entries
        table = inverse[self.at_table]
        of_dense = dense @ inverse[self.at_dense]
        if self._compiled:
            of_sparse, inner = np.zeros_like(sparse), np.empty(self.n)
            _kernels().solved(
                dense, sparse, self.indptr, self.local, self.at_pairs, table, inverse, of_dense, of_sparse, inner
            )
            return Entries(of_dense, of_sparse), inner
        for k in range(dense.shape[1]):
            of_dense[:, k] += self._sums(sparse * table[self.local, k])
        of_sparse = np.einsum("ek,ek->e", table[self.local], dense[self.row])
        pairs, beside = inverse[self.at_pairs], self.left != self.right
        of_sparse += _sums(self.left, pairs * sparse[self.right], len(sparse))
        left, right = self.left[beside], self.right[beside]
        of_sparse += _sums(right, pairs[beside] * sparse[left], len(sparse))
        inner = np.einsum("ik,ik->i", dense, of_dense) + self._sums(sparse * of_sparse)
        return Entries(of_dense, of_sparse), inner

    def curved(self, k: int, spread: Entries, second: np.ndarray) -> np.ndarray:
        """ℓ″ of each row times its Σ of products of M_k with `spread` as of `solved`, (n,)."""
        return second * self.map_inner(k, spread)

    def map_inner(self, k: int, other: Entries) -> np.ndarray:
        """Row by row Σ of products with M_k, (n,)."""
        has, columns, where, values = self._parts[k]
        dense = other.dense if len(has) == other.dense.shape[1] else other.dense[:, has]
        total = np.einsum("ik,ik->i", columns, dense)
        return total + _sums(self.row[where], values * other.sparse[where], self.n)

    def _sums(self, of_entries: np.ndarray) -> np.ndarray:
        return _sums(self.row, of_entries, self.n)


def _kernels() -> Any:
    """The compiled loops, which only many rows wait for."""
    from credo.inference.laplace_block import row_kernels

    return row_kernels


def _sums(at: np.ndarray, values: np.ndarray, length: int) -> np.ndarray:
    """Σ of the values at each index; of none, zeros (NumPy's would be integers)."""
    return np.bincount(at, values, length) if len(at) else np.zeros(length)
