"""Draws of the states of hidden chains, backwards from their filtered laws. Importing this compiles it."""

from __future__ import annotations

import numba

__all__ = ["backward_paths"]

M, V, I = "float64[:, ::1]", "float64[::1]", "int64[::1]"  # noqa: E741


@numba.njit(f"void({M}, {M}, {I}, {V}, {I})", nogil=True, cache=True)
def backward_paths(filtered, P, ends, u, states):  # type: ignore[no-untyped-def]
    """Fill states (n,): p(z_t | z_{t+1}, x_1 … x_t) ∝ filtered_t P[:, z_{t+1}], each by one uniform number u (n,)."""
    size, begin = filtered.shape[1], 0
    for s in range(ends.size):
        end = ends[s]
        for t in range(end - 1, begin - 1, -1):
            total = 0.0
            for k in range(size):
                weight = filtered[t, k]
                if t < end - 1:
                    weight *= P[k, states[t + 1]]
                total += weight
            left = u[t] * total
            chosen = -1
            for k in range(size):
                weight = filtered[t, k]
                if t < end - 1:
                    weight *= P[k, states[t + 1]]
                if weight > 0.0:
                    chosen = k
                    if left < weight:
                        break
                    left -= weight
            states[t] = max(chosen, 0)
        begin = end
