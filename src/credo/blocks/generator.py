"""Rows that are made on the fly: a function that starts a fresh iterator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credo.blocks.array import as_floats
from credo.blocks.source import Block
from credo.errors import DataError, ParameterError

__all__ = ["GeneratorSource"]


class GeneratorSource:
    """Blocks from `start()`, which must return a fresh iterator of the same blocks every time.

    Each item is a `Block`, an array X, or a tuple (X, y) or (X, y, weights); rows are numbered as they come. The
    partition is the generator's own.

    Raises
    ------
    ParameterError : `start` cannot be called (an iterator can be read only once, and most fits read twice).
    DataError : the number of columns changes from one block to the next.

    >>> source = GeneratorSource(lambda: (np.full((2, 1), float(i)) for i in range(3)))
    >>> [block.start for block in source], [block.start for block in source]
    ([0, 2, 4], [0, 2, 4])
    """

    def __init__(
        self,
        start: Callable[[], Iterable[Any]],
        n_rows: int | None = None,
        column_names: Sequence[str] | None = None,
    ) -> None:
        if not callable(start):
            raise ParameterError(
                "GeneratorSource",
                "start",
                "a function returning a fresh iterator of blocks",
                start,
                "An iterator can be read only once: pass the function that makes it.",
            )
        self.start = start
        self.n_rows = n_rows
        self.column_names = None if column_names is None else tuple(column_names)

    def __iter__(self) -> Iterator[Block]:
        first_row, width = 0, None
        for item in self.start():
            block = numbered(item, first_row)
            if width is not None and block.X.shape[1] != width:
                raise DataError(
                    f"The block at row {first_row} has {block.X.shape[1]} columns, the blocks before it {width}.",
                    rows=[first_row],
                    value=block.X.shape,
                )
            width = block.X.shape[1]
            first_row += block.n_rows
            yield block


def numbered(item: Any, start: int) -> Block:
    """What a generator or a Dask partition yields (`Block`, X, or a tuple) as a block starting at row `start`."""
    if isinstance(item, Block):
        return replace(item, start=start)
    parts: tuple[Any, ...] = item if isinstance(item, tuple) else (item,)
    X: Any = parts[0] if hasattr(parts[0], "tocsr") else np.asarray(parts[0])
    if X.ndim != 2:
        raise DataError(
            f"The block at row {start} must have two dimensions (rows, columns), got shape {X.shape}.",
            rows=[start],
            value=X.shape,
        )
    beside = [None if part is None else np.asarray(part) for part in parts[1:3]]
    for values in beside:
        if values is not None and values.shape[:1] != X.shape[:1]:
            raise DataError(
                f"The block at row {start} has {X.shape[0]} rows of X, but y or weights of shape {values.shape}.",
                rows=[start],
                value=values.shape,
            )
    return Block(as_floats(X), *beside, start=start)
