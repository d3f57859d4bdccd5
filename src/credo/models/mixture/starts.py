"""Where EM starts: points drawn from a sample of rows, then one M-step from the rows nearest to each."""

from __future__ import annotations

import numpy as np

__all__ = ["responsibilities", "k_means_plus_plus", "lloyd", "INIT_PARAMS"]

INIT_PARAMS = ("kmeans", "k-means++", "random", "random_from_data")
# Lloyd's steps before EM takes over: they only place the centres, and most of the gain comes first.
LLOYD_STEPS = 10


def responsibilities(how: str, rows: np.ndarray, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """(k, n) memberships of the sampled rows (n, d), in working coordinates, to start from.

    how : "kmeans" (k-means++ and a few of Lloyd's steps), "k-means++", "random_from_data" (rows nearest to k different
        rows), or "random" (even shares at random)
    """
    if how == "random":
        shares = rng.random((k, len(rows)))
        return shares / shares.sum(axis=0)
    if how == "random_from_data":
        centres = rows[rng.choice(len(rows), size=k, replace=False, p=weights / weights.sum())]
    else:
        centres = k_means_plus_plus(rows, weights, k, rng)
        if how == "kmeans":
            centres = lloyd(rows, weights, centres)
    nearest = _squared_distances(rows, centres).argmin(axis=0)
    return (nearest == np.arange(k)[:, None]).astype(np.float64)


def k_means_plus_plus(rows: np.ndarray, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """k of the rows (n, d), each drawn with chance ∝ weight × squared distance to the nearest one before.

    Greedy: of 2 + ⌊log k⌋ draws the one that leaves the least inertia. Cost n d k log k.
    Arthur and Vassilvitskii (2007), k-means++: the advantages of careful seeding, SODA.
    """
    trials = 2 + int(np.log(k))
    chosen = [int(rng.choice(len(rows), p=weights / weights.sum()))]
    nearest = _squared_distances(rows, rows[chosen])[0]
    for _ in range(1, k):
        chance = weights * nearest
        total = chance.sum()
        chance = chance / total if total > 0.0 else weights / weights.sum()  # fewer different rows than components
        candidates = rng.choice(len(rows), size=trials, p=chance)
        left = np.minimum(_squared_distances(rows, rows[candidates]), nearest)
        best = int((left @ weights).argmin())
        chosen.append(int(candidates[best]))
        nearest = left[best]
    return rows[chosen]


def lloyd(rows: np.ndarray, weights: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """A few of Lloyd's steps; a centre without rows stays."""
    last = None
    for _ in range(LLOYD_STEPS):
        nearest = _squared_distances(rows, centres).argmin(axis=0)
        if last is not None and np.array_equal(nearest, last):
            break
        last = nearest
        member = (nearest == np.arange(len(centres))[:, None]) * weights
        count = member.sum(axis=1)
        filled = count > 0.0
        centres = centres.copy()
        centres[filled] = (member @ rows)[filled] / count[filled, None]
    return centres


def _squared_distances(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """(k, n); in working coordinates nothing is far, and the nearest is all that is asked."""
    square = np.square(centres).sum(axis=1)[:, None] - 2.0 * centres @ rows.T + np.square(rows).sum(axis=1)
    return np.maximum(square, 0.0)
