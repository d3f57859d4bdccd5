"""`Region`: a box around the best trial, grown by successes and shrunk by failures.

Eriksson, Pearce, Gardner, Turner & Poloczek (2019), Scalable global optimization via local Bayesian optimization,
NeurIPS, whose lengths and tolerances these are. There a region that collapsed forgets all trials; here the belief keeps
them, and a new region begins where improvement is expected most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

__all__ = ["Region"]

FIRST, LARGEST, SMALLEST = 0.8, 1.6, 2.0**-7
# Successes in a row after which a region doubles; failures: as many as there are dimensions, at least four.
SUCCESSES, FAILURES = 3, 4
# A success improves by this share of the gap between the region's best value and its median.
WORTH = 1e-3


@dataclass(frozen=True)
class Region:
    """A trust region after some trials.

    length : side of the box, before it is stretched by lengthscales; successes, failures : in a row
    start : number of the first trial of its own; seen : trials counted so far; restarts : regions before it
    best : least value of its own, None without any

    >>> region = Region().updated(np.array([3.0, 2.0]), d=2)
    >>> for value in (4.0, 5.0, 6.0, 7.0):
    ...     region = region.updated(np.append([3.0, 2.0], np.full(region.seen - 1, value)), d=2)
    >>> region.length, region.failures
    (0.4, 0)
    """

    length: float = FIRST
    successes: int = 0
    failures: int = 0
    start: int = 0
    seen: int = 0
    restarts: int = 0
    best: float | None = None

    @classmethod
    def of(cls, state: Mapping[str, Any] | None) -> Self:
        """From `state()`; a new one from None."""
        return cls(**state) if state else cls()

    def state(self) -> dict[str, Any]:
        """JSON data."""
        return asdict(self)

    def updated(self, y: np.ndarray, d: int, met: np.ndarray | None = None) -> Self:
        """After trials with values y (n,), in order, those counted before among them; `met` (n,): whether constraints
        are. New ones together are one success if the best of them improves, else a failure each."""
        if len(y) < self.seen:  # trials were left out since: begin anew with what there is
            return type(self)().updated(y, d, met)
        own = y[self.start :] if met is None or not met[self.start :].any() else y[self.start :][met[self.start :]]
        new = len(y) - self.seen
        if not new or not len(own):
            return replace(self, seen=len(y))
        best = float(own.min())
        if self.best is None:  # the design, or a region's first trial
            return replace(self, seen=len(y), best=best)
        better = best < self.best - WORTH * max(float(np.median(own)) - best, 0.0)
        changed = replace(
            self,
            seen=len(y),
            best=min(best, self.best),
            successes=self.successes + 1 if better else 0,
            failures=0 if better else self.failures + new,
        )
        return changed._resized(max(FAILURES, d), len(y))

    def _resized(self, patience: int, n: int) -> Self:
        if self.successes >= SUCCESSES:
            return replace(self, length=min(2.0 * self.length, LARGEST), successes=0)
        if self.failures < patience:
            return self
        if self.length / 2.0 >= SMALLEST:
            return replace(self, length=self.length / 2.0, failures=0)
        return type(self)(start=n, seen=n, restarts=self.restarts + 1)

    def box(self, centre: np.ndarray, lengthscales: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Bounds (d,) within the unit cube of sides length · ℓ_j/(geometric mean of ℓ) around centre (d,).

        >>> Region(length=0.4).box(np.array([0.5, 0.9]), np.array([4.0, 1.0]))
        (array([0.1, 0.8]), array([0.9, 1. ]))
        """
        weights = np.ones(len(centre))
        if lengthscales is not None and len(lengthscales) == len(centre):
            logs = np.log(lengthscales)
            weights = np.exp(logs - logs.mean())
        half = 0.5 * self.length * weights
        return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)
