"""The schedule of warm-up: when what has been learned of the shape replaces what was used so far.

A first stretch finds the typical set; windows of doubling length then learn the shape, each from its own draws only, so
that the transient is forgotten; a last stretch settles the step size under the final shape.
"""

from __future__ import annotations

from functools import cache

__all__ = ["window_ends", "is_window_end"]

# Shares of warm-up as in Stan's reference manual, "HMC algorithm parameters" (75, 25 doubling, 50 of 1,000).
FIRST, SETTLE, SHORTEST = 0.075, 0.05, 0.025


@cache
def window_ends(warmup: int) -> tuple[int, ...]:
    """Iterations (counted from 1) after which a window closes; none when warm-up is under 20 iterations.

    >>> window_ends(1000)
    (75, 100, 150, 250, 450, 950)
    """
    if warmup < 20:
        return ()
    last = warmup - max(1, round(SETTLE * warmup))
    ends, length = [round(FIRST * warmup)], round(max(1.0, SHORTEST * warmup))
    while ends[-1] + 3 * length < last:  # the next window after this one must still fit, else this one takes all
        ends.append(ends[-1] + length)
        length *= 2
    return (*ends, last)


def is_window_end(iteration: int, warmup: int) -> bool:
    return iteration in window_ends(warmup)
