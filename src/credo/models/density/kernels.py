"""The six radial kernels K(z) = k(|z|)/c in d dimensions: constants, distribution functions, draws.

Notation: r = |z|, V the volume of the unit ball; ∫ k(|z|) dz = d V ∫ r^(d−1) k(r) dr.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import scipy.special

__all__ = ["KERNELS", "canonical_ratio", "draw", "log_norm", "log_values", "reach", "unit_cdf", "unit_variance"]

KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")

# Gauss–Legendre nodes: exact for polynomials of degree 127, so for every kernel here up to d of about 60.
_NODES = 64


def log_values(kernel: str, r: np.ndarray) -> np.ndarray:
    """log k(r), −∞ outside the unit ball of a compact kernel."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if kernel == "gaussian":
            return -0.5 * np.square(r)
        if kernel == "exponential":
            return -r
        inside: np.ndarray = r < 1.0
        if kernel == "tophat":
            return np.where(inside, 0.0, -np.inf)
        shape = {"epanechnikov": 1.0 - r * r, "linear": 1.0 - r, "cosine": np.cos(0.5 * np.pi * r)}[kernel]
        return np.where(inside, np.log(np.where(inside, shape, 1.0)), -np.inf)


def reach(kernel: str, d: int) -> float:
    """Distance beyond which a kernel holds less than 1e-15 of its mass."""
    if kernel == "gaussian":
        return float(np.sqrt(2.0 * scipy.special.gammainccinv(0.5 * d, 1e-15)))
    return float(scipy.special.gammainccinv(d, 1e-15)) if kernel == "exponential" else 1.0


def log_volume(d: int, p: float = 2.0) -> float:
    """log of the volume of {|z|_p ≤ 1} in d dimensions; p = ∞ is the cube.

    >>> round(float(np.exp(log_volume(2))), 6), round(float(np.exp(log_volume(3, 1.0))), 6)
    (3.141593, 1.333333)
    """
    if np.isinf(p):
        return d * np.log(2.0)
    gammaln = scipy.special.gammaln
    return float(d * np.log(2.0) + d * gammaln(1.0 + 1.0 / p) - gammaln(1.0 + d / p))


@functools.cache
def log_norm(kernel: str, d: int, p: float = 2.0) -> float:
    """log c = log ∫ k(|z|_p) dz.

    >>> round(float(np.exp(log_norm("gaussian", 1))) ** 2, 6)  # 2π
    6.283185
    """
    return log_volume(d, p) + float(np.log(_radial(kernel, d, lambda r: 1.0)))


def unit_variance(kernel: str, d: int) -> float:
    """Variance of each coordinate of z."""
    return _radial(kernel, d, lambda r: r * r) / _radial(kernel, d, lambda r: 1.0) / d


@functools.cache
def canonical_ratio(kernel: str, d: int) -> float:
    """The bandwidth that smooths as a Gaussian kernel of bandwidth 1 does (Marron and Nolan 1988).

    (R(K)/μ₂²)^(1/(d+4)) relative to the Gaussian's, R(K) = ∫ K², μ₂ the variance of a coordinate.

    >>> round(canonical_ratio("epanechnikov", 1), 4)
    2.2138
    """

    def size(name: str) -> float:
        mass = _radial(name, d, lambda r: 1.0)
        roughness = _radial(name, d, lambda r: np.exp(log_values(name, r))) / mass**2
        return (roughness / unit_variance(name, d) ** 2) ** (1.0 / (d + 4.0))

    return size(kernel) / size("gaussian")


def _radial(kernel: str, d: int, weight: Callable[[np.ndarray], np.ndarray | float]) -> float:
    """d ∫ r^(d−1) k(r) weight(r) dr."""
    end = reach(kernel, d + 2) if kernel in ("gaussian", "exponential") else 1.0
    x, w = np.polynomial.legendre.leggauss(_NODES)
    r = 0.5 * end * (x + 1.0)
    return float(d * np.sum(0.5 * end * w * r ** (d - 1) * np.exp(log_values(kernel, r)) * weight(r)))


def unit_cdf(kernel: str, u: np.ndarray) -> np.ndarray:
    """P(z ≤ u) of the one-dimensional kernel."""
    if kernel == "gaussian":
        return scipy.special.ndtr(u)
    if kernel == "exponential":
        half = 0.5 * np.exp(-np.abs(u))
        return np.where(u < 0.0, half, 1.0 - half)
    u = np.clip(u, -1.0, 1.0)
    if kernel == "tophat":
        return 0.5 * (1.0 + u)
    if kernel == "epanechnikov":
        return 0.25 * (2.0 + u * (3.0 - u * u))
    if kernel == "linear":
        half = 0.5 * np.square(1.0 - np.abs(u))
        return np.where(u < 0.0, half, 1.0 - half)
    return 0.5 * (1.0 + np.sin(0.5 * np.pi * u))


def draw(kernel: str, n: int, d: int, rng: np.random.Generator, p: float = 2.0) -> np.ndarray:
    """Draws (n, d) from a kernel k(|z|_p) of bandwidth 1: a direction and a radius of density ∝ r^(d−1) k(r)."""
    if np.isinf(p):
        z = rng.uniform(-1.0, 1.0, (n, d))
        length = np.abs(z).max(axis=1)
    elif p == 2.0:
        z = rng.normal(size=(n, d))
        if kernel == "gaussian":
            return z
        length = np.sqrt(np.square(z).sum(axis=1))
    else:  # exp(−|z|^p) in every column has directions without preference on the unit sphere of |·|_p
        size = rng.gamma(1.0 / p, size=(n, d))
        z, length = np.where(rng.random((n, d)) < 0.5, -1.0, 1.0) * size ** (1.0 / p), size.sum(axis=1) ** (1.0 / p)
    return z * (_radius(kernel, n, d, rng) / length)[:, None]


def _radius(kernel: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    if kernel == "gaussian":
        return np.sqrt(rng.chisquare(d, n))
    if kernel == "tophat":
        return rng.random(n) ** (1.0 / d)
    if kernel == "epanechnikov":
        return np.sqrt(rng.beta(0.5 * d, 2.0, n))
    if kernel == "exponential":
        return rng.gamma(d, size=n)
    r = rng.beta(d, 2.0, n)
    # cos(πr/2) = sin(πs/2) ≤ πs/2 with s = 1 − r: the linear kernel is an envelope, and 2/π or more is accepted.
    waiting = np.arange(n if kernel == "cosine" else 0)
    while waiting.size:
        s = 1.0 - r[waiting]
        waiting = waiting[rng.random(waiting.size) > np.sinc(0.5 * s)]
        r[waiting] = rng.beta(d, 2.0, waiting.size)
    return r
