"""The compiled dynamic programme of Bayesian blocks. Importing this module compiles (then caches) it."""

from __future__ import annotations

import math

import numba

__all__ = ["last_starts"]

# Rounding must not drop a start that ties with the best.
_SLACK = 1e-9


@numba.njit(
    "void(float64[::1], float64[::1], float64, float64[::1], float64[::1], int64[::1], int64[::1])",
    nogil=True,
    cache=True,
)
def last_starts(remaining, total, price, best, gain, alive, starts):  # type: ignore[no-untyped-def]
    """Fill `starts` (m,): for every end the first cell of the best last block.

    remaining (m + 1,) : range to the right of each edge ; total (m + 1,) : counts to its left
    best (m + 1,) : of the cells before each edge, 0 at the first ; gain, alive (m,) : room to work
    """
    m = total.size - 1
    best[0] = 0.0
    n_alive = 0
    for end in range(1, m + 1):
        alive[n_alive] = end - 1
        n_alive += 1
        top = -math.inf
        for i in range(n_alive):
            start = alive[i]
            rows = total[end] - total[start]
            gain[i] = best[start]
            if rows > 0.0:
                gain[i] += rows * math.log(rows / (remaining[start] - remaining[end]))
            if gain[i] > top:
                top = gain[i]
                starts[end - 1] = start
        best[end] = top - price
        bar = best[end] - _SLACK * (1.0 + abs(best[end]))
        kept = 0
        for i in range(n_alive):
            if gain[i] >= bar:
                alive[kept] = alive[i]
                kept += 1
        n_alive = kept
