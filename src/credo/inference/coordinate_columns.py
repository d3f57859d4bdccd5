"""Columns of data as penalised problems: dense ones by the products of the columns in use, sparse ones by residuals.

Which is cheapest depends on the shape. With no more columns than rows all products are taken once (`gram_problem`).
With more, only the columns that ever enter a working set are multiplied, each pair once along a path. A sparse column
costs a handful of multiplications a sweep, so there nothing is multiplied out.

An intercept is the projection onto vectors of mean zero: dense columns are centred as they are copied, sparse ones by
one number for the common level of the residual.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.inference.coordinate_descent import DIRECT, SHARE, GramProblem, PenalisedProblem, solve_gram
from credo.inference.coordinate_slide import slide

# Share of the gap asked for that the last sweep still gained, below which another sweep is rounding.
NEGLIGIBLE = 1e-6
# Sweeps a sparse residual is carried through, from penalty to penalty, before it is computed afresh: each adds a
# rounding or two a row and column in the model, so that the gap is right to some 1e-14 of ‖y‖².
CARRIED = 50
# Sweeps before the columns in the model are moved together: near interpolation sweeps alone take thousands.
SWEEPS = 50
# Such moves that gain nothing but rounding of F before they end. The gap falls with the error, F with its square: the
# last digits of the gap are gained where F shows nothing.
IDLE = 3

__all__ = ["ColumnProblem", "SparseProblem", "problem_of"]


def problem_of(X: Any, y: np.ndarray, *, centred: bool) -> tuple[PenalisedProblem, np.ndarray, np.ndarray]:
    """The cheapest problem for X (n, P), dense or sparse, and y (n,); means (P,) and mean squares (P,) of the columns.

    centred : whether an intercept is integrated out: columns and y then count from their means. Else means are zero.
    """
    y = np.asarray(y, dtype=np.float64)
    y = y - y.mean() if centred else y
    if hasattr(X, "tocsc"):
        problem = SparseProblem(X.tocsc(), y, centred=centred)
        return problem, problem.mean, problem.squares / y.size
    X = np.asarray(X, dtype=np.float64)
    mean = X.mean(axis=0) if centred else np.zeros(X.shape[1])
    if X.shape[1] <= X.shape[0]:
        rows = X - mean if centred else X
        gram = rows.T @ rows
        problem = GramProblem(gram, rows.T @ y, float(y @ y), compiled=X.shape[1] > DIRECT)
        return problem, mean, np.diag(gram) / y.size
    squares = np.maximum(np.einsum("np,np->p", X, X) / y.size - np.square(mean), 0.0)
    return ColumnProblem(X, y, mean), mean, squares


class ColumnProblem:
    """Dense X (n, P), n < P. Keeps the columns that were ever in a working set, centred, and their products."""

    def __init__(self, X: np.ndarray, y: np.ndarray, mean: np.ndarray) -> None:
        self.X, self.y, self.mean = X, y, mean
        self.square = float(y @ y)
        self.cross = self._against(y)
        self.place = np.full(X.shape[1], -1)
        self.columns = np.empty(0, dtype=np.int64)
        self.kept = np.empty((y.size, 64), order="F")
        self.gram = np.empty((64, 64))

    def _against(self, r: np.ndarray) -> np.ndarray:
        return r @ self.X - self.mean * r.sum()

    def correlations(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        active = np.flatnonzero(w)
        if active.size == 0:
            return self.cross, self.square
        self._keep(active)
        r = self.y - self.kept[:, self.place[active]] @ w[active]
        return self._against(r), float(r @ r)

    def solve(
        self, columns: np.ndarray, w: np.ndarray, l1: np.ndarray, ridge: np.ndarray, goal: float, limit: int
    ) -> int:
        self._keep(columns)
        at = self.place[columns]
        gram = self.gram[np.ix_(at, at)]
        w[columns], steps = solve_gram(
            gram, self.cross[columns], self.square, w[columns], l1[columns], ridge[columns], SHARE * goal, limit
        )
        return steps

    def _keep(self, columns: np.ndarray) -> None:
        """Columns not seen before: centred copies, and their products with all kept ones (one GEMM)."""
        new = columns[self.place[columns] < 0]
        if new.size == 0:
            return
        old, total = self.columns.size, self.columns.size + new.size
        if total > self.gram.shape[0]:
            size = max(total, 2 * self.gram.shape[0])
            kept, gram = np.empty((self.y.size, size), order="F"), np.empty((size, size))
            kept[:, :old], gram[:old, :old] = self.kept[:, :old], self.gram[:old, :old]
            self.kept, self.gram = kept, gram
        self.kept[:, old:total] = self.X[:, new] - self.mean[new]
        products = self.kept[:, :total].T @ self.kept[:, old:total]
        self.gram[:total, old:total] = products
        self.gram[old:total, :old] = products[:old].T
        self.columns = np.concatenate([self.columns, new])
        self.place[new] = np.arange(old, total)


class SparseProblem:
    """Sparse X in CSC form (n, P), never densified; the residual is carried from solve to solve."""

    def __init__(self, X: Any, y: np.ndarray, *, centred: bool) -> None:
        if not X.has_sorted_indices or not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.data = np.ascontiguousarray(X.data, dtype=np.float64)
        self.indices = np.ascontiguousarray(X.indices, dtype=np.int32)
        self.indptr = np.ascontiguousarray(X.indptr, dtype=np.int64)
        self.X = type(X)((self.data, X.indices, X.indptr), shape=X.shape)
        self.transposed = self.X.T  # the same memory, read by rows
        self.n = y.size
        self.sums = np.asarray(self.X.sum(axis=0)).ravel()
        self.mean = self.sums / self.n if centred else np.zeros(X.shape[1])
        ends = np.concatenate([[0.0], np.cumsum(np.square(self.data))])
        squares = ends[self.indptr[1:]] - ends[self.indptr[:-1]]
        self.squares = np.maximum(squares - self.n * np.square(self.mean), 0.0)
        self.y = y
        self.square = float(y @ y)
        self.cross = self._against(y)
        # coefficients, the residual they leave, and the sweeps that updated it since it was computed
        self.solved, self.r, self.sweeps = np.zeros(X.shape[1]), y.copy(), 0

    def _against(self, r: np.ndarray) -> np.ndarray:
        return self.transposed @ r - self.mean * r.sum()

    def _residual(self, w: np.ndarray) -> np.ndarray:
        active = np.flatnonzero(w)
        if active.size == 0:
            return self.y
        return self.y - (self.X @ w - self.mean[active] @ w[active])

    def correlations(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        r = self.r if np.array_equal(w, self.solved) else self._residual(w)
        return self._against(r), float(r @ r)

    def solve(
        self, columns: np.ndarray, w: np.ndarray, l1: np.ndarray, ridge: np.ndarray, goal: float, limit: int
    ) -> int:
        from credo.inference.coordinate_sparse_kernel import sweep_sparse

        carried = self.sweeps < CARRIED and np.array_equal(w, self.solved)
        inner, r = w[columns], self.r if carried else self._residual(w).copy()
        done, total, idle, room = False, 0, 0, np.empty(columns.size)
        while not done and total < limit and idle < IDLE:
            n_iter = sweep_sparse(
                self.data, self.indices, self.indptr, columns, self.mean[columns], self.sums[columns],
                self.squares[columns], r, room, inner, l1[columns], ridge[columns],
                SHARE * goal, NEGLIGIBLE * goal, min(SWEEPS, limit - total),
            )  # fmt: skip
            total += abs(n_iter)
            done = n_iter > 0
            if not done:
                fell = self._slide(columns, inner, r, l1, ridge)
                idle = idle + 1 if fell <= NEGLIGIBLE * goal else 0
        w[columns] = inner
        self.solved, self.r, self.sweeps = w.copy(), r, total + (self.sweeps if carried else 0)
        return total

    def _slide(self, columns: np.ndarray, inner: np.ndarray, r: np.ndarray, l1: np.ndarray, ridge: np.ndarray) -> float:
        """All columns in the model at once towards their minimum, in place; by how much F fell."""
        here = np.flatnonzero(inner)
        active = columns[here]
        X, mean = self.X[:, active], self.mean[active]
        transposed = X.T

        def forward(d: np.ndarray) -> np.ndarray:
            return X @ d - mean @ d

        def backward(v: np.ndarray) -> np.ndarray:
            return transposed @ v - mean * v.sum()

        curvature = self.squares[active] + ridge[active]
        moved, fell = slide(forward, backward, inner[here], r, l1[active], ridge[active], curvature)
        if fell > 0.0:
            inner[here] = moved
            w = np.zeros(self.mean.size)
            w[columns] = inner
            r[:] = self._residual(w)
        return fell
