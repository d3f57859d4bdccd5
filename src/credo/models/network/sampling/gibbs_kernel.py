"""The compiled sweep of Gibbs sampling (imported when first run)."""

from __future__ import annotations

import numba

__all__ = ["sweep"]

_i4, _i8, _f8 = numba.int32, numba.int64, numba.float64


@numba.njit(
    numba.void(
        _i4[::1], _f8[::1], _i8[::1], _i8[::1], _i8[::1], _i8[::1], _i8[::1], _i8[::1], _i8[::1], _i8[::1], _i8[::1],
        _i8[::1], _i8[::1], _i8[::1], _i8[::1], _f8[:, ::1], _f8[::1], _i4[:, ::1],
    ),
    nogil=True, cache=True,
)  # fmt: skip
def sweep(
    state, tables, states, member_at, members, divisors, sizes, touch_at, base, step_at, steps, other_at, others,
    strides, hidden, uniform, weight, out,
):  # fmt: skip
    """Draw each unit given all else, over and over.

    state (nodes,) : where the chain is, changed; the unit's nodes and tables as of `Units`
    hidden : nodes written to out (sweeps, hidden); uniform (sweeps, units) : random numbers; weight : room
    """
    for turn in range(uniform.shape[0]):
        for u in range(states.size):
            n = states[u]
            for k in range(n):
                weight[k] = 1.0
            for t in range(touch_at[u], touch_at[u + 1]):
                place = base[t]
                for i in range(other_at[t], other_at[t + 1]):
                    place += strides[i] * state[others[i]]
                top = 0.0
                for k in range(n):
                    weight[k] *= tables[place + steps[step_at[t] + k]]
                    if weight[k] > top:
                        top = weight[k]
                if 0.0 < top < 1e-100:  # many tables, each unlikely
                    for k in range(n):
                        weight[k] /= top
            total = 0.0
            for k in range(n):
                total += weight[k]
            wanted = uniform[turn, u] * total
            passed = 0.0
            for k in range(n):
                passed += weight[k]
                if weight[k] > 0.0 and wanted < passed:
                    for i in range(member_at[u], member_at[u + 1]):
                        state[members[i]] = (k // divisors[i]) % sizes[i]
                    break
        for h in range(hidden.size):
            out[turn, h] = state[hidden[h]]
