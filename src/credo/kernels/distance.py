"""Squared distances between rows and sums over pairs of them, to full digits for near-duplicates and far rows alike.

Notation
    x (n, k), z (m, k)   rows, scaled
    q (n, m)             Σ_j (x_aj − z_bj)²
    B (n, m)             weights of pairs

The fast way is a matrix product, q = |x|² + |z|² − 2 x·z. It errs by 2⁻⁵³(|x|² + |z|²), which for pairs much nearer to
each other than to the origin is more than q itself. Those (`NEAR`) are done by differences, the others keep 13 digits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.spatial.distance

__all__ = ["STAIR", "blocks", "square_distances", "stairs", "weighted_differences", "weighted_squares"]

# Three of sixteen digits are given to the matrix product. Of independent rows in 10 columns fewer than one pair in 10⁶
# is as near; if every pair were, differences would take about 10 times as long as the product.
NEAR = 2.0**-10
# Up to so many columns SciPy's loop over differences takes no longer than the product and its passes (measured).
FEW = 16
# Squares saturate here, so that f(q) q is a number. What decays exponentially has been 0 since q = 10⁶.
LARGE = 1e300
# Entries of a block: 1 MiB an array, so that the passes over one block stay in the cache.
ENTRIES = 2**17
# Rows of a block of half a matrix: at 2000 rows an array takes 1 MiB, at 500 a tenth of the pairs is done twice.
STAIR = 64


def blocks(n: int, m: int) -> Iterator[slice]:
    """Slices of n rows, each of about `ENTRIES` entries (·, m)."""
    size = max(1, ENTRIES // max(m, 1))
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def stairs(n: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of rows and, for each, the rows from its first on: all pairs of n rows once, but for the corners."""
    return ((slice(start, min(start + STAIR, n)), slice(start, n)) for start in range(0, n, STAIR))


def square_distances(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """q (n, m), at most 1e300; symmetric and 0 on the diagonal where z is x. Cost n m k."""
    norms = _norms(x), _norms(z)
    overflowing = not all(np.all(np.isfinite(norm)) for norm in norms)
    if x.shape[1] <= FEW or overflowing:
        q = scipy.spatial.distance.cdist(x, z, "sqeuclidean")
        return np.minimum(q, LARGE, out=q) if overflowing else q
    q = x @ z.T
    for rows in blocks(*q.shape):
        part = q[rows]
        part *= -2.0
        part += norms[0][rows, None]
        part += norms[1]
        a, b = _near(part, norms[0][rows], norms[1])
        part[a, b] = np.square(x[rows][a] - z[b]).sum(axis=1)
    return q


def weighted_squares(B: np.ndarray, x: np.ndarray, z: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Σ_ab B_ab (x_aj − z_bj)² (k,) for a block of rows; B is overwritten. Cost n m k, no array of n m k."""
    a, b, values, far = _split(B, x, z, q)
    # minimum: where squares overflow B is 0
    total = values @ np.minimum(np.square(_difference(x[a], z[b])), LARGE)
    if not far:
        return total
    squares = B.sum(axis=1) @ np.square(x) + B.sum(axis=0) @ np.square(z)
    return total + squares - 2.0 * np.einsum("aj,aj->j", x, B @ z)


def weighted_differences(B: np.ndarray, x: np.ndarray, z: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Σ_b B_ab (x_aj − z_bj) (n, k) for a block of rows; B is overwritten. Cost n m k."""
    a, b, values, far = _split(B, x, z, q)
    total = B.sum(axis=1)[:, None] * x - B @ z if far else np.zeros_like(x)
    np.add.at(total, a, values[:, None] * _difference(x[a], z[b]))
    return total


def _split(
    B: np.ndarray, x: np.ndarray, z: np.ndarray, q: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Rows, columns and weights of the near pairs, taken out of B; and whether any pair is left in it."""
    norms = _norms(x), _norms(z)
    a, b = _near(q, *norms)
    values = B[a, b]
    B[a, b] = 0.0
    return a, b, values, bool(a.size < B.size)


def _near(q: np.ndarray, x_norms: np.ndarray, z_norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that need differences: all of them if any norm overflows."""
    if not (np.all(np.isfinite(x_norms)) and np.all(np.isfinite(z_norms))):
        return tuple(np.indices(q.shape).reshape(2, -1))  # type: ignore[return-value]
    # one pass with the largest |z|², then the few that pass it: |x|² + |z|² of all pairs would take three
    a, b = np.nonzero(q <= NEAR * (x_norms + z_norms.max(initial=0.0))[:, None])
    near = q[a, b] <= NEAR * (x_norms[a] + z_norms[b])
    return a[near], b[near]


def _norms(x: np.ndarray) -> np.ndarray:
    """|x|² (n,), ∞ where its multiples would not be finite."""
    with np.errstate(over="ignore"):
        norms = np.einsum("aj,aj->a", x, x)
    return np.where(norms < LARGE, norms, np.inf)


def _difference(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.clip(x - z, -(LARGE**0.5), LARGE**0.5)
