"""Trees grown on resamples of trials, for the variance that they agree on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Forest", "grow", "grown_tree"]

# Leaves of a tree at most: pairs of leaves are what a decomposition costs, and 2,000 trials need no finer a picture.
MOST_LEAVES = 200
# Trials in a leaf at least, of which the forest takes what predicts best the trials that its trees did not see.
LEAVES = (1, 3, 8)
# Trees of each size of leaf that are compared.
TRIED = 16
# Where a parameter is inactive it does not matter: each tree sees a trial so often, with another value there each time.
COPIES = 4


@dataclass(frozen=True)
class Forest:
    """trees : fitted ; explained : 1 − (mean squared error)/(variance) of trials by the trees that did not see them"""

    trees: list[Any]
    explained: float


def grow(X: np.ndarray, active: np.ndarray, y: np.ndarray, n_trees: int, rng: np.random.Generator) -> Forest:
    """A forest on encoded trials X (n, width), of which inactive coordinates are drawn; y (n,) of variance 1."""
    seeds = rng.integers(2**31, size=n_trees).tolist()
    growing = [_Growing(X, active, y, leaf) for leaf in LEAVES if leaf == 1 or 4 * leaf <= len(y)]
    for each in growing:
        each.grow(seeds[:TRIED])
    best = max(growing, key=lambda each: each.explained)
    best.grow(seeds[TRIED:])
    return Forest(best.trees, best.explained)


class _Growing:
    """Trees with at least `leaf` trials in a leaf, and what they foretold of the trials that they did not see."""

    def __init__(self, X: np.ndarray, active: np.ndarray, y: np.ndarray, leaf: int) -> None:
        self.X, self.active, self.y, self.leaf = X, active, y, leaf
        self.copies = 1 if active.all() else COPIES
        self.trees: list[Any] = []
        self.total, self.seen = np.zeros(len(y)), np.zeros(len(y))

    def grow(self, seeds: list[int]) -> None:
        """A tree a seed: sizes of leaves are compared on the same resamples."""
        X, active, n = self.X, self.active, len(self.y)
        for seed in seeds:
            rng = np.random.default_rng(seed)
            chosen = rng.integers(n, size=n)
            rows = np.repeat(chosen, self.copies)
            model = grown_tree(X[rows], active[rows], self.y[rows], self.leaf * self.copies, rng)
            left_out = np.setdiff1d(np.arange(n), chosen)
            if left_out.size:
                self.total[left_out] += model.predict(_filled(X[left_out], active[left_out], rng))
                self.seen[left_out] += 1.0
            self.trees.append(model.tree_)

    @property
    def explained(self) -> float:
        known = self.seen > 0
        error = np.mean(np.square(self.total[known] / self.seen[known] - self.y[known])) if known.any() else np.inf
        return float(1.0 - error / np.var(self.y))


def grown_tree(X: np.ndarray, active: np.ndarray, y: np.ndarray, least: int, rng: np.random.Generator) -> Any:
    """A tree with `least` rows in a leaf at least."""
    from sklearn.tree import DecisionTreeRegressor  # a second to import

    state = int(rng.integers(2**31))
    model = DecisionTreeRegressor(min_samples_leaf=least, max_leaf_nodes=MOST_LEAVES, random_state=state)
    return model.fit(_filled(X, active, rng), y)


def _filled(X: np.ndarray, active: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(active, X, rng.random(X.shape))
