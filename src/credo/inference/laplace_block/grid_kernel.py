"""The compiled loop of `tables`: grids of all groups for laws that are exponential in η. Importing it compiles, then
caches.

A row is lin·x − w·g(x) with x = o + a₁u₁ + a₂u₂ and g(x) = eˣ (kind 0) or log(1 + eˣ) (kind 1): from one node to the
next eˣ is multiplied, so that a node costs a row two multiplications and hardly a logarithm.
"""

from __future__ import annotations

from math import exp as math_exp
from math import inf as math_inf
from math import log as math_log
from math import log1p as math_log1p

import numba

__all__ = ["grids"]

# Nats below the top at which a walk ends.
CUT = 18.0
F, M, I = "float64[::1]", "float64[:, ::1]", "int64[::1]"  # noqa: E741


@numba.njit(f"void({F}, {F}, int64)", nogil=True, cache=True)
def times(x, factors, n):  # type: ignore[no-untyped-def]
    """x ← x · factors, the first n of each."""
    for i in range(n):
        x[i] *= factors[i]


@numba.njit(f"void({F}, {F}, int64)", nogil=True, cache=True)
def copy(x, source, n):  # type: ignore[no-untyped-def]
    """x ← source, the first n of each."""
    for i in range(n):
        x[i] = source[i]


@numba.njit(f"float64({F}, {F}, int64)", nogil=True, cache=True, fastmath={"reassoc"})
def exponentials(e, w, n):  # type: ignore[no-untyped-def]
    """Σ w eˣ of n rows, given e = eˣ."""
    total = 0.0
    for i in range(n):
        total += w[i] * e[i]
    return total


@numba.njit(f"float64({F}, int64)", nogil=True, cache=True)
def logarithms(e, n):  # type: ignore[no-untyped-def]
    """Σ log(1 + eˣ) of n rows: logarithms of products, in four chains; infinite where a product is."""
    total, a, b, c, d, i = 0.0, 1.0, 1.0, 1.0, 1.0, 0
    while i + 3 < n:
        a *= 1.0 + e[i]
        b *= 1.0 + e[i + 1]
        c *= 1.0 + e[i + 2]
        d *= 1.0 + e[i + 3]
        i += 4
        if max(max(a, b), max(c, d)) > 1e60:
            total += math_log(a) + math_log(b) + math_log(c) + math_log(d)
            a, b, c, d = 1.0, 1.0, 1.0, 1.0
    a = a * b * c * d
    while i < n:
        total += math_log1p(e[i]) if e[i] > 1e15 else 0.0
        a *= 1.0 if e[i] > 1e15 else 1.0 + e[i]
        i += 1
    return total + math_log(a)


@numba.njit(f"float64(int64, boolean, {F}, {F}, int64)", nogil=True, cache=True)
def total_of(kind, unit, e, w, n):  # type: ignore[no-untyped-def]
    """Σ w g(x) of n rows, given e = eˣ; unit : whether all w are 1."""
    if kind == 0:
        return exponentials(e, w, n)
    if unit:
        return logarithms(e, n)
    total = 0.0
    for i in range(n):
        total += w[i] * math_log1p(e[i])
    return total


@numba.njit(f"void(int64, {F}, {F}, float64, int64)", nogil=True, cache=True)
def add_slopes(kind, s, e, share, n):  # type: ignore[no-untyped-def]
    """s ← s + share · g′(x), given e = eˣ."""
    if kind == 0:
        for i in range(n):
            s[i] += share * e[i]
    else:
        for i in range(n):
            s[i] += share * (e[i] / (1.0 + e[i]))


@numba.njit(f"void({M}, int64, float64, {M}, {F}, {I}, int64)", nogil=True, cache=True)
def summarise(nodes, count, top, out, uniforms, picked, g):  # type: ignore[no-untyped-def]
    """Shares of the nodes (3, ·) of group g, in place; their moments to out[g], a node for each uniform to `picked`."""
    total, odd, m1, m2 = 0.0, 0.0, 0.0, 0.0
    for k in range(count):
        share = math_exp(nodes[0, k] - top)
        nodes[0, k] = share
        total += share
        m1 += share * nodes[1, k]
        m2 += share * nodes[2, k]
        if int(abs(nodes[1, k] + nodes[2, k])) % 2 == 1:
            odd += share
    m1, m2 = m1 / total, m2 / total
    s11, s12, s22 = 0.0, 0.0, 0.0
    for k in range(count):
        d1, d2 = nodes[1, k] - m1, nodes[2, k] - m2
        s11 += nodes[0, k] * d1 * d1
        s12 += nodes[0, k] * d1 * d2
        s22 += nodes[0, k] * d2 * d2
    out[g, 0], out[g, 1], out[g, 2] = top + math_log(total), m1, m2
    out[g, 3], out[g, 4], out[g, 5], out[g, 6] = s11 / total, s12 / total, s22 / total, odd / total
    for r in range(uniforms.size):
        left, k = uniforms[r] * total, 0
        while k < count - 1 and left > nodes[0, k]:
            left -= nodes[0, k]
            k += 1
        picked[r] = k


@numba.njit(
    f"boolean(int64, int64, int64, {F}, {F}, {F}, {M}, {F}, {F}, {F}, {M}, {M}, {M}, {F})", nogil=True, cache=True
)
def rows_of(
    kind, lo, hi, lin, w, o, a, v, half, linear, work, by_first, by_second, sums
):  # type: ignore[no-untyped-def]  # fmt: skip
    """eˣ at the first node, v, of rows lo to hi, w and zeros to `work` (3, ·); what one step of k₁ or k₂, on or back,
    multiplies eˣ by; Σ lin·x as sums₀ + sums₁u₁ + sums₂u₂ (less `linear`). Rows that move alike are made one: True."""
    same = kind == 0 and hi - lo > 1
    sums[0], sums[1], sums[2], total = 0.0, -linear[0], -linear[1], 0.0
    for i in range(hi - lo):
        first, second = a[0, lo + i], a[1, lo + i]
        sums[0] += lin[lo + i] * o[lo + i]
        sums[1] += lin[lo + i] * first
        sums[2] += lin[lo + i] * second
        same = same and first == a[0, lo] and second == a[1, lo]
        work[0, i] = math_exp(o[lo + i] + first * v[0] + second * v[1])
        work[1, i] = w[lo + i]
        work[2, i] = 0.0
        total += work[1, i] * work[0, i]
        if i == 0 or not same:
            by_first[0, i] = math_exp(first * half[0] + second * half[1])
            by_second[0, i] = math_exp(second * half[2])
            by_first[1, i] = 1.0 / by_first[0, i]
            by_second[1, i] = 1.0 / by_second[0, i]
    if same:
        work[0, 0], work[1, 0] = total, 1.0
    return same


@numba.njit(
    f"boolean(int64, boolean, boolean, int64, int64, int64, {F}, {F}, {F}, {F}, {F}, {F}, {F}, {F}, {M}, {M}, {F})",
    nogil=True,
    cache=True,
)
def walk(
    kind, unit, want, n, k1, b, v, half, prior, sums, line, now, W, S, by_second, nodes, state
):  # type: ignore[no-untyped-def]  # fmt: skip
    """One line of nodes (k₁, ·), from k₂ = b on and back until they fall `CUT` below the top. `line` : eˣ at (k₁, b).
    state : top of all, p at the first node, nodes so far, top of the line and where. Returns whether it went wrong."""
    state[3], state[4] = -1e308, b
    for side in range(2):
        k2, last = b - side, -1e308
        copy(now, line, n)
        if side == 1:
            times(now, by_second[1], n)
        while True:
            u1 = v[0] + half[0] * k1
            u2 = v[1] + half[1] * k1 + half[2] * k2
            p = sums[0] + sums[1] * u1 + sums[2] * u2 - prior[1] * u1 * u2
            p -= 0.5 * (prior[0] * u1 * u1 + prior[2] * u2 * u2) + total_of(kind, unit, now, W, n)
            count = int(state[2])
            if count == 0:
                state[1] = p
            if p != p or count >= nodes.shape[1] or p - state[1] > 600.0 or (kind == 1 and p == -math_inf):
                return True
            nodes[0, count], nodes[1, count], nodes[2, count] = p, k1, k2
            state[2] += 1.0
            if want:
                add_slopes(kind, S, now, math_exp(p - state[1]), n)
            if p > state[3]:
                state[3], state[4] = p, k2
            state[0] = max(state[0], p)
            if p < state[0] - CUT and p < last:
                break
            last = p
            k2 += 1 - 2 * side
            times(now, by_second[side], n)
    return False


@numba.njit(
    f"void(int64, boolean, {I}, {F}, {F}, {F}, {M}, {M}, {M}, {M}, {M}, {M}, {M}, boolean, {M},"
    f" float64[:, :, ::1], {F}, {M}, {M}, {M}, {M}, {I}, {I})",
    nogil=True,
    cache=True,
)
def grids(
    kind, two, starts, lin, w, o, a, prior, t, centre, half, shift, uniforms, want, out, draws, slopes, work,
    by_first, by_second, nodes, picked, status,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """For each group: lines of nodes from the centre outwards until they fall `CUT` below the top.

    prior (G, 3): P₁₁, P₁₂, P₂₂; half (G, 3): L₁₁, L₂₁, L₂₂; a (2, m), t, centre and shift (G, 2): a group of one has
    the second of each and zeros. uniforms (G, r). out (G, 7): log Σ p, and of k the means, variances and covariance,
    and the share of odd nodes. draws (G, r, 2), of k. slopes (m,): E g′. Room: work (5, ·), by_first and by_second
    (2, ·) for the rows of a group, nodes (3, ·), picked (≥ r,). status (G,): 0, or 1 where a walk was too long or a
    number too large.
    """
    E, W, S, line, now = work[0], work[1], work[2], work[3], work[4]
    v, sums, state = nodes[0, :2].copy(), nodes[0, :3].copy(), nodes[0, :5].copy()
    for g in range(starts.size - 1):
        lo, n = starts[g], starts[g + 1] - starts[g]
        v[0] = centre[g, 0] + half[g, 0] * shift[g, 0]
        v[1] = centre[g, 1] + half[g, 1] * shift[g, 0] + half[g, 2] * shift[g, 1]
        same = rows_of(kind, lo, lo + n, lin, w, o, a, v, half[g], t[g], work, by_first, by_second, sums)
        if same:
            n = 1
        unit = True
        for i in range(n):
            unit = unit and W[i] == 1.0
        state[0], state[2], bad = -1e308, 0.0, False
        for way in range(2 if two else 1):
            k1, b = -way, 0
            copy(line, E, n)
            if way == 1:
                times(line, by_first[1], n)
            while not bad:
                bad = walk(
                    kind, unit, want, n, k1, b, v, half[g], prior[g], sums, line, now, W, S, by_second, nodes, state
                )
                if not two or state[3] < state[0] - CUT:
                    break
                k1 += 1 - 2 * way
                times(line, by_first[way], n)
                while b != int(state[4]):  # the next line begins where this one is highest
                    times(line, by_second[0] if state[4] > b else by_second[1], n)
                    b += 1 if state[4] > b else -1
        status[g] = 1 if bad or not state[0] > -1e300 else 0
        if status[g] == 1:
            continue
        summarise(nodes, int(state[2]), state[0], out, uniforms[g], picked, g)
        for r in range(uniforms.shape[1]):
            draws[g, r, 0], draws[g, r, 1] = nodes[1, picked[r]], nodes[2, picked[r]]
        if want:
            scale = math_exp(state[1] - out[g, 0])
            if same:
                scale = S[0] * scale / E[0] if E[0] > 0.0 else 0.0
                for i in range(lo, starts[g + 1]):
                    slopes[i] = scale * math_exp(o[i] + a[0, i] * v[0] + a[1, i] * v[1])
            else:
                for i in range(n):
                    slopes[lo + i] = S[i] * scale
