"""How outcomes scatter around the function: s(x), the variance of the noise, and what is learned of it.

Notation
    y_i = f(x_i) + N(0, s(x_i) r_i); r_i known (1, or a stated variance), s learned or 1
    θ (h,) what is learned: log sd, or the coefficients γ of log sd(x) = γ₀ + φ(x)ᵀγ

Outcomes are divided by a common `unit` inside; noise records state their scales and priors in the user's units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from credo.distributions import noise as records
from credo.errors import ParameterError
from credo.kernels import Kernel
from credo.kernels.priors import log_density, log_density_gradient
from credo.numerics.cholesky import cholesky, solve_lower
from credo.saving.registry import register

__all__ = [
    "Columns",
    "Known",
    "Landmarks",
    "Learned",
    "LogLinear",
    "Noise",
    "Stated",
    "WithSlopes",
    "noise_of",
    "stated",
]

OWNER = "GaussianProcessRegressor"
# A learned sd stays between 1e-4 and 10 of the outcomes' own: below, n/σ² exhausts half of float64's digits, and the
# jitter of a Cholesky factor is no smaller; above, nothing is explained.
LOW, HIGH = 1e-4, 10.0
# Without a better guess nine tenths of the variance are signal: scikit-learn's and GPy's usual starts bracket it.
START = 0.3
# Landmarks of a function of the noise: 40 span what a log sd, far smoother than the function, can be told of.
LANDMARKS = 40


class Noise(Protocol):
    """s(x) and its derivatives."""

    @property
    def theta(self) -> np.ndarray: ...
    @property
    def bounds(self) -> np.ndarray: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    def with_theta(self, theta: np.ndarray) -> Noise: ...
    def variance(self, X: np.ndarray) -> np.ndarray:
        """s (n,) at rows X."""
        ...

    def gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Σ_i w_i ∂s(x_i)/∂θ, (h,)."""
        ...

    def log_prior(self) -> tuple[float, np.ndarray]:
        """Log density of θ and its gradient (h,)."""
        ...


@register
@dataclass(frozen=True, eq=False)
class Known:
    """s = 1: all that is known of the noise is in r."""

    theta = np.empty(0)
    bounds = np.empty((0, 2))
    names = ()

    def with_theta(self, theta: np.ndarray) -> Known:
        return self

    def variance(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(X))

    def gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.empty(0)

    def log_prior(self) -> tuple[float, np.ndarray]:
        return 0.0, np.empty(0)


@register
@dataclass(frozen=True, eq=False)
class Learned:
    """One learned sd; `size` is that of the outcomes, `prior` a law of sd · unit, of its square if `squared`."""

    sd: float
    size: float
    unit: float = 1.0
    prior: Any = None
    squared: bool = False

    @property
    def theta(self) -> np.ndarray:
        return np.array([np.log(self.sd)])

    @property
    def bounds(self) -> np.ndarray:
        return np.log([[LOW * self.size, HIGH * self.size]])

    @property
    def names(self) -> tuple[str, ...]:
        return ("noise",)

    def with_theta(self, theta: np.ndarray) -> Learned:
        return replace(self, sd=float(np.exp(theta[0])))

    def variance(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.sd**2)

    def gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.array([2.0 * self.sd**2 * np.sum(weight)])

    def log_prior(self) -> tuple[float, np.ndarray]:
        if self.prior is None:
            return 0.0, np.zeros(1)
        power = 2.0 if self.squared else 1.0
        value = np.array([(self.sd * self.unit) ** power])
        # Of log sd: the log of the square runs twice as fast.
        density = log_density(self.prior, value[None])[0] + np.log(power)
        return float(density), power * log_density_gradient(self.prior, value)


class Features(Protocol):
    """φ(x) (n, k) of a log sd."""

    def __call__(self, X: np.ndarray) -> np.ndarray: ...


@register
@dataclass(frozen=True, eq=False)
class Columns:
    """The columns, standardised."""

    centre: np.ndarray
    size: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return (X - self.centre) / self.size


@register
@dataclass(frozen=True, eq=False)
class Landmarks:
    """φ(x) = L⁻¹ k(Z, x) with k(Z, Z) = L Lᵀ: with γ ~ N(0, I) a process of covariance k, as seen at Z (m, d)."""

    kernel: Kernel
    Z: np.ndarray
    root: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, X: np.ndarray) -> Landmarks:
        """At up to `LANDMARKS` rows, those that pivoting takes: each where k is known least from those before."""
        Z = np.unique(X, axis=0)
        rest, chosen = kernel.diagonal(Z).astype(float), []
        start, half = rest.max(), np.empty((0, len(Z)))
        # What is left to know is below a thousandth of the prior variance: an sd of a log sd that no data could tell.
        while len(chosen) < min(LANDMARKS, len(Z)) and rest.max() > 1e-3 * start:
            pivot = int(np.argmax(rest))
            row = (kernel(Z[[pivot]], Z)[0] - half[:, pivot] @ half) / np.sqrt(rest[pivot])
            half = np.concatenate([half, row[None]])
            rest = np.maximum(rest - row**2, 0.0)
            chosen.append(pivot)
        return cls(kernel, Z[chosen], cholesky(kernel(Z[chosen]), "Covariance of the log noise").lower)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return solve_lower(self.root, self.kernel(self.Z, X)).T


@register
@dataclass(frozen=True, eq=False)
class LogLinear:
    """log sd(x) = γ₀ + φ(x)ᵀγ, γ₀ flat, γ ~ N(mean, sd²); `size` is the sd of the outcomes."""

    features: Any
    level: float
    gamma: np.ndarray
    mean: float
    sd: float
    size: float

    @property
    def theta(self) -> np.ndarray:
        return np.concatenate([[self.level], self.gamma])

    @property
    def bounds(self) -> np.ndarray:
        # Ten prior sds either way: no bound that a posterior would touch.
        reach = abs(self.mean) + 10.0 * self.sd
        return np.concatenate([np.log([[LOW * self.size, HIGH * self.size]]), [[-reach, reach]] * self.gamma.size])

    @property
    def names(self) -> tuple[str, ...]:
        return ("noise", *(f"log noise[{i}]" for i in range(self.gamma.size)))

    def with_theta(self, theta: np.ndarray) -> LogLinear:
        return replace(self, level=float(theta[0]), gamma=np.array(theta[1:]))

    def variance(self, X: np.ndarray) -> np.ndarray:
        # Beyond the bounds of a learned sd there is nothing to tell apart, and an exponential overflows.
        return np.exp(2.0 * self._clipped(X)[0])

    def gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        log_sd, inside, phi = self._clipped(X)
        slope = 2.0 * np.exp(2.0 * log_sd) * weight * inside
        return np.concatenate([[slope.sum()], slope @ phi])

    def log_prior(self) -> tuple[float, np.ndarray]:
        gap = (self.gamma - self.mean) / self.sd
        value = -0.5 * float(gap @ gap) - gap.size * float(np.log(self.sd * np.sqrt(2.0 * np.pi)))
        return value, np.concatenate([[0.0], -gap / self.sd])

    def inside(self, X: np.ndarray) -> np.ndarray:
        """(n,) whether log sd there moves with γ, and is not held at an end of its range."""
        return self._clipped(X)[1]

    def _clipped(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        phi = self.features(X)
        log_sd = self.level + phi @ self.gamma
        low, high = np.log([LOW * self.size, HIGH * self.size])
        return np.clip(log_sd, low, high), (log_sd > low) & (log_sd < high), phi


@register
@dataclass(frozen=True, eq=False)
class WithSlopes:
    """The noise of rows [x, which]: `values` of those with which = −1; of slopes all that is known is in r."""

    values: Any

    @property
    def theta(self) -> np.ndarray:
        return self.values.theta

    @property
    def bounds(self) -> np.ndarray:
        return self.values.bounds

    @property
    def names(self) -> tuple[str, ...]:
        return self.values.names

    def with_theta(self, theta: np.ndarray) -> WithSlopes:
        return WithSlopes(self.values.with_theta(theta))

    def variance(self, X: np.ndarray) -> np.ndarray:
        s = np.ones(len(X))
        own = X[:, -1] < 0
        s[own] = self.values.variance(X[own, :-1])
        return s

    def gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        own = X[:, -1] < 0
        return self.values.gradient(X[own, :-1], weight[own])

    def log_prior(self) -> tuple[float, np.ndarray]:
        return self.values.log_prior()


class Stated(NamedTuple):
    """A noise argument, read: scale (a number, (n,) or None where learned), record (what is learned of it), prior."""

    scale: Any
    varies: Any = None
    prior: Any = None
    squared: bool = False


def stated(noise: Any) -> Stated:
    """What the argument `noise` says.

    None, learned; a number ≥ 0, an array (n,), known; a kernel, of log sd; `cr.noise.Normal`; `cr.noise.LogLinear`.
    """
    if noise is None:
        return Stated(None)
    if isinstance(noise, records.Normal):
        if isinstance(noise.scale, records.LogLinear):
            return Stated(None, noise.scale)
        prior, squared = (
            (noise.variance_prior, True) if noise.variance_prior is not None else (noise.scale_prior, False)
        )
        return Stated(noise.scale, None, prior, squared)
    if isinstance(noise, (records.LogLinear, Kernel)):
        return Stated(None, noise)
    scale = np.asarray(noise) if not isinstance(noise, str) else np.asarray(None)
    if scale.dtype.kind not in "fiu" or scale.ndim > 1 or not np.all((scale >= 0) & np.isfinite(scale)):
        raise ParameterError(
            OWNER, "noise", "None, a standard deviation ≥ 0, one for each row, a kernel, cr.noise.Normal or "
            "cr.noise.LogLinear", noise,
        )  # fmt: skip
    return Stated(float(scale) if scale.ndim == 0 else scale.astype(np.float64))


def noise_of(given: Stated, X: np.ndarray, weights: np.ndarray, size: float, unit: float) -> Noise:
    """The model of s(x); outcomes are divided by `unit`, and have sd `size` then."""
    if given.scale is not None:
        return Known()
    if given.varies is None:
        return Learned(START * size, size, unit, given.prior, given.squared)
    level = float(np.log(START * size))
    if isinstance(given.varies, Kernel):
        features: Any = Landmarks.of(given.varies, X)
        return LogLinear(features, level, np.zeros(len(features.Z)), 0.0, 1.0, size)
    share = weights / weights.sum()
    centre = share @ X
    width = np.sqrt(share @ np.square(X - centre))
    prior = given.varies.prior
    mean, sd = (0.0, 1.0) if prior is None else (float(prior.mean), float(prior.sd))
    return LogLinear(Columns(centre, np.where(width > 0, width, 1.0)), level, np.zeros(X.shape[1]), mean, sd, size)
