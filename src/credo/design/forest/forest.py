"""`Forest`: trees grown on bootstrap samples, and what they say of a point together.

Notation
    T       trees; t one of them
    m_t, v_t   mean and variance of the trials in the leaf of tree t that a point falls into
    mean = (1/T) Σ m_t;  variance = (1/T) Σ v_t  (within leaves)  +  (1/T) Σ (m_t − mean)²  (between trees)

by the law of total variance, a tree being drawn at random. Splits are at random places between values, so that far from
trials the trees disagree, where splits halfway between neighbours would have them agree (Hutter et al. 2014, §4.3.2).

Categories enter each tree as the mean value of the trials in its sample that have them, by which a split of least
squares over subsets is among those over an order (Breiman et al. 1984, §4.2.2); a category not in the sample is put at
random, so that trees disagree about it.

Hutter, Xu, Hoos & Leyton-Brown (2014), Algorithm runtime prediction, Artificial Intelligence 206.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Forest", "ForestMoments"]

# Of the columns, each split looks at so many: with 5/6 regret was higher on a rough and a conditional space, 5 seeds.
SHARE = 1.0
# Trees: the sd of their disagreement is then known to a tenth.
TREES = 64


class ForestMoments(NamedTuple):
    """Means and the two variances (m,) at points."""

    mean: np.ndarray
    within: np.ndarray
    between: np.ndarray

    @property
    def sd(self) -> np.ndarray:
        return np.sqrt(self.within + self.between)


@dataclass(frozen=True, eq=False)
class _Tree:
    """nodes : scikit-learn's; mean, variance : of each node; codes : column → value of each category, inactive first"""

    nodes: Any
    mean: np.ndarray
    variance: np.ndarray
    codes: Mapping[int, np.ndarray]


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees over the columns of a `Table`.

    >>> X = np.linspace(0.0, 1.0, 40)[:, None]
    >>> forest = Forest.grow(X, np.where(X[:, 0] < 0.5, 0.0, 1.0), {}, np.random.default_rng(0))
    >>> forest.moments(np.array([[0.1], [0.9]])).mean.round(1).tolist()
    [0.0, 1.0]
    """

    trees: tuple[_Tree, ...]

    @classmethod
    def grow(
        cls, X: np.ndarray, y: np.ndarray, levels: Mapping[int, int], rng: np.random.Generator, *, trees: int = TREES,
        leaf: int = 1,
    ) -> Forest:  # fmt: skip
        """From columns X (n, k) and values y (n,). levels : column → number of categories; leaf : fewest trials of one.

        Cost about 0.5 ms a tree for 300 trials.
        """
        return cls(tuple(_grown(X, y, levels, leaf, rng) for _ in range(trees)))

    def moments(self, X: np.ndarray) -> ForestMoments:
        """Mean and variances (m,) at X (m, k)."""
        means, variances = np.empty((len(self.trees), len(X))), np.empty((len(self.trees), len(X)))
        plain = X.astype(np.float32)
        for mean, variance, tree in zip(means, variances, self.trees):
            leaves = tree.nodes.apply(_coded(X, tree.codes) if tree.codes else plain)
            np.take(tree.mean, leaves, out=mean)
            np.take(tree.variance, leaves, out=variance)
        return ForestMoments(means.mean(axis=0), variances.mean(axis=0), means.var(axis=0))


def _grown(X: np.ndarray, y: np.ndarray, levels: Mapping[int, int], leaf: int, rng: np.random.Generator) -> _Tree:
    from sklearn.tree import ExtraTreeRegressor  # half a second to import

    sample = rng.integers(len(y), size=len(y))
    codes = {j: _codes(X[sample, j], y[sample], count, rng) for j, count in levels.items()}
    seed = int(rng.integers(2**31))
    tree = ExtraTreeRegressor(max_features=SHARE, min_samples_leaf=leaf, random_state=seed)
    nodes = tree.fit(_coded(X[sample], codes), y[sample], check_input=False).tree_
    return _Tree(nodes, nodes.value[:, 0, 0].copy(), np.maximum(nodes.impurity, 0.0), codes)


def _codes(column: np.ndarray, y: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """(1 + count,): below all for inactive, then the mean value of each category."""
    at = column.astype(np.intp) + 1
    times = np.bincount(at, minlength=1 + count)
    low, high = float(y.min()), float(y.max())
    means = rng.uniform(low, high, 1 + count)
    np.divide(np.bincount(at, y, minlength=1 + count), times, out=means, where=times > 0)
    means[0] = low - max(high - low, 1.0)
    return means


def _coded(X: np.ndarray, codes: Mapping[int, np.ndarray]) -> np.ndarray:
    coded = X.astype(np.float32)
    for j, values in codes.items():
        coded[:, j] = values[X[:, j].astype(np.intp) + 1]
    return coded
