"""Loops of the E-step, compiled; imported only when tables are estimated from rows with missing cells."""

from __future__ import annotations

from math import exp, inf, log

import numba

__all__ = ["label_parts", "expect"]

_i4, _i8, _f8, _u1 = numba.int32, numba.int64, numba.float64, numba.uint8


@numba.njit(numba.void(_u1[:, ::1], _u1[:, ::1], _i4[:, ::1], _i8[::1]), nogil=True, cache=True)
def label_parts(unknown, adjacent, labels, stack):
    """Write to `labels` (n, d) the smallest member of each unknown node's connected part, −1 where known."""
    d = unknown.shape[1]
    for row in range(unknown.shape[0]):
        for node in range(d):
            labels[row, node] = -1
        for first in range(d):
            if unknown[row, first] == 0 or labels[row, first] >= 0:
                continue
            labels[row, first] = first
            stack[0], height = first, 1
            while height > 0:
                height -= 1
                node = stack[height]
                for other in range(d):
                    if adjacent[node, other] and unknown[row, other] and labels[row, other] < 0:
                        labels[row, other] = first
                        stack[height] = other
                        height += 1


@numba.njit(
    _f8(_i8[::1], _i8[::1], _i8[::1], _i8[::1], _i8[::1], _f8[::1], _f8[::1], _f8[::1], _i8[::1], _f8[::1]),
    nogil=True,
    cache=True,
)
def expect(shape, n_cases, sizes, strides, bases, weights, log_theta, counts, steps, terms):
    """Add expected counts to `counts`, and return Σ weight · log p of the cases.

    A group g has shape[2g] unknown nodes, with their `sizes`, and shape[2g + 1] tables, `strides` (tables, nodes);
    each of its n_cases[g] cases has the place in every table where all unknown nodes are in state 0 (`bases`). All
    states are gone through; `steps` and `terms` are room for (states, tables) and (states).
    """
    value = 0.0
    at_size, at_stride, at_base, at_case = 0, 0, 0, 0
    for group in range(n_cases.size):
        k, f = shape[2 * group], shape[2 * group + 1]
        n_states = 1
        for i in range(k):
            n_states *= sizes[at_size + i]
        for state in range(n_states):
            for table in range(f):
                rest, step = state, 0
                for i in range(k):
                    size = sizes[at_size + i]
                    step += (rest % size) * strides[at_stride + table * k + i]
                    rest //= size
                steps[state * f + table] = step
        for _ in range(n_cases[group]):
            top = -inf
            for state in range(n_states):
                term = 0.0
                for table in range(f):
                    term += log_theta[bases[at_base + table] + steps[state * f + table]]
                terms[state] = term
                if term > top:
                    top = term
            if top == -inf:
                return -inf
            total = 0.0
            for state in range(n_states):
                terms[state] = exp(terms[state] - top)
                total += terms[state]
            weight = weights[at_case]
            value += weight * (top + log(total))
            for state in range(n_states):
                share = weight * terms[state] / total
                if share > 0.0:
                    for table in range(f):
                        counts[bases[at_base + table] + steps[state * f + table]] += share
            at_base += f
            at_case += 1
        at_size += k
        at_stride += f * k
    return value
