"""What distinguishes a cluster: `ClusterCard`, from the parameters of a mixture alone, in the table's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.models.mixture.columns import CategoryColumn, NumberColumn
from credo.saving.registry import register

__all__ = ["ClusterCard", "Trait", "cards", "profile", "Profile"]


@register
@dataclass(frozen=True)
class Trait:
    """One column of one cluster.

    column ; level : of a category, else None
    value, sd : mean and sd in the cluster; of a level, its share, and None
    overall : mean, or share, in all clusters together
    effect : (value − overall) in overall standard deviations, those of a 0/1 column for a level
    """

    column: str
    level: str | None
    value: float
    sd: float | None
    overall: float
    effect: float


@register
@dataclass(frozen=True)
class ClusterCard:
    """cluster : 1 for the largest ; weight : π ; rows : whose most probable cluster it is ; traits, by effect"""

    cluster: int
    weight: float
    rows: int
    traits: tuple[Trait, ...]


@dataclass(frozen=True, eq=False)
class Profile:
    """weights (k,) ; means, sds (k, numbers) ; shares : of every category column (k, levels)"""

    weights: np.ndarray
    means: np.ndarray
    sds: np.ndarray
    shares: tuple[np.ndarray, ...]


def profile(estimator: Any) -> Profile:
    """Of a `GaussianMixture`, `MixedMixture` or `CategoricalMixture`."""
    weights = np.asarray(estimator.weights_, dtype=np.float64)
    numbers = getattr(estimator, "numbers_", estimator)
    shares = tuple(getattr(estimator, "probabilities_", ()))
    if not hasattr(numbers, "means_"):
        return Profile(weights, np.empty((len(weights), 0)), np.empty((len(weights), 0)), shares)
    variances = np.diagonal(numbers._components().scale_matrices, axis1=1, axis2=2)
    return Profile(weights, np.asarray(numbers.means_, dtype=np.float64), np.sqrt(variances), shares)


def cards(
    p: Profile, numbers: tuple[NumberColumn, ...], categories: tuple[CategoryColumn, ...], rows: np.ndarray
) -> tuple[ClusterCard, ...]:
    """Largest cluster first; `rows` (k,) are their sizes. A category gives its one most unusual level."""
    w = p.weights / p.weights.sum()
    overall = w @ p.means
    sd = np.sqrt(np.maximum(w @ (np.square(p.sds) + np.square(p.means - overall)), np.finfo(float).tiny))
    found = []
    for place, k in enumerate(np.argsort(-w, kind="stable").tolist()):
        traits = [
            Trait(column.name, None, float(p.means[k, j]), float(p.sds[k, j]), float(overall[j]),
                  float((p.means[k, j] - overall[j]) / sd[j]))
            for j, column in enumerate(numbers)
        ]  # fmt: skip
        for column, share in zip(categories, p.shares, strict=True):
            common = w @ share
            effect = (share[k] - common) / np.sqrt(np.maximum(common * (1.0 - common), np.finfo(float).tiny))
            level = int(np.abs(effect).argmax())
            traits.append(
                Trait(column.name, column.levels[level], float(share[k, level]), None, float(common[level]),
                      float(effect[level]))
            )  # fmt: skip
        traits.sort(key=lambda trait: -abs(trait.effect))
        found.append(ClusterCard(place + 1, float(w[k]), int(rows[k]), tuple(traits)))
    return tuple(found)
