"""Many rows through a linear-Gaussian network: rows that miss the same cells are answered together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from credo.models.network.gaussian.equations import residual, whitened

__all__ = ["conditional_moments", "log_densities", "patterns"]

# Rows of a pattern from which on it gets a factorisation of its own; fewer are stacked, so that no pattern costs a
# round through Python.
ALONE = 16
# Floats in a stack (16 MB).
STACK = 1 << 21


def patterns(seen: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(rows, the columns that they show (len(rows) or 1, m)): one group a frequent pattern, stacks of the others."""
    packed = np.packbits(seen, axis=1)
    _, inverse, counts = np.unique(packed, axis=0, return_inverse=True, return_counts=True)
    inverse = inverse.ravel()
    order = np.argsort(inverse, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)])
    for p in np.flatnonzero(counts >= ALONE):
        rows = order[starts[p] : starts[p + 1]]
        yield rows, np.flatnonzero(seen[rows[0]])[None]
    rare = np.flatnonzero(counts[inverse] < ALONE)
    sizes, d = seen[rare].sum(axis=1), seen.shape[1]
    for m in np.unique(sizes):
        of_size = rare[sizes == m]
        step = max(1, STACK // (d * d))
        for start in range(0, len(of_size), step):
            rows = of_size[start : start + step]
            yield rows, np.nonzero(seen[rows])[1].reshape(len(rows), m)


def log_densities(mean: np.ndarray, a: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log p(the cells of each row) (n,), −∞ where they cannot be, and rows whose cells have no density (bool, n)."""
    found, without = np.zeros(len(x)), np.zeros(len(x), dtype=bool)
    for rows, columns in patterns(~np.isnan(x)):
        m = columns.shape[1]
        if not m:
            continue
        parts = whitened(a[columns])
        values = np.take_along_axis(x[rows], columns, axis=1)
        z, possible = parts.noises(values[:, None] if len(columns) == 1 else values, mean[columns])
        z, possible = z.reshape(len(rows), m), possible.reshape(len(rows))
        found[rows] = np.where(possible, parts.log_density(z), -np.inf)
        without[rows] = possible & ~parts.dense
    return found, without


def conditional_moments(
    mean: np.ndarray, a: np.ndarray, x: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means and sds (n, targets) given each row's cells, and whether these can be (n,)."""
    means, sds = np.empty((len(x), len(targets))), np.empty((len(x), len(targets)))
    possible = np.ones(len(x), dtype=bool)
    for rows, columns in patterns(~np.isnan(x)):
        parts = whitened(a[columns])
        values = np.take_along_axis(x[rows], columns, axis=1)
        z, fits = parts.noises(values[:, None] if len(columns) == 1 else values, mean[columns])
        z, possible[rows] = z.reshape(len(rows), columns.shape[1]), fits.reshape(len(rows))
        along = np.matmul(a[targets], parts.basis)  # (K, targets, m)
        if len(columns) == 1:
            means[rows] = mean[targets] + z @ along[0].T
        else:
            means[rows] = mean[targets] + np.matmul(along, z[..., None])[..., 0]
        left = residual(np.broadcast_to(a[targets], (len(columns), len(targets), a.shape[1])), parts.basis)
        sds[rows] = np.sqrt(np.square(left).sum(axis=-1))
    return means, sds, possible
