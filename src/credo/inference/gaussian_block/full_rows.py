"""Rowwise factors whose rows have most columns: kept as full matrices, multiplied by BLAS, one evaluation or many.

Notation as in `rowwise`; A (..., n, p) and c, s (..., n) may have leading axes, one for each set of coefficients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.inference.gaussian_block.factors import LinearFactor
from credo.inference.gaussian_block.products import Slots
from credo.inference.gaussian_block.rowwise import Rows

__all__ = ["FullRows", "is_full"]

# Entries are kept in full where so many of them are there, and no more than these cells: 2 MiB; up to which cells many
# evaluations are done at once, in a tenth of a millisecond each.
SHARE, LARGEST, AT_ONCE = 0.25, 2**18, 2**14


def is_full(factor: LinearFactor, size: int) -> bool:
    """Whether most of the rows' cells have an entry, and they are few enough to be many at once."""
    cells = factor.n * size
    return cells <= LARGEST and sum(each.nnz for each in factor.maps) >= SHARE * cells


class FullRows:
    """Each map as the columns that it has and its values (n, ·) there. Rows are as of `RowwiseFactor`, their entries
    a matrix (..., n, p)."""

    def __init__(self, factor: LinearFactor, slots: Slots, size: int) -> None:
        self.factor, self.slots, self.size = factor, slots, size
        self.maps = [_columns_of(each) for each in factor.maps]
        #: of all cells, as of `RowwiseFactor`
        self.row, self.column = (each.ravel() for each in np.indices((factor.n, size)))

    @property
    def cells(self) -> int:
        """Of A, at one set of coefficients."""
        return self.factor.n * self.size

    @property
    def is_batched(self) -> bool:
        """Whether many evaluations at once pay."""
        return self.cells <= AT_ONCE

    def place(self, precision: Any) -> None:
        """The precision is dense, and A is laid out as it is."""

    def rows(self, x: np.ndarray, centre: np.ndarray) -> Rows:
        """At coefficients x (..., D)."""
        s = x[..., self.slots.s]
        entries = np.zeros((*s.shape, self.size))
        for slot, (columns, values) in zip(self.slots.a, self.maps, strict=True):
            entries[..., columns] += (x[..., slot] / s)[..., None] * values
        constants = np.zeros(s.shape)
        for slot, values in zip(self.slots.b, self.factor.constants, strict=True):
            constants += x[..., slot] * values
        constants /= s
        return Rows(entries, constants + entries @ centre if centre.any() else constants, s)

    def add(self, rows: Rows, h: np.ndarray, g: np.ndarray) -> Any:
        """Adds AᵀA to h (..., p²) and Aᵀc to g (..., p); returns ‖c‖²."""
        A, c = rows.entries, rows.constants
        h += (A.swapaxes(-1, -2) @ A).reshape(h.shape)
        g += (c[..., None, :] @ A)[..., 0, :]
        return np.square(c).sum(axis=-1)

    def add_gradient(
        self, gradient: np.ndarray, rows: Rows, second: np.ndarray, mean: np.ndarray, centre: np.ndarray
    ) -> None:
        """Adds ∂ log ∫/∂ coefficients (D,), at `second` = E y yᵀ (p²,) and mean (p,) of y."""
        A, c, s = rows
        moved, fitted = A @ second.reshape(self.size, self.size), A @ mean
        residual = fitted + c
        squares = np.einsum("ij,ij->i", A, moved) + c * (2.0 * fitted + c)
        slope = moved + c[:, None] * mean + residual[:, None] * centre  # E r z_j
        for slot, (columns, values) in zip(self.slots.a, self.maps, strict=True):
            gradient[slot] -= np.einsum("ij,ij->i", slope[:, columns], values) / s
        for slot, values in zip(self.slots.b, self.factor.constants, strict=True):
            gradient[slot] -= residual * values / s
        gradient[self.slots.s] += (squares - 1.0) / s


def _columns_of(matrix: Any) -> tuple[slice, np.ndarray]:
    """From the first column that has entries to the last, and their values (n, ·)."""
    columns = slice(int(matrix.indices.min(initial=0)), int(matrix.indices.max(initial=0)) + 1)
    return columns, np.ascontiguousarray(matrix[:, columns].toarray())
