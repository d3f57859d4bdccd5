"""Which rows are held out while which others are learned from.

    i.i.d.     shuffled folds, each class spread evenly over them
    groups     no group is on both sides: the score is that of rows of a *new* group
    time       forward chaining: each block is predicted from all that came before it, never from what came after

Forward chaining rather than blocks with gaps: it asks what will be asked of the model, needs no guess of how wide a gap
removes the dependence, and no row is predicted from its future. Its price is that the first block is never scored and
that early blocks are predicted from few rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError

__all__ = ["Splits", "make_splits"]


@dataclass(frozen=True)
class Splits:
    """Rows in blocks, and which blocks teach which.

    scheme : "folds", "groups" or "time"
    blocks : (n,) block of each row, 0 … B − 1
    rounds : (blocks to learn from, block to score) for each round
    units : (n,) what counts as one independent observation in a standard error; None: the row
    """

    scheme: str
    blocks: np.ndarray
    rounds: tuple[tuple[tuple[int, ...], int], ...]
    units: np.ndarray | None = None

    @property
    def description(self) -> str:
        count = len(self.rounds)
        return {
            "folds": f"{count} shuffled folds",
            "groups": f"{count} folds of whole groups",
            "time": f"{count} blocks in time, each predicted from all earlier rows",
        }[self.scheme]

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(rows to learn from, rows to score), as indices, round by round."""
        for taught_by, scored in self.rounds:
            yield np.flatnonzero(np.isin(self.blocks, taught_by)), np.flatnonzero(self.blocks == scored)


def make_splits(
    n: int, k: int, rng: np.random.Generator, *, classes: Any = None, groups: Any = None, time: Any = None
) -> Splits:
    """Splits of n rows in k rounds.

    classes : (n,) labels to spread evenly (i.i.d. only); groups, time : (n,)
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 2:
        raise ParameterError("compare", "cv", "'auto', 'loo' or an integer ≥ 2", k)
    if groups is not None and time is not None:
        raise ParameterError(
            "compare", "groups", "None while time is given", groups, "State the dependence that matters at prediction."
        )
    if time is not None:
        return _forward(_column("time", time, n), k)
    if groups is not None:
        return _grouped(_column("groups", groups, n), k, rng)
    return _shuffled(n, k, rng, None if classes is None else np.asarray(classes))


def _column(name: str, values: Any, n: int) -> np.ndarray:
    column = np.asarray(values)
    if column.shape != (n,):
        raise DataError(
            f"compare.{name} must have one entry per row ({n}), got shape {column.shape}.", value=column.shape
        )
    if column.dtype.kind in "fmM" and np.any(np.isnat(column) if column.dtype.kind in "mM" else np.isnan(column)):
        raise DataError(f"compare.{name} holds missing values.", remedy="Drop those rows, or fill them in.")
    if column.dtype.kind == "O" and any(value is None or value != value for value in column.tolist()):
        raise DataError(f"compare.{name} holds missing values.", remedy="Drop those rows, or fill them in.")
    return column


def _shuffled(n: int, k: int, rng: np.random.Generator, classes: np.ndarray | None) -> Splits:
    k = min(k, n)
    if k < 2:
        raise DataError("Cross-validation needs two rows at least.", value=n)
    order = rng.permutation(n)
    if classes is not None:  # rows of one class in a run, dealt to the folds in turn
        order = order[np.argsort(np.unique(classes, return_inverse=True)[1].ravel()[order], kind="stable")]
    blocks = np.empty(n, dtype=np.intp)
    blocks[order] = np.arange(n) % k
    return Splits("folds", blocks, _others(k))


def _grouped(groups: np.ndarray, k: int, rng: np.random.Generator) -> Splits:
    labels, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    k = min(k, labels.size)
    if k < 2:
        raise DataError(f"compare.groups must name two groups at least, got {labels.tolist()}.", value=labels.tolist())
    shuffled = rng.permutation(labels.size)
    fold, load = np.empty(labels.size, dtype=np.intp), np.zeros(k)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:  # the largest first, each to the emptiest fold
        fold[group] = np.argmin(load)
        load[fold[group]] += sizes[group]
    return Splits("groups", fold[codes.ravel()], _others(k), codes.ravel())


def _forward(time: np.ndarray, k: int) -> Splits:
    """k + 1 blocks of about equal size; rows of one moment stay together."""
    moments, codes, sizes = np.unique(time, return_inverse=True, return_counts=True)
    k = min(k, moments.size - 1)
    if k < 2:
        raise DataError("compare.time must hold three different moments at least.", value=moments.tolist())
    middle = np.cumsum(sizes) - 0.5 * sizes
    block = np.minimum((middle / len(time) * (k + 1)).astype(np.intp), k)
    block = np.unique(block, return_inverse=True)[1].ravel()  # a long moment may leave a block empty
    rows = block[codes.ravel()]
    last = int(rows.max())
    if last < 1:
        raise DataError("compare.time: nearly all rows are of one moment.", value=moments.tolist())
    return Splits("time", rows, tuple((tuple(range(b)), b) for b in range(1, last + 1)), rows)


def _others(k: int) -> tuple[tuple[tuple[int, ...], int], ...]:
    return tuple((tuple(j for j in range(k) if j != i), i) for i in range(k))
