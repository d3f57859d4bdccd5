"""Viterbi's paths: δ_t = max_i (δ_{t−1} + log P) + ℓ_t, followed back. Importing this compiles it."""

from __future__ import annotations

import numba

__all__ = ["paths"]

M, V, I = "float64[:, ::1]", "float64[::1]", "int64[::1]"  # noqa: E741


@numba.njit(f"int64({M}, {V}, {M}, {I}, {M}, {I}, {V})", nogil=True, cache=True)
def paths(log_likelihood, log_start, log_P, ends, best, states, log_prob):  # type: ignore[no-untyped-def]
    """Fill states (n,), the most probable path of each sequence, and log_prob (s,); −1, or the first row that no path
    reaches. best (n, K): room. Steps back are found again from `best` rather than stored. The first of equals wins."""
    size, begin = log_likelihood.shape[1], 0
    for s in range(ends.size):
        end = ends[s]
        for t in range(begin, end):
            if t == begin:
                for j in range(size):
                    best[t, j] = log_start[j]
            else:
                for j in range(size):
                    best[t, j] = -float("inf")
                for i in range(size):
                    value = best[t - 1, i]
                    for j in range(size):
                        best[t, j] = max(best[t, j], value + log_P[i, j])
            highest = -float("inf")
            for j in range(size):
                best[t, j] += log_likelihood[t, j]
                highest = max(highest, best[t, j])
            if highest == -float("inf"):
                return t
        if end > begin:
            here = 0
            for j in range(1, size):
                if best[end - 1, j] > best[end - 1, here]:
                    here = j
            states[end - 1] = here
            log_prob[s] = best[end - 1, here]
            for t in range(end - 2, begin - 1, -1):
                before = 0
                for i in range(1, size):
                    if best[t, i] + log_P[i, here] > best[t, before] + log_P[before, here]:
                        before = i
                here = before
                states[t] = here
        else:
            log_prob[s] = 0.0
        begin = end
    return -1
