"""`StateSpace`: a Gaussian process of one column as a Kalman filter, O(n) in time and memory.

Notation
    rows are in the order of their column x; gaps[i] = x[i] − x[i − 1] leads to row i; gaps[0] = gaps[n] = 0
    A, Q, h, P as in `state_space_process`; g, s, e, α, r, N, B, D as in `state_space_filters`
    S   entries of the state; block: rows whose A and Q are made at once, so that they stay in the cache
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo.errors import DataError, NotPositiveDefiniteError, NumericalError, ParameterError
from credo.kernels import Kernel
from credo.models.gaussian_process.solvers.memory import require
from credo.models.gaussian_process.solvers.state_space_compose import column_of, process_of
from credo.models.gaussian_process.solvers.state_space_prediction import Between, covariances, moments
from credo.models.gaussian_process.solvers.state_space_process import Process, Weights
from credo.models.gaussian_process.solvers.white import has_white
from credo.numerics.cholesky import JITTERS
from credo.numerics.threads import single_blas_thread
from credo.saving.registry import register

__all__ = ["StateSpace", "StateSpaceFactor"]

# Entries of A in a block: 2 arrays of 8 · 32768 bytes fit the second-level cache.
ENTRIES = 32768
# A pivot this far below the prior variance is rounding error unless it is the noise itself.
ROUNDING = 4.0 * np.finfo(float).eps
# One core: filter, smoother and score are about 14 S³ + 60 S² flops a row at 1.5 Gflop/s in compiled loops, and 0.8 µs.
FLOPS, ROW = 1.5e9, 8e-7


@register
@dataclass(frozen=True)
class StateSpace:
    """Solve with K_y of one column by filtering and smoothing: exact up to rounding, n S³ flops.

    For `Matern` (S = nu + ½), `Constant` (1), `Linear` (1), `Polynomial` (degree + 1), `White` (0), their sums,
    products and multiples; and `Periodic` by its Fourier series (2 a harmonic), whose error is in the certificate.
    Rows may be in any order, irregular and repeated. Any other kernel is refused by name.

    tolerance : harmonics of a `Periodic` are left out once they carry less than this share of its variance; 1e-8 is
        what rounding leaves of a dense factorisation with a signal-to-noise ratio of 1e8
    max_states : more states than this are refused; 40 take as long a row as 1,200 rows of a dense factorisation

    References: Kalman (1960); Hartikainen and Särkkä (2010), IEEE MLSP; de Jong (1989), JASA 84.

    >>> from credo.kernels import Matern
    >>> factor = StateSpace()(Matern(1.0, nu=0.5), np.array([[0.0], [1.0]]), np.full(2, 0.1))
    >>> np.allclose(factor.solve(np.ones((2, 1))), 1 / (1.1 + np.exp(-1.0)))
    True
    """

    tolerance: float = 1e-12
    max_states: int = 40

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise ParameterError("StateSpace", "tolerance", "between 0 and 1", self.tolerance)
        if not (isinstance(self.max_states, int | np.integer) and self.max_states >= 1):
            raise ParameterError("StateSpace", "max_states", "an integer ≥ 1", self.max_states)

    def __call__(self, kernel: Kernel, X: np.ndarray, noise: np.ndarray) -> StateSpaceFactor:
        X, noise = np.asarray(X, dtype=np.float64), np.asarray(noise, dtype=np.float64)
        if X.ndim != 2 or noise.shape != X.shape[:1] or not len(X):
            raise DataError(f"StateSpace: X must be (n, d) and noise (n,), n ≥ 1; got {X.shape} and {noise.shape}.")
        column = column_of(kernel, X.shape[1])
        x = X[:, column]
        if not (np.all(np.isfinite(x)) and np.all(noise >= 0.0) and np.all(np.isfinite(noise))):
            raise DataError("StateSpace: X and noise must be finite, and noise ≥ 0.")
        process = self.process(kernel, float(x[0]))
        require("StateSpace", len(x), self.cost(kernel, *X.shape)[1], "Use a kernel of fewer states, or fewer rows.")
        order = np.argsort(x, kind="stable")
        rows = _Rows(process, order, x[order], process.emission(x[order]))
        prior = rows.prior()
        white = has_white(kernel)
        v = noise[order] + (np.maximum(kernel.diagonal(X)[order] - prior, 0.0) if white else 0.0)
        scale = float(np.mean(prior + v))
        for relative in JITTERS:
            variances = rows.filter(v + relative * scale, ROUNDING * prior)
            if variances is not None:
                certificate = {
                    "solver": "state space", "states": process.P.shape[0], "kernel_error": process.error,
                    "jitter": relative * scale,
                }  # fmt: skip
                return StateSpaceFactor(kernel, X, noise, column, white, rows, *variances, certificate)
        raise NotPositiveDefiniteError(
            f"K + noise of {len(X)} rows is not positive definite (mean diagonal {scale:.3g}).",
            value=scale,
            remedy="State a larger noise; with noise=0, rows that coincide must agree.",
        )

    def process(self, kernel: Kernel, origin: float = 0.0) -> Process:
        """The kernel's process; `ParameterError` if it has none, `NumericalError` if one of too many states."""
        process = process_of(kernel, origin, self.tolerance)
        if len(process.P) > self.max_states:
            raise NumericalError(  # not of the kernel's kind but of its lengthscale, where that sets the harmonics
                f"StateSpace: the kernel takes {len(process.P)} states, more than max_states={self.max_states}.",
                value=len(process.P),
                remedy="Raise max_states (time grows with its cube) or tolerance, or use solvers.Inducing.",
            )
        return process

    def cost(self, kernel: Kernel, n: int, d: int) -> tuple[float, float]:
        """Predicted seconds of one evidence and gradient on one core, and bytes at the peak."""
        column_of(kernel, d)
        states = len(self.process(kernel).P)
        flops = 14.0 * states**3 + 60.0 * states**2
        return n * (flops / FLOPS + ROW), 8.0 * n * (2.0 * states**2 + 6.0 * states + 16.0)


@dataclass(frozen=True, eq=False)
class _Rows:
    """A process at rows in the order of x: its steps, a block at a time, and the compiled passes over them."""

    process: Process
    order: np.ndarray
    x: np.ndarray
    h: np.ndarray

    @cached_property
    def gaps(self) -> np.ndarray:
        """(n + 1,)"""
        with np.errstate(over="ignore"):  # from −1e308 to 1e308 is far enough
            return np.concatenate([[0.0], np.diff(self.x), [0.0]])

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """lo, hi (S,): where a row of A is not 0."""
        pattern, size = self.process.pattern, self.h.shape[1]
        lo = [int(np.flatnonzero(row)[0]) for row in pattern]
        hi = [int(np.flatnonzero(row)[-1]) + 1 for row in pattern]
        return np.array(lo, dtype=np.int64).reshape(size), np.array(hi, dtype=np.int64).reshape(size)

    def blocks(self, backwards: bool = False) -> Iterator[slice]:
        length = max(16, ENTRIES // max(self.h.shape[1], 1) ** 2)
        starts = range(0, self.x.size, length)
        for start in reversed(starts) if backwards else starts:
            yield slice(start, min(start + length, self.x.size))

    def steps(self, rows: slice, onwards: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Gaps and A of the steps to the rows, or `onwards` from them."""
        gaps = self.gaps[rows.start + onwards : rows.stop + onwards]
        return gaps, self.process.transition(gaps)

    def prior(self) -> np.ndarray:
        """hᵀPh (n,)."""
        return np.einsum("na,na->n", self.h @ self.process.P, self.h)

    @single_blas_thread()
    def filter(self, v: np.ndarray, floor: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """g (n, S), s (n,) and the filtered covariances (n, S, S); None if a pivot is rounding error."""
        from credo.models.gaussian_process.solvers.state_space_filters import filter_variances

        n, size = self.h.shape
        gain, s, filtered = np.empty((n, size)), np.empty(n), np.empty((n, size, size))
        P, room = self.process.P.copy(), np.empty((size, size))
        for rows in self.blocks():
            gaps, A = self.steps(rows)
            Q = self.process.innovation(gaps)
            failed = filter_variances(
                A, Q, self.h[rows], v[rows], floor[rows], *self.bounds, P, room, filtered[rows], gain[rows], s[rows]
            )
            if failed >= 0:
                return None
        return gain, s, filtered


@dataclass(frozen=True, eq=False)
class StateSpaceFactor:
    """K_y of one kernel, rows and noise: its filter. Arrays of the notation are in the order of x."""

    kernel: Kernel
    X: np.ndarray
    noise: np.ndarray
    column: int
    white: bool
    rows: _Rows
    gain: np.ndarray
    s: np.ndarray
    filtered: np.ndarray
    certificate: Mapping[str, Any]

    @cached_property
    def log_determinant(self) -> float:
        """log |K_y|."""
        return float(np.log(self.s).sum())

    def solve(self, U: np.ndarray) -> np.ndarray:
        """K_y⁻¹ U, (n, q). Cost 4 n S² q."""
        return self._returned(self._means(U)[0])

    def inverse_diagonal(self) -> np.ndarray:
        """diag K_y⁻¹ (n,)."""
        return self._returned(self._variances[0])

    @single_blas_thread()
    def gradient(self, U: np.ndarray, copies: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """∂/∂θ (h,) and ∂/∂v (n,) of −½ Σ_q u_qᵀK_y⁻¹u_q − ½ copies log|K_y|. Cost n S³."""
        from credo.models.gaussian_process.solvers.state_space_filters import score_weights

        alpha, means, after = self._means(U)
        D, B = self._variances
        h, size, process = self.rows.h, self.rows.h.shape[1], self.rows.process
        r, N, G = np.zeros((U.shape[1], size)), np.zeros((size, size)), np.empty((size, size))
        by_noise = 0.5 * (np.square(alpha).sum(axis=1) - copies * D)
        noise = self._returned(by_noise)
        theta = self.kernel.diagonal_gradient(self.X, noise) if self.white else np.zeros(self.kernel.theta.size)
        for rows in self.rows.blocks(backwards=True):
            gaps, A = self.rows.steps(rows, onwards=True)
            W = Weights(np.empty(A.shape), np.empty(A.shape), np.empty(h[rows].shape))
            score_weights(
                A, h[rows], self.gain[rows], alpha[rows], means[rows], after[rows], self.filtered[rows], B[rows],
                D[rows], float(copies), r, N, G, W.A, W.Q, W.h,
            )  # fmt: skip
            if self.white:  # the diagonal that no state carries is k(x, x) − hᵀPh
                W.h[...] -= 2.0 * by_noise[rows, None] * (h[rows] @ process.P)
            theta += process.gradient(gaps, self.rows.x[rows], W)
        return theta, noise

    @single_blas_thread()
    def predict(self, X: np.ndarray, U: np.ndarray, joint: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """k(X, ·) K_y⁻¹ U (m, q), and the variances (m,) of f there, or all their covariances (m, m).

        Cost n S² q + m S³; all covariances n S³ + m² S² more.
        """
        X = np.asarray(X, dtype=np.float64)
        order = np.argsort(X[:, self.column], kind="stable")
        back = np.argsort(order)
        between = self._between(X[order, self.column], U)
        prior, mean, variance = (each[back] for each in moments(between, self.rows.process))
        white = self.kernel.diagonal(X) - prior if self.white else np.zeros(len(X))
        if not joint:
            return mean, np.maximum(variance, 0.0) + white
        whole = covariances(between, self.rows.process, self.rows.x, self.rows.h, self.gain)
        return mean, whole[np.ix_(back, back)] + np.diag(white)

    def _returned(self, values: np.ndarray) -> np.ndarray:
        """Values in the order of x as values in the order of X."""
        own = np.empty(values.shape)
        own[self.rows.order] = values
        return own

    @single_blas_thread()
    def _means(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """α (n, q), the filtered means and Aᵀr after each row (n, q, S), of right sides U in the order of X."""
        from credo.models.gaussian_process.solvers.state_space_filters import filter_means, smooth_means

        h, (n, size), q = self.rows.h, self.rows.h.shape, U.shape[1]
        u = np.ascontiguousarray(U[self.rows.order], dtype=np.float64)
        e, alpha = np.empty((n, q)), np.empty((n, q))
        means, after = np.empty((n, q, size)), np.empty((n, q, size))
        carried, room = np.zeros((q, size)), np.empty(size)
        for rows in self.rows.blocks():
            _, A = self.rows.steps(rows)
            filter_means(A, h[rows], self.gain[rows], u[rows], *self.rows.bounds, carried, room, e[rows], means[rows])
        carried[:] = 0.0
        for rows in self.rows.blocks(backwards=True):
            _, A = self.rows.steps(rows, onwards=True)
            smooth_means(
                A, h[rows], self.gain[rows], self.s[rows], e[rows], *self.rows.bounds, carried, room, alpha[rows],
                after[rows],
            )  # fmt: skip
        return alpha, means, after

    @cached_property
    @single_blas_thread()
    def _variances(self) -> tuple[np.ndarray, np.ndarray]:
        """D (n,) and B (n, S, S)."""
        from credo.models.gaussian_process.solvers.state_space_filters import smooth_variances

        h, (n, size) = self.rows.h, self.rows.h.shape
        D, B = np.empty(n), np.empty((n, size, size))
        N, X, room = np.zeros((size, size)), np.empty((size, size)), np.empty(size)
        for rows in self.rows.blocks(backwards=True):
            _, A = self.rows.steps(rows, onwards=True)
            smooth_variances(A, h[rows], self.gain[rows], self.s[rows], *self.rows.bounds, N, X, room, D[rows], B[rows])
        return D, B

    def _between(self, t: np.ndarray, U: np.ndarray) -> Between:
        """What the rows say at places t (m,) in order, from before and from after."""
        alpha, means, after = self._means(U)
        D, B = self._variances
        process, h, x = self.rows.process, self.rows.h, self.rows.x
        i = np.searchsorted(x, t, side="right") - 1  # the last row at or before t; −1 where there is none
        first, last = i < 0, i == x.size - 1
        j = np.where(last, 0, i + 1)
        w = np.einsum("nab,nb->na", B[j], self.gain[j])
        N = B[j] - h[j][:, :, None] * w[:, None, :] - w[:, :, None] * h[j][:, None, :]
        N += D[j][:, None, None] * h[j][:, :, None] * h[j][:, None, :]
        r = after[j] + alpha[j][:, :, None] * h[j][:, None, :]
        N[last], r[last] = 0.0, 0.0
        k = np.maximum(i, 0)
        P, m = self.filtered[k], means[k]
        P[first], m[first] = process.P, 0.0
        with np.errstate(over="ignore"):
            gap_before, gap_after = np.where(first, 0.0, t - x[k]), np.where(last, 0.0, x[j] - t)
        return Between(t, i, process.emission(t), gap_before, gap_after, P, m, N, r)
