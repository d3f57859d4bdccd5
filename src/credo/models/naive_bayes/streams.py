"""The columns of a table read in blocks: families from rows spread evenly over it, categories from all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.models.featured.source import evenly_sampled
from credo.models.generative.labels import coded
from credo.models.naive_bayes.columns import chosen_families, found_categories, raw_columns
from credo.models.naive_bayes.tables import merged_categories

__all__ = ["settled_columns"]


class _Beside:
    """Blocks whose last column is the code of the class; `least` (d + 1,) is the least of every column seen."""

    def __init__(self, owner: str, source: Source, classes: np.ndarray) -> None:
        self.owner, self.source, self.classes = owner, source, classes
        self.least: Any = np.inf

    n_rows = column_names = None

    def __iter__(self) -> Iterator[Block]:
        for block in self.source:
            if block.n_rows:
                codes = coded(self.owner, block.y, self.classes)
                rows = np.column_stack([np.asarray(block.X, dtype=np.float64), codes])
                self.least = np.fmin(self.least, np.fmin.reduce(rows, axis=0))
                yield Block(rows, None, block.weights)


def settled_columns(
    owner: str, source: Source, classes: np.ndarray, families: Any, names: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """(the family of every column, its categories or None). Two passes."""
    beside = _Beside(owner, source, classes)
    rows, weights = evenly_sampled(beside)
    columns = [
        replace(column, least=float(least))
        for column, least in zip(raw_columns(owner, rows[:, :-1], names), beside.least[:-1], strict=True)
    ]
    chosen = chosen_families(owner, families, columns, rows[:, -1].astype(np.intp), weights)

    def categories(block: Block) -> list[Any]:
        columns = raw_columns(owner, block.X, names)
        return [found_categories(owner, *each) for each in zip(columns, chosen, strict=True)]

    def merge(a: list[Any], b: list[Any]) -> list[Any]:
        return [x if y is None else y if x is None else merged_categories(x, y)[0] for x, y in zip(a, b, strict=True)]

    return chosen, tuple(reduce(source, categories, merge))
