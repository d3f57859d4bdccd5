"""One prior for all users' utilities, and what becomes of it given what each of them chose.

Notation
    m items that occur, U blocks; block u's utility g_u = f + d_u, f ~ N(0, K), d_u ~ N(0, ρ_u K); ρ_0 = 0, nobody's own
    C C' = K; g_u = C y_u, y_u = z + √ρ_u z_u with z, z_u ~ N(0, I)
    M (U, m, m) precisions and b (U, m) that the outcomes add: exp(b_u'g_u − ½ g_u'M_u g_u)

The users' deviations are tied by f alone, so that they are integrated out one user at a time:

    N_u = C'M_u C,  D_u = I + ρ_u N_u,  Ñ_u = N_u D_u⁻¹,  H = I + Σ Ñ_u
    ½ log |I + 𝒦 M| = ½ Σ log |D_u| + ½ log |H|
    E z = H⁻¹ Σ D_u⁻¹ C'b_u,   y_u | z ~ N(D_u⁻¹ (z + ρ_u C'b_u), ρ_u D_u⁻¹)

Cost (U + 1) m³, where the joint covariance of all users' utilities would take (U m)³.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from credo.numerics.cholesky import cholesky, log_determinant

__all__ = ["Arrow", "SharedPrior"]

_LAPACK: Any = scipy.linalg.lapack  # compiled: no type checker sees into it


@dataclass(frozen=True, eq=False)
class SharedPrior:
    """K (m, m) and ρ (U,)."""

    covariance: np.ndarray
    rho: np.ndarray

    @cached_property
    def root(self) -> np.ndarray:
        """C, with jitter where items coincide."""
        return cholesky(self.covariance, "the prior covariance of the items' utilities").lower

    def times(self, alpha: np.ndarray) -> np.ndarray:
        """𝒦 α (U, m): K (Σ α_v + ρ_u α_u)."""
        return (alpha.sum(axis=0) + self.rho[:, None] * alpha) @ self.root @ self.root.T

    def given(self, precision: np.ndarray) -> Arrow:
        return Arrow(self, precision)


class Arrow:
    """`SharedPrior` given precisions M (U, m, m), each positive semi-definite."""

    def __init__(self, prior: SharedPrior, precision: np.ndarray) -> None:
        root, rho = prior.root, prior.rho
        self.prior, self.precision = prior, precision
        said = precision.any(axis=(1, 2))  # often nobody in particular said anything
        whitened = np.zeros_like(precision)
        whitened[said] = root.T @ precision[said] @ root
        eye = np.eye(len(root))
        self.own = rho > 0.0
        self.inner = np.broadcast_to(eye, precision.shape).copy()  # D⁻¹
        self._inner_lower: dict[int, np.ndarray] = {}  # of D, by block
        h, log_inner = eye + whitened[~self.own].sum(axis=0), 0.0
        for u in np.flatnonzero(self.own & said).tolist():
            d = eye + rho[u] * whitened[u]
            lower = self._inner_lower[u] = cholesky(0.5 * (d + d.T), "the precision of a user's own utility").lower
            log_inner += log_determinant(lower)
            inverse, _ = _LAPACK.dpotri(lower, lower=1)  # info ≠ 0 only for a zero on the diagonal
            self.inner[u] = np.tril(inverse) + np.tril(inverse, -1).T
            h += whitened[u] @ self.inner[u]
        self.lower = cholesky(0.5 * (h + h.T), "the precision of the shared utility").lower
        self.half_log_determinant = 0.5 * (log_inner + log_determinant(self.lower))

    @cached_property
    def inner_root(self) -> np.ndarray:
        """A root of each D⁻¹ that is a user's, (U, m, m); zero of the others."""
        result = np.zeros_like(self.inner)
        result[self.own] = np.eye(len(self.lower))
        for u, lower in self._inner_lower.items():
            result[u] = _LAPACK.dtrtri(lower, lower=1)[0].T
        return result

    @cached_property
    def effective(self) -> np.ndarray:
        """M̃_u = M_u − ρ_u M_u C D_u⁻¹ C'M_u (U, m, m): what user u says of f, the deviation integrated out."""
        result = self.precision.copy()
        if self.own.any():
            half = self.precision[self.own] @ self.prior.root @ self.inner_root[self.own]
            result[self.own] -= self.prior.rho[self.own, None, None] * (half @ half.transpose(0, 2, 1))
        return result

    def spread(self, b: np.ndarray) -> np.ndarray:
        """Σ b (U, m): the posterior means of g, b being the outcomes' pull."""
        return self._mean(b) @ self.prior.root.T

    def _mean(self, b: np.ndarray) -> np.ndarray:
        """y (U, m)."""
        pulled = b @ self.prior.root
        z = scipy.linalg.cho_solve((self.lower, True), np.einsum("uij,uj->i", self.inner, pulled))
        return np.einsum("uij,uj->ui", self.inner, z + self.prior.rho[:, None] * pulled)

    @cached_property
    def marginals(self) -> np.ndarray:
        """Posterior covariances of each g_u, (U, m, m): C `whitened` C', all at once."""
        half = scipy.linalg.solve_triangular(self.lower, np.eye(len(self.lower)), lower=True)
        root = self.prior.root
        shared = (half @ self.inner if self.own.any() else half) @ root.T
        shared = np.broadcast_to(shared, self.precision.shape)
        result = shared.transpose(0, 2, 1) @ shared
        if self.own.any():
            deviation = root @ self.inner_root[self.own]
            result[self.own] += self.prior.rho[self.own, None, None] * (deviation @ deviation.transpose(0, 2, 1))
        return result

    def draw(self, b: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draws of g (s, U, m) given pulls b (s, U, m), one each."""
        root, rho = self.prior.root, self.prior.rho[:, None]
        pulled = b @ root
        z = scipy.linalg.cho_solve((self.lower, True), np.einsum("uij,suj->is", self.inner, pulled))
        z = z + scipy.linalg.solve_triangular(self.lower, rng.standard_normal(z.shape), lower=True, trans=1)
        y = np.einsum("uij,suj->sui", self.inner, z.T[:, None, :] + rho * pulled)
        if self.own.any():
            y += np.sqrt(rho) * np.einsum("uij,suj->sui", self.inner_root, rng.standard_normal(y.shape))
        return y @ root.T

    def whitened(self, block: int) -> np.ndarray:
        """Posterior covariance (m, m) of y_u: at any item g_u = a'y_u + rest, with a = C⁻¹ k(·, x) and what is left.

        No difference of large numbers, however vague the prior.
        """
        inner = self.inner[block]
        half = scipy.linalg.solve_triangular(self.lower, inner, lower=True)
        return half.T @ half + self.prior.rho[block] * inner

    def kernel_weight(self, alpha: np.ndarray) -> np.ndarray:
        """∂/∂K of ½ α'𝒦 α − ½ log |I + 𝒦 M| at fixed M and α = 𝒦⁻¹ g: (m, m), to contract with ∂K/∂θ."""
        rho = self.prior.rho
        total = self.effective.sum(axis=0)
        first = scipy.linalg.solve_triangular(self.lower, self.prior.root.T @ total, lower=True)
        reducer = total - first.T @ first + np.einsum("u,uij->ij", rho, self._reducers())
        pull = alpha.sum(axis=0)
        return 0.5 * (np.outer(pull, pull) + np.einsum("u,ui,uj->ij", rho, alpha, alpha) - reducer)

    def deviation_weight(self, alpha: np.ndarray) -> np.ndarray:
        """The same for log ρ (of all with ρ > 0): the (m, m) that is to be contracted with K."""
        rho = self.prior.rho
        return 0.5 * (np.einsum("u,ui,uj->ij", rho, alpha, alpha) - np.einsum("u,uij->ij", rho, self._reducers()))

    def _reducers(self) -> np.ndarray:
        """Diagonal blocks of (𝒦 + M⁻¹)⁻¹, (U, m, m); zero where ρ = 0, for they count ρ times."""
        result = np.zeros_like(self.effective)
        if self.own.any():
            part = self.effective[self.own]
            half = np.linalg.solve(self.lower, self.prior.root.T @ part)
            result[self.own] = part - half.transpose(0, 2, 1) @ half
        return result

    def relax(self, s: np.ndarray) -> np.ndarray:
        """(I + M 𝒦)⁻¹ s = s − M Σ s, (U, m)."""
        return s - np.einsum("uij,uj->ui", self.precision, self.spread(s))
