"""Bends: columns of the cube put through Kumaraswamy's distribution functions before a kernel compares them.

A process whose lengthscales are the same everywhere then varies faster near an end of a range, or in its middle, than
elsewhere ("input warping").

Notation
    u (n, k)    columns in [0, 1];  w = 1 − (1 − uᵃ)ᵇ, increasing from 0 to 1; a = b = 1 leaves u as it is
    bends (2k,) log a of all columns, then log b

Snoek, Swersky, Zemel & Adams (2014), Input warping for Bayesian optimization of non-stationary functions, ICML.
"""

from __future__ import annotations

import numpy as np

__all__ = ["bend", "bend_slope", "bends_slopes"]

# Powers of u have no slope at 0 where a < 1.
EDGE = 1e-9


def bend(u: np.ndarray, bends: np.ndarray) -> np.ndarray:
    """w (n, k) of columns u (n, k)."""
    a, b = np.exp(bends).reshape(2, -1)
    return -np.expm1(b * np.log1p(-(_inner(u) ** a)))


def bend_slope(u: np.ndarray, bends: np.ndarray) -> np.ndarray:
    """∂w/∂u (n, k)."""
    a, b = np.exp(bends).reshape(2, -1)
    u = _inner(u)
    return a * b * u ** (a - 1.0) * np.exp((b - 1.0) * np.log1p(-(u**a)))


def bends_slopes(u: np.ndarray, bends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """∂w/∂log a and ∂w/∂log b, (n, k) each."""
    a, b = np.exp(bends).reshape(2, -1)
    u = _inner(u)
    rest = np.log1p(-(u**a))
    return bend_slope(u, bends) * u * np.log(u), -b * np.exp(b * rest) * rest


def _inner(u: np.ndarray) -> np.ndarray:
    return np.clip(u, EDGE, 1.0 - EDGE)
