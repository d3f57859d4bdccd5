"""One pass over the rows: moments of their columns, outcomes, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.blocks.source import Block
from credo.distributions.statistics import WeightedMoments
from credo.errors import DataError
from credo.models.evidence import Outcomes
from credo.models.glm.equations import class_codes
from credo.models.glm.specification import GlmSpecification

__all__ = ["Overview", "classes_of", "look_over"]

# Outcomes kept for the start of auxiliary parameters, at most.
KEPT_OUTCOMES = 100_000


@dataclass(frozen=True)
class Overview:
    """Of one pass: moments of the columns, labels (or none), a few outcomes with their weights, rows, whether all
    outcomes are zero, and a digest of them."""

    moments: WeightedMoments
    labels: np.ndarray
    sample: np.ndarray
    n_rows: int
    all_zero: bool
    has_offset: bool
    digest: Outcomes

    def merge(self, other: Overview) -> Overview:
        return Overview(
            self.moments.merge(other.moments),
            np.union1d(self.labels, other.labels),
            np.concatenate([self.sample, other.sample])[:KEPT_OUTCOMES],
            self.n_rows + other.n_rows,
            self.all_zero and other.all_zero,
            self.has_offset or other.has_offset,
            self.digest.merge(other.digest),
        )

    def outcomes(self, classes: np.ndarray | None) -> np.ndarray:
        """Outcomes for a start: a sample of them, or codes."""
        return self.sample if classes is None else class_codes(classes, self.sample).astype(np.float64)


def look_over(block: Block, classify: bool) -> Overview:
    X = np.asarray(block.X)
    if not np.all(np.isfinite(X.sum(axis=0))):
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
        if bad.size:
            row = block.start + int(bad[0])
            raise DataError(f"Input X contains NaN, infinity or a value too large in row {row}.", rows=[row])
    if block.y is None:
        raise DataError("The blocks of the source carry no y.", remedy="Give outcomes with the source.")
    if block.offset is not None and not np.all(np.isfinite(block.offset)):
        row = block.start + int(np.flatnonzero(~np.isfinite(block.offset))[0])
        raise DataError(f"The offset is not finite in row {row}.", rows=[row], remedy="An exposure must be > 0.")
    weights = None if block.weights is None else np.asarray(block.weights, dtype=np.float64)
    seen = block.y if weights is None else block.y[weights > 0]
    labels = np.unique(seen) if classify else seen[:0]
    all_zero = not classify and not np.any(seen)
    digest = (Outcomes.of_labels if classify else Outcomes.of_numbers)(block.y, weights)
    moments = WeightedMoments.accumulate(X, weights)
    has_offset = block.offset is not None
    return Overview(moments, labels, seen[:KEPT_OUTCOMES], block.n_rows, all_zero, has_offset, digest)


def classes_of(specification: GlmSpecification, found: np.ndarray) -> np.ndarray:
    """The labels, at least two of them seen."""
    owner, levels = specification.owner, specification.levels
    if found.size < 2:
        raise DataError(f"{owner} needs two classes, got one class: {found.tolist()}.", value=found.tolist())
    if levels is not None and (odd := [label for label in found.tolist() if label not in levels.tolist()]):
        raise DataError(f"{owner}: label {odd[0]!r} is not one of the levels {levels.tolist()}.", value=odd[0])
    return found if levels is None else levels
