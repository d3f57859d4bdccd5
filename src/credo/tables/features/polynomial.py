"""Powers and products of columns: Π_j x_j^{p_j} with Σ_j p_j ≤ degree, raw or in orthogonal polynomials.

scikit-learn has raw polynomials; ours add the orthogonal basis (a degree-10 raw basis has condition 1e15 where
the orthogonal one has 1), readable names, and a state that can be saved.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.tables.features.base import FeatureMap, check_flag, check_integer, column_sd

__all__ = ["PolynomialFeatures", "Interactions"]

# The moment matrix of a linear fit on more columns than this takes 80 GB.
MAX_COLUMNS = 100_000


def exponents(columns: int, lowest: int, degree: int, interaction_only: bool) -> np.ndarray:
    """Exponents (terms, columns) of every monomial of total degree `lowest`…`degree`, by degree, then by column."""
    pick = itertools.combinations if interaction_only else itertools.combinations_with_replacement
    terms = [term for d in range(lowest, degree + 1) for term in pick(range(columns), d)]
    powers = np.zeros((len(terms), columns), dtype=np.int64)
    for row, term in enumerate(terms):
        np.add.at(powers[row], list(term), 1)
    return powers


def n_exponents(columns: int, lowest: int, degree: int, interaction_only: bool) -> int:
    """How many rows `exponents` would have."""
    count = math.comb if interaction_only else lambda n, d: math.comb(n + d - 1, d)
    return sum(count(columns, d) for d in range(lowest, degree + 1) if columns or not d)


def products(factors: list[list[np.ndarray]], powers: np.ndarray, rows: int) -> np.ndarray:
    """Column t is Π_j factors[j][powers[t, j]]; factors[j][p] is (rows,), p ≥ 1. Cost: one multiplication a factor."""
    columns = np.empty((len(powers), rows))  # one term's rows adjacent: it is computed a term at a time
    for column, term in zip(columns, powers, strict=True):
        used = np.flatnonzero(term)
        column[:] = factors[used[0]][term[used[0]]] if used.size else 1.0
        for j in used[1:]:
            column *= factors[j][term[j]]
    return columns.T


def columns_of(X: np.ndarray) -> np.ndarray:
    """X's columns, each contiguous: NumPy's vector loops run there, the same ones for any number of rows."""
    return np.ascontiguousarray(X.T)


def raw_powers(x: np.ndarray, degree: int) -> list[np.ndarray]:
    """[1, x, x², …], each within a rounding: fits of condition 1e15 (NIST Filip) feel the last bit."""
    return [np.ones_like(x), x, *(np.power(x, p) for p in range(2, degree + 1))]


def orthonormal_polynomials(z: np.ndarray, recurrence: np.ndarray) -> list[np.ndarray]:
    """[P₀, P₁, …] at z: b_{k+1} P_{k+1} = (z − a_k) P_k − b_k P_{k−1}; row k of `recurrence` is (a_k, b_{k+1})."""
    values, previous, b = [np.ones_like(z)], np.zeros_like(z), 0.0
    for a, b_next in recurrence:
        following = ((z - a) * values[-1] - b * previous) / b_next
        previous, b = values[-1], b_next
        values.append(following)
    return values


def fit_recurrence(z: np.ndarray, degree: int) -> np.ndarray:
    """Recurrence (degree, 2) of the polynomials orthonormal over the points: mean(P_j P_k) = 1 if j = k, else 0.

    Stieltjes' procedure. Rows from the first degree that the points cannot tell apart are NaN.
    Reference: Gautschi (2004), Orthogonal Polynomials: Computation and Approximation, §2.2.
    """
    recurrence = np.full((degree, 2), np.nan)
    current, previous, b = np.ones_like(z), np.zeros_like(z), 0.0
    for k in range(min(degree, len(np.unique(z)) - 1)):
        a = np.mean(z * current**2)
        following = (z - a) * current - b * previous
        b = np.sqrt(np.mean(following**2))
        recurrence[k] = a, b
        current, previous = following / b, current
    return recurrence


class PolynomialFeatures(FeatureMap):
    """Every product of powers of the columns up to a total degree.

    Parameters
    ----------
    degree : the largest total degree, ≥ 1.
    interaction_only : no column to a power above 1.
    include_bias : with a column of ones; False, since Credo's regressors have their own intercept.
    orthogonal : replace x^k by P_k(x), the polynomial of degree k that is orthogonal to the lower ones over the rows of
        `fit`, with mean square 1. Spans the same functions; coefficients then do not depend on each other, and any
        degree up to (distinct values − 1) is well conditioned.

    Attributes
    ----------
    powers_ : (n_out, columns) exponents.
    center_, scale_ : (columns,) mean and sd, and recurrence_ : (columns, degree, 2), of the orthogonal basis.

    Raises
    ------
    DataError : with `orthogonal`, a column has too few distinct values for the degree.

    Notes
    -----
    Cost: rows × n_out, with n_out = C(columns + degree, degree) − 1.

    Examples
    --------
    >>> import numpy as np
    >>> PolynomialFeatures(2).fit(np.zeros((1, 2))).get_feature_names_out(["x", "z"]).tolist()
    ['x', 'z', 'x^2', 'x·z', 'z^2']
    >>> X = np.arange(20.0)[:, None]
    >>> features = PolynomialFeatures(3, orthogonal=True).fit_transform(X)
    >>> bool(np.allclose(features.T @ features / 20, np.eye(3)))
    True
    """

    def __init__(
        self,
        degree: int = 2,
        interaction_only: bool = False,
        include_bias: bool = False,
        orthogonal: bool = False,
    ) -> None:
        self.degree = degree
        self.interaction_only = interaction_only
        self.include_bias = include_bias
        self.orthogonal = orthogonal

    @property
    def _least_rows(self) -> int:
        return 2 if self.orthogonal else 1

    def _learn(self, X: np.ndarray) -> None:
        degree = check_integer(self, "degree", self.degree, 1)
        interaction_only = check_flag(self, "interaction_only", self.interaction_only)
        lowest = 0 if check_flag(self, "include_bias", self.include_bias) else 1
        orthogonal = check_flag(self, "orthogonal", self.orthogonal)
        self.powers_ = _checked_exponents(self, X.shape[1], lowest, degree, interaction_only)
        if orthogonal:
            self._learn_recurrence(X, 1 if interaction_only else degree)

    def _learn_recurrence(self, X: np.ndarray, degree: int) -> None:
        # Centred and scaled first: the recurrence's own subtraction would cancel for data like N(1e8, 1).
        self.center_ = X.mean(axis=0)
        self.scale_ = column_sd(X)
        Z = (X - self.center_) / self.scale_
        self.recurrence_ = np.stack([fit_recurrence(z, degree) for z in Z.T])
        short = np.flatnonzero(np.isnan(self.recurrence_).any(axis=(1, 2)))
        if short.size:
            names = [self._input_names(None)[j] for j in short]
            raise DataError(
                f"PolynomialFeatures: an orthogonal basis of degree {degree} needs {degree + 1} distinct values; "
                f"columns with fewer: {', '.join(names[:5])}.",
                columns=names,
                remedy="Lower the degree, or leave these columns out.",
            )

    def _map(self, X: np.ndarray) -> np.ndarray:
        if self.orthogonal:
            columns = columns_of((X - self.center_) / self.scale_)
            factors = [orthonormal_polynomials(z, r) for z, r in zip(columns, self.recurrence_, strict=True)]
        else:
            highest = self.powers_.max(axis=0).tolist()
            factors = [raw_powers(x, top) for x, top in zip(columns_of(X), highest, strict=True)]
        return products(factors, self.powers_, len(X))

    def _names(self, names: list[str]) -> list[str]:
        return [_term_name(names, term, self.orthogonal) for term in self.powers_]


class Interactions(FeatureMap):
    """The columns and the products of 2…`order` different ones: how the effect of one depends on another.

    Parameters
    ----------
    order : the largest number of columns in a product, ≥ 2.
    include_main : with the columns themselves.

    Attributes
    ----------
    powers_ : (n_out, columns) zeros and ones.

    Examples
    --------
    >>> import numpy as np
    >>> Interactions().fit_transform(np.array([[2.0, 3.0, 5.0]])).tolist()
    [[2.0, 3.0, 5.0, 6.0, 10.0, 15.0]]
    >>> Interactions(include_main=False).fit(np.ones((1, 3))).get_feature_names_out().tolist()
    ['x0·x1', 'x0·x2', 'x1·x2']
    """

    def __init__(self, order: int = 2, include_main: bool = True) -> None:
        self.order = order
        self.include_main = include_main

    def _learn(self, X: np.ndarray) -> None:
        order = check_integer(self, "order", self.order, 2)
        lowest = 1 if check_flag(self, "include_main", self.include_main) else 2
        self.powers_ = _checked_exponents(self, X.shape[1], lowest, order, True)

    def _map(self, X: np.ndarray) -> np.ndarray:
        return products([raw_powers(x, 1) for x in columns_of(X)], self.powers_, len(X))

    def _names(self, names: list[str]) -> list[str]:
        return [_term_name(names, term, False) for term in self.powers_]


def _checked_exponents(owner: Any, columns: int, lowest: int, degree: int, interaction_only: bool) -> np.ndarray:
    count = n_exponents(columns, lowest, degree, interaction_only)
    if count > MAX_COLUMNS:
        raise ParameterError(
            type(owner).__name__,
            "order" if isinstance(owner, Interactions) else "degree",
            f"low enough for {MAX_COLUMNS} new columns ({columns} columns would give {count})",
            degree,
        )
    return exponents(columns, lowest, degree, interaction_only)


def _term_name(names: list[str], term: np.ndarray, orthogonal: bool) -> str:
    def factor(j: int) -> str:
        if orthogonal:
            return f"P{term[j]}({names[j]})"
        return names[j] if term[j] == 1 else f"{names[j]}^{term[j]}"

    return "·".join(factor(j) for j in np.flatnonzero(term).tolist()) or "1"
