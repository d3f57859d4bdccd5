"""The loop over the stored cells of a block of counts, compiled; imported only when topics are fitted.

Cells are stored in runs that share an outer index (a word, or a document) and name an inner one (a document, or a
word). In the order of words a run's rows stay in the first cache, and the documents of a block in the second: twice as
fast, on 300,000 cells and 100 topics, as the order of documents, whose words lie anywhere in a large matrix.

Cells are taken four at a time: the run's row is read once for four products, which do not wait for each other (a fifth
less time at 20 topics). Sums run in a fixed order, so that a block's answer does not depend on threads.
"""

from __future__ import annotations

import numba

__all__ = ["accumulate_cells"]

_f8, _i4 = numba.float64, numba.int32


@numba.njit(
    numba.void(_i4[::1], _i4[::1], _i4[::1], _f8[::1], _f8[:, ::1], _f8[:, ::1], _f8[::1], _f8[:, ::1], _f8[:, ::1]),
    nogil=True,
    cache=True,
    error_model="numpy",
    fastmath={"contract", "reassoc"},
)
def accumulate_cells(outer, starts, inner, counts, left, right, probability, left_sum, right_sum):
    """Write p = Σ_z left_z right_z of every cell to `probability`, and *add* expected counts by topic to the sums.

    With ratio = count/p, `left_sum` receives left · Σ ratio · right, and `right_sum` Σ ratio · left, still to be
    multiplied by `right`; none where it has no rows. A cell of probability 0 adds nothing.
    """
    k = left.shape[1]
    for run in range(outer.size):
        mine, mine_sum = left[outer[run]], left_sum[outer[run]]
        stop = starts[run + 1]
        for at in range(starts[run], stop, 4):
            # beyond the run's end its last cell again, with nothing to share
            b, c, d = min(at + 1, stop - 1), min(at + 2, stop - 1), min(at + 3, stop - 1)
            x0, x1, x2, x3 = right[inner[at]], right[inner[b]], right[inner[c]], right[inner[d]]
            p0 = p1 = p2 = p3 = 0.0
            for z in range(k):
                m = mine[z]
                p0 += m * x0[z]
                p1 += m * x1[z]
                p2 += m * x2[z]
                p3 += m * x3[z]
            probability[at], probability[b], probability[c], probability[d] = p0, p1, p2, p3
            r0 = counts[at] / p0 if p0 > 0.0 else 0.0
            r1 = counts[b] / p1 if p1 > 0.0 and at + 1 < stop else 0.0
            r2 = counts[c] / p2 if p2 > 0.0 and at + 2 < stop else 0.0
            r3 = counts[d] / p3 if p3 > 0.0 and at + 3 < stop else 0.0
            for z in range(k):
                mine_sum[z] += r0 * x0[z] + r1 * x1[z] + r2 * x2[z] + r3 * x3[z]
            if right_sum.shape[0] == 0:
                continue
            s0, s1, s2, s3 = right_sum[inner[at]], right_sum[inner[b]], right_sum[inner[c]], right_sum[inner[d]]
            for z in range(k):
                s0[z] += r0 * mine[z]
            if at + 1 < stop:
                for z in range(k):
                    s1[z] += r1 * mine[z]
            if at + 2 < stop:
                for z in range(k):
                    s2[z] += r2 * mine[z]
            if at + 3 < stop:
                for z in range(k):
                    s3[z] += r3 * mine[z]
        for z in range(k):
            expected = mine_sum[z] * mine[z]
            # nothing for every purpose, and denormal numbers would slow the loop
            mine_sum[z] = expected if expected > 1e-100 else 0.0
