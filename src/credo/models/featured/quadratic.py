"""`Quadratic`: the curvature of each column, and products of columns, in units that make a shared prior fair.

With z = (x − mean)/sd over the rows of `fit`, mean(z³) = a and mean((z² − a z − 1)²) = b²,

    P1(x) = z,      P2(x) = (z² − a z − 1)/b

are the first two polynomials orthonormal over those rows. With L linear terms, S squares and M products, squares are
multiplied by √(share L/S) and products by √(share L/M): under one prior N(0, τ²) on all coefficients (`cr.Normal(0,
None)`) squares together, and products together, then have `share` times the prior variance of the linear terms,
however many they are.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from credo.errors import ParameterError
from credo.tables.features.base import FeatureMap, check_flag, check_per_column, column_sd

__all__ = ["Quadratic"]


class Quadratic(FeatureMap):
    """Columns, their squares and, if asked, their products, without terms that say nothing new.

    Column j becomes P1(x_j) and P2(x_j); with `interactions` also P1(x_i)·P1(x_j). Of a column of two values the
    square is left out (it is the column again); of two such columns that do not show all four combinations the
    product (it is a combination of the two); and a constant column altogether, while others vary.

    Parameters
    ----------
    interactions : with products of two different columns.
    share : prior variance of squares, and of products, relative to the linear terms. Effects of second order are
        usually smaller: ¼ has more evidence than 1 on nine tables of ten, and leave-one-out scores within 0.005
        (docs/concepts/model-comparison.md).

    Attributes
    ----------
    linear_, squared_ : columns of each kind; pairs_ : (pairs, 2) columns multiplied
    center_, scale_, skewness_, spread_ : (columns,) mean, sd, a and b; weights_ : (3,) factors of the three kinds

    Notes
    -----
    Cost rows × n_out, at most P (P + 3)/2 terms.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.arange(6.0), [0, 1, 0, 1, 0, 1]])
    >>> Quadratic(interactions=True).fit(X).get_feature_names_out(["x", "on"]).tolist()
    ['x', 'on', 'x²', 'x × on']
    """

    #: what its columns are, beside the coefficients
    about = "Columns are in standard deviations from their mean; x² is the curvature of x, a × b an interaction."

    def __init__(self, interactions: bool = False, share: float = 0.25) -> None:
        self.interactions = interactions
        self.share = share

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn means and scales from rows X (n, columns) that stand for `sample_weight` rows each."""
        X = self._checked(X, reset=True)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not sample_weight.sum() > 0:
                raise ParameterError("Quadratic.fit", "sample_weight", "not all zero", sample_weight)
            X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
        self._learn_weighted(X, sample_weight)
        return self

    def _learn_weighted(self, X: np.ndarray, weights: np.ndarray | None) -> None:
        interactions = check_flag(self, "interactions", self.interactions)
        share = float(check_per_column(self, "share", self.share, 1)[0])
        # Scaled by the unweighted sd first, whose squares need not be in range.
        unit = column_sd(X)
        center = np.average(X, axis=0, weights=weights)
        deviations = (X - center) / unit
        sd = np.sqrt(np.average(np.square(deviations), axis=0, weights=weights))
        sd = np.where(sd > 0.0, sd, 1.0)
        Z = deviations / sd
        skewness = np.average(Z**3, axis=0, weights=weights)
        square = np.square(Z) - skewness * Z - 1.0
        spread = np.sqrt(np.average(np.square(square), axis=0, weights=weights))
        levels = np.array([min(3, np.unique(column).size) for column in X.T])
        linear = np.flatnonzero(levels > 1)
        # No estimator takes a table without columns, so if all are constant they stay.
        self.linear_ = linear if linear.size else np.arange(X.shape[1])
        self.squared_ = np.flatnonzero(levels > 2)
        self.pairs_ = np.zeros((0, 2), dtype=np.intp)
        if interactions:
            self.pairs_ = np.argwhere(np.triu(_informative_products(X, levels), 1))
        sizes = np.array([self.squared_.size, len(self.pairs_)])
        self.weights_ = np.concatenate([[1.0], np.sqrt(share * self.linear_.size / np.maximum(sizes, 1))])
        self.center_, self.scale_ = center, unit * sd
        self.skewness_, self.spread_ = skewness, np.where(levels > 2, spread, 1.0)

    def _map(self, X: np.ndarray) -> np.ndarray:
        Z = (X - self.center_) / self.scale_
        curved = Z[:, self.squared_]
        squares = ((curved - self.skewness_[self.squared_]) * curved - 1.0) / self.spread_[self.squared_]
        products = Z[:, self.pairs_[:, 0]] * Z[:, self.pairs_[:, 1]]
        kinds = zip(self.weights_.tolist(), (Z[:, self.linear_], squares, products), strict=True)
        return np.hstack([weight * terms for weight, terms in kinds])

    def _names(self, names: list[str]) -> list[str]:
        linear = [names[j] for j in self.linear_]
        squared = [f"{names[j]}²" for j in self.squared_]
        return linear + squared + [f"{names[i]} × {names[j]}" for i, j in self.pairs_]


def _informative_products(X: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """(columns, columns) whether a product is more than a combination of its factors, for i < j."""
    useful = np.outer(levels > 1, levels > 1)
    binary = np.flatnonzero(levels == 2)
    on = (X[:, binary] > X[:, binary].min(axis=0)).astype(np.float64)
    together, counts = on.T @ on, on.sum(axis=0)
    only_first, only_second = counts[:, None] - together, counts - together
    neither = len(X) - counts[:, None] - only_second
    useful[np.ix_(binary, binary)] = np.minimum.reduce([together, only_first, only_second, neither]) > 0
    return useful
