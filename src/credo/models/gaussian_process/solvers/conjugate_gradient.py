"""`ConjugateGradient`: solve with K_y by products K_y V alone, K made a block of rows at a time.

Notation
    D = diag(v); M = G Gᵀ + D, G (n, r) pivoted Cholesky: the preconditioner; E = I + GᵀD⁻¹G = R Rᵀ
    z_j ~ N(0, M), j = 1 … J, drawn once from a fixed seed; β_j = M⁻¹z_j, γ_j = K_y⁻¹z_j, so that E γβᵀ = K_y⁻¹

    log|K_y| = log|M| + n E[e₁ᵀ log(T_j) e₁], T_j the Lanczos matrix of M^−½ K_y M^−½ that z_j's iterations make
    K_y⁻¹    = M⁻¹ + E[(γ − β)βᵀ]: only what M misses is estimated, in gradients and on the diagonal

References: Gardner, Pleiss, Weinberger, Bindel and Wilson (2018), NeurIPS; Ubaru, Chen and Saad (2017), SIMAX 38.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from credo.errors import ConvergenceWarning, DataError, NotPositiveDefiniteError, ParameterError, warn
from credo.kernels import Kernel
from credo.models.gaussian_process.solvers.memory import require
from credo.models.gaussian_process.solvers.pivots import pivots
from credo.models.gaussian_process.solvers.white import white_diagonal, white_gradient
from credo.numerics.cholesky import cholesky, log_determinant, solve_lower
from credo.saving.registry import register

__all__ = ["ConjugateGradient", "ConjugateGradientFactor"]

# Entries of K in a block: 8 MB.
ENTRIES = 2**20
# Entries of K, up to the diagonal, that are kept rather than made in each iteration: 256 MB, 8,192 rows.
KEPT = 2**25
# The preconditioner's noise where there is none: a share of the mean diagonal that keeps M invertible.
LEAST = 1e-8
# One core: a kernel entry or gradient 15 ns, products at 5 Gflop/s in thin blocks; iterations of a usual problem.
FLOPS, ENTRY, USUAL = 5e9, 1.5e-8, 40


@register
@dataclass(frozen=True)
class ConjugateGradient:
    """Solve with K_y by preconditioned conjugate gradients: n² an iteration, memory of 8 n (rank + a few) bytes.

    Beyond 8,192 rows (256 MB) K is made anew in each iteration.

    tol : ‖K_y a − u‖ ≤ tol ‖u‖ where an iteration stops; 1e-6 leaves an evidence good to about its square
    preconditioner_rank : r ≥ 0; 100 costs less than one iteration and cuts their number by the leading 100 directions
    n_probes : random vectors of the log-determinant, whose standard error is in the certificate; ≥ 2
    max_iter : iterations; one that stops here warns and says its residual
    seed : of the probes; the same seed is the same objective, so that a search over θ sees no noise

    The certificate holds the largest relative residual seen. Solutions and means are good to the residual; the
    log-determinant, gradients in θ and in the noise, and `inverse_diagonal` are estimates.

    >>> from credo.kernels import RBF
    >>> X = np.linspace(0.0, 5.0, 40)[:, None]
    >>> factor = ConjugateGradient(tol=1e-10)(RBF(1.0), X, np.full(40, 0.1))
    >>> U = np.sin(X)
    >>> bool(np.abs((RBF(1.0)(X) + 0.1 * np.eye(40)) @ factor.solve(U) - U).max() < 1e-8)
    True
    """

    tol: float = 1e-6
    preconditioner_rank: int = 100
    n_probes: int = 16
    max_iter: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 < self.tol < 1.0:
            raise ParameterError("ConjugateGradient", "tol", "between 0 and 1", self.tol)
        for name, least in (("preconditioner_rank", 0), ("n_probes", 2), ("max_iter", 1), ("seed", 0)):
            value = getattr(self, name)
            if not (isinstance(value, int | np.integer) and value >= least):
                raise ParameterError("ConjugateGradient", name, f"an integer ≥ {least}", value)

    def __call__(self, kernel: Kernel, X: np.ndarray, noise: np.ndarray) -> ConjugateGradientFactor:
        X, noise = np.asarray(X, dtype=np.float64), np.asarray(noise, dtype=np.float64)
        if X.ndim != 2 or noise.shape != X.shape[:1] or not len(X):
            raise DataError(
                f"ConjugateGradient: X must be (n, d) and noise (n,), n ≥ 1; got {X.shape} and {noise.shape}."
            )
        require("ConjugateGradient", len(X), self.cost(kernel, *X.shape)[1], "State a smaller preconditioner_rank.")
        v = noise + white_diagonal(kernel, X)
        if not (np.all(np.isfinite(X)) and np.all(v >= 0.0) and np.all(np.isfinite(v))):
            raise DataError("ConjugateGradient: X and noise must be finite, and noise ≥ 0.")
        if self.preconditioner_rank:
            G = pivots(kernel, X, self.preconditioner_rank)[1]
        else:
            G = np.zeros((len(X), 1))
        level = np.maximum(v, LEAST * float(np.mean(kernel.diagonal(X))))
        root = cholesky(np.eye(G.shape[1]) + G.T @ (G / level[:, None]), "The preconditioner").lower
        preconditioner = Preconditioner(G, level, root)
        certificate: dict[str, Any] = {"solver": "conjugate gradients", "rank": G.shape[1], "residual": 0.0}
        return ConjugateGradientFactor(self, kernel, X, noise, v, preconditioner, certificate)

    def cost(self, kernel: Kernel, n: int, d: int) -> tuple[float, float]:
        """Predicted seconds of one evidence and gradient on one core, and bytes at the peak."""
        vectors = self.n_probes + 1
        kept = 0.5 * n * n if n * n <= 2 * KEPT else 0.0
        made = 1.0 if kept else USUAL
        seconds = n * n * (0.5 * made * ENTRY + 2.0 * USUAL * vectors / FLOPS + 2.0 * ENTRY)
        return seconds, 8.0 * (kept + n * (self.preconditioner_rank + 8.0 * vectors) + 4.0 * ENTRIES)


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """M = G Gᵀ + diag(level)."""

    G: np.ndarray
    level: np.ndarray
    root: np.ndarray

    @cached_property
    def low(self) -> np.ndarray:
        """H (n, r) with M⁻¹ = diag(1/level) − H Hᵀ."""
        return solve_lower(self.root, (self.G / self.level[:, None]).T).T

    def solve(self, V: np.ndarray) -> np.ndarray:
        return V / self.level[:, None] - self.low @ (self.low.T @ V)

    def log_determinant(self) -> float:
        return log_determinant(self.root) + float(np.log(self.level).sum())

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """(n, size) draws of N(0, M)."""
        n, r = self.G.shape
        return self.G @ rng.standard_normal((r, size)) + np.sqrt(self.level)[:, None] * rng.standard_normal((n, size))


@dataclass(frozen=True, eq=False)
class ConjugateGradientFactor:
    """K_y of one kernel, rows and noise, by its products. `certificate` gains as iterations are made."""

    options: ConjugateGradient
    kernel: Kernel
    X: np.ndarray
    noise: np.ndarray
    v: np.ndarray
    preconditioner: Preconditioner
    certificate: dict[str, Any]

    @cached_property
    def log_determinant(self) -> float:
        """log |K_y|, estimated; its standard error is `certificate["log_determinant_se"]`."""
        _, _, logs = self._probes
        n = len(self.X)
        error = n * float(logs.std(ddof=1)) / logs.size**0.5
        self.certificate["log_determinant_se"] = error
        return self.preconditioner.log_determinant() + n * float(logs.mean())

    def solve(self, U: np.ndarray) -> np.ndarray:
        """K_y⁻¹ U, (n, q), to the stated residual."""
        return self._iterate(np.asarray(U, dtype=np.float64))[0]

    def gradient(self, U: np.ndarray, copies: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """∂/∂θ (h,) and ∂/∂v (n,) of −½ Σ_q u_qᵀK_y⁻¹u_q − ½ copies log|K_y|: the second part is estimated."""
        alpha = self.solve(U)
        beta, missed, _ = self._probes
        low, level = self.preconditioner.low, self.preconditioner.level
        share = copies / beta.shape[1]
        left = np.hstack([alpha, copies * low, -0.5 * share * missed, -0.5 * share * beta])
        right = np.hstack([alpha, low, beta, missed])
        theta = np.zeros(self.kernel.theta.size)
        by_noise = 0.5 * (np.square(alpha).sum(axis=1) - copies * self.inverse_diagonal())
        for rows in self._blocks():
            W = (0.5 * left[rows]) @ right.T
            at = np.arange(rows.start, rows.stop)
            W[at - rows.start, at] -= 0.5 * copies / level[rows]
            theta += self.kernel.gradient(self.X[rows], self.X, W)
        return theta + white_gradient(self.kernel, self.X, by_noise), by_noise

    def predict(self, X: np.ndarray, U: np.ndarray, joint: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """k(X, ·) K_y⁻¹ U (m, q), and the variances (m,) of f there, or all their covariances (m, m)."""
        X = np.asarray(X, dtype=np.float64)
        alpha = self.solve(U)
        mean = np.concatenate([self.kernel(X[rows], self.X) @ alpha for rows in self._few(len(X))])
        if joint:
            cross = self.kernel(self.X, X)
            whole = cross.T @ self.solve(cross)
            return mean, self.kernel(X) - 0.5 * (whole + whole.T)
        known = []
        for rows in self._few(len(X)):
            cross = self.kernel(self.X, X[rows])
            known.append(np.einsum("nb,nb->b", cross, self.solve(cross)))
        return mean, np.maximum(self.kernel.diagonal(X) - np.concatenate(known), 0.0)

    def inverse_diagonal(self) -> np.ndarray:
        """diag K_y⁻¹ (n,), estimated, and at least the 1/(k(x, x) + v) that it must exceed."""
        beta, missed, _ = self._probes
        low, level = self.preconditioner.low, self.preconditioner.level
        estimate = 1.0 / level - np.einsum("nr,nr->n", low, low) + np.einsum("nj,nj->n", missed, beta) / beta.shape[1]
        return np.maximum(estimate, 1.0 / (self.kernel.diagonal(self.X) + self.noise))

    def _blocks(self) -> Iterator[slice]:
        return self._few(len(self.X))

    def _few(self, m: int) -> Iterator[slice]:
        length = max(1, ENTRIES // len(self.X))
        return (slice(start, min(start + length, m)) for start in range(0, m, length))

    def _lower(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows of K, up to the diagonal."""
        return ((rows, self.kernel(self.X[rows], self.X[: rows.stop])) for rows in self._blocks())

    @cached_property
    def _kept(self) -> tuple[tuple[slice, np.ndarray], ...]:
        """All of them where they are few; none where they are to be made anew."""
        return tuple(self._lower()) if len(self.X) ** 2 <= 2 * KEPT else ()

    def _product(self, V: np.ndarray) -> np.ndarray:
        """K_y V: each entry below the diagonal serves twice."""
        total = self.v[:, None] * V
        for rows, below in self._kept or self._lower():
            total[rows] += below @ V[: rows.stop]
            total[: rows.start] += below[:, : rows.start].T @ V[rows]
        return total

    @cached_property
    def _probes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """β, γ − β (n, J) and e₁ᵀ log(T_j) e₁ (J,)."""
        z = self.preconditioner.sample(self.options.n_probes, np.random.default_rng(self.options.seed))
        gamma, steps = self._iterate(z)
        beta = self.preconditioner.solve(z)
        return beta, gamma - beta, np.array([_first_log(*each) for each in steps])

    def _iterate(self, U: np.ndarray) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """K_y⁻¹ U, and for each column the step lengths and ratios of its iterations.

        Columns that have arrived leave the products.
        """
        options, solve = self.options, self.preconditioner.solve
        answer, steps = np.zeros(U.shape), [([], []) for _ in range(U.shape[1])]
        size = np.linalg.norm(U, axis=0)
        live = np.flatnonzero(size > 0.0)
        r = U[:, live] / size[live]
        s = solve(r)
        p, rho = s.copy(), np.einsum("nq,nq->q", r, s)
        residual = np.zeros(U.shape[1])
        residual[live] = 1.0
        for _ in range(options.max_iter):
            if not live.size:
                break
            Kp = self._product(p)
            curvature = np.einsum("nq,nq->q", p, Kp)
            if not np.all(curvature > 0.0):
                raise NotPositiveDefiniteError(
                    "ConjugateGradient: K + noise is not positive definite to working precision.",
                    value=float(curvature.min()),
                    remedy="State a larger noise; with noise=0, rows that coincide must agree.",
                )
            step = rho / curvature
            answer[:, live] += step * p
            r -= step * Kp
            s = solve(r)
            ahead = np.einsum("nq,nq->q", r, s)
            ratio, rho = ahead / rho, ahead
            p *= ratio
            p += s
            residual[live] = np.linalg.norm(r, axis=0)
            for q, a, b in zip(live, step, ratio, strict=True):
                steps[q][0].append(a)
                steps[q][1].append(b)
            on = residual[live] > options.tol
            live, r, p, rho = live[on], r[:, on], p[:, on], rho[on]
        self._report(residual, max((len(a) for a, _ in steps), default=0))
        return answer * size, [(np.array(a), np.array(b)) for a, b in steps]

    def _report(self, residual: np.ndarray, iterations: int) -> None:
        worst = float(residual.max(initial=0.0))
        said = self.certificate
        said["residual"] = max(said["residual"], worst)
        said["iterations"] = max(said.get("iterations", 0), iterations)
        if worst > self.options.tol:
            warn(
                f"ConjugateGradient stopped after {iterations} iterations at a relative residual of {worst:.2g} "
                f"(tol={self.options.tol:.2g}). Raise max_iter or preconditioner_rank, or state a larger noise.",
                ConvergenceWarning,
            )


def _first_log(step: np.ndarray, ratio: np.ndarray) -> float:
    """e₁ᵀ log(T) e₁ of the Lanczos matrix that conjugate gradients' step lengths and ratios give."""
    if not step.size:
        return 0.0
    diagonal = 1.0 / step
    diagonal[1:] += ratio[:-1] / step[:-1]
    beside = np.sqrt(ratio[:-1]) / step[:-1]
    values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside)
    return float(np.square(vectors[0]) @ np.log(np.maximum(values, np.finfo(float).tiny)))
