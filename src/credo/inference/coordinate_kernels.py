"""Compiled coordinate sweeps for `coordinate_descent`. Importing this module compiles (then caches) its kernels.

Both update the coefficients in place and return the number of sweeps made. A coordinate that moves by δ lowers the
objective by at least ½ δ² (G_jj + ridge_j); the gap is `coordinate_descent.duality_gap` at one scale s.
"""

from __future__ import annotations

import numba

__all__ = ["sweep_gram", "sweep_sparse"]

VECTOR = "float64[::1]"


@numba.njit(
    f"int64(float64[:, ::1], {VECTOR}, float64, {VECTOR}, {VECTOR}, {VECTOR}, {VECTOR}, float64, int64)",
    nogil=True,
    cache=True,
)
def sweep_gram(gram, cross, square, g, w, l1, ridge, goal, limit):  # type: ignore[no-untyped-def]
    """Sweeps on G (m, m) until the gap is ≤ goal; w and g = c − Gw (m,) in place. Cost m a coordinate that moves."""
    m = w.size
    for sweep in range(limit):
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
        residual, inner, penalty, s = square, 0.0, 0.0, 1.0
        for j in range(m):
            residual -= w[j] * (cross[j] + g[j])
            inner += w[j] * g[j]
            penalty += l1[j] * abs(w[j]) + 0.5 * ridge[j] * w[j] * w[j]
            if ridge[j] == 0.0 and s * abs(g[j]) > l1[j]:
                s = l1[j] / abs(g[j])
        gap = 0.5 * (1.0 - s) * (1.0 - s) * residual + penalty - s * inner
        for j in range(m):
            beyond = s * abs(g[j]) - l1[j]
            if beyond > 0.0 and ridge[j] > 0.0:
                gap += 0.5 * beyond * beyond / ridge[j]
        if gap <= goal:
            return sweep + 1
    return limit


@numba.njit(
    f"int64({VECTOR}, int32[::1], int64[::1], int64[::1], {VECTOR}, {VECTOR}, {VECTOR}, {VECTOR}, {VECTOR}, {VECTOR}, "
    "float64, int64)",
    nogil=True,
    cache=True,
)
def sweep_sparse(data, indices, indptr, columns, mean, square, level, r, w, penalty, small, limit):  # type: ignore[no-untyped-def]
    """Sweeps over `columns` of a CSC matrix less its `mean` (P,), for the residual level[0] + r (n,),
    until a sweep lowers the objective by less than `small`.

    w (m,), r and level are updated in place; square (m,) = ‖x_j − mean_j‖²; penalty (2m,) = l1 then ridge. The
    first and the last sweep visit all columns, the others only those in the model. Cost nnz(x_j) a coordinate.
    """
    m = w.size
    for sweep in range(limit):
        fall = 0.0
        whole = sweep == limit - 1 or sweep == 0
        for k in range(m):
            old = w[k]
            curvature = square[k] + penalty[m + k]
            if curvature <= 0.0 or (old == 0.0 and not whole):
                continue
            j = columns[k]
            z = 0.0
            total = 0.0
            for i in range(indptr[j], indptr[j + 1]):
                z += data[i] * r[indices[i]]
                total += data[i]
            z += level[0] * total + square[k] * old
            new = 0.0
            if z > penalty[k]:
                new = (z - penalty[k]) / curvature
            elif z < -penalty[k]:
                new = (z + penalty[k]) / curvature
            if new != old:
                delta = new - old
                w[k] = new
                fall += 0.5 * delta * delta * curvature
                for i in range(indptr[j], indptr[j + 1]):
                    r[indices[i]] -= delta * data[i]
                level[0] += delta * mean[j]
        if fall <= small and whole:
            return sweep + 1
    return limit
