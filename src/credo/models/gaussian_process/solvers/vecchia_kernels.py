"""Compiled algebra of many small covariance matrices at once. Importing this module compiles (then caches) it.

Notation
    s      rows of a block: a row's earlier neighbours, then the row itself
    L      blocks that go in step, one a lane: the innermost loops run over lanes, which the compiler makes vectors of
    index  (s, L) rows of the blocks; an entry above the last that repeats the last is a blank: it counts for nothing
    pairs  s(s + 1)/2 entries of a lower triangle, a row after the other: (a, b) at a(a + 1)/2 + b
    C      (pairs, L) the blocks, then their Cholesky factors, with 1/L_aa on the diagonals
    u      (s, L) u = C⁻ᵀ-row: with C = L Lᵀ the last row of L⁻¹, so that u'y = (y_i − E[y_i | neighbours])/sd
"""

from __future__ import annotations

import math

import numba

__all__ = ["contract", "factor", "squares", "weights"]

MATRIX, VECTOR, INDEX = "float64[:, ::1]", "float64[::1]", "int64[:, ::1]"
# "contract" lets a product and a sum be one instruction; nothing is reordered.
OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": {"contract"}}


@numba.njit(f"void({MATRIX}, {INDEX}, {MATRIX}, {MATRIX})", **OPTIONS)
def squares(X, index, x, q):  # type: ignore[no-untyped-def]
    """q (pairs, L) squared distances of the rows of X (n, d); x (s d, L) their coordinates, by lane."""
    s, lanes = index.shape
    d = X.shape[1]
    for a in range(s):
        for lane in range(lanes):
            for j in range(d):
                x[a * d + j, lane] = X[index[a, lane], j]
    for a in range(s):
        for b in range(a + 1):
            p = a * (a + 1) // 2 + b
            for lane in range(lanes):
                q[p, lane] = 0.0
            if b == a:
                continue
            for j in range(d):
                for lane in range(lanes):
                    gap = x[a * d + j, lane] - x[b * d + j, lane]
                    q[p, lane] += gap * gap


@numba.njit(f"void({MATRIX}, {MATRIX}, {MATRIX}, {VECTOR})", **OPTIONS)
def contract(x, weight, room, total):  # type: ignore[no-untyped-def]
    """total (d,) += Σ_ab W_ab (x_aj − x_bj)² for x (s d, L) and W (pairs, L); room (d, L)."""
    d, lanes = room.shape
    s = x.shape[0] // d
    for j in range(d):
        for lane in range(lanes):
            room[j, lane] = 0.0
    for a in range(1, s):
        for b in range(a):
            p = a * (a + 1) // 2 + b
            for j in range(d):
                for lane in range(lanes):
                    gap = x[a * d + j, lane] - x[b * d + j, lane]
                    room[j, lane] += weight[p, lane] * gap * gap
    for j in range(d):
        for lane in range(lanes):
            total[j] += room[j, lane]


@numba.njit(f"void({MATRIX}, {MATRIX}, int64)", **OPTIONS)
def back(C, u, s):  # type: ignore[no-untyped-def]
    """Solve Lᵀ z = u for the first s rows, but the last of u is there already; in place."""
    lanes = u.shape[1]
    for k in range(s - 1, 0, -1):
        row = k * (k + 1) // 2
        for a in range(k):
            for lane in range(lanes):
                u[a, lane] -= C[row + a, lane] * u[k, lane]
        last = row - 1  # (k − 1, k − 1)
        for lane in range(lanes):
            u[k - 1, lane] *= C[last, lane]


@numba.njit(f"void({MATRIX}, {VECTOR}, {INDEX}, float64, {MATRIX}, {MATRIX}, int64[::1])", **OPTIONS)
def factor(C, noise, index, floor, u, room, failed):  # type: ignore[no-untyped-def]
    """Add the noise (n,) to C, factor it in place and fill u; failed (L,) is the first row of the block whose pivot was
    below floor × its variance, from 1; it goes on with that. room (1, L)."""
    s, lanes = index.shape
    for lane in range(lanes):
        failed[lane] = 0
    for a in range(s):
        row = a * (a + 1) // 2
        for lane in range(lanes):
            C[row + a, lane] += noise[index[a, lane]]
            if a < s - 1 and index[a, lane] == index[s - 1, lane]:
                for b in range(a):
                    C[row + b, lane] = 0.0
                for b in range(a + 1, s):
                    C[b * (b + 1) // 2 + a, lane] = 0.0
                C[row + a, lane] = 1.0
    for a in range(s):
        row = a * (a + 1) // 2
        for b in range(a + 1):
            other = b * (b + 1) // 2
            for lane in range(lanes):
                room[0, lane] = C[row + b, lane]
            k = 0
            while k + 4 <= b:
                for lane in range(lanes):
                    room[0, lane] -= (
                        C[row + k, lane] * C[other + k, lane]
                        + C[row + k + 1, lane] * C[other + k + 1, lane]
                        + C[row + k + 2, lane] * C[other + k + 2, lane]
                        + C[row + k + 3, lane] * C[other + k + 3, lane]
                    )
                k += 4
            while k < b:
                for lane in range(lanes):
                    room[0, lane] -= C[row + k, lane] * C[other + k, lane]
                k += 1
            if b < a:
                for lane in range(lanes):
                    C[row + b, lane] = room[0, lane] * C[other + b, lane]
        for lane in range(lanes):
            least = floor * C[row + a, lane]
            if not room[0, lane] > least:
                if failed[lane] == 0:
                    failed[lane] = a + 1
                room[0, lane] = least
            C[row + a, lane] = 1.0 / math.sqrt(room[0, lane])
    for a in range(s - 1):
        for lane in range(lanes):
            u[a, lane] = 0.0
    for lane in range(lanes):
        u[s - 1, lane] = C[s * (s + 1) // 2 - 1, lane]
    back(C, u, s)


@numba.njit(f"void({MATRIX}, {MATRIX}, {MATRIX}, {INDEX}, float64, {MATRIX}, {MATRIX}, {MATRIX}, {VECTOR})",
            **OPTIONS)  # fmt: skip
def weights(C, u, U, index, copies, h, room, weight, slope):  # type: ignore[no-untyped-def]
    """The weights W (pairs, L) of ∂(−½ Σ_q (u'U_q)² − ½ copies log u_s⁻²) = Σ_{a ≥ b} W_ab ∂C_ab, for U (n, q).

    slope (n,) += W_aa by row. h (s, L), room (2, L) are room to work.

    With w = u/u_s, d = u_s⁻², r_q = w'U_q and g = C_NN⁻¹ Σ_q U_Nq r_q/d:  W = h w' + w h',
    h = ½ Σ_q (r_q²/d − copies)/d w + g.
    """
    s, lanes = index.shape
    q = U.shape[1]
    for a in range(s):
        for lane in range(lanes):
            h[a, lane] = 0.0
    for lane in range(lanes):
        room[0, lane] = 0.0
    for c in range(q):
        for lane in range(lanes):
            room[1, lane] = 0.0
            for a in range(s):
                room[1, lane] += u[a, lane] * U[index[a, lane], c]
            room[0, lane] += room[1, lane] * room[1, lane]
            for a in range(s - 1):
                if index[a, lane] != index[s - 1, lane]:
                    h[a, lane] += U[index[a, lane], c] * room[1, lane] * u[s - 1, lane]
    for a in range(s - 1):
        row = a * (a + 1) // 2
        for b in range(a):
            for lane in range(lanes):
                h[a, lane] -= C[row + b, lane] * h[b, lane]
        for lane in range(lanes):
            h[a, lane] *= C[row + a, lane]
    if s > 1:
        row = s * (s - 1) // 2 - 1
        for lane in range(lanes):
            h[s - 2, lane] *= C[row, lane]
        back(C, h, s - 1)
    for lane in range(lanes):
        room[1, lane] = 0.5 * (room[0, lane] - copies) * u[s - 1, lane]
        room[0, lane] = 1.0 / u[s - 1, lane]
    for a in range(s):
        row = a * (a + 1) // 2
        for lane in range(lanes):
            h[a, lane] += room[1, lane] * u[a, lane]
        for b in range(a):
            for lane in range(lanes):
                weight[row + b, lane] = (h[a, lane] * u[b, lane] + u[a, lane] * h[b, lane]) * room[0, lane]
        for lane in range(lanes):
            weight[row + a, lane] = h[a, lane] * u[a, lane] * room[0, lane]
            slope[index[a, lane]] += weight[row + a, lane]
