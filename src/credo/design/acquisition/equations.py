"""What a point is worth, as functions of the belief about the objective there: pure, elementwise, with their slopes.

Notation (objectives are minimised)
    μ, σ    mean and sd of the belief about f(x)
    b       the value to improve upon
    u       (b − μ)/σ
    φ, Φ    density and distribution function of the standard Normal
    h(u)    φ(u) + u Φ(u), so that E max(b − f, 0) = σ h(u)
    w(u)    h(u)/φ(u) = 1 + u R(u), R = Φ/φ = √(π/2) erfcx(−u/√2)

Far below zero h underflows and 1 + uR cancels; three branches keep every digit: h itself, w by erfcx, and w by its
asymptotic series u⁻²(1 − 3u⁻² + 15u⁻⁴ − …).

Ament, Daulton, Eriksson, Balandat & Bakshy (2023), Unexpected improvements to expected improvement for Bayesian
optimization, NeurIPS.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.special

__all__ = [
    "Slopes",
    "confidence_bound",
    "improvement_parts",
    "log_expected_improvement",
    "log_feasibility",
    "log_h",
    "log_h_and_slopes",
    "log_h_slopes",
    "log_mean_exp",
]

LOG_SQRT_2PI = 0.5 * float(np.log(2.0 * np.pi))
ROOT_HALF_PI = float(np.sqrt(0.5 * np.pi))
ROOT_2PI = float(np.sqrt(2.0 * np.pi))
# Above −1 h is a sum of the same order as its parts. Below −30 the series' eighth term is 4e-15 of its first, while 1 +
# uR has lost u²: three digits.
NEAR, FAR = -1.0, -30.0
# (−1)ᵏ (2k + 1)!!
SERIES = (1.0, -3.0, 15.0, -105.0, 945.0, -10395.0, 135135.0, -2027025.0)
# Beyond, u² overflows: the value saturates near −1e300, slopes stay finite.
LEAST = -1e150


class Slopes(NamedTuple):
    """A value with its slopes in μ and σ, arrays of one shape."""

    value: np.ndarray
    mean: np.ndarray
    sd: np.ndarray


def log_h(u: np.ndarray) -> np.ndarray:
    """log h(u), to all digits for any u.

    >>> log_h(np.array([0.0, -5.0, -100.0])).round(7).tolist()
    [-0.9189385, -16.7443012, -5010.1295788]
    """
    return _by_branch(u, slopes=False)[0]


def log_h_slopes(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Φ/h = d log h/du, and φ/h = 1 − u Φ/h, each without the cancellation of the other.

    >>> [round(float(slope[0]), 3) for slope in log_h_slopes(np.array([-1e6]))]
    [1000000.0, 1000000000003.0]
    """
    return _by_branch(u)[1:]  # type: ignore[return-value]


def log_h_and_slopes(u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`log_h` and `log_h_slopes`, for less than both."""
    return _by_branch(u)  # type: ignore[return-value]


def _by_branch(u: np.ndarray, slopes: bool = True) -> tuple[np.ndarray, ...]:
    """Each entry by the formula that keeps its digits."""
    u = np.maximum(np.asarray(u, dtype=np.float64), LEAST)
    near = u > NEAR
    if near.all():
        return _near(u, slopes)
    if not near.any():
        return _far(u, slopes)
    found = tuple(np.empty_like(u) for _ in range(3 if slopes else 1))
    for part, formula in ((near, _near), (~near, _far)):
        for whole, values in zip(found, formula(u[part], slopes), strict=True):
            whole[part] = values
    return found


def _near(u: np.ndarray, slopes: bool) -> tuple[np.ndarray, ...]:
    with np.errstate(under="ignore", over="ignore"):
        density, mass = np.exp(-0.5 * u * u) / ROOT_2PI, scipy.special.ndtr(u)
    h = density + u * mass
    return (np.log(h), mass / h, density / h) if slopes else (np.log(h),)


def _far(u: np.ndarray, slopes: bool) -> tuple[np.ndarray, ...]:
    w = _ratio(u)
    log = np.log(w) - 0.5 * u * u - LOG_SQRT_2PI
    return (log, (1.0 - w) / (w * -u), 1.0 / w) if slopes else (log,)


def _ratio(u: np.ndarray) -> np.ndarray:
    """w(u) for u ≤ −1."""
    middle = np.maximum(u, FAR)
    w = 1.0 + middle * ROOT_HALF_PI * scipy.special.erfcx(-middle / np.sqrt(2.0))
    if np.all(u > FAR):
        return w
    inverse = np.square(1.0 / np.minimum(u, FAR))
    return np.where(u > FAR, w, inverse * np.polynomial.polynomial.polyval(inverse, SERIES))


def log_expected_improvement(mean: np.ndarray, sd: np.ndarray, best: np.ndarray) -> Slopes:
    """log E max(b − f, 0) = log h(u) + log σ.

    ∂/∂μ = −(Φ/h)/σ; ∂/∂σ = (φ/h)/σ. sd > 0; arrays broadcast.

    >>> value, _, slope = log_expected_improvement(np.array([1e6]), np.array([1.0]), np.array([0.0]))
    >>> bool(np.isfinite(value[0]) and np.isfinite(slope[0]))
    True
    """
    u = (best - mean) / sd
    log, mass, density = log_h_and_slopes(u)
    return Slopes(log + np.log(sd), -mass / sd, density / sd)


def improvement_parts(mean: np.ndarray, sd: np.ndarray, best: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two terms of expected improvement: (b − μ)Φ(u), what is expected already, and σφ(u), what surprise adds.

    >>> [float(part) for part in improvement_parts(np.array(0.0), np.array(1.0), np.array(0.0))]
    [0.0, 0.3989422804014327]
    """
    u = (best - mean) / sd
    with np.errstate(under="ignore", over="ignore"):
        return (best - mean) * scipy.special.ndtr(u), sd * np.exp(-0.5 * u * u) / ROOT_2PI


def confidence_bound(mean: np.ndarray, sd: np.ndarray, width: float) -> Slopes:
    """−(μ − width·σ): how low the objective may well be, as something to maximise. width ≥ 0, often √β.

    Srinivas, Krause, Kakade & Seeger (2010), ICML.
    """
    return Slopes(width * sd - mean, np.full(np.shape(mean), -1.0), np.full(np.shape(sd), float(width)))


def log_feasibility(mean: np.ndarray, sd: np.ndarray) -> Slopes:
    """log P(c ≤ 0) = log Φ(z), z = −μ/σ, of a constraint that is met where c ≤ 0.

    d log Φ/dz = φ/Φ = 1/(√(π/2) erfcx(−z/√2)), which is −z far below zero.
    """
    z = -mean / sd
    with np.errstate(over="ignore"):  # erfcx → ∞ where the constraint surely holds, and the slope → 0
        hazard = 1.0 / (ROOT_HALF_PI * scipy.special.erfcx(-z / np.sqrt(2.0)))
    return Slopes(scipy.special.log_ndtr(z), -hazard / sd, -z * hazard / sd)


def log_mean_exp(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log of the mean of e^v over the last axis, and its slopes in v, the softmax.

    >>> log_mean_exp(np.array([[0.0, np.log(3.0)]]))[0].round(9).tolist()
    [0.693147181]
    """
    top = values.max(axis=-1, keepdims=True)
    with np.errstate(under="ignore"):
        share = np.exp(values - top)
    total = share.sum(axis=-1, keepdims=True)
    return (top + np.log(total / values.shape[-1]))[..., 0], share / total
