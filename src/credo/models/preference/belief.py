"""`UtilityBelief`: what is believed of the utility of any item for any user, as a mixture of Gaussians.

Notation: S components of equal weight (one, but under Gibbs sampling), q items, p pairs of them. With k = k(·, x)
between the items seen and x, for a user of own deviation ρ (0 for the shared utility):

    mean_s(x) = k'(Σ_v α_sv + ρ α_su)
    cov(x, x′) = a'V a′ + (1 + ρ) (k(x, x′) − a'a′), the same for all s;  a = C⁻¹ k, V = cov(y_u) (see `arrow`)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.kernels import Kernel
from credo.models.preference.arrow import Arrow, SharedPrior
from credo.models.preference.scales import Scales
from credo.numerics.cholesky import cholesky, solve_lower
from credo.saving.registry import register

__all__ = ["UtilityBelief"]

# Pairs at a time: their covariance, at most 1024², takes 8 MB.
PAIRS = 512


@register
@dataclass(frozen=True, eq=False)
class UtilityBelief:
    """Enough to predict with, and to save.

    kernel; rows (m, d) of the items seen; users : labels of blocks 1, 2, …; deviation : ρ of each of them
    alpha (S, U, m), precision (U, m, m) : see `Gaussian`; scales : the link to outcomes
    """

    kernel: Kernel
    rows: np.ndarray
    users: tuple[Any, ...]
    deviation: float
    alpha: np.ndarray
    precision: np.ndarray
    scales: Scales

    @cached_property
    def arrow(self) -> Arrow:
        rho = np.full(1 + len(self.users), self.deviation)
        rho[0] = 0.0
        return SharedPrior(self.kernel(self.rows), rho).given(self.precision)

    def block(self, user: Any) -> int:
        """Where a user's own utility is; 0 for None."""
        if user is None:
            return 0
        if user not in self.users:
            remedy = "user=None is the utility that all share."
            raise ParameterError("PreferenceGP", "user", f"one of the {len(self.users)} users seen", user, remedy)
        return 1 + self.users.index(user)

    def means(self, X: np.ndarray, user: Any = None) -> np.ndarray:
        """(S, q)."""
        block = self.block(user)
        rho = self.deviation if block else 0.0
        weights = self.alpha.sum(axis=1) + rho * self.alpha[:, block]
        return weights @ self.kernel(self.rows, X)

    def covariance(self, X: np.ndarray, user: Any = None) -> np.ndarray:
        """(q, q), common to all components."""
        rho, spread, a = self._seen(X, user)
        return a.T @ spread @ a + (1.0 + rho) * (self.kernel(X) - a.T @ a)

    def variances(self, X: np.ndarray, user: Any = None) -> np.ndarray:
        """(q,)."""
        rho, spread, a = self._seen(X, user)
        rest = np.maximum(self.kernel.diagonal(X) - np.sum(a * a, axis=0), 0.0)
        return np.sum(a * (spread @ a), axis=0) + (1.0 + rho) * rest

    def differences(self, A: np.ndarray, B: np.ndarray, user: Any) -> tuple[np.ndarray, np.ndarray]:
        """Means (S, p) and variances (p,) of f(A[k]) − f(B[k]), in chunks: p items need no p × p covariance."""
        mean, variance = np.empty((len(self.alpha), len(A))), np.empty(len(A))
        for start in range(0, len(A), PAIRS):
            rows = slice(start, start + PAIRS)
            X, which = np.unique(np.concatenate([A[rows], B[rows]]), axis=0, return_inverse=True)
            first, second = which.ravel().reshape(2, -1)
            each, covariance = self.means(X, user), self.covariance(X, user)
            spread = np.diag(covariance)
            mean[:, rows] = each[:, first] - each[:, second]
            variance[rows] = spread[first] + spread[second] - 2.0 * covariance[first, second]
        return mean, np.maximum(variance, 0.0)

    def draws(self, X: np.ndarray, user: Any, n: int, rng: np.random.Generator) -> np.ndarray:
        """Joint draws (n, q)."""
        mean, covariance = self.means(X, user), self.covariance(X, user)
        root = cholesky(covariance, "the posterior covariance of the utilities").lower
        at = rng.integers(len(mean), size=n) if len(mean) > 1 else np.zeros(n, dtype=np.intp)
        return mean[at] + rng.standard_normal((n, len(X))) @ root.T

    def _seen(self, X: np.ndarray, user: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """ρ; the covariance (m, m) of y; a (m, q) = C⁻¹ k(·, X)."""
        block = self.block(user)
        if block not in self._spreads:
            self._spreads[block] = self.arrow.whitened(block)
        a = solve_lower(self.arrow.prior.root, self.kernel(self.rows, X))
        return (self.deviation if block else 0.0), self._spreads[block], a

    @cached_property
    def _spreads(self) -> dict[int, np.ndarray]:
        return {}
