"""The compiled interpreter of elimination plans. Importing this module compiles (then caches) it."""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["DEEP", "TINY", "execute"]

# No product of two entries above this is lost to underflow.
TINY = 1e-140
# Logarithm of the share that may vanish: what was lost is below 1e-28 of what is left.
DEEP = 644.0
# An unsigned index is used as it is, where a signed one is first looked at for its sign, which slows every loop.
U = np.uint64


@numba.njit(
    "int64(int64[::1], float64[::1], float64[::1], float64[::1], int64[::1], float64[::1], int64[::1], int64, boolean)",
    nogil=True,
    cache=True,
)
def execute(code, tables, work, extra, states, scale, counter, formed, tiny):  # type: ignore[no-untyped-def]
    """Run the records in `code` (see `layout`); 0, or 1 where the total is 0, or 2 where logarithms are needed.

    states : evidence ; counter (64,) : room to work
    scale (2 columns + 2,) : logarithms of what tables were divided by, of each column, of those without; room to work
    formed : tables formed ; tiny : whether a given table has entries below 1e-140 that are not 0

    Every table formed is divided by its largest entry (column by column where there are columns). A plan may be run
    piece by piece: all that one piece leaves to the next lies in `work` and `scale`.
    """
    # The room to work ends with, for each table formed: −log of the scales since the first tiny entry on the way there,
    # below 0 where there has been none. The tables given share the last place.
    depth = work.size - formed - 1
    work[depth + formed] = 0.0 if tiny else -1.0
    last = scale.size // 2 - 1
    work[0] = 1.0
    pc = 0
    while pc < code.size:
        kind = code[pc + 1]
        a0 = code[pc + 3]
        b0 = code[pc + 6]
        o0 = code[pc + 8]
        size = code[pc + 9]
        columns = code[pc + 11]
        loops = code[pc + 13]
        at = pc + 17 + 4 * loops
        for k in range(code[pc + 14] + code[pc + 15]):
            shift = states[code[at]] * code[at + 1]
            if k < code[pc + 14]:
                a0 += shift
            else:
                b0 += shift
            at += 2
        A = tables if code[pc + 2] == 0 else (work if code[pc + 2] == 1 else extra)
        B = tables if code[pc + 5] == 0 else (work if code[pc + 5] == 1 else extra)
        for i in range(o0, o0 + size):
            work[U(i)] = 0.0
        outer = loops - 2
        at = pc + 17 + 4 * outer
        n1, p1, q1, r1 = code[at], code[at + 1], code[at + 2], code[at + 3]
        n0, p0, q0, r0 = code[at + 4], code[at + 5], code[at + 6], code[at + 7]
        for k in range(outer):
            counter[k] = 0
        p, q, r = a0, b0, o0
        while True:
            for i in range(n1):
                a, b, o = p + i * p1, q + i * q1, r + i * r1
                if kind == 1:
                    for _ in range(n0):
                        value = A[U(a)] * B[U(b)]
                        if value > work[U(o)]:
                            work[U(o)] = value
                        a += p0
                        b += q0
                        o += r0
                elif r0 == 0:
                    value = 0.0
                    for _ in range(n0):
                        value += A[U(a)] * B[U(b)]
                        a += p0
                        b += q0
                    work[U(o)] += value
                elif r0 == 1 and p0 == 1 and q0 == 0:
                    value = B[U(b)]
                    for j in range(n0):
                        work[U(o + j)] += A[U(a + j)] * value
                elif r0 == 1 and p0 == 1 and q0 == 1:
                    for j in range(n0):
                        work[U(o + j)] += A[U(a + j)] * B[U(b + j)]
                else:
                    for j in range(n0):
                        work[U(o + j * r0)] += A[U(a + j * p0)] * B[U(b + j * q0)]
            k = outer - 1
            while k >= 0:
                at = pc + 17 + 4 * k
                counter[k] += 1
                p += code[at + 1]
                q += code[at + 2]
                r += code[at + 3]
                if counter[k] < code[at]:
                    break
                p -= counter[k] * code[at + 1]
                q -= counter[k] * code[at + 2]
                r -= counter[k] * code[at + 3]
                counter[k] = 0
                k -= 1
            if k < 0:
                break
        # divide by the largest, and watch for underflow
        lost = work[depth + code[pc + 4]]
        if work[depth + code[pc + 7]] > lost:
            lost = work[depth + code[pc + 7]]
        t0 = last + 1
        for j in range(t0, t0 + columns):
            scale[j] = 0.0
        if columns == 1:
            most = 0.0
            for i in range(o0, o0 + size):
                if work[U(i)] > most:
                    most = work[U(i)]
            scale[t0] = most
        else:
            for i in range(o0, o0 + size, columns):
                for j in range(columns):
                    if work[U(i + j)] > scale[U(t0 + j)]:
                        scale[U(t0 + j)] = work[U(i + j)]
        least = 1.0
        for j in range(columns):
            most = scale[t0 + j]
            if most == 0.0:
                if lost >= 0.0:
                    return 2
                if columns == 1:
                    return 1
                scale[j] = -math.inf
                most = 1.0
            elif code[pc + 12] != 0:
                scale[last if columns == 1 else j] += math.log(most)
            if most < least:
                least = most
            scale[t0 + j] = 1.0 / most
        seen_tiny = False
        for i in range(o0, o0 + size, columns):
            for j in range(columns):
                value = work[U(i + j)] * scale[U(t0 + j)]
                work[U(i + j)] = value
                seen_tiny |= (value < TINY) & (value > 0.0)
        if lost >= 0.0:
            lost -= math.log(least)
            if lost > DEEP:
                return 2
        elif seen_tiny:
            lost = 0.0
        work[depth + code[pc + 10]] = lost
        pc += code[pc]
    return 0
