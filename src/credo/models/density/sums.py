"""Gaussian sums log Σ_i w_i exp(−½|y − z_i|²) in blocks: near blocks by one matrix product, far ones left out.

Points and queries are ordered so that a block of them is a small box (a k-d tree's leaves). A block's contribution to a
query lies between w exp(−½ far²) and w exp(−½ near²), the distances to its box; blocks whose upper bounds together are
below `tolerance` times the lower bound of the whole sum are left out, which certifies the relative error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from credo.numerics.threads import single_blas_thread

__all__ = ["kd_order", "log_sums"]

# Points and queries of a block: their products (1 MB) stay in the second-level cache.
POINTS, QUERIES = 512, 256
# A sum below this has lost digits to underflow.
LEAST = 1e-280


def kd_order(Z: np.ndarray, size: int) -> list[np.ndarray]:
    """Row numbers in boxes of at most `size`: halved at the median of the widest column. O(n log n)."""
    waiting, leaves = [np.arange(Z.shape[0])], []
    while waiting:
        rows = waiting.pop()
        if rows.size <= size:
            leaves.append(rows)
            continue
        own = Z[rows]
        column = own[:, int(np.argmax(own.max(axis=0) - own.min(axis=0)))]
        order, half = np.argpartition(column, rows.size // 2), rows.size // 2
        waiting += [rows[order[half:]], rows[order[:half]]]
    return leaves


@dataclass(frozen=True)
class _Leaves:
    """Boxes of points: low, high (B, d), weight (B,); and per box its centre, [z, −½z², 1] about it, and weights."""

    low: np.ndarray
    high: np.ndarray
    weight: np.ndarray
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]

    @classmethod
    def of(cls, Z: np.ndarray, w: np.ndarray) -> _Leaves:
        low, high, weight, parts = [], [], [], []
        for rows in kd_order(Z, POINTS):
            own, share = Z[rows], w[rows]
            low.append(own.min(axis=0))
            high.append(own.max(axis=0))
            weight.append(share.sum())
            centre = 0.5 * (low[-1] + high[-1])
            z = (own - centre).T
            parts.append((centre, np.vstack([z, -0.5 * np.square(z).sum(axis=0), np.ones(rows.size)]), share))
        return cls(np.array(low), np.array(high), np.array(weight), parts)


def log_sums(Z: np.ndarray, w: np.ndarray, Y: np.ndarray, tolerance: float) -> np.ndarray:
    """log Σ_i w_i exp(−½|y − z_i|²) for every row y of Y (q, d); Z (n, d), w (n,) > 0.

    Relative error of a sum: `tolerance`, and rounding (about 1e-13). Cost: up to 3 ns a pair on one core.
    """
    leaves, result = _Leaves.of(Z, w), np.empty(Y.shape[0])
    # beyond 1e9 bandwidths the rounding of squares exceeds what exp can hold: such sums are infinite, and done again
    with single_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        for rows in kd_order(Y, QUERIES):
            result[rows] = _sums(leaves, Y[rows], tolerance)
        lost = np.flatnonzero(~np.isfinite(result))
        for i in lost:
            result[i] = logsumexp(np.log(w) - 0.5 * np.square(Z - Y[i]).sum(axis=1))
    return result


def _sums(leaves: _Leaves, y: np.ndarray, tolerance: float) -> np.ndarray:
    """For one box of queries; −∞ where the sum underflows."""
    near, far = np.zeros((y.shape[0], leaves.weight.size)), np.zeros((y.shape[0], leaves.weight.size))
    for j in range(y.shape[1]):
        below, above = leaves.low[:, j] - y[:, j, None], y[:, j, None] - leaves.high[:, j]
        near += np.square(np.maximum(np.maximum(below, above), 0.0))
        far += np.square(np.minimum(below, above))
    shift = 0.5 * near.min(axis=1)
    most = leaves.weight * np.exp(shift[:, None] - 0.5 * near)
    least = np.exp(shift[:, None] - 0.5 * far) @ leaves.weight
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        share = np.where(most > 0.0, most / least[:, None], 0.0).max(axis=0)
    order = np.argsort(share)
    kept = order[np.cumsum(share[order]) > tolerance]
    total = np.zeros(y.shape[0])
    for b in kept:
        centre, points, w = leaves.parts[b]
        moved = y - centre
        head = np.column_stack([moved, np.ones(y.shape[0]), shift - 0.5 * np.square(moved).sum(axis=1)])
        exponent = head @ points
        total += np.exp(exponent, out=exponent) @ w
    with np.errstate(divide="ignore"):
        return np.where(total > LEAST, np.log(total) - shift, -np.inf)
