"""Bumps around centres: φ_c(x) = exp(−½ Σ_j ((x_j − c_j)/ℓ_j)²)."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import DataError
from credo.numerics.random import as_generator
from credo.numerics.threads import single_blas_thread
from credo.tables.features.base import (
    FeatureMap,
    check_choice,
    check_integer,
    check_per_column,
    check_points,
    column_sd,
)

__all__ = ["RadialBasis"]

# Centres move by about sd/√rows per cluster, far less than a lengthscale from here on, while k-means costs per row.
MAX_ROWS = 10_000


class RadialBasis(FeatureMap):
    """A bump at each centre: smooth functions of several columns together, flat far from the data.

    Parameters
    ----------
    n_centers : how many; fewer when `fit` sees fewer distinct rows.
    centers : (m, columns) the centres themselves, instead of placing them.
    lengthscale : ℓ > 0 in the columns' units, one or one a column; None = each column's sd times the mean distance (in
        sds) from a centre to its nearest neighbour, so that neighbouring bumps overlap.
    placement : "kmeans" (k-means++ seeds, then Lloyd's iterations, on columns divided by their sds, over at most
        10,000 rows drawn at random) or "quantile" (one column only: at the quantiles (i − ½)/n_centers).
    random_state : seed or generator for "kmeans".

    Attributes
    ----------
    centers_ : (m, columns); lengthscale_ : (columns,).

    Notes
    -----
    Cost: rows × m × columns. Distances come from differences, never from |x|² − 2x·c + |c|², which cancels.

    Reference: Arthur and Vassilvitskii (2007), k-means++: the advantages of careful seeding.

    Examples
    --------
    >>> bumps = RadialBasis(centers=[[0.0], [2.0]], lengthscale=1.0).fit([[0.0], [1.0]])
    >>> bumps.transform([[0.0], [1.0]]).round(3).tolist()
    [[1.0, 0.135], [0.607, 0.607]]
    >>> bumps.get_feature_names_out(["x"]).tolist()
    ['rbf(x−0)', 'rbf(x−2)']
    """

    def __init__(
        self,
        n_centers: int = 10,
        centers: Any = None,
        lengthscale: Any = None,
        placement: str = "kmeans",
        random_state: Any = None,
    ) -> None:
        self.n_centers = n_centers
        self.centers = centers
        self.lengthscale = lengthscale
        self.placement = placement
        self.random_state = random_state

    def _learn(self, X: np.ndarray) -> None:
        n_centers = check_integer(self, "n_centers", self.n_centers, 1)
        placement = check_choice(self, "placement", self.placement, ("kmeans", "quantile"))
        sd = column_sd(X)
        if self.centers is not None:
            self.centers_ = check_points(self, "centers", self.centers, X.shape[1])
        elif placement == "kmeans":
            self.centers_ = kmeans_centers(X / sd, n_centers, as_generator(self.random_state)) * sd
        else:
            self.centers_ = _quantile_centers(X, n_centers)
        if self.lengthscale is None:
            self.lengthscale_ = sd * nearest_distance(self.centers_ / sd)
        else:
            self.lengthscale_ = check_per_column(self, "lengthscale", self.lengthscale, X.shape[1])

    def _map(self, X: np.ndarray) -> np.ndarray:
        columns = np.empty((len(self.centers_), len(X)))
        for column, center in zip(columns, self.centers_, strict=True):
            column[:] = np.exp(-0.5 * np.sum(((X - center) / self.lengthscale_) ** 2, axis=1))
        return columns.T

    def _names(self, names: list[str]) -> list[str]:
        if len(names) == 1:
            return [f"rbf({names[0]}−{center:.6g})" for (center,) in self.centers_]
        return [f"rbf{i}" for i in range(1, len(self.centers_) + 1)]


def kmeans_centers(Z: np.ndarray, n_centers: int, rng: np.random.Generator) -> np.ndarray:
    """Centres (≤ n_centers, columns) of k-means on at most `MAX_ROWS` rows, in lexical order."""
    from sklearn.cluster import KMeans

    if len(Z) > MAX_ROWS:
        Z = Z[np.sort(rng.choice(len(Z), MAX_ROWS, replace=False))]
    distinct = np.unique(Z, axis=0)
    if len(distinct) <= n_centers:
        return distinct
    # sklearn takes seeds below 2**32; one start: the centres need to cover, not to be the best clustering
    model = KMeans(n_centers, n_init=1, random_state=int(rng.integers(2**32)))  # pyright: ignore[reportArgumentType]
    with single_blas_thread():
        centers = model.fit(Z).cluster_centers_
    return centers[np.lexsort(centers.T[::-1])]


def _quantile_centers(X: np.ndarray, n_centers: int) -> np.ndarray:
    if X.shape[1] != 1:
        raise DataError(
            f"RadialBasis: placement='quantile' is for one column, got {X.shape[1]}.",
            remedy="Use placement='kmeans', or one RadialBasis a column in a ColumnTransformer.",
        )
    return np.unique(np.quantile(X, (np.arange(n_centers) + 0.5) / n_centers, axis=0), axis=0)


def nearest_distance(centers: np.ndarray) -> float:
    """Mean distance from a centre to its nearest neighbour; 1 for a single centre (or coinciding ones)."""
    if len(centers) == 1:
        return 1.0
    distances = np.sqrt([np.min(np.sum((np.delete(centers, i, 0) - c) ** 2, axis=1)) for i, c in enumerate(centers)])
    return float(np.mean(distances)) or 1.0
