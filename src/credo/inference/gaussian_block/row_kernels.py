"""Compiled loops over the rows of rowwise factors, where there are many. Importing this module compiles, then caches.

Row i has the entries e = indptr_i … indptr_{i+1} − 1, at `column`; its pairs e ≥ f stand one after another in `at`,
which says where their product goes.
"""

from __future__ import annotations

import numba

__all__ = ["add_products", "combine", "moments", "sums"]

F, I = "float64[::1]", "int64[::1]"  # noqa: E741


@numba.njit(f"void({I}, {F}, {F}, {F})", nogil=True, cache=True)
def combine(indptr, factors, values, entries):  # type: ignore[no-untyped-def]
    """entries_e ← entries_e + factors_i values_e for the entries e of each row i."""
    for i in range(factors.size):
        for e in range(indptr[i], indptr[i + 1]):
            entries[e] += factors[i] * values[e]


@numba.njit(f"void({I}, {F}, {F}, {F})", nogil=True, cache=True)
def sums(indptr, left, right, out):  # type: ignore[no-untyped-def]
    """out_i ← Σ_e left_e right_e of row i."""
    for i in range(out.size):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            total += left[e] * right[e]
        out[i] = total


@numba.njit(f"void({I}, {I}, {I}, {F}, {F}, {F}, {F})", nogil=True, cache=True)
def add_products(indptr, column, at, entries, constants, h, g):  # type: ignore[no-untyped-def]
    """Adds AᵀA to h and Aᵀc to g."""
    z = 0
    for i in range(constants.size):
        first = indptr[i]
        for e in range(first, indptr[i + 1]):
            g[column[e]] += entries[e] * constants[i]
            for f in range(first, e + 1):
                h[at[z]] += entries[e] * entries[f]
                z += 1


@numba.njit(f"void({I}, {I}, {I}, {F}, {F}, {F}, {F}, {F}, {F}, {F}, {F})", nogil=True, cache=True)
def moments(
    indptr, column, at, entries, constants, second, mean, centre, slope, residual, squares
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Of each row r = A y + c: E r to `residual`, E r² to `squares`, and E r (y + centre)_e to `slope` (E,), zeros
    before. second : E y yᵀ where products of pairs go, twice beside the diagonal."""
    z = 0
    for i in range(constants.size):
        first, fitted, total = indptr[i], 0.0, 0.0
        for e in range(first, indptr[i + 1]):
            fitted += entries[e] * mean[column[e]]
            for f in range(first, e + 1):
                half = 0.5 * second[at[z]]
                z += 1
                slope[e] += half * entries[f]
                slope[f] += half * entries[e]
        residual[i] = fitted + constants[i]
        for e in range(first, indptr[i + 1]):
            total += entries[e] * slope[e]
            slope[e] += constants[i] * mean[column[e]] + residual[i] * centre[column[e]]
        squares[i] = total + constants[i] * (2.0 * fitted + constants[i])
