"""The first pass over a corpus: how large it is, and how often each word occurs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.models.topics.cells import checked_counts

__all__ = ["Overview", "overview"]


@dataclass(frozen=True, eq=False)
class Overview:
    """n_documents ; words (V,) : tokens of each word"""

    n_documents: int
    words: np.ndarray

    def merge(self, other: Overview) -> Overview:
        return Overview(self.n_documents + other.n_documents, self.words + other.words)

    @property
    def tokens(self) -> float:
        return float(self.words.sum())


def overview(owner: str, source: Source, names: Any = None) -> Overview:
    """One reading of a source of counts, each of which is checked."""

    def count(block: Block) -> Overview:
        X = checked_counts(owner, block.X, block.start, names)
        return Overview(block.n_rows, np.asarray(X.sum(axis=0, dtype=np.float64)).ravel())

    return reduce(source, count, Overview.merge)
