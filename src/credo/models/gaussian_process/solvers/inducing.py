"""`Inducing`: a Gaussian process summarised by its values at m places; the collapsed variational bound, O(n m²).

Notation
    Z (m, d) places; L Lᵀ = K(Z, Z); T = K(X, Z) L⁻ᵀ (n, m); D = diag(v); B = I + TᵀD⁻¹T = R Rᵀ
    Q = T Tᵀ stands for K(X, X); t = Σ_i (k(x_i, x_i) − Q_ii)/v_i, what Q leaves out, in units of the noise

    log p(y) ≥ −½ yᵀ(Q + D)⁻¹y − ½ (log|Q + D| + t) − ½ n log 2π

T is made in blocks of rows and never kept. `White` parts count as noise, so that rows at the places lose nothing.

References: Titsias (2009), AISTATS; Burt, Rasmussen and van der Wilk (2020), JMLR 21 (the greedy choice, the gap).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.kernels import Kernel
from credo.models.gaussian_process.solvers.memory import require
from credo.models.gaussian_process.solvers.pivots import pivots
from credo.models.gaussian_process.solvers.white import white_diagonal, white_gradient
from credo.numerics.cholesky import cholesky, log_determinant, solve_lower
from credo.saving.registry import register

__all__ = ["Inducing", "InducingFactor"]

# Rows that compete to be places: with 20 a place, the greedy choice is as good as among all (within 1 % of t).
CANDIDATES = 10_000
# A place that the others know to this share of its variance adds nothing that rounding leaves.
KNOWN = 1e-10
# Entries of T in a block: 4 MB stay in the last-level cache.
ENTRIES = 2**19
# With more than a tenth of the noise left out, the bound prefers to raise the noise instead of fitting.
TOO_MUCH = 0.1
# One core: products and triangular solves at 20 Gflop/s, a kernel entry or a gradient of one 15 ns.
FLOPS, ENTRY = 2e10, 1.5e-8


@register
@dataclass(frozen=True, eq=False)
class Inducing:
    """Solve with Q + diag(v), Q the covariance that passes through m places: 8 n m² flops, 8 (n + 6 m²) bytes.

    n_inducing : m ≥ 1; 512 by default, where n m² of 100,000 rows is some seconds a gradient
    locations : (m, d) places; None picks rows, each where f is least known given those before (greedy conditional
        variance), among at most 10,000 spread over X. The choice follows the kernel: learn θ with
        `at(kernel, X)`, whose places stay, and choose them anew when it has converged

    Noise must be > 0. How much was left out is in the certificate, and `advice` says when that is too much.

    >>> from credo.kernels import RBF
    >>> X = np.linspace(0.0, 10.0, 200)[:, None]
    >>> factor = Inducing(20)(RBF(1.0), X, np.full(200, 0.1))
    >>> factor.certificate["left_out"] < 1e-3
    True
    """

    n_inducing: int = 512
    locations: Any = None

    def __post_init__(self) -> None:
        if not (isinstance(self.n_inducing, int | np.integer) and self.n_inducing >= 1):
            raise ParameterError("Inducing", "n_inducing", "an integer ≥ 1", self.n_inducing)
        if self.locations is not None:
            Z = np.array(self.locations, dtype=np.float64)
            if Z.ndim != 2 or not len(Z) or not np.all(np.isfinite(Z)):
                raise ParameterError("Inducing", "locations", "finite, of shape (m, d), m ≥ 1", self.locations)
            object.__setattr__(self, "locations", Z)
            object.__setattr__(self, "n_inducing", len(Z))

    def at(self, kernel: Kernel, X: np.ndarray) -> Inducing:
        """The same with its places kept, whatever kernel it is called with: the greedy choice for this one, if none are
        stated. Cost 10,000 m²."""
        if self.locations is not None:
            return self
        step = max(1, -(-len(X) // CANDIDATES))
        rows = X[np.lexsort(X.T[::-1])][::step] if step > 1 else X
        return replace(self, locations=rows[pivots(kernel, rows, self.n_inducing, KNOWN)[0]])

    def __call__(self, kernel: Kernel, X: np.ndarray, noise: np.ndarray) -> InducingFactor:
        X, noise = np.asarray(X, dtype=np.float64), np.asarray(noise, dtype=np.float64)
        if X.ndim != 2 or noise.shape != X.shape[:1] or not len(X):
            raise DataError(f"Inducing: X must be (n, d) and noise (n,), n ≥ 1; got {X.shape} and {noise.shape}.")
        require("Inducing", len(X), self.cost(kernel, *X.shape)[1], "State a smaller n_inducing.")
        v = noise + white_diagonal(kernel, X)
        if not (np.all(np.isfinite(X)) and np.all(v > 0.0) and np.all(np.isfinite(v))):
            raise ParameterError(
                "Inducing", "noise", "finite and > 0 in every row", float(np.min(v)),
                "Without noise use solvers.Exact, solvers.Vecchia or, in one column, solvers.StateSpace.",
            )  # fmt: skip
        Z = self.at(kernel, X).locations
        if Z.shape[1] != X.shape[1]:
            raise ParameterError("Inducing", "locations", f"of {X.shape[1]} columns", Z.shape)
        lower, jitter = cholesky(kernel(Z, Z), "The covariance of the inducing points")
        return _factor(kernel, X, noise, v, Z, lower, jitter)

    def cost(self, kernel: Kernel, n: int, d: int) -> tuple[float, float]:
        """Predicted seconds of one evidence and gradient on one core, and bytes at the peak."""
        m = min(self.n_inducing, n)
        return (8.0 * n * m * m + 4.0 * m**3) / FLOPS + 4.0 * ENTRY * n * m, 8.0 * (
            6.0 * m * m + 6.0 * n + 6.0 * ENTRIES
        )


def _blocks(n: int, m: int) -> Iterator[slice]:
    length = max(16, ENTRIES // m)
    return (slice(start, min(start + length, n)) for start in range(0, n, length))


def _factor(
    kernel: Kernel, X: np.ndarray, noise: np.ndarray, v: np.ndarray, Z: np.ndarray, lower: np.ndarray, jitter: float
) -> InducingFactor:
    m = len(Z)
    B, carried = np.eye(m), np.empty(len(X))
    for rows in _blocks(len(X), m):
        T = solve_lower(lower, kernel(Z, X[rows]))
        carried[rows] = np.einsum("mb,mb->b", T, T)
        T /= np.sqrt(v[rows])
        B += T @ T.T
    # Beyond k(x, x) − Q_ii ≥ 0 lies rounding, of the size of the jitter.
    white = v - noise
    missing = np.maximum(kernel.diagonal(X) - white - carried, 0.0)
    root = cholesky(B, "The information of the inducing points").lower
    left_out = float(np.mean(missing / v))
    certificate = {"solver": "inducing points", "n_inducing": m, "jitter": jitter, "left_out": left_out}
    return InducingFactor(kernel, X, noise, v, Z, lower, root, missing, jitter, certificate)


@dataclass(frozen=True, eq=False)
class InducingFactor:
    """Q + D of one kernel, rows and noise. `left_out` in the certificate is t/n."""

    kernel: Kernel
    X: np.ndarray
    noise: np.ndarray
    v: np.ndarray
    Z: np.ndarray
    lower: np.ndarray
    root: np.ndarray
    missing: np.ndarray  # k(x, x) − Q_ii (n,)
    jitter: float
    certificate: Mapping[str, Any]

    @cached_property
    def log_determinant(self) -> float:
        """log |Q + D| + t."""
        return log_determinant(self.root) + float(np.log(self.v).sum() + (self.missing / self.v).sum())

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do if the places are too few."""
        share = self.certificate["left_out"]
        if share <= TOO_MUCH:
            return ()
        return (
            f"{len(self.Z)} inducing points leave out {share:.2g} times the noise variance a row, and the noise is "
            "overstated to match: raise n_inducing, or use solvers.Vecchia.",
        )

    def solve(self, U: np.ndarray) -> np.ndarray:
        """(Q + D)⁻¹ U, (n, q). Cost 2 n m q beside K(X, Z) twice."""
        scaled = U / self.v[:, None]
        seen = self._backward(self._within(scaled))
        return scaled - np.concatenate([self.kernel(self.X[r], self.Z) @ seen for r in self._rows]) / self.v[:, None]

    def gradient(self, U: np.ndarray, copies: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """∂/∂θ (h,) and ∂/∂v (n,) of −½ Σ_q u_qᵀ(Q + D)⁻¹u_q − ½ copies (log|Q + D| + t). Cost 6 n m²."""
        theta, by_noise, _ = self._gradients(U, copies, places=False)
        return theta, by_noise

    def location_gradient(self, U: np.ndarray, copies: float = 1.0) -> np.ndarray:
        """∂/∂Z (m, d) of the same."""
        return self._gradients(U, copies, places=True)[2]

    def inverse_diagonal(self) -> np.ndarray:
        """diag (Q + D)⁻¹ (n,)."""
        squares = [np.square(solve_lower(self.root, self._T(rows))).sum(axis=0) for rows in self._rows]
        return (1.0 - np.concatenate(squares) / self.v) / self.v

    def predict(self, X: np.ndarray, U: np.ndarray, joint: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """q(X, ·) (Q + D)⁻¹ U (m, q), and the variances (m,) of f there, or all their covariances (m, m)."""
        X = np.asarray(X, dtype=np.float64)
        seen = self._backward(self._within(U / self.v[:, None]))
        if joint:
            cross = self.kernel(self.Z, X)
            T = solve_lower(self.lower, cross)
            S = solve_lower(self.root, T)
            return cross.T @ seen, self.kernel(X) - T.T @ T + S.T @ S
        mean, variance = np.empty((len(X), U.shape[1])), np.empty(len(X))
        for rows in _blocks(len(X), len(self.Z)):
            cross = self.kernel(self.Z, X[rows])
            T = solve_lower(self.lower, cross)
            S = solve_lower(self.root, T)
            mean[rows] = cross.T @ seen
            known = np.einsum("mb,mb->b", T, T) - np.einsum("mb,mb->b", S, S)
            variance[rows] = np.maximum(self.kernel.diagonal(X[rows]) - known, 0.0)
        return mean, variance

    def gap(self, U: np.ndarray) -> float:
        """At most how far the bound lies below log p(U): 0 when no more places are needed. Cost n m².

        log p ≤ −½ uᵀ(Q + D + s I)⁻¹u − ½ log|Q + D|, s = Σ_i (k(x_i, x_i) − Q_ii) ≥ ‖K − Q‖.
        """
        slack = float(self.missing.sum())
        wider = _factor(self.kernel, self.X, self.noise + slack, self.v + slack, self.Z, self.lower, self.jitter)
        nearer = float(np.vdot(U, self.solve(U) - wider.solve(U)))
        return 0.5 * (nearer + U.shape[1] * float((self.missing / self.v).sum()))

    @property
    def _rows(self) -> Iterator[slice]:
        return _blocks(len(self.X), len(self.Z))

    def _T(self, rows: slice) -> np.ndarray:
        """Tᵀ of some rows (m, b)."""
        return solve_lower(self.lower, self.kernel(self.Z, self.X[rows]))

    def _within(self, scaled: np.ndarray) -> np.ndarray:
        """B⁻¹ Tᵀ scaled (m, q)."""
        total = np.sum([self.kernel(self.Z, self.X[rows]) @ scaled[rows] for rows in self._rows], axis=0)
        return solve_lower(self.root, solve_lower(self.root, solve_lower(self.lower, total)), transpose=True)

    def _backward(self, values: np.ndarray) -> np.ndarray:
        """L⁻ᵀ values."""
        return solve_lower(self.lower, values, transpose=True)

    def _gradients(self, U: np.ndarray, copies: float, places: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """With a = Tᵀα (m, q), weights of K(X, Z): Σ α aᵀL⁻¹ + copies D⁻¹T(I − B⁻¹)L⁻¹; of K(Z, Z):
        −½ L⁻ᵀ(Σ aaᵀ + copies (B − 2I + B⁻¹))L⁻¹; of k(x, x): −½ copies/v."""
        kernel, X, Z, v = self.kernel, self.X, self.Z, self.v
        alpha = self.solve(U)
        a = self._within_all(alpha)
        theta, by_place = np.zeros(kernel.theta.size), np.zeros(Z.shape)
        by_noise = 0.5 * (np.square(alpha).sum(axis=1) + copies * self.missing / np.square(v))
        slope = self._backward(a)
        for rows in self._rows:
            T = self._T(rows)
            S = solve_lower(self.root, T)
            by_noise[rows] -= 0.5 * copies * (1.0 - np.einsum("mb,mb->b", S, S) / v[rows]) / v[rows]
            T -= solve_lower(self.root, S, transpose=True)
            T *= copies / v[rows]
            W = self._backward(T)
            W += slope @ alpha[rows].T
            theta += kernel.gradient(Z, X[rows], W)
            if places:
                by_place += kernel.input_gradient(Z, X[rows], W)
        W = self._among(a, copies)
        theta += kernel.gradient(Z, Z, W)
        if places:
            by_place += 2.0 * kernel.input_gradient(Z, Z, W)
        # v = noise + white: the trace term's k(x, x) is without the white part, which has the slope of the noise.
        theta += kernel.diagonal_gradient(X, -0.5 * copies / v) + white_gradient(kernel, X, by_noise + 0.5 * copies / v)
        return theta, by_noise, by_place

    def _within_all(self, alpha: np.ndarray) -> np.ndarray:
        """Tᵀα (m, q)."""
        total = np.sum([self.kernel(self.Z, self.X[rows]) @ alpha[rows] for rows in self._rows], axis=0)
        return solve_lower(self.lower, total)

    def _among(self, a: np.ndarray, copies: float) -> np.ndarray:
        """The weights of K(Z, Z), with those of the jitter, which is a share of its mean diagonal."""
        m = len(self.Z)
        inverse = solve_lower(self.root, np.eye(m))
        inner = a @ a.T + copies * (self.root @ self.root.T - 2.0 * np.eye(m) + inverse.T @ inverse)
        W = -0.5 * self._backward(self._backward(inner).T)
        share = self.jitter / float(np.square(self.lower).sum() / m) if self.jitter else 0.0
        W[np.diag_indices(m)] += share * np.trace(W) / m
        return W
