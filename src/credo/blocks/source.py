"""Where rows come from: a `Source` is a re-iterable sequence of numbered `Block`s with a stated partition.

The partition depends on the data alone, never on the number of threads, so that results are bit-identical
whatever runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

__all__ = ["Block", "Source"]

S = TypeVar("S")


@dataclass(frozen=True)
class Block:
    """Consecutive rows.

    X : (rows, columns) float64 or float32, or a CSR matrix (`inference.exact.sparse` says who reads those)
    y : (rows,) or (rows, targets), or None
    weights : (rows,) counts of rows ≥ 0, or None for one each
    start : number of the first row in the source, for messages
    offset : (rows,) known part of the linear predictor, added to it (log exposure for rates), or None
    """

    X: Any
    y: np.ndarray | None = None
    weights: np.ndarray | None = None
    start: int = 0
    offset: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]


@runtime_checkable
class Source(Protocol):
    """Rows in blocks. Iterating twice gives the same blocks; `n_rows` is None while unknown."""

    @property
    def n_rows(self) -> int | None: ...
    @property
    def column_names(self) -> tuple[str, ...] | None: ...
    def __iter__(self) -> Iterator[Block]: ...


Accumulate = Callable[[Block], S]
Merge = Callable[[S, S], S]
