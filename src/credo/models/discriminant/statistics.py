"""Mean and centred cross products of every class, mergeable."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from credo.distributions.statistics import WeightedMoments
from credo.models.generative.memberships import Memberships
from credo.saving.registry import register

__all__ = ["ClassScatter"]


@register
@dataclass(frozen=True, eq=False)
class ClassScatter:
    """rows (k,): how many, whatever their weight; weight (k,), mean (k, d); scatter (k, d, d), or (k, d), its diagonal.

    Blocks are centred on their own class means and merged by Chan's formula.
    """

    rows: np.ndarray
    weight: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def accumulate(cls, X: np.ndarray, members: Memberships, *, full: bool) -> Self:
        k, d = members.n_classes, X.shape[1]
        rows, weight, mean = np.zeros(k), np.zeros(k), np.zeros((k, d))
        scatter = np.zeros((k, d, d) if full else (k, d))
        for c, (own, w) in enumerate(_by_class(members)):
            if not len(own):
                continue
            moments: Any = WeightedMoments.accumulate(X[own], w, full=full)
            rows[c], weight[c], mean[c], scatter[c] = len(own), moments.total, moments.mean, moments.scatter
        return cls(rows, weight, mean, scatter)

    def merge(self, other: Self) -> Self:
        weight = self.weight + other.weight
        share = (other.weight / np.where(weight > 0.0, weight, 1.0))[:, None]
        delta = other.mean - self.mean
        mean = np.where(self.weight[:, None] > 0.0, self.mean + delta * share, other.mean)
        spread = delta * (self.weight[:, None] * share)
        between = spread[:, :, None] * delta[:, None, :] if self.scatter.ndim == 3 else spread * delta
        return type(self)(self.rows + other.rows, weight, mean, self.scatter + other.scatter + between)


def _by_class(members: Memberships) -> Any:
    """For every class the numbers of its rows, and their weights or None."""
    if members.shares is not None:
        everyone = np.arange(len(members.shares))
        for share in members.shares.T:
            yield everyone, share
        return
    assert members.codes is not None
    order = np.argsort(members.codes, kind="stable")
    edges = np.searchsorted(members.codes[order], np.arange(members.n_classes + 1))
    for start, stop in pairwise(edges):
        own = order[start:stop]
        yield own, None if members.weights is None else members.weights[own]
