"""The compiled sweep of Gibbs sampling (imported when first run)."""

from __future__ import annotations

import numba

__all__ = ["sweep"]

_i4, _i8, _f8 = numba.int32, numba.int64, numba.float64


@numba.njit(
    numba.void(
        _i4[::1], _i8[::1], _i8[::1], _f8[::1], _i8[::1], _i8[::1], _i8[::1], _i8[::1], _i8[::1], _i8[::1], _i8[::1],
        _f8[::1], _i8[::1], _f8[:, ::1], _f8[::1], _i4[:, ::1],
    ),
    nogil=True, cache=True,
)  # fmt: skip
def sweep(
    state, hidden, sizes, tables, offset, parent_at, parents, strides, child_at, children, child_stride, soft, soft_at,
    uniform, weight, out,
):  # fmt: skip
    """Draw each hidden node given all others, over and over.

    state (nodes,) : where the chain is, changed; uniform, out (sweeps, hidden) : random numbers in, states out
    tables, offset : the families' tables (q, r) end to end, and where each begins
    parent_at, parents, strides : of node v those from parent_at[v] to parent_at[v + 1]; likewise its children, with
        the stride of v in their rows; soft, soft_at : likelihoods, and where those of a node begin (−1: none)
    weight (largest size,) : room
    """
    for turn in range(uniform.shape[0]):
        for h in range(hidden.size):
            v = hidden[h]
            r = sizes[v]
            row = 0
            for i in range(parent_at[v], parent_at[v + 1]):
                row += strides[i] * state[parents[i]]
            for k in range(r):
                weight[k] = tables[offset[v] + row * r + k]
            if soft_at[v] >= 0:
                for k in range(r):
                    weight[k] *= soft[soft_at[v] + k]
            for j in range(child_at[v], child_at[v + 1]):
                c = children[j]
                base = -child_stride[j] * state[v]
                for i in range(parent_at[c], parent_at[c + 1]):
                    base += strides[i] * state[parents[i]]
                top = 0.0
                for k in range(r):
                    weight[k] *= tables[offset[c] + (base + child_stride[j] * k) * sizes[c] + state[c]]
                    if weight[k] > top:
                        top = weight[k]
                if 0.0 < top < 1e-100:  # many children, each unlikely
                    for k in range(r):
                        weight[k] /= top
            total = 0.0
            for k in range(r):
                total += weight[k]
            u = uniform[turn, h] * total
            passed = 0.0
            for k in range(r):
                passed += weight[k]
                if weight[k] > 0.0 and u < passed:
                    state[v] = k
                    break
            out[turn, h] = state[v]
