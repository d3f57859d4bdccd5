"""Compiled passes over rows in order: filter forwards, smoother backwards. Importing this compiles them.

Notation: rows i of a block of n; A, Q (n, S, S) lead *to* row i in the filter, *from* it in the smoother
    h, g (n, S)  what is seen, and its gain
    e (n, q), s (n,)  innovations and their variance; D (n,) diag K_y⁻¹
    lo, hi (S,)  row a of A is 0 outside lo[a] … hi[a]
What a block hands to the next is overwritten in place: P (S, S), m (q, S); N (S, S), r (q, S).

    filter     p = P h, s = hᵀp + v, g = p/s, P ← (I − ghᵀ) P (I − ghᵀ)ᵀ + v ggᵀ (Joseph: keeps digits where v ≪ P)
    smoother   α = e/s − gᵀAᵀr, r ← Aᵀr + hα (de Jong 1989, JASA 84); B = AᵀNA, D = 1/s + gᵀBg,
               N ← B − h(Bg)ᵀ − (Bg)hᵀ + D hhᵀ
"""

from __future__ import annotations

import numba

__all__ = ["filter_means", "filter_variances", "propagate", "score_weights", "smooth_means", "smooth_variances"]

M, C, V, I = "float64[:, ::1]", "float64[:, :, ::1]", "float64[::1]", "int64[::1]"  # noqa: E741


def _compiled(signature: str):  # type: ignore[no-untyped-def]
    return numba.njit(signature, nogil=True, cache=True)


@_compiled(f"int64({C}, {C}, {M}, {V}, {V}, {I}, {I}, {M}, {M}, {C}, {M}, {V})")
def filter_variances(A, Q, h, v, floor, lo, hi, P, X, filtered, gain, s):  # type: ignore[no-untyped-def]
    """Fill filtered (n, S, S), gain (n, S), s (n,); −1, or the first row whose s is rounding error. X (S, S): room."""
    n, size = h.shape
    for i in range(n):
        for a in range(size):
            for c in range(size):
                total = 0.0
                for b in range(lo[a], hi[a]):
                    total += A[i, a, b] * P[b, c]
                X[a, c] = total
        for a in range(size):
            for c in range(a + 1):
                total = Q[i, a, c]
                for b in range(lo[c], hi[c]):
                    total += X[a, b] * A[i, c, b]
                P[a, c] = total
                P[c, a] = total
        variance = v[i]
        for a in range(size):
            total = 0.0
            for b in range(size):
                total += P[a, b] * h[i, b]
            gain[i, a] = total
            variance += h[i, a] * total
        if not (variance > floor[i] or 0.5 * variance < v[i] < 2.0 * variance):
            return i
        s[i] = variance
        for a in range(size):
            gain[i, a] /= variance
        for a in range(size):
            for c in range(size):
                X[a, c] = P[a, c] - gain[i, a] * (gain[i, c] * variance)
        for a in range(size):
            seen = 0.0
            for b in range(size):
                seen += X[a, b] * h[i, b]
            seen -= v[i] * gain[i, a]
            for c in range(a + 1):
                P[a, c] = X[a, c] - seen * gain[i, c]
                P[c, a] = P[a, c]
        for a in range(size):
            for c in range(size):
                filtered[i, a, c] = P[a, c]
    return -1


@_compiled(f"void({C}, {M}, {M}, {M}, {I}, {I}, {M}, {V}, {M}, {C})")
def filter_means(A, h, gain, u, lo, hi, m, room, e, filtered):  # type: ignore[no-untyped-def]
    """Fill innovations e (n, q) of the right sides u (n, q), and the filtered means (n, q, S)."""
    n, size = h.shape
    for i in range(n):
        for k in range(u.shape[1]):
            innovation = u[i, k]
            for a in range(size):
                total = 0.0
                for b in range(lo[a], hi[a]):
                    total += A[i, a, b] * m[k, b]
                room[a] = total
                innovation -= h[i, a] * total
            e[i, k] = innovation
            for a in range(size):
                m[k, a] = room[a] + gain[i, a] * innovation
                filtered[i, k, a] = m[k, a]


@_compiled(f"void({C}, {M}, {M}, {V}, {M}, {I}, {I}, {M}, {V}, {M}, {C})")
def smooth_means(A, h, gain, s, e, lo, hi, r, room, alpha, after):  # type: ignore[no-untyped-def]
    """Fill α (n, q) and Aᵀr after each row (n, q, S)."""
    n, size = h.shape
    for i in range(n - 1, -1, -1):
        for k in range(e.shape[1]):
            for b in range(size):
                room[b] = 0.0
            for a in range(size):
                for b in range(lo[a], hi[a]):
                    room[b] += A[i, a, b] * r[k, a]
            value = e[i, k] / s[i]
            for b in range(size):
                after[i, k, b] = room[b]
                value -= gain[i, b] * room[b]
            alpha[i, k] = value
            for b in range(size):
                r[k, b] = room[b] + h[i, b] * value


@_compiled(f"void({C}, {M}, {M}, {V}, {I}, {I}, {M}, {M}, {V}, {V}, {C})")
def smooth_variances(A, h, gain, s, lo, hi, N, X, room, D, after):  # type: ignore[no-untyped-def]
    """Fill D (n,) and B = AᵀNA after each row (n, S, S)."""
    n, size = h.shape
    for i in range(n - 1, -1, -1):
        for a in range(size):
            for b in range(size):
                X[a, b] = 0.0
        for c in range(size):
            for b in range(lo[c], hi[c]):
                for a in range(size):
                    X[a, b] += N[a, c] * A[i, c, b]
        for a in range(size):
            for b in range(size):
                N[a, b] = 0.0
        for c in range(size):
            for a in range(lo[c], hi[c]):
                for b in range(a + 1):
                    N[a, b] += A[i, c, a] * X[c, b]
        for a in range(size):
            for b in range(a):
                N[b, a] = N[a, b]
        value = 1.0 / s[i]
        for a in range(size):
            total = 0.0
            for b in range(size):
                total += N[a, b] * gain[i, b]
                after[i, a, b] = N[a, b]
            room[a] = total
            value += gain[i, a] * total
        D[i] = value
        for a in range(size):
            for b in range(a + 1):
                N[a, b] += value * h[i, a] * h[i, b] - h[i, a] * room[b] - room[a] * h[i, b]
                N[b, a] = N[a, b]


@_compiled(f"void({C}, {M}, {M}, {M}, {C}, {C}, {C}, {C}, {V}, float64, {M}, {M}, {M}, {C}, {C}, {M})")
def score_weights(A, h, gain, alpha, means, after, filtered, B, D, copies, r, N, G, W_A, W_Q, W_h):  # type: ignore[no-untyped-def]
    """Fill ∂L/∂A and ∂L/∂Q of the steps *from* each row, and ∂L/∂h (n, S) at it.

    r (q, S) and N (S, S) at the row after the block; left at its first row. G (S, S): room. With the moments of the
    smoother, ∂L/∂Q = G = ½(Σ r rᵀ − copies N), ∂L/∂A = 2 G A P + Σ r mᵀ and
    ∂L/∂h = Σ α x̂ − copies (g − P B g), x̂ = m + P Aᵀr, P and m those of the filter.
    """
    n, size = h.shape
    for i in range(n - 1, -1, -1):
        for a in range(size):
            for b in range(size):
                total = -copies * N[a, b]
                for k in range(r.shape[0]):
                    total += r[k, a] * r[k, b]
                G[a, b] = 0.5 * total
                W_Q[i, a, b] = 0.5 * total
        for a in range(size):  # N has served: it holds G A
            for b in range(size):
                total = 0.0
                for c in range(size):
                    total += G[a, c] * A[i, c, b]
                N[a, b] = total
        for a in range(size):
            for b in range(size):
                total = 0.0
                for c in range(size):
                    total += N[a, c] * filtered[i, c, b]
                total *= 2.0
                for k in range(r.shape[0]):
                    total += r[k, a] * means[i, k, b]
                W_A[i, a, b] = total
        for a in range(size):  # row 0 of G: B g
            G[0, a] = 0.0
            for b in range(size):
                G[0, a] += B[i, a, b] * gain[i, b]
        for a in range(size):
            total = -copies * gain[i, a]
            for b in range(size):
                total += copies * filtered[i, a, b] * G[0, b]
            for k in range(r.shape[0]):
                smooth = means[i, k, a]
                for b in range(size):
                    smooth += filtered[i, a, b] * after[i, k, b]
                total += alpha[i, k] * smooth
            W_h[i, a] = total
        for k in range(r.shape[0]):
            for a in range(size):
                r[k, a] = after[i, k, a] + h[i, a] * alpha[i, k]
        for a in range(size):
            for b in range(size):
                N[a, b] = B[i, a, b] + D[i] * h[i, a] * h[i, b] - h[i, a] * G[0, b] - G[0, a] * h[i, b]


@_compiled(f"void({C}, {M}, {M}, {M}, {V})")
def propagate(A, h, gain, T, room):  # type: ignore[no-untyped-def]
    """T (S, S) ← (I − g hᵀ) A T for each row in turn: how an error in the state lives on."""
    n, size = h.shape
    for i in range(n):
        for c in range(size):
            seen = 0.0
            for a in range(size):
                total = 0.0
                for b in range(size):
                    total += A[i, a, b] * T[b, c]
                room[a] = total
                seen += h[i, a] * total
            for a in range(size):
                T[a, c] = room[a] - gain[i, a] * seen
