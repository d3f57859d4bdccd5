"""Quantiles by inverting a distribution function, elementwise over arrays.

`invert_cdf` interpolates: 10 to 20 evaluations where the distribution function is smooth. `boundary` and
`integer_quantile` only ask whether a level is reached, so that flat stretches and jumps end where the definition of a
quantile says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credo.errors import NumericalError

__all__ = ["boundary", "integer_quantile", "invert_cdf"]

# Chandrupatla's method at worst halves the bracket every other step: 2 × 64 halvings exhaust a float64.
MAX_STEPS = 128
NEWTON_STEPS = 6
SETTLED = 1e-9
SMALLEST = 2.0**-1074  # the smallest positive float


def invert_cdf(
    cdf: Callable[[Any], np.ndarray],
    q: Any,
    low: Any,
    high: Any,
    density: Callable[[Any], np.ndarray] | None = None,
    start: Any = None,
) -> np.ndarray:
    """An x in [low, high] with cdf(x) = q, to 4 ulp, where cdf is continuous and cdf(low) ≤ q ≤ cdf(high).

    `q`, `low` and `high` broadcast to one shape, which `cdf` maps to itself. A mixture's quantile lies between the
    smallest and the largest of its components' quantiles. An infinite end stands for q = 0 or 1 and is returned.
    With a `density` and a `start` near the answer, Newton's steps are tried first: three evaluations then do for
    most mixtures. Otherwise, or where they do not settle inside the bracket, Chandrupatla's bisection with inverse
    quadratic steps; `NumericalError` if it does not settle.

    Reference: T. R. Chandrupatla, Advances in Engineering Software 28 (1997) 145-149.

    >>> invert_cdf(lambda x: x**2, [0.25, 0.81], 0.0, 1.0).round(12).tolist()
    [0.5, 0.9]
    """
    q, low, high = np.broadcast_arrays(np.asarray(q, dtype=np.float64), low, high)
    if density is not None:
        x = _newton(cdf, density, q, low, high, np.broadcast_to(start, q.shape))
        if x is not None:
            return x
    finite = np.isfinite(low) & np.isfinite(high)
    # A finite stand-in keeps the arithmetic of infinite ends quiet.
    a, b = np.where(finite, low, 0.0), np.where(finite, high, 0.0)
    fa, fb = cdf(a) - q, cdf(b) - q
    t = np.full(a.shape, 0.5)
    for _ in range(MAX_STEPS):
        if np.any(np.isnan(fa) | np.isnan(fb)):
            break
        best = np.where(np.abs(fa) < np.abs(fb), a, b)
        width = np.abs(b - a)
        tolerance = 4.0 * np.finfo(np.float64).eps * np.abs(best) + np.finfo(np.float64).tiny
        done = (width <= tolerance) | (fa == 0.0) | (fb == 0.0) | (np.sign(fa) == np.sign(fb)) | ~finite
        if np.all(done):
            return np.where(finite, best, np.where(q < 0.5, low, high))
        margin = 0.5 * tolerance / np.maximum(width, tolerance)
        x = np.where(done, a, a + np.clip(t, margin, 1.0 - margin) * (b - a))
        fx = np.where(done, fa, cdf(x) - q)
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        t = _interpolated_step(a, b, c, fa, fb, fc)
    raise NumericalError("A quantile did not settle: the distribution function is not monotone or not finite.", value=q)


def _newton(
    cdf: Any, density: Any, q: np.ndarray, low: np.ndarray, high: np.ndarray, x: np.ndarray
) -> np.ndarray | None:
    """Newton's steps within the bracket, all elements together; None unless every one settles."""
    for _ in range(NEWTON_STEPS):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            following = x - (cdf(x) - q) / density(x)
        if not np.all((following >= low) & (following <= high)):
            return None
        moved, x = np.abs(following - x), following
        # Newton's error after a step is of the order of the square of the step: this one is below rounding.
        if np.all(moved <= SETTLED * np.maximum(np.abs(x), high - low)):
            return x
    return None


def _interpolated_step(a: Any, b: Any, c: Any, fa: Any, fb: Any, fc: Any) -> np.ndarray:
    """Where in [a, b] to look next: inverse quadratic interpolation where it is monotone, else the middle."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        safe = (phi * phi < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
        step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    return np.where(safe & np.isfinite(step), step, 0.5)


def boundary(reached: Callable[[Any], Any], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The smallest float x in (low, high] with `reached(x)`, a test that stays true once true and is true at high.

    By halving: at 0 first, then in logs while the ends differ by a factor > 4. At most 70 or so tests.

    >>> boundary(lambda x: x >= 0.3, np.zeros(1), np.ones(1)).tolist()
    [0.3]
    """
    while True:
        near, far = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
        near = np.maximum(near, SMALLEST)
        size = np.sqrt(near) * np.sqrt(far)
        middle = np.where(0.25 * far > near, np.where(high > 0.0, size, -size), 0.5 * low + 0.5 * high)
        middle = np.where((low < 0.0) & (high > 0.0), 0.0, middle)
        active = (middle > low) & (middle < high)
        if not np.any(active):
            return high
        hit = reached(middle)
        low, high = np.where(active & ~hit, middle, low), np.where(active & hit, middle, high)


def integer_quantile(
    q: Any, reached: Callable[[np.ndarray], np.ndarray], ends: tuple[Any, Any], low: Any, high: Any, guess: Any
) -> Any:
    """The smallest integer k in [low, high] with `reached(k)`, a test that stays true once true.

    `ends` are the answers at q = 0 and q = 1. Doubling from `guess`, then bisection: about 2 log₂(k) tests.
    """
    q, below, high, guess = np.broadcast_arrays(q, np.subtract(low, 1.0), high, guess)
    proper = (q > 0) & (q < 1)
    above = np.where(proper, np.clip(np.floor(guess), below + 1.0, high), high)
    step = 1.0
    while np.any(short := proper & (above < high) & ~reached(above)):
        below = np.where(short, above, below)
        above = np.where(short, np.minimum(above + step, high), above)
        step *= 2.0
    while True:
        with np.errstate(invalid="ignore"):  # improper levels may hold −∞ + ∞
            middle = np.floor(0.5 * (below + above))
        active = proper & (middle > below) & (middle < above)
        if not np.any(active):
            break
        hit = reached(np.where(active, middle, above))
        above, below = np.where(active & hit, middle, above), np.where(active & ~hit, middle, below)
    at_ends = np.where(q == 0, ends[0], np.where(q == 1, ends[1], np.nan))
    return np.where(proper, above, at_ends)[()]
