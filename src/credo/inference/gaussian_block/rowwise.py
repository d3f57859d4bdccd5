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

__all__ = ["Rows", "RowwiseFactor"]


class Rows(NamedTuple):
    """A (E,) entries, c (n,) and s (n,) at given coefficients."""

    entries: np.ndarray
    constants: np.ndarray
    scales: np.ndarray


class RowwiseFactor:
    """row, column : (E,) of the entries that any map has; values : (K, E) of each map there
    left, right, at : (Z,) pairs of entries of one row and where their product goes in the assembled precision
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
        per_entry = np.repeat(counts, counts)
        self.left = np.repeat(np.arange(len(self.column)), per_entry)
        begin = np.repeat(pattern.indptr[:-1], counts)
        offset = np.arange(len(self.left)) - np.repeat(np.cumsum(per_entry) - per_entry, per_entry)
        self.right = np.repeat(begin, per_entry) + offset
        self.at = np.empty(0, dtype=np.int64)

    def place(self, precision: Any) -> None:
        """Finds where products of entries go; `precision` says so."""
        at = precision.locate(self.column[self.left], self.column[self.right])
        kept = at >= 0
        self.left, self.right, self.at = self.left[kept], self.right[kept], at[kept]

    def rows(self, x: np.ndarray, centre: np.ndarray) -> Rows:
        """At coefficients x (D,)."""
        s = x[self.slots.s]
        entries = np.zeros(len(self.column))
        for slot, values in zip(self.slots.a, self.values, strict=True):
            entries += (x[slot] / s)[self.row] * values
        constants = np.zeros(len(s))
        for slot, values in zip(self.slots.b, self.factor.constants, strict=True):
            constants += x[slot] * values
        constants /= s
        constants += self._sums(entries * centre[self.column])
        return Rows(entries, constants, s)

    def _sums(self, of_entries: np.ndarray) -> np.ndarray:
        return np.bincount(self.row, of_entries, self.factor.n)

    def add(self, rows: Rows, h: np.ndarray, g: np.ndarray) -> float:
        """Adds AᵀA to h and Aᵀc to g; returns ‖c‖²."""
        h += np.bincount(self.at, rows.entries[self.left] * rows.entries[self.right], len(h))
        g += np.bincount(self.column, rows.entries * rows.constants[self.row], len(g))
        return float(rows.constants @ rows.constants)

    def add_gradient(
        self, gradient: np.ndarray, rows: Rows, second: np.ndarray, mean: np.ndarray, centre: np.ndarray
    ) -> None:
        """Adds ∂ log ∫/∂ coefficients, at `second` = E y yᵀ where products went and mean (p,) of y."""
        entries, constants, s = rows
        half = 0.5 * second[self.at]
        E = len(entries)
        moved = np.bincount(self.left, half * entries[self.right], E)
        moved += np.bincount(self.right, half * entries[self.left], E)
        fitted = self._sums(entries * mean[self.column])
        residual = fitted + constants
        squares = self._sums(entries * moved) + constants * (2.0 * fitted + constants)
        slope = moved + constants[self.row] * mean[self.column] + residual[self.row] * centre[self.column]
        for slot, values in zip(self.slots.a, self.values, strict=True):
            gradient[slot] -= self._sums(slope * values) / s
        for slot, values in zip(self.slots.b, self.factor.constants, strict=True):
            gradient[slot] -= residual * values / s
        gradient[self.slots.s] += (squares - 1.0) / s


def factor_pattern(factor: LinearFactor, size: int) -> Any:
    """Where any map of the factor has an entry, CSR (n, size) with ones."""
    pattern: Any = scipy.sparse.csr_array((factor.n, size))
    for each in factor.maps:
        pattern = pattern + scipy.sparse.csr_array((np.ones(len(each.data)), each.indices, each.indptr), each.shape)
    pattern = pattern.tocsr()
    pattern.sort_indices()
    return pattern
