"""`Vecchia`: every row given its nearest earlier rows only, so that K_y⁻¹ has a sparse factor, found row by row.

Notation
    N(i)     the m nearest of the rows before i in the ordering; S = (N(i), i)
    w_i      1 at i, −C_NN⁻¹ c_Ni at N(i), 0 elsewhere, for C = K_SS + diag(v_S);  d_i = w_i'C w_i
    M (n, n) rows w_i/√d_i: M'M stands for K_y⁻¹, and Σ log d_i for log |K_y|

The responses y, noise and all, are ordered and conditioned, not the values f: y_i | y_N(i) is then exact algebra of one
block, noise may differ by row, and no sparse factorisation fills in. What is lost is what far rows add beyond near
ones; with m = n − 1 nothing is.

    Σ_i log p(y_i | y_N(i)) ≈ log p(y),         gradients: W_i = h_i w_i' + w_i h_i' weighs ∂C (see `vecchia_kernels`)

References
    A. V. Vecchia (1988), J. R. Statist. Soc. B 50, 297-312. J. Guinness (2018), Technometrics 60, 415-429 (orderings).
    M. Katzfuss and J. Guinness (2021), Statistical Science 36, 124-141 (responses or values; predictions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.sparse

from credo.errors import NotPositiveDefiniteError, ParameterError
from credo.kernels import Kernel
from credo.models.gaussian_process.solvers.memory import require
from credo.models.gaussian_process.solvers.vecchia_blocks import Blocks, goes_by_arrays, lanes, stacked
from credo.models.gaussian_process.solvers.vecchia_order import Boxes, Layout, arrange, column_scales
from credo.numerics.cholesky import JITTERS, solve_lower
from credo.numerics.threads import available_threads, single_blas_thread
from credo.saving.registry import register

__all__ = ["Vecchia", "VecchiaAt", "VecchiaFactor"]

T = TypeVar("T")
# A pivot loses as many units of rounding as rows were subtracted from it; below that it is noise.
EPSILON = float(np.finfo(np.float64).eps)
FEWER = "State a smaller n_neighbors, ask for fewer rows at once, or use solvers.Inducing."
# Chunks of rows whose sums are added in order: fixed, so that results do not depend on the number of threads.
CHUNKS = 8
# Seconds a pair of a block, beyond those a column and a neighbour (measured at s = 31, d = 8 on one core of 2022).
PER_PAIR, PER_COLUMN, PER_ROW = 1.2e-8, 1.2e-9, 3e-10
# Seconds of a kernel called for one block, with its pullback.
PER_CALL = 3e-4


@register
@dataclass(frozen=True)
class Vecchia:
    """Solve with K_y by conditioning each row on its nearest earlier ones: O(n m³) time, O(n m) memory.

    n_neighbors : m ≥ 1; n − 1 or more is exact. 30 is where Katzfuss & Guinness (2021) find little left to gain.
    ordering : "maxmin", each row as far as can be from those before it, so that early rows carry what is common to all
        and late ones the detail; "random", by a fixed seed; "given", rows as they come (in time, say)

    n_predict : as n_neighbors, of new rows; None is four times as many. A new row is solved for once, and what more
        neighbours bring it is noise averaged out. (Measured at 1e5 rows, 8 columns, noise a fifth of the
        signal: held-out rmse 0.261 with 30, 0.245 with 120, 0.239 with 240.)

    Neighbours are near in the kernel's own metric, at the hyperparameters that the solver is called with. While these
    are learned, neighbours that change make the evidence jump: learn with `at(kernel, X)`, whose neighbours stay, and
    choose them anew when it has converged, as `vecchia_learning.climb_in_stages` does.

    >>> from credo.kernels import RBF
    >>> X = np.linspace(0.0, 5.0, 50)[:, None]
    >>> K = RBF(1.0)(X) + 0.1 * np.eye(50)
    >>> exact = np.linalg.slogdet(K)[1]
    >>> gaps = [Vecchia(m)(RBF(1.0), X, np.full(50, 0.1)).log_determinant - exact for m in (5, 20, 49)]
    >>> bool(gaps[0] > gaps[1] > 0.0), bool(abs(gaps[2]) < 1e-9)
    (True, True)
    """

    n_neighbors: int = 30
    ordering: str = "maxmin"
    n_predict: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("n_neighbors", self.n_neighbors), ("n_predict", self.n_predict)):
            if value is not None and (not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1):
                raise ParameterError("Vecchia", name, "an integer ≥ 1", value)
        if self.ordering not in ("maxmin", "random", "given"):
            raise ParameterError("Vecchia", "ordering", '"maxmin", "random" or "given"', self.ordering)

    def __call__(self, kernel: Kernel, X: np.ndarray, noise: np.ndarray) -> VecchiaFactor:
        return self.at(kernel, X)(kernel, X, noise)

    def at(self, kernel: Kernel, X: np.ndarray, terms: int | None = None) -> VecchiaAt:
        """The same with the neighbours of this kernel kept, whatever kernel it is called with.

        terms : of so many rows, evenly through the ordering, the conditional densities stand for those of all n: an
            unbiased evidence and gradient for terms/n of the cost, to approach the optimum with
        """
        require(f"Vecchia with {self.n_neighbors} neighbours", len(X), self.cost(kernel, *X.shape)[1], FEWER)
        return VecchiaAt(self, arrange(X * column_scales(kernel, X), self.n_neighbors, self.ordering, terms))

    def cost(self, kernel: Kernel, n: int, d: int) -> tuple[float, float]:
        """Predicted seconds of one evidence and gradient on one core, and bytes at the peak."""
        s = min(self.n_neighbors + 1, n)
        pairs, width = s * (s + 1) / 2, lanes(s)
        seconds = n * pairs * (PER_PAIR + PER_COLUMN * d + PER_ROW * s)
        if not goes_by_arrays(kernel):
            seconds += n * PER_CALL
        # By row: coordinates three times, the index twice, M; by thread: seven arrays of pairs.
        held = 8.0 * n * (3 * d + 3 * s + 20) + 8.0 * 7 * pairs * width * available_threads()
        return seconds, held


@register
@dataclass(frozen=True, eq=False)
class VecchiaAt:
    """`Vecchia` with its ordering and neighbours settled."""

    options: Vecchia
    layout: Layout

    def __call__(self, kernel: Kernel, X: np.ndarray, noise: np.ndarray) -> VecchiaFactor:
        noise = np.asarray(noise, dtype=np.float64)
        n = round(self.layout.scale * len(self.layout.index))
        if noise.shape != (n,) or len(X) != n:
            raise ParameterError("VecchiaAt", "X", f"the {n} rows whose neighbours were chosen", np.shape(X))
        scale = float(np.mean(kernel.diagonal(X)) + np.mean(noise))
        if not (np.isfinite(scale) and np.all(np.isfinite(noise))):
            raise NotPositiveDefiniteError("K + noise holds NaN or infinite entries.", value=scale)
        rows, jitter = _rows(stacked(kernel, X), self.layout.index, noise, scale)
        certificate = {
            "solver": "vecchia", "n_neighbors": self.layout.index.shape[1] - 1, "ordering": self.options.ordering,
            "terms": len(rows), "jitter": jitter,
        }  # fmt: skip
        return VecchiaFactor(kernel, X, noise, self.options, self.layout, rows, certificate)

    def cost(self, kernel: Kernel, n: int, d: int) -> tuple[float, float]:
        """As of `Vecchia`, for the terms that there are."""
        seconds, held = self.options.cost(kernel, n, d)
        return seconds * len(self.layout.index) / n, held


@dataclass(frozen=True, eq=False)
class VecchiaFactor:
    """K_y of one kernel, rows and noise, by the rows of M."""

    kernel: Kernel
    X: np.ndarray
    noise: np.ndarray
    options: Vecchia
    layout: Layout
    rows: np.ndarray  # (t, s): w_i/√d_i at (N(i), i)
    certificate: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def M(self) -> scipy.sparse.csr_array:
        """(t, n), times √(n/t)."""
        t, s = self.rows.shape
        start = np.arange(0, t * s + 1, s)
        data = self.rows.ravel() * np.sqrt(self.layout.scale)
        return scipy.sparse.csr_array((data, self.layout.index.ravel(), start), shape=(t, len(self.X)))

    @property
    def log_determinant(self) -> float:
        """log |K_y| = Σ log d_i."""
        return -2.0 * self.layout.scale * float(np.sum(np.log(self.rows[:, -1])))

    def solve(self, U: np.ndarray) -> np.ndarray:
        """M'M U, (n, q). Cost 4 n m q."""
        return self.M.T @ (self.M @ U)

    def gradient(self, U: np.ndarray, copies: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """∂/∂θ (h,) and ∂/∂v (n,) of −½ Σ_q u_qᵀK_y⁻¹u_q − ½ copies log|K_y|. Cost n m³/3 + n m² d."""
        from credo.models.gaussian_process.solvers import vecchia_kernels

        blocks, noise = stacked(self.kernel, self.X), self.noise + self.certificate["jitter"]
        U = np.ascontiguousarray(U, dtype=np.float64)

        def slopes(parts: Iterator[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
            total, by_row = np.zeros(self.kernel.theta.size), np.zeros(len(self.X))
            for index in parts:
                C, pull = blocks(index)
                u, _ = _factor(C, noise, index)
                weight, room = np.empty_like(C), np.empty((2, u.shape[1]))
                vecchia_kernels.weights(C, u, U, index, copies, np.empty_like(u), room, weight, by_row)
                total += pull(weight)
            return total, by_row

        total, by_row = (np.sum(each, axis=0) for each in zip(*_mapped(slopes, self.layout.index), strict=True))
        return self.layout.scale * total, self.layout.scale * by_row

    def predict(self, X: np.ndarray, U: np.ndarray, joint: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """E f (m, q) and its variances (m,), each new row given its nearest rows; or all their covariances (m, m).

        Jointly, each new row is given the nearest of those before it too. That settles the correlations; means and
        variances stay those of the rows one by one.
        """
        n, m = len(self.X), len(X)
        if not m:
            return np.empty((0, U.shape[1])), np.empty((0, 0) if joint else 0)
        if joint:
            require("The covariance", m, 24.0 * m * m, FEWER)
        wanted = self.options.n_predict or 4 * self.options.n_neighbors
        near = self._boxes.nearest(X * self._scales, np.full(m, n), min(n, wanted))
        itself = np.arange(n, n + m)[:, None]
        u = self._new_rows(X, np.column_stack([near, itself]))
        mean = -np.einsum("ik,ikq->iq", u[:, :-1] / u[:, -1:], U[near])
        variance = 1.0 / np.square(u[:, -1])
        if not joint:
            return mean, variance
        few = m - 1 if wanted >= n else min(m - 1, wanted)
        before = arrange(X * self._scales, few, "given").index[:, :-1]
        u = self._new_rows(X, np.column_stack([near, n + before, itself]))
        M = np.zeros((m, m))
        M[np.arange(m)[:, None], before] = u[:, near.shape[1] : -1]
        M[np.arange(m), np.arange(m)] = u[:, -1]
        half = solve_lower(M, np.eye(m))
        half *= np.sqrt(variance / np.einsum("ij,ij->i", half, half))[:, None]
        return mean, half @ half.T

    @cached_property
    def _scales(self) -> np.ndarray:
        return column_scales(self.kernel, self.X)

    @cached_property
    def _boxes(self) -> Boxes:
        return Boxes.of(self.X * self._scales, np.arange(len(self.X)))

    def _new_rows(self, X: np.ndarray, index: np.ndarray) -> np.ndarray:
        """w/√d (m, s) of new rows, numbered from n on, that have no noise."""
        noise = np.concatenate([self.noise + self.certificate["jitter"], np.zeros(len(X))])
        scale = float(np.mean(self.kernel.diagonal(X)))
        return _rows(stacked(self.kernel, np.concatenate([self.X, X])), index, noise, scale, new=True)[0]

    def inverse_diagonal(self) -> np.ndarray:
        """diag M'M (n,)."""
        square = np.square(self.rows.ravel())
        return self.layout.scale * np.bincount(self.layout.index.ravel(), square, minlength=len(self.X))


def _rows(
    blocks: Blocks, index: np.ndarray, noise: np.ndarray, scale: float, new: bool = False
) -> tuple[np.ndarray, float]:
    """w/√d (t, s) of blocks (t, s), and the jitter that all rows got, ×10 from 1e-12 to 1e-4 of `scale`.

    new : the last rows are without noise; that their neighbours may determine them is no failure.
    """
    for relative in JITTERS:
        jittered = noise + relative * scale

        def factors(parts: Iterator[np.ndarray], jittered: np.ndarray = jittered) -> list[np.ndarray] | None:
            done = []
            for part in parts:
                u, failed = _factor(blocks(part)[0], jittered, part)
                if np.any((failed > 0) & ~(new & (failed == len(part)))):
                    return None
                done.append(u.T)
            return done

        chunks = [chunk for chunk in _mapped(factors, index) if chunk is not None]
        if sum(len(u) for chunk in chunks for u in chunk) == len(index):
            return np.concatenate([u for chunk in chunks for u in chunk]), relative * scale
    raise NotPositiveDefiniteError(
        f"K + noise of neighbouring rows is not positive definite (mean diagonal {scale:.3g}).",
        value=scale,
        remedy="State a larger noise; with noise=0, rows that coincide must agree.",
    )


def _factor(C: np.ndarray, noise: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C (pairs, L) becomes its factors; u (s, L), and where each failed (L,)."""
    from credo.models.gaussian_process.solvers import vecchia_kernels

    s, width = index.shape
    u, failed = np.empty((s, width)), np.empty(width, dtype=np.int64)
    vecchia_kernels.factor(C, noise, index, s * EPSILON, u, np.empty((1, width)), failed)
    return u, failed


def _mapped(chunk: Callable[[Iterator[np.ndarray]], T], index: np.ndarray) -> list[T]:
    """The results of fixed chunks of an index (t, s), in order; each gets its blocks as (s, L) indices."""
    t, s = index.shape
    width = lanes(s)
    each = width * -(-t // (width * CHUNKS))

    def parts(start: int) -> Iterator[np.ndarray]:
        for i in range(start, min(start + each, t), width):
            yield np.ascontiguousarray(index[i : min(i + width, start + each)].T, dtype=np.int64)

    starts = range(0, t, each)
    workers = min(available_threads(), len(starts))
    if workers == 1:
        with single_blas_thread():
            return [chunk(parts(start)) for start in starts]
    with single_blas_thread(), ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda start: chunk(parts(start)), starts))
