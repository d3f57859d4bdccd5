"""Compiled loops over the rows of a site, where there are many. Importing this module compiles, then caches.

Row i has the dense entries D_i· and the sparse ones e = indptr_i … indptr_{i+1} − 1, at `column` or its number
`local`; the pairs e ≥ e′ of a row stand one after another, and `at_pairs` says where in H.
"""

from __future__ import annotations

import numba

__all__ = ["add_products", "back", "solved", "times"]

F, M, I = "float64[::1]", "float64[:, ::1]", "int64[::1]"  # noqa: E741


@numba.njit(f"void({M}, {F}, {I}, {I}, {F}, {F}, {F})", nogil=True, cache=True)
def times(dense, sparse, indptr, column, of_dense, z, out):  # type: ignore[no-untyped-def]
    """out ← A z: `of_dense` (q,) is z at the dense columns."""
    for i in range(out.size):
        total = 0.0
        for k in range(of_dense.size):
            total += dense[i, k] * of_dense[k]
        for e in range(indptr[i], indptr[i + 1]):
            total += sparse[e] * z[column[e]]
        out[i] = total


@numba.njit(f"void({M}, {F}, {I}, {I}, {F}, {F}, {F})", nogil=True, cache=True)
def back(dense, sparse, indptr, column, r, of_dense, out):  # type: ignore[no-untyped-def]
    """Adds Aᵀ r: the dense columns to `of_dense` (q,), the others to out (p,)."""
    for i in range(r.size):
        for k in range(of_dense.size):
            of_dense[k] += dense[i, k] * r[i]
        for e in range(indptr[i], indptr[i + 1]):
            out[column[e]] += sparse[e] * r[i]


@numba.njit(f"void({M}, {F}, {I}, {I}, {F}, {I}, {M}, {F})", nogil=True, cache=True)
def add_products(dense, sparse, indptr, local, weights, at_pairs, table, h):  # type: ignore[no-untyped-def]
    """Adds Aᵀ diag(weights) A but for dense by dense: sparse by dense to table (u, q), sparse by sparse to h."""
    z, q = 0, table.shape[1]
    for i in range(weights.size):
        first = indptr[i]
        for e in range(first, indptr[i + 1]):
            s, at = weights[i] * sparse[e], local[e]
            for k in range(q):
                table[at, k] += s * dense[i, k]
            for f in range(first, e + 1):
                h[at_pairs[z]] += s * sparse[f]
                z += 1


@numba.njit(f"void({M}, {F}, {I}, {I}, {I}, {M}, {F}, {M}, {F}, {F})", nogil=True, cache=True)
def solved(
    dense, sparse, indptr, local, at_pairs, table, inverse, of_dense, of_sparse, inner
):  # type: ignore[no-untyped-def]  # fmt: skip
    """H⁻¹ a_i where row i has entries: added to of_dense (n, q), which has that of the dense part, and to of_sparse
    (E,), zeros before; a_iᵀ H⁻¹ a_i to inner (n,). table (u, q): entries of H⁻¹ between sparse and dense columns."""
    z, q = 0, table.shape[1]
    for i in range(inner.size):
        total, first = 0.0, indptr[i]
        for e in range(first, indptr[i + 1]):
            entry, at = 0.0, local[e]
            for k in range(q):
                entry += table[at, k] * dense[i, k]
                of_dense[i, k] += table[at, k] * sparse[e]
            for f in range(first, e + 1):
                v = inverse[at_pairs[z]]
                z += 1
                entry += v * sparse[f]
                if f != e:
                    of_sparse[f] += v * sparse[e]
            of_sparse[e] += entry
        for k in range(q):
            total += of_dense[i, k] * dense[i, k]
        for e in range(first, indptr[i + 1]):
            total += of_sparse[e] * sparse[e]
        inner[i] = total
