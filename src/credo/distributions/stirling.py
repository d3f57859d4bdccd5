"""Gamma functions without cancellation: what the densities with large parameters are made of.

log Γ(a) grows like a log a, so a density written with differences of it loses log10(a) digits. Here every such
difference is written by the Poisson mass at a real count k,

    log_poisson(k, m) = k log m − m − log Γ(k + 1) = −½ log 2πk − δ(k) − D(k, m),

where δ, Stirling's error, and D, the deviance, are small and computed directly. The binomial mass is a ratio of
three of them, and so are the Gamma, Beta, negative binomial and beta-binomial laws.

All functions take the namespace first, and use only what NumPy and JAX both have.

Reference: C. Loader (2000), Fast and accurate computation of binomial probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["stirling_error", "deviance", "log_poisson", "log_poisson_mode", "log_binomial", "log_minus_digamma",
           "betaincc"]  # fmt: skip

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))

#: from here the asymptotic series below are exact to rounding: the first term left out is < 1e-17 at 15
ASYMPTOTIC = 15.0
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_ATANH = tuple(1.0 / (2 * j + 3) for j in range(8))
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def _series(coefficients: tuple[float, ...], square: Any) -> Any:
    """Σ c_j square^j by Horner's rule."""
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * square + coefficient
    return total


def _split(xp: Any, small: Any, inside: Callable[..., Any], outside: Callable[..., Any], *values: Any) -> Any:
    """`inside(*values)` where small, `outside(*values)` elsewhere; neither meets values meant for the other.

    NumPy computes each branch on its own elements; JAX computes both everywhere, on values safe for the branch.
    """
    if xp.name != "numpy":
        kept = inside(*(xp.where(small, v, 1.0) for v in values))
        return xp.where(small, kept, outside(*(xp.where(small, ASYMPTOTIC, v) for v in values)))
    small = np.asarray(small)
    if small.all():
        return inside(*values)
    if not small.any():
        return outside(*values)
    small, *arrays = np.broadcast_arrays(small, *values)
    out = np.empty(small.shape)
    out[small], out[~small] = inside(*(v[small] for v in arrays)), outside(*(v[~small] for v in arrays))
    return out


def stirling_error(xp: Any, k: Any) -> Any:
    """δ(k) = log Γ(k + 1) − (k + ½) log k + k − ½ log 2π, k > 0; about 1/(12 k).

    >>> from credo.numerics.namespace import namespace
    >>> round(float(stirling_error(namespace(1.0), 1.0)), 9)
    0.081061467
    """

    def exact(k: Any) -> Any:
        return xp.special.gammaln(k + 1.0) - (k + 0.5) * xp.log(k) + k - HALF_LOG_2PI

    return _split(xp, k < ASYMPTOTIC, exact, lambda k: _series(_STIRLING, 1.0 / k / k) / k, k)


def deviance(xp: Any, k: Any, m: Any) -> Any:
    """D(k, m) = k log(k/m) + m − k ≥ 0 for k, m ≥ 0, accurate to rounding where k ≈ m; ∞ at m = 0 < k."""

    def near(k: Any, m: Any) -> Any:
        # with v = (k − m)/(k + m) it is (k − m) v + 2k (v³/3 + v⁵/5 + …): eight terms leave 0.1¹⁸
        v = (k - m) / (k + m)
        return (k - m) * v + 2.0 * k * v * (v * v) * _series(_ATANH, v * v)

    def far(k: Any, m: Any) -> Any:
        both = (k > 0) & (m > 0)  # and two logs, because k/m may overflow
        log_ratio = xp.log(xp.where(both, k, 1.0)) - xp.log(xp.where(both, m, 1.0))
        return xp.where((m > 0) | (k == 0), k * log_ratio + (m - k), xp.inf)

    return _split(xp, xp.abs(k - m) < 0.1 * (k + m), near, far, k, m)


def log_poisson(xp: Any, k: Any, m: Any) -> Any:
    """k log m − m − log Γ(k + 1) for real k ≥ 0 and m ≥ 0; −∞ at m = 0 < k."""
    return _split(
        xp,
        k < ASYMPTOTIC,
        lambda k, m: xp.special.xlogy(k, m) - m - xp.special.gammaln(k + 1.0),
        lambda k, m: log_poisson_mode(xp, k) - deviance(xp, k, m),
        k,
        m,
    )


def log_poisson_mode(xp: Any, k: Any) -> Any:
    """log_poisson(k, k) = k log k − k − log Γ(k + 1), about −½ log 2πk; 0 at k = 0."""
    return _split(
        xp,
        k < ASYMPTOTIC,
        lambda k: xp.special.xlogy(k, k) - k - xp.special.gammaln(k + 1.0),
        lambda k: -HALF_LOG_2PI - 0.5 * xp.log(k) - _series(_STIRLING, 1.0 / k / k) / k,
        k,
    )


def log_binomial(xp: Any, k: Any, j: Any, p: Any, q: Any) -> Any:
    """log [Γ(k + j + 1) / (Γ(k + 1) Γ(j + 1)) pᵏ qʲ] for real k, j ≥ 0 and p + q = 1.

    A binomial count is a Poisson count given the sum of two: pois(k; np) pois(j; nq) / pois(n; n), n = k + j.
    """
    n = k + j
    return log_poisson(xp, k, n * p) + log_poisson(xp, j, n * q) - log_poisson_mode(xp, n)


def log_minus_digamma(xp: Any, a: Any) -> Any:
    """log a − ψ(a), a > 0; about 1/(2a) where the two terms cancel."""
    return _split(
        xp,
        a < ASYMPTOTIC,
        lambda a: xp.log(a) - xp.special.digamma(a),
        lambda a: (0.5 + _series(_DIGAMMA, 1.0 / a / a) / a) / a,
        a,
    )


def betaincc(xp: Any, a: Any, b: Any, x: Any) -> Any:
    """1 − I(x; a, b), keeping the digits of a small x; JAX has the reflection only, which keeps those of 1 − x."""
    return xp.special.betaincc(a, b, x) if xp.name == "numpy" else xp.special.betainc(b, a, 1.0 - x)
