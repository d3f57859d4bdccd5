"""Loops over rows and cells, compiled; imported only when a structure is searched or scored.

`cells` of a family are laid out (q, r, s): configurations of the parents it has, states of the child, states of one
more parent (s = 1 without one).
"""

from __future__ import annotations

from math import lgamma, log

import numba

__all__ = ["count_rows", "count_weights", "log_likelihood", "dirichlet_evidence"]

_i4, _i8, _f8 = numba.int32, numba.int64, numba.float64


@numba.njit(numba.void(_i4[::1], _i4[:, ::1], _i8[::1], _i8[::1], _i8[::1], _i8[::1]), nogil=True, cache=True)
def count_rows(key, columns, candidates, sizes, offsets, cells):
    """Add rows to the cells of each candidate, from `offsets[i]`: `key` is the row's place in (q, r)."""
    for i in range(candidates.size):
        column, size, start = columns[candidates[i]], sizes[i], offsets[i]
        for row in range(key.size):
            cells[start + key[row] * size + column[row]] += 1


@numba.njit(numba.void(_i4[::1], _i4[:, ::1], _f8[::1], _i8[::1], _i8[::1], _i8[::1], _f8[::1]), nogil=True, cache=True)
def count_weights(key, columns, weights, candidates, sizes, offsets, cells):
    """`count_rows` of rows that count `weights` times."""
    for i in range(candidates.size):
        column, size, start = columns[candidates[i]], sizes[i], offsets[i]
        for row in range(key.size):
            cells[start + key[row] * size + column[row]] += weights[row]


@numba.njit(_f8(_f8[::1], _i8, _i8, _i8), nogil=True, cache=True)
def log_likelihood(cells, q, r, s):
    """Σ n_ijk log(n_ijk/n_ij): the log-likelihood at its maximum."""
    value = 0.0
    for j in range(q):
        for x in range(s):
            total = 0.0
            for y in range(r):
                n = cells[(j * r + y) * s + x]
                if n > 0.0:
                    total += n
                    value += n * log(n)
            if total > 0.0:
                value -= total * log(total)
    return value


@numba.njit(_f8(_f8[::1], _i8, _i8, _i8, _f8), nogil=True, cache=True)
def dirichlet_evidence(cells, q, r, s, a):
    """log ∫ Π θ^n dθ with a Dirichlet(a, …, a) on every row."""
    value, base, whole = 0.0, lgamma(a), lgamma(r * a)
    for j in range(q):
        for x in range(s):
            total = 0.0
            for y in range(r):
                n = cells[(j * r + y) * s + x]
                if n > 0.0:
                    total += n
                    value += lgamma(a + n) - base
            if total > 0.0:
                value += whole - lgamma(r * a + total)
    return value
