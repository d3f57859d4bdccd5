"""Steps that are one large product of matrices: BLAS does them some ten times faster than loops."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from credo.probability.factors.elimination.interpreter import opened
from credo.probability.factors.elimination.kernel import DEEP, TINY

__all__ = ["multiply_matrices"]


def multiply_matrices(
    record: list[int],
    tables: np.ndarray,
    work: np.ndarray,
    extra: np.ndarray,
    states: np.ndarray,
    scale: np.ndarray,
    formed: int,
) -> int:
    """What the kernel does with a record (same arguments, same answer), for one of kind `MATRICES`."""
    buffers = (tables, work, extra)
    a, b, loops = opened(record, states)
    rows = next(loop for loop in loops if not loop[2])
    inner = next(loop for loop in loops if not loop[3])
    columns = next(loop for loop in loops if not loop[1])
    left = as_strided(buffers[record[2]][a:], (rows[0], inner[0]), (8 * rows[1], 8 * inner[1]))
    right = as_strided(buffers[record[5]][b:], (inner[0], columns[0]), (8 * inner[2], 8 * columns[2]))
    offset, size, batch = record[8], record[9], record[11]
    out = as_strided(work[offset:], (rows[0], columns[0]), (8 * rows[3], 8 * columns[3]))
    out[...] = left @ right
    table = work[offset : offset + size].reshape(-1, batch)
    top = table.max(axis=0)
    depth = work[work.size - formed - 1 :]
    lost = max(depth[record[4]], depth[record[7]])
    empty = top == 0.0
    if np.any(empty):
        if lost >= 0.0:
            return 2
        if batch == 1:
            return 1
    top[empty] = 1.0
    if record[12] and batch > 1:
        scale[:batch] += np.where(empty, -np.inf, np.log(top))
    elif record[12]:
        scale[scale.size // 2 - 1] += math.log(top[0])
    table /= top
    if lost >= 0.0:
        lost -= math.log(top.min())
        if lost > DEEP:
            return 2
    elif np.any((table < TINY) & (table > 0.0)):
        lost = 0.0
    depth[record[10]] = lost
    return 0
