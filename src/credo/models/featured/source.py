"""Sources seen through a feature map, and a sample of a source to fit one on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from credo.blocks.mapped import MappedSource
from credo.blocks.source import Source
from credo.errors import DataError

__all__ = ["FeaturedSource", "evenly_sampled"]

# Knots, means and scales from this many rows are off by 1 % of a standard deviation; more would not be noticed.
SAMPLE_ROWS = 10_000


class FeaturedSource(MappedSource):
    """The blocks of `source` with `features.transform(X)` for X, computed as they are read."""

    def __init__(self, source: Source, features: Any) -> None:
        names = source.column_names
        super().__init__(
            source,
            lambda block: replace(block, X=features.transform(block.X)),
            None if names is None else tuple(features.get_feature_names_out(names)),
        )


def evenly_sampled(source: Source, rows: int = SAMPLE_ROWS) -> tuple[np.ndarray, np.ndarray | None]:
    """(X, weights) of every row of a short source; else of every 2ᵏ-th, between `rows` and 2 `rows` of them.

    One pass, no seed. Rows in order of a column are sampled over its whole range, which the first rows would not be.
    """
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    stride, total, seen, weighted = 1, 0, 0, False
    for block in source:
        rows_of_block = slice(-seen % stride, None, stride)
        weights = np.ones(block.n_rows) if block.weights is None else np.asarray(block.weights, dtype=np.float64)
        weighted |= block.weights is not None
        kept.append((np.array(block.X[rows_of_block], dtype=np.float64), weights[rows_of_block]))
        total, seen = total + len(kept[-1][0]), seen + block.n_rows
        while total > 2 * rows:
            stride *= 2
            X, weights = (np.concatenate(parts)[::2] for parts in zip(*kept, strict=True))
            kept, total = [(X, weights)], len(X)
    if total == 0:
        raise DataError("The source holds no rows.", value=0, remedy="Check the file or generator behind it.")
    X, weights = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    return X, weights if weighted else None
