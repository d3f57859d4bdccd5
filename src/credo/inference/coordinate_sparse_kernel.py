"""Compiled coordinate sweeps on sparse columns for `coordinate_columns`. Importing this compiles (then caches) it."""

from __future__ import annotations

import numba

from credo.inference.coordinate_kernels import VECTOR, gap

__all__ = ["sweep_sparse"]


@numba.njit(f"void({VECTOR}, int32[::1], int64[::1], int64[::1], {VECTOR}, {VECTOR})", nogil=True, cache=True)
def _against(data, indices, indptr, columns, r, g):  # type: ignore[no-untyped-def]
    """g_k = x_jᵀr for the columns j = columns[k] of a CSC matrix."""
    for k in range(columns.size):
        total = 0.0
        for i in range(indptr[columns[k]], indptr[columns[k] + 1]):
            total += data[i] * r[indices[i]]
        g[k] = total


@numba.njit(
    f"int64({VECTOR}, int32[::1], int64[::1], int64[::1], {VECTOR}, {VECTOR}, {VECTOR}, {VECTOR}, {VECTOR}, "
    f"{VECTOR}, {VECTOR}, {VECTOR}, float64, float64, int64)",
    nogil=True,
    cache=True,
)
def sweep_sparse(data, indices, indptr, columns, mean, total, square, r, g, w, l1, ridge, goal, small, limit):  # type: ignore[no-untyped-def]
    """Sweeps over `columns` (m,) of a CSC matrix less its `mean` (m,), for the residual r (n,), until the gap on them
    is ≤ goal, or a sweep lowers the objective by ≤ `small`.

    w (m,) and r are updated in place, g (m,) is room; total (m,) sums of the columns; square (m,) = ‖x_j − mean_j‖².
    The first sweep and one after each look at the gap visit all columns, the others only those in the model. Cost
    nnz(x_j) a coordinate and a look. Returns the sweeps made, as a negative number where the gap was not reached.
    """
    m = w.size
    level = 0.0  # the residual is r + level: a column less its mean moves all rows
    whole, look = True, goal
    for sweep in range(limit):
        fall = 0.0
        for k in range(m):
            old = w[k]
            curvature = square[k] + ridge[k]
            if curvature <= 0.0 or (old == 0.0 and not whole):
                continue
            j = columns[k]
            z = level * total[k] + square[k] * old
            for i in range(indptr[j], indptr[j + 1]):
                z += data[i] * r[indices[i]]
            new = 0.0
            if z > l1[k]:
                new = (z - l1[k]) / curvature
            elif z < -l1[k]:
                new = (z + l1[k]) / curvature
            if new != old:
                delta = new - old
                w[k] = new
                fall += 0.5 * delta * delta * curvature
                for i in range(indptr[j], indptr[j + 1]):
                    r[indices[i]] -= delta * data[i]
                level += delta * mean[k]
        if fall <= look or sweep == limit - 1:
            # What a sweep still gains is below what is missing: a look before is wasted, and so is one at every sweep.
            residual = 0.0
            for i in range(r.size):
                r[i] += level
                residual += r[i] * r[i]
            level = 0.0
            _against(data, indices, indptr, columns, r, g)
            if gap(w, g, residual, l1, ridge) <= goal:
                return sweep + 1
            if whole and fall <= small:
                return -sweep - 1
            whole, look = True, max(0.25 * fall, small)
        else:
            whole = False
    return -limit
