"""Sparse precisions: a Cholesky factor in panels, and the entries of the inverse where the precision has any."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from credo.inference.gaussian_block.dense import HARDLY_A_PIVOT
from credo.inference.gaussian_block.layout import Layout
from credo.inference.gaussian_block.ordering import elimination_order

__all__ = ["SparseFactor", "SparsePrecision"]

_LAPACK: Any = scipy.linalg.lapack
# Right-hand sides solved at once.
CHUNK = 64


class SparsePrecision:
    """The layout of H and, for each pair, where its gram's entries go.

    active : (A,) positions that any gram touches; i, j : (A,) their columns; G (P, A) of lower triangles, and its
    transpose
    """

    compiles = True

    def __init__(self, grams: list[Any], size: int, extra: Any = None) -> None:
        self.size = size
        pattern = scipy.sparse.eye_array(size, format="csr")
        for each in (*grams, *([] if extra is None else [extra])):
            pattern = pattern + _ones(each)
        self.layout = Layout.of(elimination_order(pattern.tocsr()))
        self.rounds = self.layout.elimination.rounds
        place, order = self.layout.place, self.layout.order
        coordinates = [each.tocoo() for each in grams]
        lower = [place[c.row] >= place[c.col] for c in coordinates]
        where = [
            self.layout.positions(place[c.row[kept]], place[c.col[kept]])
            for c, kept in zip(coordinates, lower, strict=True)
        ]
        rows, columns = (place[each] for each in scipy.sparse.tril(pattern).coords)
        self.active = np.unique(np.concatenate([*where, self.layout.diagonal, self.layout.positions(rows, columns)]))
        self.G = scipy.sparse.csr_array(
            (
                np.concatenate([c.data[kept] for c, kept in zip(coordinates, lower, strict=True)] or [np.empty(0)]),
                np.concatenate([np.searchsorted(self.active, each) for each in where] or [np.empty(0, dtype=np.int64)]),
                np.concatenate([[0], np.cumsum([len(each) for each in where])]),
            ),
            shape=(len(grams), len(self.active)),
        )
        self.GT = self.G.T.tocsr()
        at = np.searchsorted(self.active, self.layout.positions(rows, columns))
        self.i, self.j = np.empty(len(self.active), dtype=np.int64), np.empty(len(self.active), dtype=np.int64)
        self.i[at], self.j[at] = order[rows], order[columns]
        self.twice = np.where(self.i == self.j, 1.0, 2.0)
        self.diagonal = np.searchsorted(self.active, self.layout.diagonal)

    def __str__(self) -> str:
        rounds = [f"{count} groups" for count in self.rounds]
        return ", then ".join([*rounds, f"{self.layout.rest_size} dense"])

    def assemble(self, pairs: np.ndarray) -> np.ndarray:
        """Σ pairs · gram at the active positions, (A,)."""
        return self.GT @ pairs

    def inner(self, factor: SparseFactor, mean: np.ndarray) -> np.ndarray:
        """⟨gram, H⁻¹ + mean meanᵀ⟩ of each pair, (P,)."""
        return self.G @ self.second(factor, mean)

    def second(self, factor: SparseFactor, mean: np.ndarray) -> np.ndarray:
        """H⁻¹ + mean meanᵀ at the active positions, twice beside the diagonal."""
        return self.twice * (factor.inverse[self.active] + mean[self.i] * mean[self.j])

    def contract(self, second: np.ndarray) -> np.ndarray:
        """⟨gram, E⟩ of each pair, for E kept as `second` is, (P,)."""
        return self.G @ second

    def outer(self, mean: np.ndarray, other: np.ndarray) -> np.ndarray:
        """mean otherᵀ + other meanᵀ, kept as `second` is."""
        return self.twice * (mean[self.i] * other[self.j] + other[self.i] * mean[self.j])

    def times(self, h: np.ndarray, y: np.ndarray) -> np.ndarray:
        """H y, for an assembled H and y (p,)."""
        product = np.bincount(self.i, h * y[self.j], self.size)
        beside = self.i != self.j
        return product + np.bincount(self.j[beside], (h * y[self.i])[beside], self.size)

    def once(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Where (i, j) or (j, i) stands in an assembled H."""
        i, j = np.broadcast_arrays(self.layout.place[i], self.layout.place[j])
        return np.searchsorted(self.active, self.layout.positions(i.ravel(), j.ravel())).reshape(i.shape)

    def whole(self, h: np.ndarray) -> np.ndarray:
        """h as `times` takes it."""
        return h

    def kept(self, factor: SparseFactor) -> np.ndarray:
        """Entries of H⁻¹ where those of H stand."""
        return factor.inverse[self.active]

    def matrix(self, h: np.ndarray) -> Any:
        """H (p, p), sparse."""
        lower = scipy.sparse.csr_array((h, (self.i, self.j)), shape=(self.size, self.size))
        return lower + scipy.sparse.tril(lower, -1).T + scipy.sparse.triu(lower, 1).T

    def locate(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Where the entries (i, j) stand in an assembled H; −1 for those above its diagonal."""
        i, j = self.layout.place[i], self.layout.place[j]
        return np.where(i >= j, np.searchsorted(self.active, self.layout.positions(i, j)), -1)

    def factor(self, h: np.ndarray) -> SparseFactor | None:
        """None where a pivot shows that H is singular, or nearly."""
        layout = self.layout
        values = np.zeros(layout.size)
        values[self.active] = h
        floor = HARDLY_A_PIVOT * h[self.diagonal]
        if len(layout.widths) and _kernels().factor(values, *_arguments(layout), floor) >= 0:
            return None
        rest = values[layout.rest_offset :].reshape(layout.rest_size, layout.rest_size)
        if layout.rest_size:
            # Row by row and lower is column by column and upper; done in place.
            _, info = _LAPACK.dpotrf(rest.T, lower=0, clean=0, overwrite_a=1)
            if info or not (rest.diagonal() ** 2 > floor[layout.rest_first :]).all():
                return None
        return SparseFactor(layout, values)


def _kernels() -> Any:
    """The compiled loops, which only sparse precisions wait for."""
    from credo.inference.gaussian_block import kernels

    return kernels


def _ones(matrix: Any) -> Any:
    return scipy.sparse.csr_array((np.ones(len(matrix.indices)), matrix.indices, matrix.indptr), shape=matrix.shape)


def _arguments(layout: Layout) -> tuple[np.ndarray, ...]:
    starts, pairs = layout.scatter
    rest = np.array([layout.rest_first, layout.rest_offset, layout.rest_size], dtype=np.int64)
    return (
        layout.first,
        layout.widths,
        layout.degrees,
        layout.offsets,
        layout.starts,
        layout.neighbours,
        layout.sparse_degrees,
        starts,
        pairs,
        rest,
        *layout.rest_rows,
    )


class SparseFactor:
    """The factor in `values`, laid out as the precision was."""

    def __init__(self, layout: Layout, values: np.ndarray) -> None:
        self.layout, self.values = layout, values
        self.log_det = 2.0 * float(np.log(values[layout.diagonal]).sum())
        self._inverse: np.ndarray | None = None

    @property
    def _rest(self) -> np.ndarray:
        """The upper triangle Lᵀ of the dense rest, column by column."""
        m = self.layout.rest_size
        return self.values[self.layout.rest_offset :].reshape(m, m).T

    def solve(self, right: np.ndarray) -> np.ndarray:
        """H⁻¹ right, (p,) or (p, m)."""
        x = np.ascontiguousarray(right.reshape(len(right), -1)[self.layout.order])
        self._forward(x)
        return self._backward(x).reshape(right.shape)

    def unwhiten(self, white: np.ndarray) -> np.ndarray:
        """L⁻ᵀ white (p, m): of covariance H⁻¹ where white has I."""
        return self._backward(np.array(white, order="C"))

    def _forward(self, x: np.ndarray) -> None:
        layout = self.layout
        if len(layout.widths):
            _kernels().forward(self.values, *_arguments(layout), x)
        if layout.rest_size:
            x[layout.rest_first :] = _LAPACK.dtrtrs(self._rest, x[layout.rest_first :], lower=0, trans=1)[0]

    def _backward(self, x: np.ndarray) -> np.ndarray:
        layout = self.layout
        if layout.rest_size:
            x[layout.rest_first :] = _LAPACK.dtrtrs(self._rest, x[layout.rest_first :], lower=0)[0]
        if len(layout.widths):
            _kernels().backward(self.values, *_arguments(layout), x)
        return x[layout.place]

    @property
    def inverse(self) -> np.ndarray:
        """H⁻¹ at the positions of the layout."""
        if self._inverse is None:
            layout = self.layout
            inverse = np.zeros(layout.size)
            if layout.rest_size:
                rest = inverse[layout.rest_offset :].reshape(layout.rest_size, layout.rest_size)
                rest[:] = self._rest.T
                _LAPACK.dpotri(rest.T, lower=0, overwrite_c=1)
            if len(layout.widths):
                panels = layout.rest_offset
                _kernels().invert(self.values, *_arguments(layout), inverse, np.empty(panels), np.zeros(panels))
            self._inverse = inverse
        return self._inverse

    def diagonal(self) -> np.ndarray:
        return self.inverse[self.layout.diagonal][self.layout.place]

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """H⁻¹ at columns (i, j) (N,): kept ones are looked up, each other column is solved for once."""
        i, j = self.layout.place[i], self.layout.place[j]
        at = self.layout.positions(i, j)
        values = self.inverse[at]
        missing = np.flatnonzero(at < 0)
        if len(missing):
            early, late = np.minimum(i, j)[missing], np.maximum(i, j)[missing]
            columns, which = np.unique(late, return_inverse=True)
            for start in range(0, len(columns), CHUNK):
                part = np.flatnonzero((which >= start) & (which < start + CHUNK))
                unit = np.zeros((len(self.layout.order), min(CHUNK, len(columns) - start)))
                unit[self.layout.order[columns[start : start + CHUNK]], np.arange(unit.shape[1])] = 1.0
                values[missing[part]] = self.solve(unit)[self.layout.order[early[part]], which[part] - start]
        return values
