"""The passes of `hidden_kernels` in logarithms, for sequences whose probabilities leave the range of floating point.

K² exponentials a step, some ten times dearer. Importing this compiles it.
"""

from __future__ import annotations

import math

import numba

__all__ = ["log_passes"]

M, V = "float64[:, ::1]", "float64[::1]"


@numba.njit(
    f"int64({M}, {V}, {M}, float64, boolean, {M}, {V}, {M}, {M}, {M})",
    nogil=True,
    cache=True,
)
def log_passes(log_likelihood, log_start, log_P, weight, smooths, room, log_scale, filtered, smoothed, pairs):  # type: ignore[no-untyped-def]
    """One sequence (n, K): fill log_scale (n,), filtered and smoothed (n, K, as logarithms), add to pairs (K, K).

    −1, or the first row of probability 0. smoothed may not be `filtered`. room (2, K)
    """
    n, size = log_likelihood.shape
    lowest = -math.inf
    for t in range(n):
        top = lowest
        for j in range(size):
            if t == 0:
                value = log_start[j]
            else:
                value, high = lowest, lowest
                for i in range(size):
                    high = max(high, filtered[t - 1, i] + log_P[i, j])
                if high > lowest:
                    total = 0.0
                    for i in range(size):
                        total += math.exp(filtered[t - 1, i] + log_P[i, j] - high)
                    value = high + math.log(total)
            filtered[t, j] = value + log_likelihood[t, j]
            top = max(top, filtered[t, j])
        if top == lowest:
            return t
        total = 0.0
        for j in range(size):
            total += math.exp(filtered[t, j] - top)
        log_scale[t] = top + math.log(total)
        for j in range(size):
            filtered[t, j] -= log_scale[t]
    if not smooths:
        return -1
    beta, u = room[0], room[1]
    for i in range(size):
        beta[i] = 0.0
        smoothed[n - 1, i] = filtered[n - 1, i]
    for t in range(n - 2, -1, -1):
        for j in range(size):
            u[j] = log_likelihood[t + 1, j] + beta[j] - log_scale[t + 1]
        for i in range(size):
            beta[i] = lowest
            if filtered[t, i] > lowest:
                high = lowest
                for j in range(size):
                    high = max(high, log_P[i, j] + u[j])
                if high > lowest:
                    total = 0.0
                    for j in range(size):
                        total += math.exp(log_P[i, j] + u[j] - high)
                        pairs[i, j] += weight * math.exp(filtered[t, i] + log_P[i, j] + u[j])
                    beta[i] = high + math.log(total)
            smoothed[t, i] = filtered[t, i] + beta[i]
    return -1
