"""The rows of a site whose law has K predictors: those of the first, then of the second, and so on.

Notation: row (k, i) is a_ki, of predictor k of cell i; W (K, K, n) the cells' curvatures, so that AᵀWA has products of
two rows of a cell besides those of each with itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from credo.inference.gaussian_block.rowwise import row_pairs
from credo.inference.laplace_block.rows import Entries, SiteRows, _sums
from credo.inference.laplace_block.site import Site

__all__ = ["SeveralRows", "Spread", "along", "bent", "rows_of"]


def rows_of(site: Site, size: int) -> SiteRows:
    """The rows of a site of one predictor or of several."""
    return SiteRows(site, size) if site.law.predictors == 1 else SeveralRows(site, size)


def along(second: np.ndarray, move: np.ndarray) -> np.ndarray:
    """ℓ″ times a change of η, in the shape of η: (n,), or (K, n)."""
    return second * move if second.ndim == move.ndim else np.einsum("kln,ln->kn", second, move)


def bent(V: np.ndarray, third: np.ndarray) -> np.ndarray:
    """tr(V ℓ‴) in the shape of η, for V the covariance of η: (n,), or (K, K, n)."""
    return V * third if V.ndim == third.ndim else np.einsum("kln,klmn->mn", V, third)


class Spread(NamedTuple):
    """H⁻¹ a_li of every predictor l: at the dense columns (K n, q), and at each sparse entry of the cell (K, E)."""

    dense: np.ndarray
    sparse: np.ndarray


class SeveralRows(SiteRows):
    """first, second : (Z,) pairs of entries of two rows of one cell; twice : (Z,) 2 where they have one column, else 1.

    η and what goes with it is (K, n); products of maps are of K n rows, as in `SiteRows`.
    """

    def __init__(self, site: Site, size: int) -> None:
        super().__init__(site, size)
        self.K = site.law.predictors
        self.kind = self.row // self.cells
        order = np.argsort(self.cell, kind="stable")
        counts = np.bincount(self.cell, minlength=self.cells)
        left, right = row_pairs(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
        left, right = order[left], order[right]
        across = self.kind[left] != self.kind[right]
        self.first, self.second = left[across], right[across]
        self.twice = 1.0 + (self.column[self.first] == self.column[self.second])

    def place(self, precision: Any) -> None:
        super().place(precision)
        self.at_across = precision.once(self.column[self.first], self.column[self.second])
        self._compiled = False

    def times(self, entries: Entries, z: np.ndarray) -> np.ndarray:
        return super().times(entries, z).reshape(self.K, self.cells)

    def back(self, entries: Entries, r: np.ndarray) -> np.ndarray:
        return super().back(entries, r.ravel())

    def totals(self, r: np.ndarray) -> np.ndarray:
        return super().totals(np.tile(r, self.K))

    def add(self, entries: Entries, weights: np.ndarray, h: np.ndarray) -> None:
        dense, sparse = entries
        weighted = self._turned(weights, dense)
        h[self.at_upper] += (weighted.T @ dense)[self._upper]
        for k in range(dense.shape[1]):
            h[self.at_table[:, k]] += _sums(self.local, sparse * weighted[self.row, k], len(self.touched))
        own = np.einsum("kkn->kn", weights).ravel()
        h += _sums(self.at_pairs, sparse[self.left] * sparse[self.right] * own[self.row[self.left]], len(h))
        w = weights[self.kind[self.first], self.kind[self.second], self.cell[self.first]]
        h += _sums(self.at_across, self.twice * w * sparse[self.first] * sparse[self.second], len(h))

    def solved(self, entries: Entries, inverse: np.ndarray) -> tuple[Any, np.ndarray]:
        """H⁻¹a of every row, as `Spread`, and V = AᵢH⁻¹Aᵢᵀ (K, K, n) of each cell."""
        dense, sparse = entries
        (K, n, E), q = (self.K, self.cells, len(sparse)), dense.shape[1]
        table = inverse[self.at_table]
        of_dense = dense @ inverse[self.at_dense]
        for k in range(q):
            of_dense[:, k] += self._sums(sparse * table[self.local, k])
        rows = dense.reshape(K, n, q)
        of_sparse = np.einsum("eq,leq->le", table[self.local], rows[:, self.cell])
        beside, pairs = self.left != self.right, inverse[self.at_pairs]
        left, right, across = self.left, self.right, inverse[self.at_across]
        at = np.concatenate([left, right[beside], self.first, self.second])
        to = np.concatenate([right, left[beside], self.second, self.first])
        values = np.concatenate([pairs, pairs[beside], across, across]) * sparse[to]
        of_sparse += _sums(self.kind[to] * E + at, values, K * E).reshape(K, E)
        V = np.einsum("knq,lnq->kln", rows, of_dense.reshape(K, n, q))
        for k in range(K):
            V[:, k] += self._sums(sparse * of_sparse[k]).reshape(K, n)
        return Spread(of_dense, of_sparse), V

    def curved(self, k: int, spread: Any, second: np.ndarray) -> np.ndarray:
        """Σ_l ℓ″_kl times the products of M_k with H⁻¹a_l, (K n,)."""
        of_sparse = np.einsum("le,le->e", second[self.kind, :, self.cell].T, spread.sparse)
        return self.map_inner(k, Entries(self._turned(second, spread.dense), of_sparse))

    def _turned(self, weights: np.ndarray, dense: np.ndarray) -> np.ndarray:
        """Σ_l W_kl times row (l, i), for every row (k, i), (K n, q)."""
        rows = dense.reshape(self.K, self.cells, -1)
        return np.einsum("kln,lnq->knq", weights, rows).reshape(dense.shape)
