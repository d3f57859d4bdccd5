"""One slice-sampling update of many independent numbers at once: no tuning, any density on the line.

For one chain of a general target see `inference.mcmc.Slice`; here every entry of an array is its own one-dimensional
target, and one call of the density serves them all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["slice_update"]

# Doubling the width at most this often reaches 2¹⁶ widths: a start that far out is found again by warm-up.
MAX_STEPS = 16
# Shrinking halves the interval on average: 100 rounds are below the spacing of floats.
MAX_SHRINKS = 100


def slice_update(
    log_density: Callable[[np.ndarray], np.ndarray], x: np.ndarray, rng: np.random.Generator, width: float = 1.0
) -> np.ndarray:
    """New values of x, each from its own density: `log_density` maps an array like x to one like x, elementwise.

    Steps out by `width` to at most 16 widths a side, then shrinks towards x (Neal 2003, Annals of Statistics 31, figs.
    3 and 5), which leaves every density invariant whatever the width. Cost: some eight evaluations.

    >>> rng = np.random.default_rng(0)
    >>> x = np.zeros(4000)
    >>> for _ in range(20):
    ...     x = slice_update(lambda t: -0.5 * t**2, x, rng)
    >>> bool(abs(x.mean()) < 0.08 and abs(x.std() - 1) < 0.06)
    True
    """
    level = log_density(x) - rng.standard_exponential(x.shape)
    low = x - width * rng.random(x.shape)
    high = low + width
    # The budget of steps is split at random between the sides, as reversibility asks.
    left = np.floor(MAX_STEPS * rng.random(x.shape))
    right = MAX_STEPS - 1.0 - left
    for end, sign, steps in ((low, -1.0, left), (high, 1.0, right)):
        growing = np.ones(x.shape, dtype=bool)
        for step in range(MAX_STEPS):
            growing &= (step < steps) & (log_density(end) > level)
            if not growing.any():
                break
            end += sign * width * growing
    new = low + (high - low) * rng.random(x.shape)
    for _ in range(MAX_SHRINKS):
        outside = ~(log_density(new) >= level)
        if not outside.any():
            return new
        low = np.where(outside & (new < x), new, low)
        high = np.where(outside & (new >= x), new, high)
        new = np.where(outside, low + (high - low) * rng.random(x.shape), new)
    return np.where(outside, x, new)
