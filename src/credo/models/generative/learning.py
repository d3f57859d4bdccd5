"""Statistics of every group of columns over blocks, beliefs from them, and EM where labels are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.inference.em import EMFit, EMModel, em, merge
from credo.models.generative.classes import ClassBelief
from credo.models.generative.equations import log_evidence
from credo.models.generative.family import Belief, Part
from credo.models.generative.memberships import Memberships

__all__ = ["gather", "beliefs", "log_joint", "labelled", "learn_with_missing_labels"]


def gather(source: Source, parts: tuple[Part, ...], n_classes: int) -> tuple[Any, ...]:
    """(class weight (k,), statistics of every part) over rows whose y is a code."""
    return reduce(
        source, lambda block: _statistics(block.X, parts, Memberships(n_classes, block.y, block.weights)), merge
    )


def _statistics(X: Any, parts: tuple[Part, ...], rows: Memberships) -> tuple[Any, ...]:
    return (rows.class_weight(), *(part.family.accumulate(part.of(X), rows) for part in parts))


def beliefs(parts: tuple[Part, ...], statistics: tuple[Any, ...]) -> tuple[Belief, ...]:
    """What is believed of every part."""
    weight, *each = statistics
    return tuple(part.family.finalize(part_statistics, weight) for part, part_statistics in zip(parts, each))


def log_joint(parts: tuple[Part, ...], each: tuple[Belief, ...], log_class: np.ndarray, X: Any, how: str) -> np.ndarray:
    """log p(c) + Σ over parts of log p(x | c) (n, k); `how` names the method of `Belief`."""
    total = None
    for part, belief in zip(parts, each, strict=True):
        value = getattr(belief, how)(part.of(X))
        total = value if total is None else total + value
    assert total is not None
    total += log_class
    return total


@dataclass(frozen=True, eq=False)
class _PartlyLabelled(EMModel):
    """Parameters: (ClassBelief, beliefs). The objective is Σ log p(x, y) + Σ log p(x) + the beliefs' penalties."""

    parts: tuple[Part, ...]
    n_classes: int
    known: np.ndarray | None

    def accumulate(self, block: Block, params: Any) -> Any:
        classes, each = params
        codes = block.y
        assert codes is not None
        with np.errstate(invalid="ignore"):
            joint = log_joint(self.parts, each, classes.log_probability, block.X, "log_em")
        evidence = log_evidence(joint)
        shares = np.exp(joint - np.where(np.isfinite(evidence), evidence, 0.0)[:, None])
        rows = np.flatnonzero(codes >= 0)
        shares[rows] = 0.0
        shares[rows, codes[rows]] = 1.0
        evidence[rows] = joint[rows, codes[rows]]
        if block.weights is not None:
            shares *= block.weights[:, None]
            evidence = evidence * block.weights
        members = Memberships(self.n_classes, shares=shares)
        return (*_statistics(block.X, self.parts, members), float(evidence.sum()))

    def finalize(self, statistics: Any) -> Any:
        *own, _ = statistics
        return ClassBelief(own[0], self.known), beliefs(self.parts, tuple(own))

    def bound(self, statistics: Any, params: Any) -> float:
        return statistics[-1] + sum(belief.log_penalty() for belief in params[1])


def learn_with_missing_labels(
    source: Source, parts: tuple[Part, ...], n_classes: int, known: np.ndarray | None
) -> EMFit:
    """EM from the labelled rows' fit; its statistics count an unlabelled row in every class by its probability.

    tol 1e-8 of the objective and 500 passes: a change no class probability shows.
    """
    model = _PartlyLabelled(parts, n_classes, known)
    start = labelled(source, parts, n_classes)
    return em(model, source, model.finalize((*start, 0.0)), tol=1e-8, max_iter=500)


def labelled(source: Source, parts: tuple[Part, ...], n_classes: int) -> tuple[Any, ...]:
    """As `gather`, of the rows that have a label."""
    return reduce(source, lambda block: _labelled(block, parts, n_classes), merge)


def _labelled(block: Block, parts: tuple[Part, ...], n_classes: int) -> tuple[Any, ...]:
    """Statistics in which rows without a label weigh nothing, but show what categories there are."""
    codes = block.y
    assert codes is not None
    shares = (codes[:, None] == np.arange(n_classes)).astype(np.float64)
    if block.weights is not None:
        shares *= block.weights[:, None]
    return _statistics(block.X, parts, Memberships(n_classes, shares=shares))
