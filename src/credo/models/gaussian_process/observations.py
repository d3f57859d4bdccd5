"""`Observations`: what was seen of a function, each distinct row once.

Notation
    i rows as given: y_i = f(x_i) + N(0, s(x_i) r_i), copied w_i times; s depends on x only, r_i ≥ 0 is known
    g distinct rows (n of them): p_g = Σ w_i/r_i,  ȳ_g = Σ (w_i/r_i) y_i/p_g,  S_g = Σ (w_i/r_i)(y_i − ȳ_g)²

Copies of a row say of f(x_g) no more than their mean with noise s_g/p_g does, so that

    Π_i p(y_i | f)^{w_i} = N(ȳ_g; f, s_g/p_g) · exp(rest_g)
    rest_g = −½ (Σ w_i − 1) log(2π s_g) − ½ Σ w_i log r_i − ½ log p_g − ½ S_g/s_g

The covariance then has no repeated rows: smaller, and of full rank without noise.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from credo.errors import DataError
from credo.saving.registry import register

__all__ = ["Observations", "distinct"]

LOG_2PI = float(np.log(2.0 * np.pi))
# Copies of a row without noise agree if they differ by rounding of their size.
AGREE = 1e-10


@register
@dataclass(frozen=True, eq=False)
class Observations:
    """Distinct rows.

    X (n, d); y (n, T) means ȳ; precision (n,) p, ∞ without noise; count (n,) Σ w; within (n, T) S; logs (n,) Σ w log r
    row (N,) : the distinct row that each of the rows as given is
    """

    X: np.ndarray
    y: np.ndarray
    precision: np.ndarray
    count: np.ndarray
    within: np.ndarray
    logs: np.ndarray
    row: np.ndarray

    @classmethod
    def of(
        cls, X: np.ndarray, y: np.ndarray, ratio: np.ndarray, weights: np.ndarray, *, merge: bool = True
    ) -> Observations:
        """Of rows X (N, d), y (N, T), noise ratios r (N,) and copies w (N,); `merge=False` keeps copied rows apart.

        Raises
        ------
        DataError : rows coincide, differ in y, and have no noise.
        """
        first, row = distinct(X) if merge else (np.arange(len(X)), np.arange(len(X)))
        n, targets = first.size, y.shape[1]
        exact = ratio == 0.0
        _require_agreement(y, row, exact, n)
        certain = np.zeros(n, dtype=bool)
        certain[row[exact]] = True
        # Beside a row without noise others say nothing; among such rows each is as good as any.
        share = np.where(certain[row], exact.astype(float), weights / np.where(exact, 1.0, ratio))
        total = np.bincount(row, share, n)
        mean = np.stack([np.bincount(row, share * y[:, t], n) for t in range(targets)], axis=1) / total[:, None]
        if first.size == len(X):
            mean = y[first].copy()  # a mean of one is that one, to the last digit
        gaps = np.square(y - mean[row]) * share[:, None]
        within = np.stack([np.bincount(row, gaps[:, t], n) for t in range(targets)], axis=1)
        within[certain] = 0.0
        count = np.where(certain, 1.0, np.bincount(row, weights, n))
        logs = np.where(certain, 0.0, np.bincount(row, weights * np.log(np.where(exact, 1.0, ratio)), n))
        return cls(X[first], mean, np.where(certain, np.inf, total), count, within, logs, row)

    def joined(self, other: Observations) -> Observations:
        """Both, the other's rows after one's own, kept apart even where they coincide."""
        row = np.concatenate([self.row, len(self.X) + other.row])
        both = {
            field.name: np.concatenate([getattr(self, field.name), getattr(other, field.name)])
            for field in dataclasses.fields(self)
        }
        return Observations(**{**both, "row": row})

    def some(self, size: int) -> Observations:
        """So many of the distinct rows, scattered over all; the same ones each time, and more hold fewer."""
        at = np.sort(np.random.default_rng(0).permutation(len(self.X))[:size])  # any will do
        taken = {field.name: getattr(self, field.name)[at] for field in dataclasses.fields(self) if field.name != "row"}
        return Observations(**taken, row=np.arange(len(at)))

    def noise(self, variance: np.ndarray) -> np.ndarray:
        """v (n,) = s/p of the distinct rows, from s (n,)."""
        return variance / self.precision

    def rest(self, variance: np.ndarray) -> tuple[float, np.ndarray]:
        """Σ_g rest_g over all targets, and its gradient in s (n,)."""
        noisy = np.isfinite(self.precision) & (variance > 0.0)
        s = np.where(noisy, variance, 1.0)
        targets, extra = self.y.shape[1], np.where(noisy, self.count - 1.0, 0.0)
        within = np.where(noisy, self.within.sum(axis=1), 0.0)
        logs = np.where(noisy, self.logs + np.log(np.where(noisy, self.precision, 1.0)), 0.0)
        value = -0.5 * float(np.sum(targets * (extra * (LOG_2PI + np.log(s)) + logs) + within / s))
        return value, -0.5 * (targets * extra - within / s) / s


def distinct(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (n,) of the first of each kind of row, in order, and the kind (N,) of every row.

    A random projection tells most rows apart in N log N; only those that tie in it are compared in full.
    """
    X = np.ascontiguousarray(X, dtype=np.float64) + 0.0  # −0 is 0
    vector = np.random.default_rng(0).standard_normal(X.shape[1])  # any will do
    key = np.einsum("nd,d->n", X, vector) if X.shape[1] > 1 else X[:, 0]
    order = np.argsort(key, kind="stable")
    tied = np.zeros(len(X), dtype=bool)
    same = key[order[1:]] == key[order[:-1]]
    tied[order[1:][same]] = tied[order[:-1][same]] = True
    first = np.arange(len(X))
    rows = np.flatnonzero(tied)
    if rows.size:
        _, at, inverse = np.unique(X[rows], axis=0, return_index=True, return_inverse=True)
        first[rows] = rows[at][inverse.ravel()]
    kinds, row = np.unique(first, return_inverse=True)
    return kinds, row


def _require_agreement(y: np.ndarray, row: np.ndarray, exact: np.ndarray, n: int) -> None:
    if not exact.any():
        return
    which, values = row[exact], y[exact]
    low = np.full((n, y.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, which, values)
    np.maximum.at(high, which, values)
    size = max(float(np.abs(values).max()), np.finfo(float).tiny)
    contrary = np.flatnonzero(((high - low) > AGREE * size).any(axis=1))
    if contrary.size:
        rows = np.flatnonzero(exact & np.isin(row, contrary))[:10]
        raise DataError(
            f"Without noise, rows that coincide must agree; rows {', '.join(map(str, rows))} do not.",
            value=rows,
            remedy="State a noise > 0, or noise=None to learn it.",
        )
