"""Compiled coordinate sweeps on products for `coordinate_descent`. Importing this module compiles (then caches) it.

The sweeps update the coefficients in place and return their number. A coordinate that moves by δ lowers the
objective by at least ½ δ² (G_jj + ridge_j); the gap is `coordinate_descent.duality_gap` at one scale s.

Sweeps crawl along the valleys of correlated columns. Once the signs settle a sweep is an affine map, so after every
`DEPTH` of them the iterates are mixed with the weights that make their steps cancel best, and the mixture is taken if
the objective is lower there (Anderson's acceleration; Bertrand & Massias 2021, AISTATS). Correlations are affine in
the coefficients: they are mixed alike, and no product with the data is added.
"""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["DEPTH", "gap", "history", "sweep_gram"]

VECTOR, MATRIX = "float64[::1]", "float64[:, ::1]"
# Steps mixed. Bertrand and Massias found five as good as any; the cost of a mixture is DEPTH²/2 products of vectors.
DEPTH = 5
# Added to the products of the steps, relative to their trace: below it steps are rounding.
FLOOR = 1e-10


def history(m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Room for `sweep_gram` on m columns: the last coefficients and correlations, and normal equations."""
    return np.empty((DEPTH + 1, m)), np.empty((DEPTH + 1, m)), np.empty((DEPTH + 1, DEPTH))


@numba.njit(f"boolean({MATRIX}, {MATRIX})", nogil=True, cache=True)
def _weights(seen, normal):  # type: ignore[no-untyped-def]
    """Weights that sum to one, into normal[DEPTH], under which the steps between the rows of `seen` cancel best."""
    trace = 0.0
    for a in range(DEPTH):
        for b in range(a + 1):
            total = 0.0
            for j in range(seen.shape[1]):
                total += (seen[a + 1, j] - seen[a, j]) * (seen[b + 1, j] - seen[b, j])
            normal[a, b] = total
        trace += normal[a, a]
    if not trace > 0.0:
        return False
    share, whole = normal[DEPTH], 0.0
    for a in range(DEPTH):  # Cholesky, and half of the solution of (UᵀU) share = 1
        normal[a, a] += FLOOR * trace
        for b in range(a + 1):
            for k in range(b):
                normal[a, b] -= normal[a, k] * normal[b, k]
            if b < a:
                normal[a, b] /= normal[b, b]
        if not normal[a, a] > 0.0:
            return False
        normal[a, a] **= 0.5
        share[a] = 1.0
        for k in range(a):
            share[a] -= normal[a, k] * share[k]
        share[a] /= normal[a, a]
    for a in range(DEPTH - 1, -1, -1):
        for k in range(a + 1, DEPTH):
            share[a] -= normal[k, a] * share[k]
        share[a] /= normal[a, a]
        whole += share[a]
    for a in range(DEPTH):
        share[a] /= whole
    return True


@numba.njit(f"void({MATRIX}, {VECTOR})", nogil=True, cache=True)
def _mix(seen, share):  # type: ignore[no-untyped-def]
    """The mixture of the rows of `seen` after the first, into the first."""
    for j in range(seen.shape[1]):
        total = 0.0
        for k in range(DEPTH):
            total += share[k] * seen[k + 1, j]
        seen[0, j] = total


@numba.njit(f"float64({VECTOR}, {VECTOR}, {VECTOR}, {VECTOR}, {VECTOR})", nogil=True, cache=True)
def _value(w, g, cross, l1, ridge):  # type: ignore[no-untyped-def]
    """F(w) less ½‖y‖², from g = c − Gw."""
    total = 0.0
    for j in range(w.size):
        total += l1[j] * abs(w[j]) + 0.5 * w[j] * (ridge[j] * w[j] - cross[j] - g[j])
    return total


@numba.njit(f"float64({VECTOR}, {VECTOR}, float64, {VECTOR}, {VECTOR})", nogil=True, cache=True)
def gap(w, g, residual, l1, ridge):  # type: ignore[no-untyped-def]
    """The duality gap from correlations g and ‖r‖², at the largest feasible scale up to one."""
    s, inner, penalty, beyond = 1.0, 0.0, 0.0, 0.0
    for j in range(w.size):
        inner += w[j] * g[j]
        penalty += l1[j] * abs(w[j]) + 0.5 * ridge[j] * w[j] * w[j]
        if ridge[j] == 0.0 and s * abs(g[j]) > l1[j]:
            s = l1[j] / abs(g[j])
    for j in range(w.size):
        over = s * abs(g[j]) - l1[j]
        if over > 0.0 and ridge[j] > 0.0:
            beyond += 0.5 * over * over / ridge[j]
    return 0.5 * (1.0 - s) * (1.0 - s) * residual + penalty + beyond - s * inner


@numba.njit(
    f"int64({MATRIX}, {VECTOR}, float64, {VECTOR}, {VECTOR}, {VECTOR}, {VECTOR}, float64, int64, "
    f"{MATRIX}, {MATRIX}, {MATRIX})",
    nogil=True,
    cache=True,
)
def sweep_gram(gram, cross, square, g, w, l1, ridge, goal, limit, seen, seen_g, normal):  # type: ignore[no-untyped-def]
    """Sweeps on G (m, m) until the gap is ≤ goal; w and g = c − Gw (m,) in place. Cost m a coordinate that moves.

    seen, seen_g, normal : `history(m)`
    """
    m, filled = w.size, 0
    for sweep in range(limit):
        if filled == 0:
            for j in range(m):
                seen[0, j], seen_g[0, j] = w[j], g[j]
        for j in range(m):
            curvature = gram[j, j] + ridge[j]
            if curvature <= 0.0:
                continue
            old = w[j]
            z = g[j] + gram[j, j] * old
            new = 0.0
            if z > l1[j]:
                new = (z - l1[j]) / curvature
            elif z < -l1[j]:
                new = (z + l1[j]) / curvature
            if new != old:
                delta = new - old
                w[j] = new
                row = gram[j]
                for i in range(m):
                    g[i] -= delta * row[i]
        residual = square
        for j in range(m):
            residual -= w[j] * (cross[j] + g[j])
        if gap(w, g, residual, l1, ridge) <= goal:
            return sweep + 1
        filled += 1
        for j in range(m):
            seen[filled, j], seen_g[filled, j] = w[j], g[j]
        if filled == DEPTH:
            filled = 0
            if _weights(seen, normal):
                _mix(seen, normal[DEPTH])
                _mix(seen_g, normal[DEPTH])
                if _value(seen[0], seen_g[0], cross, l1, ridge) < _value(w, g, cross, l1, ridge):
                    for j in range(m):
                        w[j], g[j] = seen[0, j], seen_g[0, j]
    return limit
