"""`Evidence`: what a fitted model says of p(y | X), and what it takes to compare it with another's.

p(y | X, h) may be compared between models if they were fitted to the same outcomes, on one scale (densities of numbers
with densities, probabilities of counts or classes with those), and if whatever is improper is the same in each: a flat
intercept or a scale-free noise multiplies all evidences by one arbitrary constant, which then cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from credo.inference.exact.statistics import RegressionStatistics
from credo.saving.registry import register

__all__ = ["Evidence", "Outcomes"]

# Moments of one y summed in two orders agree to some eps √n; those of two y that differ in a digit do not.
AGREEMENT = 1e-9


@register
@dataclass(frozen=True)
class Outcomes:
    """A digest of outcomes and their weights, by which two y are told apart; it merges as rows are added.

    weight : Σ w
    mean, spread : of each target, Σ w y/Σ w and Σ w (y − mean)²; () for classes
    labels, counts : of classes, in order, with Σ w of each; () for numbers

    Rows in another order have the same digest, and so has a y that was shuffled against its X.
    """

    weight: float
    mean: tuple[float, ...] = ()
    spread: tuple[float, ...] = ()
    labels: tuple[Any, ...] = ()
    counts: tuple[float, ...] = ()

    @classmethod
    def of_numbers(cls, y: Any, weights: Any = None) -> Self:
        """Of y (n,) or (n, targets)."""
        y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
        total = float(w.sum())
        if not total > 0.0:
            return cls(0.0, (0.0,) * y.shape[1], (0.0,) * y.shape[1])
        mean = w @ y / total
        return cls(total, tuple(mean.tolist()), tuple((w @ np.square(y - mean)).tolist()))

    @classmethod
    def of_statistics(cls, statistics: RegressionStatistics) -> Self:
        """Of the targets of a regression's statistics."""
        p = statistics.n_columns
        return cls(float(statistics.count), tuple(statistics.mean[p:].tolist()), tuple(statistics.spread[p:].tolist()))

    @classmethod
    def of_labels(cls, labels: Any, weights: Any = None) -> Self:
        """Of labels (n,)."""
        found, codes = np.unique(np.asarray(labels), return_inverse=True)
        counts = np.bincount(codes.ravel(), weights, minlength=found.size).astype(np.float64)
        return cls.of_counts(found.tolist(), counts.tolist())

    @classmethod
    def of_counts(cls, labels: Any, counts: Any) -> Self:
        """Of labels with the rows of each."""
        kept = sorted(((label, float(n)) for label, n in zip(labels, counts, strict=True) if n > 0), key=_in_order)
        return cls(sum(n for _, n in kept), labels=tuple(x for x, _ in kept), counts=tuple(n for _, n in kept))

    def merge(self, other: Self) -> Self:
        """The digest of both sets of rows."""
        cls = type(self)
        if self.weight == 0.0 or other.weight == 0.0:
            return other if self.weight == 0.0 else self
        if self.labels:
            both = dict(zip(self.labels, self.counts, strict=True))
            for label, n in zip(other.labels, other.counts, strict=True):
                both[label] = both.get(label, 0.0) + n
            return cls.of_counts(both.keys(), both.values())
        total = self.weight + other.weight
        gap = np.subtract(other.mean, self.mean)
        mean = self.mean + gap * (other.weight / total)
        spread = np.add(self.spread, other.spread) + np.square(gap) * (self.weight * other.weight / total)
        return cls(total, tuple(np.asarray(mean).tolist()), tuple(spread.tolist()))

    def agrees(self, other: Outcomes) -> bool:
        """Whether these are the same outcomes, up to rounding."""
        if (self.labels, len(self.mean)) != (other.labels, len(other.mean)):
            return False
        a, b = (np.concatenate([[o.weight], o.spread, o.counts]) for o in (self, other))
        size = np.abs(self.mean) + np.sqrt(np.divide(self.spread, self.weight or 1.0))
        near = np.abs(np.subtract(self.mean, other.mean)) <= AGREEMENT * size
        return bool(np.allclose(a, b, rtol=AGREEMENT, atol=0.0) and np.all(near))


def _in_order(pair: tuple[Any, float]) -> tuple[str, Any]:
    """Labels of one kind by size, of several kinds by kind."""
    label = pair[0]
    return ("number" if isinstance(label, (int, float)) else type(label).__name__), label


@dataclass(frozen=True)
class Evidence:
    """The evidence of a fitted model; `evidence_` of every estimator, and what any other needs to be averaged.

    log_value : log p(y | X); None where there is none
    outcomes : of what
    n_parameters : coefficients, intercepts and what else was learned beside them
    improper : names of what has an improper prior: "intercept", "noise"
    measure : "density" of numbers, or "mass" of counts and classes
    maximised : whether hyperparameters were set where it is highest, instead of integrated
    missing : why there is none
    doubt : why the value may be off by nats: the certificate of what computed it failed

    >>> line = Evidence(-12.0, Outcomes.of_numbers([1.0, 2.0]), 2, frozenset({"intercept"}))
    >>> line.obstacle(Evidence(-11.0, Outcomes.of_numbers([1.0, 3.0]), 1, frozenset({"intercept"})))
    'they were fitted to different outcomes'
    """

    log_value: float | None
    outcomes: Outcomes
    n_parameters: float
    improper: frozenset[str] = frozenset()
    measure: str = "density"
    maximised: bool = False
    missing: str = ""
    doubt: str = ""

    def obstacle(self, other: Evidence) -> str | None:
        """Why the two cannot be compared, or None."""
        if not self.outcomes.agrees(other.outcomes):
            return "they were fitted to different outcomes"
        if self.measure != other.measure:
            return f"one is a {self.measure} and the other a {other.measure} of the outcomes"
        if self.improper != other.improper:
            mine, theirs = (", ".join(sorted(each.improper)) or "nothing" for each in (self, other))
            return f"they are on different scales, since what has an improper prior differs ({mine}; {theirs})"
        return None
