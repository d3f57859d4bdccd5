"""The E-step with full covariances by a compiled loop, for fits that are long enough to pay for compiling it.

On 16,384 × 8 rows and 8 components half to a third of the time of matrix products, which are too thin there to be fast,
and independent of them: two threads do not wait for each other's memory. The numbers are those of `expected_moments` to
rounding.
"""

from __future__ import annotations

import numpy as np

from credo.models.mixture.coordinates import Coordinates
from credo.models.mixture.expectation import Gaussians, in_fours
from credo.models.mixture.moments import Moments

__all__ = ["compiled_moments", "is_worth_compiling"]

# Rows times components from which a pass gains some 10 ms, and columns from which it gains anything much: a second of
# compiling, once for ever, is earned back within a hundred passes, and reading it from its cache within ten.
LEAST_WORK, LEAST_COLUMNS = 1_000_000, 4
# Rows at a time: with 8 columns and 8 components 40 kB, of which a loop reads at most six rows.
CHUNK = 256


def is_worth_compiling(n_rows: int, n_columns: int, n_components: int) -> bool:
    """Whether passes over this much are long enough; a function of the data alone, so that answers are."""
    return n_rows * n_components >= LEAST_WORK and n_columns >= LEAST_COLUMNS


def compiled_moments(
    X: np.ndarray, weights: np.ndarray | None, coordinates: Coordinates, g: Gaussians, power: float
) -> Moments:
    """`Moments` of rows X (n, d), for tame Gaussians of kind "full". Cost about 2 n k d² multiplications."""
    from credo.models.mixture.full_kernel import expect_rows

    (n, d), k = X.shape, len(g.mean)
    wide = in_fours(d)
    forward = np.zeros((d, wide))
    forward[:, :d] = coordinates.forward if coordinates.is_matrix else np.diag(coordinates.forward)
    z, room = np.zeros((wide + 2, CHUNK)), np.empty(CHUNK)
    z[wide] = 1.0
    gathered = np.zeros((k, 1 + (wide + 2) * wide))
    evidence = np.empty((2, n))
    evidence[0], evidence[1] = -np.inf, 0.0
    each = np.ones(n) if weights is None else np.ascontiguousarray(weights, np.float64)
    rows, theta = np.ascontiguousarray(X, np.float64), power * g.natural_in_fours
    joint = np.empty((k, CHUNK))
    expect_rows(rows, each, coordinates.centre, forward, theta, z, joint, room, room.view(np.int64), gathered, evidence)
    log_likelihood = float(each @ (evidence[0] + np.log(evidence[1]))) / power
    square, (i, j) = gathered[:, 1:].reshape(k, wide + 2, wide), np.triu_indices(d)
    second = np.empty((k, d, d))
    second[:, i, j] = second[:, j, i] = square[:, i, j]
    return Moments("full", gathered[:, 0], square[:, wide, :d], second, np.zeros((k, d)), log_likelihood)
