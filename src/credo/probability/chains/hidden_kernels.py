"""Compiled passes over the rows of hidden chains, with one scale factor a step. Importing this compiles them.

Notation: n rows of several sequences, one after the other, `ends` (s,) where each ends; K states
    b (n, K)  likelihood of each row in each state, over the row's largest; P (K, K), T = Pᵀ; start (K,)

    forward    α_t ∝ (α_{t−1} P) b_t, scale_t the sum        α_t = p(z_t | x_1 … x_t)
    backward   u = b_{t+1} β_{t+1}/scale_{t+1}, β_t = P u    α_t β_t = p(z_t | x), α_t u P = p(z_t, z_{t+1} | x)
"""

from __future__ import annotations

import numba

__all__ = ["backward", "forward", "shift"]

M, V, I = "float64[:, ::1]", "float64[::1]", "int64[::1]"  # noqa: E741


def _compiled(signature: str):  # type: ignore[no-untyped-def]
    return numba.njit(signature, nogil=True, cache=True)


@_compiled(f"void({M}, {M}, {V}, float64)")
def shift(log_likelihood, out, highest, least):  # type: ignore[no-untyped-def]
    """out = ℓ − max_k ℓ, at least `least` where finite; −∞ stays, so that only impossible states get 0."""
    n, size = log_likelihood.shape
    for t in range(n):
        top = log_likelihood[t, 0]
        for k in range(1, size):
            if log_likelihood[t, k] > top:
                top = log_likelihood[t, k]
        highest[t] = top
        if top == -float("inf"):
            top = 0.0
        for k in range(size):
            value = log_likelihood[t, k] - top
            if value < least and value > -float("inf"):
                value = least
            out[t, k] = value


@_compiled(f"void({M}, {V}, {M}, {I}, float64, boolean, {M}, {M}, {V}, {I})")
def forward(b, start, P, ends, floor, checks, room, filtered, scale, lost):  # type: ignore[no-untyped-def]
    """Fill filtered (n, K) and scale (n,). lost (s,) becomes 1 where a sum, or with `checks` any possible state, falls
    below `floor`: that sequence needs logarithms. room (2, K).

    A step begins with what the one before has not divided by its sum yet: nothing waits for sum or division.
    """
    size, begin, inverse = b.shape[1], 0, 1.0
    ahead, now = room[0], room[1]
    for s in range(ends.size):
        end = ends[s]
        for t in range(begin, end):
            if t == begin:
                for j in range(size):
                    ahead[j] = start[j]
            else:
                for j in range(size):
                    ahead[j] = 0.0
                for i in range(size):
                    share = now[i]
                    for j in range(size):
                        ahead[j] += share * P[i, j]
                for j in range(size):
                    ahead[j] *= inverse
            total = 0.0
            for j in range(size):
                now[j] = ahead[j] * b[t, j]
                total += now[j]
            if not total >= floor:
                lost[s] = 1
                break
            scale[t] = total
            inverse = 1.0 / total
            for j in range(size):
                filtered[t, j] = now[j] * inverse
            if checks:
                for j in range(size):
                    if ahead[j] > 0.0 and b[t, j] > 0.0 and (filtered[t, j] < floor or ahead[j] < floor):
                        lost[s] = 1
                if lost[s] == 1:
                    break
        begin = end


@_compiled(f"void({M}, {M}, {M}, {V}, {I}, {V}, {I}, {M}, {M}, {M})")
def backward(b, T, filtered, scale, ends, weights, lost, room, smoothed, pairs):  # type: ignore[no-untyped-def]
    """Fill smoothed (n, K), which may be `filtered` itself; add Σ_t weight α_t uᵀ to pairs (K, K), still to be
    multiplied by P. room (2, K)."""
    size, begin = b.shape[1], 0
    beta, u = room[0], room[1]
    for s in range(ends.size):
        end = ends[s]
        if lost[s] == 0 and end > begin:
            for i in range(size):
                beta[i] = 1.0
                smoothed[end - 1, i] = filtered[end - 1, i]
            for t in range(end - 2, begin - 1, -1):
                inverse = 1.0 / scale[t + 1]
                for j in range(size):
                    u[j] = b[t + 1, j] * beta[j] * inverse
                    beta[j] = 0.0
                for j in range(size):
                    value = u[j]
                    for i in range(size):
                        beta[i] += T[j, i] * value
                total = 0.0
                for i in range(size):
                    # β of a state that cannot be is never used, and may overflow
                    if filtered[t, i] == 0.0:
                        beta[i] = 0.0
                    total += filtered[t, i] * beta[i]
                inverse = 1.0 / total  # 1 but for rounding, which would add up
                for i in range(size):
                    share = weights[s] * filtered[t, i] * inverse
                    for j in range(size):
                        pairs[i, j] += share * u[j]
                    smoothed[t, i] = filtered[t, i] * beta[i] * inverse
        begin = end
