"""Draws of prior functions of a kernel by random features, exactly where features are finite.

Notation
    A stationary kernel is v E[cos ωᵀ(x − z)] over its spectral law (Bochner); with F draws of ω and phases b ~ U(0, 2π)
    f(x) = √(2v/F) Σ_i w_i cos(ω_iᵀx + b_i),  w ~ N(0, I),  has that covariance on average, with error O(1/√F)

Rahimi & Recht (2008), NeurIPS 20; of Matérn kernels ω is a multivariate Student-t of 2ν degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.errors import UnavailableError
from credo.kernels import (
    RBF,
    Constant,
    Kernel,
    Linear,
    Matern,
    Periodic,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
    White,
)

__all__ = ["PriorDraws", "prior_draws"]


@dataclass(frozen=True, eq=False)
class PriorDraws:
    """n functions f_s(x) = Σ_i waves_is cos(ω_iᵀx + b_i) + xᵀ slopes_s + level_s.

    omega (F, d), phase (F,), waves (F, n); slopes (d, n); level (n,)
    """

    omega: np.ndarray
    phase: np.ndarray
    waves: np.ndarray
    slopes: np.ndarray
    level: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Values (m, n)."""
        return np.cos(X @ self.omega.T + self.phase) @ self.waves + X @ self.slopes + self.level

    def slope(self, X: np.ndarray, column: int) -> np.ndarray:
        """∂f/∂x_column, (m, n)."""
        away = -np.sin(X @ self.omega.T + self.phase) * self.omega[:, column]
        return away @ self.waves + self.slopes[column]

    def plus(self, other: PriorDraws) -> PriorDraws:
        return PriorDraws(
            np.concatenate([self.omega, other.omega]), np.concatenate([self.phase, other.phase]),
            np.concatenate([self.waves, other.waves]), self.slopes + other.slopes, self.level + other.level,
        )  # fmt: skip


def prior_draws(kernel: Kernel, d: int, n: int, features: int, rng: np.random.Generator) -> PriorDraws:
    """n draws of f ~ GP(0, kernel) over d columns, with `features` waves for each stationary part.

    Raises
    ------
    UnavailableError : a part has neither a spectral law nor finite features (`White`, `Polynomial`, a user's own).
    """
    nothing = PriorDraws(np.empty((0, d)), np.empty(0), np.empty((0, n)), np.zeros((d, n)), np.zeros(n))
    if isinstance(kernel, Sum):
        for part in kernel.parts:
            nothing = nothing.plus(prior_draws(part, d, n, features, rng))
        return nothing
    inner, variance = _unscaled(kernel)
    root = float(np.sqrt(variance))
    if isinstance(inner, Sum):
        drawn = prior_draws(inner, d, n, features, rng)
        return PriorDraws(drawn.omega, drawn.phase, root * drawn.waves, root * drawn.slopes, root * drawn.level)
    if isinstance(inner, Linear):
        slopes = np.zeros((d, n))
        active = list(range(d)) if inner.active_dims is None else list(inner.active_dims)
        scale = np.broadcast_to(inner.lengthscale, (len(active),))
        slopes[active] = root * rng.standard_normal((len(active), n)) / scale[:, None]
        return PriorDraws(nothing.omega, nothing.phase, nothing.waves, slopes, nothing.level)
    if isinstance(inner, Constant):
        level = root * float(np.sqrt(inner.variance)) * rng.standard_normal(n)
        return PriorDraws(nothing.omega, nothing.phase, nothing.waves, nothing.slopes, level)
    level, omega = _frequencies(inner, d, features, rng)
    phase = rng.uniform(0.0, 2.0 * np.pi, features)
    waves = root * np.sqrt(2.0 * level / features) * rng.standard_normal((features, n))
    return PriorDraws(omega, phase, waves, nothing.slopes, nothing.level)


def _unscaled(kernel: Kernel) -> tuple[Kernel, float]:
    variance = 1.0
    while isinstance(kernel, Scaled):
        kernel, variance = kernel.kernel, variance * float(kernel.variance)
    return kernel, variance


def _frequencies(kernel: Kernel, d: int, n: int, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """v and draws (n, d) of ω. Of a product, the product of v and the sum of ω."""
    kernel, variance = _unscaled(kernel)
    if isinstance(kernel, Product):
        total = np.zeros((n, d))
        for part in kernel.parts:
            level, omega = _frequencies(part, d, n, rng)
            variance, total = variance * level, total + omega
        return variance, total
    if isinstance(kernel, Constant):
        return variance * float(kernel.variance), np.zeros((n, d))
    if not isinstance(kernel, (RBF, Matern, RationalQuadratic, Periodic)):
        raise UnavailableError(
            f"{type(kernel).__name__} has no random features, so that a path cannot be drawn as a function.",
            value=kernel,
            remedy="Use predict_joint(X).sample for draws at given rows"
            + (", or state noise= in place of White." if isinstance(kernel, White) else "."),
        )
    active = list(range(d)) if kernel.active_dims is None else list(kernel.active_dims)
    omega = np.zeros((n, d))
    if isinstance(kernel, Periodic):
        omega[:, active] = _harmonics(kernel, (n, len(active)), rng)
        return variance, omega
    each = rng.standard_normal((n, len(active)))
    if isinstance(kernel, Matern):
        each *= np.sqrt(2.0 * kernel.nu / rng.chisquare(2.0 * kernel.nu, (n, 1)))
    elif isinstance(kernel, RationalQuadratic):  # RBFs whose precisions are Gamma(α, α)
        each *= np.sqrt(rng.gamma(kernel.alpha, 1.0 / kernel.alpha, (n, 1)))
    omega[:, active] = each / np.asarray(kernel.lengthscale)
    return variance, omega


# Harmonics beyond this carry less than 1e-12 of a periodic kernel with lengthscale ≥ 0.05 of the circle's radius.
HARMONICS = 1000


def _harmonics(kernel: Any, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """exp(−2 sin²(πd/p)/ℓ²) = Σ_j I_j(1/ℓ²) e^{−1/ℓ²} cos(2πjd/p): a discrete law of frequencies."""
    argument = 1.0 / np.square(kernel.lengthscale)
    weight = scipy.special.ive(np.arange(HARMONICS), argument)
    weight[1:] *= 2.0
    order = rng.choice(HARMONICS, size=shape, p=weight / weight.sum())
    sign = rng.choice([-1.0, 1.0], size=shape)  # of a product of columns cos(a + b) and cos(a − b) both
    return 2.0 * np.pi * sign * order / np.asarray(kernel.period)
