"""Piecewise polynomials that join smoothly at knots.

Every kind is a B-spline basis times a matrix: the new columns at x are B(x) W, with B the B-splines of the knots
and W (n_basis, n_out) choosing the subspace (all; natural; periodic). Extrapolation is then one rule for all.

scikit-learn has B-splines; ours add natural splines, a stated period, linear extrapolation of every kind, and a state
that can be saved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import BSpline

from credo.errors import DataError, ParameterError
from credo.tables.features.base import (
    FeatureMap,
    check_choice,
    check_flag,
    check_integer,
    check_per_column,
    check_points,
)

__all__ = ["Splines"]

KINDS = ("bspline", "natural", "periodic")
EXTRAPOLATIONS = ("linear", "constant", "continue", "error")


def clamped(knots: np.ndarray, degree: int) -> np.ndarray:
    """The full knot vector: the end knots `degree` more times each."""
    return np.concatenate([np.repeat(knots[0], degree), knots, np.repeat(knots[-1], degree)])


def wrapped(knots: np.ndarray, degree: int) -> np.ndarray:
    """The full knot vector of a periodic spline: the knots of the neighbouring periods on either side."""
    period = knots[-1] - knots[0]
    inner = knots[:-1]
    turns = degree // len(inner) + 1
    cycle = np.concatenate([inner + turn * period for turn in range(-turns, turns + 2)])
    start = turns * len(inner)
    return cycle[start - degree : start + len(inner) + degree + 1]


def natural_weights(knots: np.ndarray) -> np.ndarray:
    """W (n_knots + 2, n_knots) whose k-th spline is 1 at knot k, 0 at the other knots, and straight at both ends."""
    basis = BSpline(clamped(knots, 3), np.eye(len(knots) + 2), 3)
    conditions = np.vstack([basis(knots), basis(knots[[0, -1]], nu=2)])
    return np.linalg.solve(conditions, np.eye(len(knots) + 2)[:, : len(knots)])


def periodic_weights(n_intervals: int, degree: int) -> np.ndarray:
    """W (n_intervals + degree, n_intervals): a B-spline and its copies one period on share a coefficient."""
    return np.eye(n_intervals)[np.arange(n_intervals + degree) % n_intervals]


def evaluate(spline: BSpline, u: np.ndarray, extrapolation: str) -> np.ndarray:
    """Spline values (rows, n_out) at u; outside [0, 1] by the rule `extrapolation`."""
    if extrapolation == "continue":
        return spline(u)
    inside = np.clip(u, 0.0, 1.0)
    values = spline(inside)
    beyond = u - inside
    outside = np.flatnonzero(beyond)
    if extrapolation == "linear" and outside.size:
        values[outside] += beyond[outside, None] * spline(inside[outside], nu=1)
    return values


class Splines(FeatureMap):
    """A smooth curve in each column.

    Parameters
    ----------
    n_knots : places where pieces meet, both ends included, ≥ 2 (3 for kind="periodic"). Five is Harrell's
        advice for 100 rows or more.
    degree : of the pieces, ≥ 1; 3 for kind="natural".
    kind : "bspline" (n_knots + degree − 1 functions); "natural" (n_knots functions: cubic, straight beyond the ends;
        the k-th is 1 at knot k and 0 at the others, so that a coefficient is the curve's height there, over its
        height at the first knot); "periodic" (n_knots − 1 functions that join at the period's ends).
    knots : "quantile" (as many rows between each two), "uniform", or the increasing positions, (n_knots,) for all
        columns or (n_knots, columns). Quantiles that coincide are merged.
    period : of kind="periodic", > 0; knots lie in [0, period].
    extrapolation : beyond the end knots, "linear" (goes on straight), "constant" (stays), "continue" (the end pieces
        go on: a cubic), or "error". A natural spline goes on straight by its definition ("linear").
    include_bias : keep the first function. False: the functions sum to 1, which is the intercept's column.

    Attributes
    ----------
    knots_ : one array of knots a column.

    Raises
    ------
    DataError : a column is constant (no interval to bend in), or extrapolation="error" and a row lies outside.

    Notes
    -----
    Cost: rows × n_out × degree.

    References
    ----------
    de Boor (2001), A Practical Guide to Splines. Harrell (2015), Regression Modeling Strategies, §2.4.6.

    Examples
    --------
    >>> import numpy as np
    >>> curve = Splines(3, kind="natural", include_bias=True).fit(np.array([[0.0], [1.0], [4.0]]))
    >>> curve.get_feature_names_out(["age"]).tolist()
    ['age@0', 'age@1', 'age@4']
    >>> np.allclose(curve.transform([[0.0], [1.0], [4.0]]), np.eye(3))
    True
    """

    def __init__(
        self,
        n_knots: int = 5,
        degree: int = 3,
        kind: str = "bspline",
        knots: Any = "quantile",
        period: float | None = None,
        extrapolation: str = "linear",
        include_bias: bool = False,
    ) -> None:
        self.n_knots = n_knots
        self.degree = degree
        self.kind = kind
        self.knots = knots
        self.period = period
        self.extrapolation = extrapolation
        self.include_bias = include_bias

    @property
    def _least_rows(self) -> int:  # the ends of the knots must differ, unless they are stated
        return 2 if isinstance(self.knots, str) and self.kind != "periodic" else 1

    def _learn(self, X: np.ndarray) -> None:
        self._check_arguments()
        if self.kind == "periodic":
            self.period_ = check_per_column(self, "period", self.period, 1)[0]
            X = np.mod(X, self.period_)
        given = None if isinstance(self.knots, str) else self._given_knots(X.shape[1])
        self.knots_ = [self._place(x) if given is None else given[:, j] for j, x in enumerate(X.T)]
        flat = [self._input_names(None)[j] for j, knots in enumerate(self.knots_) if len(knots) < 2]
        if flat:
            raise DataError(
                f"Splines needs 2 distinct values a column; constant columns: {', '.join(flat[:5])}.",
                columns=flat,
                remedy="Leave these columns out.",
            )

    def _check_arguments(self) -> None:
        check_integer(self, "n_knots", self.n_knots, 3 if self.kind == "periodic" else 2)
        check_integer(self, "degree", self.degree, 1)
        check_choice(self, "kind", self.kind, KINDS)
        check_choice(self, "extrapolation", self.extrapolation, EXTRAPOLATIONS)
        check_flag(self, "include_bias", self.include_bias)
        if isinstance(self.knots, str):
            check_choice(self, "knots", self.knots, ("quantile", "uniform"))
        if self.kind == "natural" and self.degree != 3:
            raise ParameterError("Splines", "degree", "3 for kind='natural'", self.degree)
        if self.kind == "natural" and self.extrapolation not in ("linear", "error"):
            raise ParameterError(
                "Splines", "extrapolation", "'linear' or 'error' for kind='natural'", self.extrapolation
            )
        if self.kind != "periodic" and self.period is not None:
            raise ParameterError("Splines", "period", f"None for kind={self.kind!r}", self.period)

    def _given_knots(self, columns: int) -> np.ndarray:
        """The stated positions as (n_knots, columns), strictly increasing."""
        knots = check_points(self, "knots", self.knots, columns)
        if len(knots) < 2 or not np.all(np.diff(knots, axis=0) > 0):
            raise ParameterError("Splines", "knots", "at least 2 increasing positions", self.knots)
        if self.kind == "periodic" and (np.any(knots[0] != 0.0) or np.any(knots[-1] != self.period_)):
            raise ParameterError("Splines", "knots", "from 0 to the period for kind='periodic'", self.knots)
        return knots

    def _place(self, x: np.ndarray) -> np.ndarray:
        """Knots of one column, increasing; coinciding quantiles merged."""
        low, high = (0.0, self.period_) if self.kind == "periodic" else (x.min(), x.max())
        levels = np.linspace(0.0, 1.0, self.n_knots)
        if self.knots == "uniform":
            inner = low + (high - low) * levels[1:-1]
        else:
            inner = np.quantile(x, levels[1:-1])
        return np.unique(np.concatenate([[low], inner, [high]]))

    def _spline(self, knots: np.ndarray) -> BSpline:
        """The new functions of a column, over `knots` that run from 0 to 1."""
        first = 0 if self.include_bias else 1
        if self.kind == "natural":
            return BSpline(clamped(knots, 3), natural_weights(knots)[:, first:], 3)
        if self.kind == "periodic":
            weights = periodic_weights(len(knots) - 1, self.degree)
            return BSpline(wrapped(knots, self.degree), weights[:, first:], self.degree)
        n_basis = len(knots) + self.degree - 1
        return BSpline(clamped(knots, self.degree), np.eye(n_basis)[:, first:], self.degree)

    def _map(self, X: np.ndarray) -> np.ndarray:
        if self.kind == "periodic":
            X = np.mod(X, self.period_)
        elif self.extrapolation == "error":
            self._refuse_outside(X)
        return np.hstack([self._columns(x, knots) for x, knots in zip(X.T, self.knots_, strict=True)])

    def _columns(self, x: np.ndarray, knots: np.ndarray) -> np.ndarray:
        # In units of the knots' span: derivatives stay in range and time stamps keep their digits.
        low, span = knots[0], knots[-1] - knots[0]
        return evaluate(self._spline((knots - low) / span), (x - low) / span, self.extrapolation)

    def _refuse_outside(self, X: np.ndarray) -> None:
        ends = np.array([[knots[0], knots[-1]] for knots in self.knots_]).T
        outside = (ends[0] > X) | (ends[1] < X)
        if outside.any():
            rows = np.flatnonzero(outside.any(axis=1))
            raise DataError(
                f"Splines: {rows.size} rows lie outside the knots (first: row {rows[0]}).",
                rows=rows[:20].tolist(),
                columns=[self._input_names(None)[j] for j in np.flatnonzero(outside.any(axis=0))],
                remedy="Choose another extrapolation, or wider knots.",
            )

    def _names(self, names: list[str]) -> list[str]:
        first = 0 if self.include_bias else 1
        found: list[str] = []
        for name, knots in zip(names, self.knots_, strict=True):
            if self.kind == "natural":
                found += [f"{name}@{place}" for place in _distinct_texts(knots)[first:]]
            else:
                count = len(knots) - 1 + (self.degree if self.kind == "bspline" else 0)
                found += [f"B{i}({name})" for i in range(first + 1, count + 1)]
        return found


def _distinct_texts(knots: np.ndarray) -> list[str]:
    """The knots with as few digits (≥ 4) as tell them apart."""
    for digits in range(4, 18):
        texts = [f"{knot:.{digits}g}" for knot in knots]
        if len(set(texts)) == len(texts):
            break
    return texts
