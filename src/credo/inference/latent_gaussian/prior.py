"""Gaussian priors of the latent f, and what becomes of them given Gaussian sites exp(ν_i g_i − ½ τ_i g_i²), g = f − m.

Newton, Laplace and EP differ only in how they choose (τ, ν); each step is one call of `condition`, which returns the
posterior N(m + Σν, Σ), Σ = (K⁻¹ + T)⁻¹, T = diag τ. With R = (K + T⁻¹)⁻¹ = T − TΣT:

dense K     α = K⁻¹(E f − m) = (I + T K)⁻¹ν. B = I + T^½ K T^½ = L Lᵀ has eigenvalues ≥ 1, so that neither a singular K
            nor a zero τ hurts; R = VᵀV, V = L⁻¹ T^½. Sites of negative precision come second, by the same formula on
            what the others leave: R = VᵀV − UᵀU.
f = Φ w     w = m₀ + C z, S₀ = C Cᵀ, A = Φ C, z ~ N(0, I): H = I + AᵀTA, E z = H⁻¹Aᵀν.

`coordinates` are α or z: f = `latent(coordinates)`, and `pairing` is (f − m)ᵀK⁻¹(f′ − m) in those of f and f′.

Reference: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, §3.4 and §3.6.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.linalg

from credo.errors import NotPositiveDefiniteError, ParameterError
from credo.numerics.cholesky import cholesky, log_determinant, solve_lower
from credo.numerics.lapack import triangle

__all__ = ["Conditioned", "GaussianPrior", "LatentPrior", "WeightPrior", "inverse_from"]

_LAPACK: Any = scipy.linalg.lapack  # compiled: no type checker sees into it
# 1 − (B⁻¹)_ii is right to some 1e-14 n^½: above the first it has ten digits, above the second five, which is plenty
# where Σ_ii is multiplied by something of the size of τ_i, so that rows that say nothing add nothing.
DIGITS, FEW_DIGITS = 1e-4, 1e-9


class Conditioned(Protocol):
    """A prior given sites (τ, ν)."""

    tau: np.ndarray
    coordinates: np.ndarray
    mean: np.ndarray  # (n,) of f
    log_normaliser: float  # log ∫ Π sites dN(f; m, K) = ½ νᵀΣν − ½ log |I + K T|
    variance: Any  # (n,) diagonal of Σ, made when asked for

    @property
    def rough_variance(self) -> np.ndarray: ...  # the same to 1e-13 of 1/τ
    @property
    def half_log_determinant(self) -> float: ...  # ½ log |I + K T|
    def renewed(self, nu: np.ndarray) -> Conditioned: ...  # the same τ with other ν, without a factorisation
    def still(self) -> np.ndarray: ...  # W with Σ W ∘ dK = ½ αᵀ dK α − ½ tr(R dK)
    def lift(self, g: np.ndarray) -> np.ndarray: ...  # Φᵀ g where changes are of S₀, g where they are of K
    def spread(self, g: np.ndarray) -> np.ndarray: ...  # Σ g
    def relax(self, g: np.ndarray) -> np.ndarray: ...  # (I + T K)⁻¹ g


class GaussianPrior(Protocol):
    """What the engines ask of a prior."""

    mean: np.ndarray

    def condition(self, tau: np.ndarray, nu: np.ndarray) -> Conditioned | None: ...
    def origin(self) -> np.ndarray: ...  # coordinates of f = m
    def latent(self, coordinates: np.ndarray) -> np.ndarray: ...
    def pairing(self, a: np.ndarray, b: np.ndarray, shift: np.ndarray) -> float: ...  # shift = latent(b) − mean


class LatentPrior:
    """f ~ N(mean, covariance): covariance (n, n) positive semi-definite, mean (n,) or a number.

    Raises `NotPositiveDefiniteError`, unless the covariance is `known` to be one (a kernel's is), which saves n³/3.
    Conditioning costs n³/3; the variances another 2n³/3.
    """

    def __init__(self, covariance: Any, mean: Any = 0.0, *, known: bool = False) -> None:
        self.covariance = _square("LatentPrior", "covariance", covariance)
        self.mean = _vector("LatentPrior", "mean", mean, len(self.covariance))
        if known:
            return
        # B would hide an indefinite K where the sites are weak. 1e-8: what rounding may do to a singular one.
        slack = np.abs(np.diag(self.covariance)).mean() * 1e-8 + np.finfo(float).tiny
        if triangle(self.covariance + slack * np.eye(len(self.covariance)), lower=True) is None:
            smallest = float(np.linalg.eigvalsh(self.covariance)[0])
            raise NotPositiveDefiniteError(
                f"LatentPrior.covariance is not positive semi-definite (smallest eigenvalue {smallest:.3g}).",
                value=smallest,
                remedy="Check that it is the covariance of one set of points with itself.",
            )

    def origin(self) -> np.ndarray:
        return np.zeros(self.mean.size)

    def latent(self, coordinates: np.ndarray) -> np.ndarray:
        """m + K α."""
        return self.mean + self.covariance @ coordinates

    def pairing(self, a: np.ndarray, b: np.ndarray, shift: np.ndarray) -> float:
        """αᵀ (K α′)."""
        return float(a @ shift)

    def condition(self, tau: np.ndarray, nu: np.ndarray) -> DenseConditioned | None:
        """The posterior given sites; None where negative τ leave no proper one."""
        try:
            return DenseConditioned(self, tau, nu)
        except NotPositiveDefiniteError:
            return None


class DenseConditioned:
    """`LatentPrior` given sites."""

    def __init__(self, prior: LatentPrior, tau: np.ndarray, nu: np.ndarray) -> None:
        k = prior.covariance
        self.prior, self.tau = prior, tau
        self.root = np.sqrt(np.maximum(tau, 0.0))
        b = self.root[:, None] * k
        b *= self.root
        b[np.diag_indices_from(b)] += 1.0
        upper = triangle(b.T, lower=False)  # as LAPACK stores it, so that nothing is copied here or below
        self.lower = cholesky(b, "I + T^½ K T^½").lower if upper is None else upper.T
        self.half_log_determinant = 0.5 * log_determinant(self.lower)
        self.negative = np.flatnonzero(tau < 0.0)
        if self.negative.size:
            self._second_stage()
        self._place(nu)

    def _place(self, nu: np.ndarray) -> None:
        """The mean, given ν."""
        k, tau = self.prior.covariance, self.tau
        self.nu = nu
        # α = ν − R K ν loses the digits of K T ≫ 1. With ν = T c + ν′, c for the strong sites, it is ν′ + R (c − K ν′).
        strong = tau * np.diag(k) > 1.0
        target = np.where(strong, nu / np.where(strong, tau, 1.0), 0.0)
        rest = np.where(strong, 0.0, nu)
        self.coordinates = rest + self.reduce(target - k @ rest)
        shift = k @ self.coordinates
        self.mean = self.prior.mean + shift
        self.log_normaliser = 0.5 * float(nu @ shift) - self.half_log_determinant

    def renewed(self, nu: np.ndarray) -> DenseConditioned:
        other = copy.copy(self)
        other._place(nu)
        return other

    def _second_stage(self) -> None:
        """Sites of negative precision: I − N^½ A N^½ must be positive definite, A what the others leave of K."""
        rows, k = self.negative, self.prior.covariance
        left = k[np.ix_(rows, rows)] - k[rows] @ self._positive(k[:, rows])
        self.negative_root = np.sqrt(-self.tau[rows])
        inner = np.eye(rows.size) - self.negative_root[:, None] * left * self.negative_root
        lower = triangle(inner, lower=True)
        if lower is None:
            raise NotPositiveDefiniteError("The sites leave no proper posterior.", value=inner)
        self.negative_lower = lower
        self.half_log_determinant += 0.5 * log_determinant(lower)

    def _positive(self, x: np.ndarray) -> np.ndarray:
        """VᵀV x."""
        root = self.root if x.ndim == 1 else self.root[:, None]
        return root * scipy.linalg.cho_solve((self.lower.T, False), root * x, check_finite=False)

    def _up(self, x: np.ndarray) -> np.ndarray:
        """U x = L₂⁻¹ N^½ (x − K VᵀV x) on the rows of negative precision."""
        inner = x[self.negative] - self.prior.covariance[self.negative] @ self._positive(x)
        root = self.negative_root if x.ndim == 1 else self.negative_root[:, None]
        return solve_lower(self.negative_lower, root * inner)

    def reduce(self, x: np.ndarray) -> np.ndarray:
        """R x, for x (n,) or (n, q)."""
        result = self._positive(x)
        if self.negative.size:
            up = self._up(x)
            root = self.negative_root if x.ndim == 1 else self.negative_root[:, None]
            raised = np.zeros_like(result)
            raised[self.negative] = root * solve_lower(self.negative_lower, up, transpose=True)
            result -= raised - self._positive(self.prior.covariance @ raised)
        return result

    def reduction(self, cross: np.ndarray) -> np.ndarray:
        """diag(crossᵀ R cross) (q,), cross (n, q): by how much the sites narrow K's variance."""
        narrowed = np.sum(solve_lower(self.lower, self.root[:, None] * cross) ** 2, axis=0)
        if self.negative.size:
            narrowed -= np.sum(self._up(cross) ** 2, axis=0)
        return narrowed

    @cached_property
    def _inverse(self) -> np.ndarray:
        """B⁻¹ (n, n)."""
        return inverse_from(self.lower)

    @cached_property
    def variance(self) -> np.ndarray:
        return self._variances(DIGITS)

    @property
    def rough_variance(self) -> np.ndarray:
        return self._variances(FEW_DIGITS)

    def _variances(self, least: float) -> np.ndarray:
        """Where all τ ≥ 0 from τ_i Σ_ii = 1 − (B⁻¹)_ii, which the gradient needs too, while that is `least` or more."""
        k, told = self.prior.covariance, np.zeros(self.tau.size)
        if not self.negative.size:
            told = 1.0 - np.diag(self._inverse)
        enough = told > least
        variance = told / np.where(enough, self.tau, 1.0)
        rows = np.flatnonzero(~enough)
        if rows.size:
            variance[rows] = np.diag(k)[rows] - self.reduction(k[:, rows])
        return np.maximum(variance, 0.0)

    def covariance(self) -> np.ndarray:
        """Σ (n, n)."""
        k = self.prior.covariance
        return k - k @ self.reduce(k)

    def still(self) -> np.ndarray:
        """½ (ααᵀ − R): R is made once and spares every hyperparameter a matrix product."""
        if self.negative.size:
            reducer = self.reduce(np.eye(self.tau.size))
        else:
            reducer = self.root[:, None] * self._inverse
            reducer *= self.root
        weight = np.multiply.outer(self.coordinates, self.coordinates)
        weight -= reducer
        weight *= 0.5
        return weight

    def lift(self, g: np.ndarray) -> np.ndarray:
        return g

    def relax(self, g: np.ndarray) -> np.ndarray:
        return g - self.reduce(self.prior.covariance @ g)

    def spread(self, g: np.ndarray) -> np.ndarray:
        shift = self.prior.covariance @ g
        return shift - self.prior.covariance @ self.reduce(shift)


class WeightPrior:
    """f = offset + features · w, w ~ N(mean, covariance): features (n, P), covariance (P, P) positive definite.

    Conditioning costs n P² + P³/3: for P ≪ n. For n ≪ P take `dual`, which costs n² P once and then n³/3.
    """

    def __init__(self, features: Any, covariance: Any, mean: Any = 0.0, offset: Any = 0.0) -> None:
        self.features = np.asarray(features, dtype=np.float64)
        if self.features.ndim != 2:
            raise ParameterError("WeightPrior", "features", "a matrix (n, P)", features)
        n, p = self.features.shape
        self.covariance = _square("WeightPrior", "covariance", covariance, p)
        self.weights_mean = _vector("WeightPrior", "mean", mean, p)
        self.root = cholesky(self.covariance, "the prior covariance of the weights").lower
        self.design = self.features @ self.root
        self.mean = _vector("WeightPrior", "offset", offset, n) + self.features @ self.weights_mean

    def dual(self) -> LatentPrior:
        """The same prior on f, K = Φ S₀ Φᵀ; `weights_given` brings its posterior back."""
        return LatentPrior(self.design @ self.design.T, self.mean)

    def weights_given(self, state: DenseConditioned) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances (P,) of w under the posterior of `dual`: m₀ + S₀Φᵀα, diag(S₀ − S₀ΦᵀRΦS₀)."""
        cross = self.design @ self.root.T
        narrowed = np.diag(self.covariance) - state.reduction(cross)
        return self.weights_mean + cross.T @ state.coordinates, np.maximum(narrowed, 0.0)

    def origin(self) -> np.ndarray:
        return np.zeros(self.weights_mean.size)

    def latent(self, coordinates: np.ndarray) -> np.ndarray:
        """m + A z."""
        return self.mean + self.design @ coordinates

    def pairing(self, a: np.ndarray, b: np.ndarray, shift: np.ndarray) -> float:
        """zᵀz′."""
        return float(a @ b)

    def condition(self, tau: np.ndarray, nu: np.ndarray) -> WeightConditioned | None:
        """The posterior given sites; None where negative τ leave no proper one."""
        precision = self.design.T @ (tau[:, None] * self.design)
        precision[np.diag_indices_from(precision)] += 1.0
        lower = triangle(precision, lower=True)
        return None if lower is None else WeightConditioned(self, tau, nu, np.ascontiguousarray(lower))


class WeightConditioned:
    """`WeightPrior` given sites; `lower` is the Cholesky factor of z's precision H."""

    def __init__(self, prior: WeightPrior, tau: np.ndarray, nu: np.ndarray, lower: np.ndarray) -> None:
        self.prior, self.tau, self.nu, self.lower = prior, tau, nu, lower
        pulled = prior.design.T @ nu
        self.coordinates = scipy.linalg.cho_solve((lower, True), pulled)
        self.mean = prior.latent(self.coordinates)
        self.half_log_determinant = 0.5 * log_determinant(lower)
        self.log_normaliser = 0.5 * float(pulled @ self.coordinates) - self.half_log_determinant

    @cached_property
    def variance(self) -> np.ndarray:
        return np.sum(solve_lower(self.lower, self.prior.design.T) ** 2, axis=0)

    @property
    def rough_variance(self) -> np.ndarray:
        return self.variance

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (P,) of w and the lower factor of its precision (P, P), as `SplitProposal` wants them."""
        prior = self.prior
        precision_root = scipy.linalg.solve_triangular(prior.root, self.lower, lower=True, trans=1)
        mean = prior.weights_mean + prior.root @ self.coordinates
        # any square root M of the precision turns into a lower triangle by the QR factors of its transpose
        upper: Any = np.linalg.qr(precision_root.T, mode="r")
        return mean, (upper * np.sign(np.diag(upper))[:, None]).T

    def renewed(self, nu: np.ndarray) -> WeightConditioned:
        return WeightConditioned(self.prior, self.tau, nu, self.lower)

    def still(self) -> np.ndarray:
        """Of changes of S₀ (P, P): C⁻ᵀ ½ (z zᵀ − AᵀRA) C⁻¹, AᵀRA = I − H⁻¹."""
        inverse = scipy.linalg.cho_solve((self.lower, True), np.eye(self.coordinates.size))
        inner = 0.5 * (np.multiply.outer(self.coordinates, self.coordinates) + inverse)
        inner[np.diag_indices_from(inner)] -= 0.5
        half = solve_lower(self.prior.root, inner, transpose=True)
        return solve_lower(self.prior.root, half.T, transpose=True)

    def lift(self, g: np.ndarray) -> np.ndarray:
        return self.prior.features.T @ g

    def relax(self, g: np.ndarray) -> np.ndarray:
        design = self.prior.design
        return g - self.tau * (design @ scipy.linalg.cho_solve((self.lower, True), design.T @ g))

    def spread(self, g: np.ndarray) -> np.ndarray:
        design = self.prior.design
        return design @ scipy.linalg.cho_solve((self.lower, True), design.T @ g)


def inverse_from(lower: np.ndarray) -> np.ndarray:
    """(L Lᵀ)⁻¹ of a lower factor (n, n). Cost 2n³/3."""
    inverse, _ = _LAPACK.dpotri(lower.T, lower=0)  # info ≠ 0 only for a zero on the diagonal, which a factor has not
    inverse += np.triu(inverse, 1).T  # below the diagonal there are zeros, the factor's
    return inverse


def _square(owner: str, name: str, value: Any, size: int | None = None) -> np.ndarray:
    matrix = np.asarray(value, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0 or not np.all(np.isfinite(matrix)):
        raise ParameterError(owner, name, "a finite square matrix", value)
    if size is not None and len(matrix) != size:
        raise ParameterError(owner, name, f"({size}, {size}), one row a column of the features", matrix.shape)
    return matrix


def _vector(owner: str, name: str, value: Any, size: int) -> np.ndarray:
    vector = np.asarray(value, dtype=np.float64)
    if vector.ndim > 1 or (vector.ndim == 1 and vector.size != size) or not np.all(np.isfinite(vector)):
        raise ParameterError(owner, name, f"a finite number, or {size} of them", value)
    return np.broadcast_to(vector, (size,))
