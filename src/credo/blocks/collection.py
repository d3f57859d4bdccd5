"""Dask collections as a source: statistics are accumulated and merged where the partitions live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from credo.blocks.generator import numbered
from credo.blocks.source import Block
from credo.errors import DataError, MissingDependencyError, ParameterError

__all__ = ["DaskSource"]

S = TypeVar("S")


class DaskSource:
    """Partitions of a Dask dataframe, array, or list of delayed partitions.

    Parameters
    ----------
    collection : Dask dataframe of numbers, Dask array (n, columns), or list of delayed `Block`, X or (X, y[, weights])
    y : Dask array (n,) or (n, targets) beside an array, chunked alike after `rechunk`
    columns, target, weight : names of the columns of a dataframe, as for `FrameSource`

    `credo.blocks.reduce` runs `accumulate` on the workers (BLAS on one thread there) and merges neighbours pairwise
    on them too; only the final statistics travel. Rows are numbered within their partition.

    Raises
    ------
    MissingDependencyError : Dask is not installed (extra `dask`).
    """

    n_rows: int | None = None

    def __init__(
        self,
        collection: Any,
        y: Any = None,
        columns: Sequence[str] | None = None,
        target: str | None = None,
        weight: str | None = None,
    ) -> None:
        delayed = import_dask().delayed
        self.column_names = None if columns is None else tuple(columns)
        if isinstance(collection, (list, tuple)):
            self.partitions = [delayed(numbered)(part, 0) for part in collection]
        elif hasattr(collection, "map_partitions") and hasattr(collection, "columns"):
            names = [name for name in collection.columns if name not in (target, weight)]
            self.column_names = tuple(names if columns is None else columns)
            self.partitions = [
                delayed(frame_block)(part, self.column_names, target, weight) for part in collection.to_delayed()
            ]
        elif hasattr(collection, "chunks") and collection.ndim == 2:
            self.partitions = array_partitions(collection, y, delayed)
        else:
            raise ParameterError(
                "DaskSource",
                "collection",
                "a Dask dataframe, a 2-D Dask array or a list of delayed",
                collection,
            )

    def __iter__(self) -> Iterator[Block]:
        start = 0
        for partition in self.partitions:
            block = partition.compute()
            yield replace(block, start=start)
            start += block.n_rows

    def reduce(self, accumulate: Callable[[Block], S], merge: Callable[[S, S], S]) -> S:
        """merge of accumulate over the partitions, computed on the workers along a balanced tree."""
        delayed = import_dask().delayed
        level = [delayed(accumulated)(part, accumulate, index) for index, part in enumerate(self.partitions)]
        while len(level) > 1:
            pairs = [delayed(merged)(a, b, merge) for a, b in zip(level[::2], level[1::2])]
            level = pairs + level[2 * len(pairs) :]
        total = level[0].compute() if level else None
        if total is None:
            raise DataError("The source holds no rows.", value=0, remedy="Check the collection behind it.")
        return total


def import_dask() -> Any:
    try:
        import dask  # type: ignore[import-not-found]
    except ImportError as error:
        raise MissingDependencyError("dask", "dask", "DaskSource") from error
    return dask


def array_partitions(X: Any, y: Any, delayed: Callable[..., Any]) -> list[Any]:
    """One delayed block per chunk of rows of a Dask array; y follows X's chunks."""
    X = X.rechunk({1: -1})
    parts = X.to_delayed().ravel()
    if y is None:
        return [delayed(numbered)(part, 0) for part in parts]
    if y.shape[0] != X.shape[0]:
        raise DataError(f"DaskSource.y must have one entry per row of X ({X.shape[0]}), got {y.shape}.", value=y.shape)
    targets = y.rechunk({0: X.chunks[0], **({1: -1} if y.ndim == 2 else {})}).to_delayed().ravel()
    return [delayed(lambda a, b: numbered((a, b), 0))(a, b) for a, b in zip(parts, targets)]


def frame_block(part: Any, columns: tuple[str, ...], target: str | None, weight: str | None) -> Block:
    """One partition of a dataframe (pandas) as a block; runs on a worker."""
    from credo.blocks.frame import FrameSource

    source = FrameSource(part, columns, target, weight, block_rows=max(1, len(part)))
    return next(iter(source), Block(np.empty((0, len(columns)))))


def accumulated(block: Block, accumulate: Callable[[Block], S], index: int) -> S | None:
    """Statistics of one partition, or None when it is empty; runs on a worker."""
    from credo.numerics.threads import single_blas_thread

    if block.n_rows == 0:
        return None
    try:
        with single_blas_thread():
            return accumulate(block)
    except Exception as error:
        error.add_note(f"In partition {index} of the Dask collection.")
        raise


def merged(earlier: S | None, later: S | None, merge: Callable[[S, S], S]) -> S | None:
    if earlier is None or later is None:
        return later if earlier is None else earlier
    return merge(earlier, later)
