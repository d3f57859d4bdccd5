"""`CodedRows`: a table whose cells are numbers of states, which is all that learning looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.errors import DataError, DataWarning, ParameterError, warn

__all__ = ["CodedRows", "coded_rows"]

# Weights cost a third more a row, so rows are merged only where that halves them at least.
_WORTH_MERGING = 0.5


@dataclass(frozen=True, eq=False)
class CodedRows:
    """names (d), sizes (d): numbers of states; columns (d, n) int32, −1 missing; weights (n,) > 0 or None for ones."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    columns: np.ndarray
    weights: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        return self.columns.shape[1]

    @property
    def total(self) -> float:
        """Σ weights: how many rows there are."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    @property
    def missing(self) -> np.ndarray:
        """Which cells are missing (d, n)."""
        return self.columns < 0

    def taken(self, rows: np.ndarray) -> CodedRows:
        """The rows with these numbers, or where this mask is true."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, columns=np.ascontiguousarray(self.columns[:, rows]), weights=weights)

    def by_name(self) -> CodedRows:
        """The same columns in the order of their names, so that no answer depends on the order they came in."""
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        if order == list(range(len(order))):
            return self
        return CodedRows(
            tuple(self.names[j] for j in order),
            tuple(self.sizes[j] for j in order),
            np.ascontiguousarray(self.columns[order]),
            self.weights,
        )

    def complete(self, owner: str) -> CodedRows:
        """The rows without a missing cell, and a `DataWarning` if others are left out.

        Raises
        ------
        DataError : no row is complete.
        """
        missing = self.missing
        bad = np.asarray(missing.any(axis=0))
        if not bad.any():
            return self
        if bad.all():
            empty = [name for name, column in zip(self.names, missing) if column.all()]
            blame = f" Column(s) {', '.join(empty[:8])} have no cell at all." if empty else ""
            raise DataError(
                f"{owner}: every row has a missing cell.{blame}",
                columns=empty or None,
                remedy="Leave out the emptiest columns; or learn from the cells that are there, as learn_structure "
                "does unless missing='drop'.",
            )
        warn(
            f"{owner}: {int(bad.sum())} of {self.n_rows} rows have a missing cell and are left out, which is right "
            "where cells go missing by chance alone.",
            DataWarning,
        )
        return self.taken(~bad)

    def merged(self) -> CodedRows:
        """Equal rows as one with their weight, where that halves the rows at least; else itself.

        Rows are told apart by a 64-bit hash, and compared cell by cell afterwards.
        """
        if self.n_rows < 2:
            return self
        multipliers = np.random.default_rng(0).integers(2**63, size=len(self.names), dtype=np.uint64) * 2 + 1
        keys = np.zeros(self.n_rows, dtype=np.uint64)
        for column, multiplier in zip(self.columns, multipliers):
            keys += (column + np.int32(1)).astype(np.uint64) * multiplier
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        if len(first) > _WORTH_MERGING * self.n_rows or np.any(self.columns[:, first][:, place] != self.columns):
            return self
        weights = np.bincount(place, self.weights, minlength=len(first)).astype(np.float64)
        return replace(self, columns=np.ascontiguousarray(self.columns[:, first]), weights=weights)


def coded_rows(
    owner: str, codes: Any, sizes: Sequence[int], names: Sequence[str] | None = None, weights: Any = None
) -> CodedRows:
    """Check codes (n, d) of columns with so many states; rows of weight 0 are left out.

    Raises
    ------
    DataError : no rows or columns; a code beyond its column's states. ParameterError : sizes, names or weights do not
        fit.
    """
    table = np.asarray(codes)
    if table.ndim != 2 or table.dtype.kind not in "iu":
        raise DataError(f"{owner}.codes must be whole numbers (n, d), got {table.dtype} {table.shape}.", value=codes)
    n, d = table.shape
    if n == 0 or d == 0:
        raise DataError(f"{owner}: the table has {n} rows and {d} columns.", value=table.shape)
    counts = tuple(int(size) for size in sizes)
    if len(counts) != d or min(counts) < 1:
        raise ParameterError(owner, "sizes", f"{d} numbers of states ≥ 1", sizes)
    labels = tuple(f"x{j}" for j in range(d)) if names is None else tuple(map(str, names))
    if len(labels) != d or len(set(labels)) != d:
        raise ParameterError(owner, "names", f"{d} different names", names)
    columns = np.ascontiguousarray(table.T, dtype=np.int32)
    for name, size, column in zip(labels, counts, columns):
        bad = np.flatnonzero((column < -1) | (column >= size))
        if bad.size:
            raise DataError(
                f"{owner}: column {name} has {size} states, and the code {column[bad[0]]} in row {bad[0]}.",
                rows=bad[:20].tolist(),
                columns=[name],
                value=int(column[bad[0]]),
                remedy="Codes are 0 … size − 1, and −1 for a missing cell.",
            )
    return _weighted(owner, CodedRows(labels, counts, columns), weights)


def _weighted(owner: str, rows: CodedRows, weights: Any) -> CodedRows:
    if weights is None:
        return rows
    try:
        w = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(owner, "sample_weight", f"{rows.n_rows} numbers ≥ 0, not all 0", weights) from None
    if w.shape != (rows.n_rows,) or not np.all(np.isfinite(w)) or np.any(w < 0.0) or not w.sum() > 0.0:
        raise ParameterError(owner, "sample_weight", f"{rows.n_rows} numbers ≥ 0, not all 0", weights)
    return replace(rows, weights=w).taken(w > 0.0)
