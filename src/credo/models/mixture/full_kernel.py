"""One compiled pass of EM over rows with full covariances; imported only where a fit is long enough to be worth it.

E- and M-step are fused over some hundred rows at a time, whose columns, log densities and responsibilities stay in the
first cache from beginning to end. Loops run along rows, four or eight products to a load, so that they become vector
instructions. Sums run in a fixed order: a block's answer does not depend on threads.
"""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["expect_rows"]

_f8 = numba.float64
_vector, _matrix = _f8[::1], _f8[:, ::1]

_LOG2_E, _LN_2 = 1.4426950408889634, 0.6931471805599453
# 1.5 × 2⁵² added to a whole number leaves it in the low bits of the float64.
_SHIFTER, _SHIFTER_BITS = 6755399441055744.0, 0x4338000000000000
# exp below it is 0 for every purpose, and products with what is left stay normal numbers.
_LEAST = -600.0


@numba.njit(  # type: ignore[call-overload]
    numba.void(
        _matrix, _vector, _vector, _matrix, _matrix, _matrix, _matrix, _vector, numba.int64[::1], _matrix, _matrix
    ),
    nogil=True,
    cache=True,
    error_model="numpy",
    no_cfunc_wrapper=True,  # nobody calls it from C: a tenth of a second of compiling
    fastmath={"contract", "reassoc"},
)
def expect_rows(rows, weights, centre, forward, theta, z, joint, room, bits, gathered, evidence):  # type: ignore[no-untyped-def]
    """Add Σ w r and Σ w r [z zᵀ; z; 0] of every component to `gathered` (k, 1 + (D + 2) D).

    rows (n, d), weights (n,) ; centre (d,), forward (d, D) : z = (row − centre) forward, D being d rounded up to 4
    theta (k, 1 + (D + 2) D) : c, A, b and zeros with ℓ = c + zᵀ A z + bᵀ z, A being 0 below its diagonal
    z (D + 2, chunk) : room, but for ones and zeros in its last rows ; joint (k, chunk), room (chunk,), and `bits`, the
        memory of `room` as int64
    evidence (2, n) : −∞ and 0, for max_k ℓ_k and Σ_k exp(ℓ_k − max)

    Of A and of z zᵀ only groups of four columns that reach the diagonal are read and written.
    """
    n, d = rows.shape
    k, wide, size = joint.shape[0], forward.shape[1], z.shape[1]
    for start in range(0, n, size):
        m = min(size, n - start)
        top, total = evidence[0, start : start + m], evidence[1, start : start + m]
        for a in range(d):
            kept, middle = 0.0 if a == 0 else 1.0, centre[a]
            for j in range(m):
                room[j] = rows[start + j, a] - middle
            for i in range(wide):
                column, factor = z[i], forward[a, i]
                for j in range(m):
                    column[j] = kept * column[j] + factor * room[j]
        for c in range(k):
            of, density = theta[c], joint[c]
            constant = of[0]
            for j in range(m):
                density[j] = constant
            for g in range(0, wide, 4):
                z0, z1, z2, z3 = z[g], z[g + 1], z[g + 2], z[g + 3]
                for h in range(0, g + 6, 2):
                    i = h if h < g + 4 else wide
                    u, v, at = z[i], z[i + 1], 1 + i * wide + g
                    p0, p1, p2, p3 = of[at], of[at + 1], of[at + 2], of[at + 3]
                    at += wide
                    q0, q1, q2, q3 = of[at], of[at + 1], of[at + 2], of[at + 3]
                    for j in range(m):
                        density[j] += u[j] * (p0 * z0[j] + p1 * z1[j] + p2 * z2[j] + p3 * z3[j]) + v[j] * (
                            q0 * z0[j] + q1 * z1[j] + q2 * z2[j] + q3 * z3[j]
                        )
            for j in range(m):
                top[j] = max(top[j], density[j])
        for c in range(k):
            share = joint[c]
            # exp x = 2^i exp r, i = round(x/ln 2), |r| ≤ ½ ln 2: Taylor to r¹³ leaves 4e-18
            for j in range(m):
                x = max(share[j] - top[j], _LEAST)
                whole = np.floor(x * _LOG2_E + 0.5)
                room[j] = whole + _SHIFTER
                r = x - whole * _LN_2
                series = 1.0 + r * (1.0 / 13.0)
                series = 1.0 + r * (1.0 / 12.0) * series
                series = 1.0 + r * (1.0 / 11.0) * series
                series = 1.0 + r * (1.0 / 10.0) * series
                series = 1.0 + r * (1.0 / 9.0) * series
                series = 1.0 + r * (1.0 / 8.0) * series
                series = 1.0 + r * (1.0 / 7.0) * series
                series = 1.0 + r * (1.0 / 6.0) * series
                series = 1.0 + r * (1.0 / 5.0) * series
                series = 1.0 + r * (1.0 / 4.0) * series
                series = 1.0 + r * (1.0 / 3.0) * series
                series = 1.0 + r * (1.0 / 2.0) * series
                share[j] = 1.0 + r * series if x > _LEAST else 0.0
            for j in range(m):
                bits[j] = (bits[j] - _SHIFTER_BITS + 1023) << 52
            for j in range(m):
                share[j] *= room[j]
                total[j] += share[j]
        for j in range(m):
            room[j] = weights[start + j] / total[j]
        for c in range(k):
            share, sums = joint[c], gathered[c]
            mass = 0.0
            for j in range(m):
                share[j] *= room[j]
                mass += share[j]
            sums[0] += mass
            for g in range(0, wide, 4):
                z0, z1, z2, z3 = z[g], z[g + 1], z[g + 2], z[g + 3]
                for h in range(0, g + 6, 2):
                    i = h if h < g + 4 else wide
                    u, v, at = z[i], z[i + 1], 1 + i * wide + g
                    s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = 0.0
                    for j in range(m):
                        a, b = share[j] * u[j], share[j] * v[j]
                        s0 += a * z0[j]
                        s1 += a * z1[j]
                        s2 += a * z2[j]
                        s3 += a * z3[j]
                        t0 += b * z0[j]
                        t1 += b * z1[j]
                        t2 += b * z2[j]
                        t3 += b * z3[j]
                    sums[at] += s0
                    sums[at + 1] += s1
                    sums[at + 2] += s2
                    sums[at + 3] += s3
                    at += wide
                    sums[at] += t0
                    sums[at + 1] += t1
                    sums[at + 2] += t2
                    sums[at + 3] += t3
