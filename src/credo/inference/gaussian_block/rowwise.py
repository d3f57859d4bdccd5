"""Factors whose coefficients differ from row to row: their rows are gone through at every evaluation.

Notation, in units of s: r_i = Σ_e A_e y_j(e) + c_i over the entries e of row i, with A_e = Σ_k a_k,i M_k,e / s_i,
c_i = Σ_l b_l,i c_l,i / s_i + Σ_e A_e z₀_j(e), and y = z − z₀ about the block's centre.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from credo.inference.gaussian_block.factors import LinearFactor
from credo.inference.gaussian_block.products import Slots

__all__ = ["Rows", "RowwiseFactor", "factor_pattern", "row_pairs"]

# Rows from which compiled loops are worth their loading; a sparse precision has numba loaded.
FEW = 500


class Rows(NamedTuple):
    """A (E,) entries, c (n,) and s (n,) at given coefficients."""

    entries: np.ndarray
    constants: np.ndarray
    scales: np.ndarray


class RowwiseFactor:
    """row, column : (E,) of the entries that any map has; values : (K, E) of each map there
    left, right, at : (Z,) pairs of entries of one row and where their product goes in the assembled precision
    compiled : whether loops are, for many rows; then only `at` is kept, of pairs left ≥ right
    """

    def __init__(self, factor: LinearFactor, slots: Slots, size: int) -> None:
        self.factor, self.slots = factor, slots
        pattern = factor_pattern(factor, size)
        self.column = pattern.indices.astype(np.int64)
        counts = np.diff(pattern.indptr)
        self.row = np.repeat(np.arange(factor.n), counts)
        self.values = np.zeros((len(factor.maps), len(self.column)))
        keys = self.row * pattern.shape[1] + self.column
        for out, matrix in zip(self.values, factor.maps, strict=True):
            of = np.repeat(np.arange(factor.n), np.diff(matrix.indptr)) * pattern.shape[1] + matrix.indices
            out[np.searchsorted(keys, of)] = matrix.data
        self.indptr = pattern.indptr.astype(np.int64)
        self.left = self.right = self.at = np.empty(0, dtype=np.int64)
        self.compiled = False

    def place(self, precision: Any) -> None:
        """Finds where products of entries go; `precision` says so."""
        if precision.compiles and self.factor.n > FEW:
            self.compiled = True
            left, right = row_pairs(self.indptr)
            self.at = precision.once(self.column[left], self.column[right])
            return
        left, right = _ordered_pairs(self.indptr)
        at = precision.locate(self.column[left], self.column[right])
        kept = at >= 0
        self.left, self.right, self.at = left[kept], right[kept], at[kept]

    def rows(self, x: np.ndarray, centre: np.ndarray) -> Rows:
        """At coefficients x (D,)."""
        s = x[self.slots.s]
        entries = np.zeros(len(self.column))
        for slot, values in zip(self.slots.a, self.values, strict=True):
            if self.compiled:
                _kernels().combine(self.indptr, x[slot] / s, values, entries)
            else:
                entries += (x[slot] / s)[self.row] * values
        constants = np.zeros(len(s))
        for slot, values in zip(self.slots.b, self.factor.constants, strict=True):
            constants += x[slot] * values
        constants /= s
        constants += self._sums(entries, centre[self.column])
        return Rows(entries, constants, s)

    def _sums(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Σ of products of each row's entries, (n,)."""
        if not self.compiled:
            return np.bincount(self.row, left * right, self.factor.n)
        out = np.empty(self.factor.n)
        _kernels().sums(self.indptr, left, right, out)
        return out

    def add(self, rows: Rows, h: np.ndarray, g: np.ndarray) -> float:
        """Adds AᵀA to h and Aᵀc to g; returns ‖c‖²."""
        if self.compiled:
            _kernels().add_products(self.indptr, self.column, self.at, rows.entries, rows.constants, h, g)
            return float(rows.constants @ rows.constants)
        h += np.bincount(self.at, rows.entries[self.left] * rows.entries[self.right], len(h))
        g += np.bincount(self.column, rows.entries * rows.constants[self.row], len(g))
        return float(rows.constants @ rows.constants)

    def add_gradient(
        self, gradient: np.ndarray, rows: Rows, second: np.ndarray, mean: np.ndarray, centre: np.ndarray
    ) -> None:
        """Adds ∂ log ∫/∂ coefficients, at `second` = E y yᵀ where products went and mean (p,) of y."""
        slope, residual, squares = self._moments(rows, second, mean, centre)
        for slot, values in zip(self.slots.a, self.values, strict=True):
            gradient[slot] -= self._sums(slope, values) / rows.scales
        for slot, values in zip(self.slots.b, self.factor.constants, strict=True):
            gradient[slot] -= residual * values / rows.scales
        gradient[self.slots.s] += (squares - 1.0) / rows.scales

    def _moments(
        self, rows: Rows, second: np.ndarray, mean: np.ndarray, centre: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E r z_j(e) (E,), E r and E r² (n,) of the rows r."""
        entries, constants, _ = rows
        E, n = len(entries), self.factor.n
        if self.compiled:
            slope, residual, squares = np.zeros(E), np.empty(n), np.empty(n)
            _kernels().moments(
                self.indptr, self.column, self.at, entries, constants, second, mean, centre, slope, residual, squares
            )
            return slope, residual, squares
        half = 0.5 * second[self.at]
        moved = np.bincount(self.left, half * entries[self.right], E)
        moved += np.bincount(self.right, half * entries[self.left], E)
        fitted = self._sums(entries, mean[self.column])
        residual = fitted + constants
        squares = self._sums(entries, moved) + constants * (2.0 * fitted + constants)
        return (
            moved + constants[self.row] * mean[self.column] + residual[self.row] * centre[self.column],
            residual,
            squares,
        )


def _kernels() -> Any:
    """The compiled loops, which only many rows wait for."""
    from credo.inference.gaussian_block import row_kernels

    return row_kernels


def row_pairs(indptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (left ≥ right) of the entries of each row, row by row.

    >>> [each.tolist() for each in row_pairs(np.array([0, 2, 3]))]
    [[0, 1, 1, 2], [0, 0, 1, 2]]
    """
    counts = np.diff(indptr)
    place = np.arange(indptr[-1]) - np.repeat(indptr[:-1], counts)
    left = np.repeat(np.arange(indptr[-1]), place + 1)
    first = np.cumsum(place + 1) - (place + 1)
    right = np.repeat(np.repeat(indptr[:-1], counts) - first, place + 1) + np.arange(len(left))
    return left, right


def _ordered_pairs(indptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs (left, right) of the entries of each row."""
    counts = np.diff(indptr)
    per_entry = np.repeat(counts, counts)
    left = np.repeat(np.arange(indptr[-1]), per_entry)
    begin = np.repeat(indptr[:-1], counts)
    offset = np.arange(len(left)) - np.repeat(np.cumsum(per_entry) - per_entry, per_entry)
    return left, np.repeat(begin, per_entry) + offset


def factor_pattern(factor: LinearFactor, size: int) -> Any:
    """Where any map of the factor has an entry, CSR (n, size) with ones."""
    pattern: Any = scipy.sparse.csr_array((factor.n, size))
    for each in factor.maps:
        pattern = pattern + scipy.sparse.csr_array((np.ones(len(each.data)), each.indices, each.indptr), each.shape)
    pattern = pattern.tocsr()
    pattern.sort_indices()
    return pattern
