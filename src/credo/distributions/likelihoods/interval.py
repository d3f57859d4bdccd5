"""The probability of an interval under N(0, 1), P = Φ(b) − Φ(a), a < b, in logs, with its derivatives.

By symmetry the interval is turned so that its nearer end is b, in the lower half or across 0. Where Φ(a) is less than
half of Φ(b), log P = log Φ(b) + log(1 − ρ), ρ = Φ(a)/Φ(b), loses nothing. Else the interval is short beside the scale
of the density, and 16 Gauss–Legendre nodes on it give the moments of the truncated Normal to rounding.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from credo.distributions.likelihoods.probit import inverse_mills
from credo.numerics.namespace import namespace

__all__ = ["log_normal_interval", "normal_interval_slopes"]

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
#: stands for −∞ where a square must stay finite; Φ of it is 0
FAR = -1e60


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """On [−½, ½]."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    return 0.5 * nodes, 0.5 * weights


def _turned(xp: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """(turned, a, b): (−b, −a) where that is the lower one."""
    turned = xp.asarray(a + b) > 0
    low, high = xp.where(turned, -b, a), xp.where(turned, -a, b)
    return turned, xp.maximum(low, FAR), xp.minimum(high, -FAR)


def log_normal_interval(a: Any, b: Any) -> Any:
    """log [Φ(b) − Φ(a)], a < b, either infinite (not both at one end), relative error near rounding."""
    xp = namespace(a, b)
    _, a, b = _turned(xp, a, b)
    log_a, log_b = xp.special.log_ndtr(a), xp.special.log_ndtr(b)
    apart = log_a - log_b < -np.log(2.0)
    wide = log_b + xp.log1p(-xp.exp(xp.where(apart, log_a - log_b, -1.0)))
    if xp.name != "numpy":
        return xp.where(apart, wide, _short(xp, xp.where(apart, -0.5, a), xp.where(apart, 0.5, b)))
    rows = ~apart
    if np.any(rows):
        wide = np.array(wide)
        wide[rows] = _short(xp, a[rows], b[rows])
    return wide[()]


def _short(xp: Any, a: Any, b: Any) -> Any:
    """log P of short intervals."""
    nodes, weights = _nodes()
    width, centre = (b - a)[..., None], 0.5 * (a + b)
    t = width * nodes
    mass = xp.sum(weights * xp.exp(-t * (centre[..., None] + 0.5 * t)), -1)
    return xp.log(mass) + xp.log(b - a) - 0.5 * centre * centre - HALF_LOG_2PI


def normal_interval_slopes(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of ℓ = log P: three derivatives in a common shift of a and b, and ∂ℓ/∂b = φ(b)/P.

    With x ~ N(0, 1) truncated to [a, b] they are −E x, Var x − 1 and −E (x − E x)³.
    """
    xp = namespace()
    with np.errstate(over="ignore", invalid="ignore"):
        at_b = np.exp(-0.5 * np.minimum(np.abs(b), 1e150) ** 2 - HALF_LOG_2PI - log_normal_interval(a, b))
    turned, a, b = _turned(xp, np.asarray(a), np.asarray(b))
    apart = xp.special.log_ndtr(a) - xp.special.log_ndtr(b) < -np.log(2.0)
    slopes = np.empty((3, *apart.shape))
    for rows, part in ((apart, _wide_slopes), (~apart, _short_slopes)):
        if np.any(rows):
            slopes[:, rows] = part(a[rows], b[rows])
    sign = np.where(turned, -1.0, 1.0)
    return sign * slopes[0], slopes[1], sign * slopes[2], at_b


def _short_slopes(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From the moments of x on the interval."""
    nodes, weights = _nodes()
    centre = 0.5 * (a + b)
    t = (b - a)[:, None] * nodes
    density = weights * np.exp(-t * (centre[:, None] + 0.5 * t))
    density /= density.sum(axis=1, keepdims=True)
    mean = (density * t).sum(axis=1)
    centred = t - mean[:, None]
    density *= centred * centred
    return -(centre + mean), density.sum(axis=1) - 1.0, -(density * centred).sum(axis=1)


def _wide_slopes(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Derivatives of log Φ(b) + h(u), h = log(1 − eᵘ), u = log Φ(a) − log Φ(b), along a common shift."""
    xp = namespace()
    ends = []
    for x in (a, b):
        ratio, excess, bracket = inverse_mills(x)
        ends.append((ratio, -ratio * excess, ratio * bracket))
    u1, u2, u3 = (low - high for low, high in zip(*ends, strict=True))
    rho = np.exp(xp.special.log_ndtr(a) - xp.special.log_ndtr(b))
    q = rho / (1.0 - rho)
    h1, h2, h3 = -q, -q * (1.0 + q), -q * (1.0 + q) * (1.0 + 2.0 * q)
    b1, b2, b3 = ends[1]
    return b1 + h1 * u1, b2 + h2 * u1**2 + h1 * u2, b3 + h3 * u1**3 + 3.0 * h2 * u1 * u2 + h1 * u3
