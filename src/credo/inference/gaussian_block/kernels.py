"""Compiled loops of the sparse Cholesky factor in the panels of `Layout`. Importing this module compiles (then caches).

Arguments: `values` one vector of all panels; first, widths, degrees, offsets, starts, neighbours, sparse_degrees,
pair_starts, pairs, row_starts, row_groups, row_places as in `Layout`, rest = (first place, offset, size) of the dense
remainder.
"""

from __future__ import annotations

import numba

__all__ = ["backward", "factor", "forward", "invert"]

F, I = "float64[::1]", "int64[::1]"  # noqa: E741
GROUPS = ", ".join([I] * 13)


@numba.njit(f"int64({F}, {GROUPS}, {F})", nogil=True, cache=True)
def factor(
    values,
    first,
    widths,
    degrees,
    offsets,
    starts,
    neighbours,
    sparse_degrees,
    pair_starts,
    pairs,
    rest,
    row_starts,
    row_groups,
    row_places,
    floor,
):  # type: ignore[no-untyped-def]
    """H → L in place, the dense rest left as its Schur complement. Returns the first place whose pivot is not above
    `floor` (p,), or −1. Cost Σ b³/3 + b² d + b d²/2."""
    for g in range(widths.size):
        b, d, o = widths[g], degrees[g], offsets[g]
        for j in range(b):
            pivot = values[o + j * b + j]
            for k in range(j):
                pivot -= values[o + j * b + k] * values[o + j * b + k]
            if not pivot > floor[first[g] + j]:
                return first[g] + j
            pivot = pivot**0.5
            values[o + j * b + j] = pivot
            for i in range(j + 1, b + d):
                entry = values[o + i * b + j]
                for k in range(j):
                    entry -= values[o + i * b + k] * values[o + j * b + k]
                values[o + i * b + j] = entry / pivot
        panel, pair = o + b * b, pair_starts[g]
        for j in range(sparse_degrees[g]):
            for i in range(j, d):
                total = 0.0
                for k in range(b):
                    total += values[panel + i * b + k] * values[panel + j * b + k]
                values[pairs[pair]] -= total
                pair += 1
    for row in range(rest[2]):  # by rows of the rest, each of which a cache holds
        base = rest[1] + row * rest[2] - rest[0]
        for e in range(row_starts[row], row_starts[row + 1]):
            g, i = row_groups[e], row_places[e]
            b, panel, at = widths[g], offsets[g] + widths[g] * widths[g], starts[g]
            for j in range(sparse_degrees[g], i + 1):
                total = 0.0
                for k in range(b):
                    total += values[panel + i * b + k] * values[panel + j * b + k]
                values[base + neighbours[at + j]] -= total
    return -1


@numba.njit(f"void({F}, {GROUPS}, float64[:, ::1])", nogil=True, cache=True)
def forward(
    values,
    first,
    widths,
    degrees,
    offsets,
    starts,
    neighbours,
    sparse_degrees,
    pair_starts,
    pairs,
    rest,
    row_starts,
    row_groups,
    row_places,
    x,
):  # type: ignore[no-untyped-def]
    """x (p, m) → L⁻¹ x in place, as far as the groups go."""
    m = x.shape[1]
    for g in range(widths.size):
        b, d, o, f = widths[g], degrees[g], offsets[g], first[g]
        for j in range(b):
            for k in range(j):
                entry = values[o + j * b + k]
                for c in range(m):
                    x[f + j, c] -= entry * x[f + k, c]
            pivot = values[o + j * b + j]
            for c in range(m):
                x[f + j, c] /= pivot
        for i in range(d):
            row = neighbours[starts[g] + i]
            for k in range(b):
                entry = values[o + (b + i) * b + k]
                for c in range(m):
                    x[row, c] -= entry * x[f + k, c]


@numba.njit(f"void({F}, {GROUPS}, float64[:, ::1])", nogil=True, cache=True)
def backward(
    values,
    first,
    widths,
    degrees,
    offsets,
    starts,
    neighbours,
    sparse_degrees,
    pair_starts,
    pairs,
    rest,
    row_starts,
    row_groups,
    row_places,
    x,
):  # type: ignore[no-untyped-def]
    """x (p, m) → L⁻ᵀ x in place, its dense rest done before."""
    m = x.shape[1]
    for g in range(widths.size - 1, -1, -1):
        b, d, o, f = widths[g], degrees[g], offsets[g], first[g]
        for i in range(d):
            row = neighbours[starts[g] + i]
            for k in range(b):
                entry = values[o + (b + i) * b + k]
                for c in range(m):
                    x[f + k, c] -= entry * x[row, c]
        for j in range(b - 1, -1, -1):
            for k in range(j + 1, b):
                entry = values[o + k * b + j]
                for c in range(m):
                    x[f + j, c] -= entry * x[f + k, c]
            pivot = values[o + j * b + j]
            for c in range(m):
                x[f + j, c] /= pivot


@numba.njit(f"void({F}, {GROUPS}, {F}, {F}, {F})", nogil=True, cache=True)
def invert(
    values,
    first,
    widths,
    degrees,
    offsets,
    starts,
    neighbours,
    sparse_degrees,
    pair_starts,
    pairs,
    rest,
    row_starts,
    row_groups,
    row_places,
    inverse,
    whitened,
    product,
):  # type: ignore[no-untyped-def]
    """Entries of H⁻¹ at the positions of `values`, the factor; the dense rest of `inverse` is done before.

    With Y = B L⁻¹ of a group's rows B and V the inverse among its neighbours: V_RE = −V Y and
    V_EE = L⁻ᵀ L⁻¹ + Yᵀ V Y (Takahashi, Fagan & Chin 1973). whitened (Y, above it L⁻¹), product (V Y): as long as all
    panels, product all 0.
    """
    for g in range(widths.size):
        b, d, o = widths[g], degrees[g], offsets[g]
        panel = o + b * b
        for c in range(b):
            for i in range(c, b):
                entry = 1.0 if i == c else 0.0
                for k in range(c, i):
                    entry -= values[o + i * b + k] * whitened[o + k * b + c]
                whitened[o + i * b + c] = entry / values[o + i * b + i]
        for i in range(d):
            for c in range(b - 1, -1, -1):
                entry = values[panel + i * b + c]
                for k in range(c + 1, b):
                    entry -= whitened[panel + i * b + k] * values[o + k * b + c]
                whitened[panel + i * b + c] = entry / values[o + c * b + c]
    for row in range(rest[2]):
        base = rest[1] + row * rest[2] - rest[0]
        for e in range(row_starts[row], row_starts[row + 1]):
            g, i = row_groups[e], row_places[e]
            b, panel, at = widths[g], offsets[g] + widths[g] * widths[g], starts[g]
            for j in range(sparse_degrees[g], i + 1):
                v = inverse[base + neighbours[at + j]]
                for k in range(b):
                    product[panel + i * b + k] += v * whitened[panel + j * b + k]
                    if i != j:
                        product[panel + j * b + k] += v * whitened[panel + i * b + k]
    for g in range(widths.size - 1, -1, -1):
        b, d, o = widths[g], degrees[g], offsets[g]
        panel, pair = o + b * b, pair_starts[g]
        for j in range(sparse_degrees[g]):
            for i in range(j, d):
                v = inverse[pairs[pair]]
                pair += 1
                for k in range(b):
                    product[panel + i * b + k] += v * whitened[panel + j * b + k]
                    if i != j:
                        product[panel + j * b + k] += v * whitened[panel + i * b + k]
        for i in range(b):
            for j in range(i + 1):
                total = 0.0
                for k in range(i, b):
                    total += whitened[o + k * b + i] * whitened[o + k * b + j]
                for r in range(d):
                    total += whitened[panel + r * b + i] * product[panel + r * b + j]
                inverse[o + i * b + j] = total
        for r in range(d * b):
            inverse[panel + r] = -product[panel + r]
