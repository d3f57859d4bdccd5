"""Compiled searches among points kept in boxes. Importing this module compiles (then caches) it.

In many dimensions boxes exclude little, so what counts is that a box is looked through at the speed of vectors.

Notation
    P      (B d, c) coordinates of B boxes of at most c points each: column j of box b at b d + j
    rank   (B, c) the points' places in an ordering, rising within a box; n, beyond all, where a box has fewer
    low, high (d, B) corners of the boxes
"""

from __future__ import annotations

import math

import numba

__all__ = ["farthest_first", "nearest"]

MATRIX, VECTOR, INDEX, INDICES = "float64[:, ::1]", "float64[::1]", "int64[::1]", "int64[:, ::1]"
# Nothing here is NaN; told so, the compiler finds largest entries by vectors. Sums keep their order.
OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": {"contract", "nnan", "nsz"}}


@numba.njit(f"void({MATRIX}, {MATRIX}, {VECTOR}, {VECTOR})", **OPTIONS)
def bounds(low, high, point, square):  # type: ignore[no-untyped-def]
    """square (B,): squared distances of a point (d,) from the boxes, 0 inside."""
    for b in range(square.size):
        square[b] = 0.0
    for j in range(point.size):
        x = point[j]
        for b in range(square.size):
            gap = max(low[j, b] - x, x - high[j, b], 0.0)
            square[b] += gap * gap


@numba.njit(f"void({MATRIX}, {INDICES}, {MATRIX}, {MATRIX}, {MATRIX}, {VECTOR}, {INDEX})", **OPTIONS)
def farthest_first(P, rank, low, high, gap, widest, chosen):  # type: ignore[no-untyped-def]
    """chosen (k,): after the first, given by its place among P, always the rank of a point farthest from all before it.

    gap (B, c) squared distances from the nearest chosen, -1 for those chosen and where there is no point; on entry ∞
    for the others, and widest (B,), the largest of each box, ∞ too.
    """
    d, boxes = low.shape
    point, bound = low[:, 0].copy(), low[0].copy()
    seat = chosen[0]
    box = seat // gap.shape[1]
    place = seat - box * gap.shape[1]
    for k in range(chosen.size):
        if k:
            box, place = 0, 0
            for b in range(boxes):
                if widest[b] > widest[box]:
                    box = b
            while gap[box, place] != widest[box]:
                place += 1
        chosen[k] = rank[box, place]
        gap[box, place] = -1.0
        for j in range(d):
            point[j] = P[box * d + j, place]
        bounds(low, high, point, bound)
        for b in range(boxes):
            if b != box and bound[b] >= widest[b]:
                continue
            top = -1.0
            for e in range(gap.shape[1]):
                square = 0.0
                for j in range(d):
                    step = P[b * d + j, e] - point[j]
                    square += step * step
                gap[b, e] = min(gap[b, e], square)
                top = max(top, gap[b, e])
            widest[b] = top


@numba.njit(
    f"void({MATRIX}, {INDICES}, {MATRIX}, {MATRIX}, {MATRIX}, {INDEX}, {INDEX}, {VECTOR}, {VECTOR}, {VECTOR}, "
    f"{INDICES})",
    **OPTIONS,
)
def nearest(P, rank, low, high, queries, limit, near, bound, room, best, found):  # type: ignore[no-untyped-def]
    """found (q, m): ranks of the nearest points of rank below limit (q,), nearest first, equally near by rank; -1 none.

    queries (q, d) lie together; near (B,) boxes, those whose centres are closest to them first.
    bound (B,), room (c,), best (m,) are room to work.
    """
    d, boxes = low.shape
    c, m = rank.shape[1], found.shape[1]
    for i in range(queries.shape[0]):
        for k in range(m):
            best[k] = math.inf
            found[i, k] = -1
        bounds(low, high, queries[i], bound)
        for o in range(boxes):
            b = near[o]
            if bound[b] > best[m - 1] or rank[b, 0] >= limit[i]:
                continue
            count = c
            while rank[b, count - 1] >= limit[i]:
                count -= 1
            for e in range(count):
                room[e] = 0.0
            j = 0
            while j + 4 <= d:
                x, y, z, w = queries[i, j], queries[i, j + 1], queries[i, j + 2], queries[i, j + 3]
                row = b * d + j
                for e in range(count):
                    room[e] += (
                        (P[row, e] - x) ** 2
                        + (P[row + 1, e] - y) ** 2
                        + (P[row + 2, e] - z) ** 2
                        + (P[row + 3, e] - w) ** 2
                    )
                j += 4
            while j < d:
                x = queries[i, j]
                for e in range(count):
                    room[e] += (P[b * d + j, e] - x) ** 2
                j += 1
            for e in range(count):
                if room[e] > best[m - 1]:
                    continue
                r = rank[b, e]
                if room[e] == best[m - 1] and found[i, m - 1] >= 0 and r > found[i, m - 1]:
                    continue
                k = m - 1
                while k > 0 and (best[k - 1] > room[e] or (best[k - 1] == room[e] and found[i, k - 1] > r)):
                    best[k] = best[k - 1]
                    found[i, k] = found[i, k - 1]
                    k -= 1
                best[k] = room[e]
                found[i, k] = r
