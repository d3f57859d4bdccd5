"""Two functions that cancel to nothing if written as they are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

__all__ = ["exp_excess", "trigamma_excess"]

_TRIGAMMA = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
#: from here the asymptotic series is exact to rounding: the first term left out is 2e-17 of the sum
ASYMPTOTIC = 20.0


def exp_excess(xp: Any, r: Any) -> Any:
    """eʳ − 1 − r ≥ 0, about r²/2: twelve terms of Taylor leave 1e-17 of it within 0.5."""
    small = xp.clip(r, -0.5, 0.5)
    total = 1.0
    for k in range(14, 2, -1):
        total = 1.0 + total * small / k
    return xp.where(xp.abs(r) < 0.5, 0.5 * small * small * total, xp.expm1(r) - r)


def trigamma_excess(a: Any) -> Any:
    """ψ′(a) − 1/a > 0, a > 0: about 1/(2a²) for large a, 1/a² for small."""
    a = np.asarray(a, dtype=np.float64)
    large = np.maximum(a, ASYMPTOTIC)
    square = 1.0 / large / large
    total = np.zeros_like(square)
    for coefficient in reversed(_TRIGAMMA):
        total = total * square + coefficient
    series = (0.5 + total / large) * square
    small = np.minimum(a, ASYMPTOTIC)
    return np.where(a < ASYMPTOTIC, scipy.special.zeta(2.0, small) - 1.0 / small, series)[()]
