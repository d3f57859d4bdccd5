"""Linear-Gaussian networks in square-root form.

With independent standard normal noises ε, one a node, every node is x = μ + A ε; row i of A is Σ_j w_ij A_j + sd_i e_i.
Nothing is squared: a covariance A Aᵀ is never formed on the way, so conditioning loses the condition number of A, not
its square, and nodes with sd 0 need no special case.

Given x_E = v, write the rows of E as A_E = L Qᵀ with Q orthonormal: Qᵀε = z = L⁻¹(v − μ_E) is known and the rest of ε
is as before, so that

    E[x | v] = μ + A Q z        Cov[x | v] = B Bᵀ, B = A − (A Q) Qᵀ        log p(v) = −½ (|z|² + m log 2π) − log |L|

All functions take a stack of K networks of one shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

__all__ = ["Whitened", "responses", "residual", "whitened", "lower_factor", "LOG_2PI"]

LOG_2PI = float(np.log(2.0 * np.pi))
# What rounding leaves of a row that others determine, relative to its length, is a few d·eps; 16 of them are allowed.
ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
# How far evidence on nodes that determine each other may be from agreeing: cells printed with eight digits do agree.
AGREEMENT = 1e-8


def responses(weights: np.ndarray, intercepts: np.ndarray, sds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """μ (K, d) and A (K, d, d) from weights (K, d, d) of [child, parent], parents before children. Cost K d³/3."""
    k, d = intercepts.shape
    mean, rows = intercepts.copy(), np.zeros((k, d, d))
    for i in range(d):
        w = weights[:, i, None, :i]
        mean[:, i] += np.matmul(w, mean[:, :i, None])[:, 0, 0]
        rows[:, i] = np.matmul(w, rows[:, :i])[:, 0]
        rows[:, i, i] = sds[:, i]
    return mean, rows


@dataclass(frozen=True, eq=False)
class Whitened:
    """Rows of observed nodes, factored: z = whitener (v − μ)/scale are their noises along `basis`.

    basis Q (K, d, m), columns of 0 beyond the rank; whitener, lower (K, m, m); scale (K, m): lengths of the rows
    rank, varying (K,): numbers of independent rows, and of rows that are not 0; log_scale (K,): log |L| where these are
    equal. Nodes whose rows are 0 have a known value, of probability 1.
    """

    basis: np.ndarray
    whitener: np.ndarray
    lower: np.ndarray
    scale: np.ndarray
    rank: np.ndarray
    varying: np.ndarray
    log_scale: np.ndarray

    def noises(self, values: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z (..., K, m) of values and means (..., K, m), and whether the values can be (..., K)."""
        with np.errstate(over="ignore"):  # infinitely far out: the density is 0
            deviation = (values - mean) / self.scale
        if len(self.whitener) == 1 and deviation.size:  # one product for all rows
            z = (deviation.reshape(-1, deviation.shape[-1]) @ self.whitener[0].T).reshape(deviation.shape)
        else:
            z = np.matmul(self.whitener, deviation[..., None])[..., 0]
        possible = np.ones(z.shape[:-1], dtype=bool)
        if np.any(self.rank < self.scale.shape[-1]):
            left = np.abs(deviation - np.matmul(self.lower, z[..., None])[..., 0]) * self.scale
            reach = np.abs(values) + np.abs(mean) + self.scale * np.abs(z).max(axis=-1, keepdims=True, initial=0.0)
            possible = np.all(left <= AGREEMENT * reach, axis=-1)
        return z, possible

    def log_density(self, z: np.ndarray) -> np.ndarray:
        """log p(v) from its noises, where `dense`."""
        with np.errstate(over="ignore"):
            squares = np.square(z).sum(axis=-1)
        return -0.5 * (squares + self.varying * LOG_2PI) - self.log_scale

    @property
    def dense(self) -> np.ndarray:
        """Whether values have a density (K,): no row that varies follows from others."""
        return self.rank == self.varying


def whitened(rows: np.ndarray) -> Whitened:
    """From the observed nodes' rows of A (K, m, d). Cost 2 K d m²."""
    k, m, d = rows.shape
    scale = np.sqrt(np.square(rows).sum(axis=-1))
    constant = scale == 0.0
    scale = np.where(constant, 1.0, scale)
    scaled = rows / scale[..., None]
    if m == 0:
        none = np.zeros((k, 0, 0))
        zeros = np.zeros(k, dtype=np.int64)
        return Whitened(np.zeros((k, d, 0)), none, none, scale, zeros, zeros, np.zeros(k))
    basis, upper = np.linalg.qr(scaled.swapaxes(-1, -2))
    sizes = np.abs(np.diagonal(upper, axis1=-2, axis2=-1))
    full = np.all(sizes > d * ROUNDING, axis=-1)
    rank = np.full(k, m)
    safe = np.where(full[:, None, None], upper, np.eye(m))
    whitener = np.linalg.inv(safe).swapaxes(-1, -2)
    log_scale = np.log(np.where(full[:, None], sizes, 1.0)).sum(axis=-1)
    for i in np.flatnonzero(~full):
        rank[i], basis[i], whitener[i], log_scale[i] = _deficient(scaled[i])
    varying = np.count_nonzero(~constant, axis=-1)
    log_scale += np.log(scale).sum(axis=-1)
    return Whitened(basis, whitener, np.matmul(scaled, basis), scale, rank, varying, log_scale)


def _deficient(scaled: np.ndarray) -> tuple[int, np.ndarray, np.ndarray, float]:
    """(rank, basis, whitener, log |L|) of rows (m, d) some of which follow from others: by a QR that pivots."""
    m, d = scaled.shape
    factored: Any = scipy.linalg.qr(scaled.T, mode="economic", pivoting=True, check_finite=False)
    q, upper, order = factored
    rank = int(np.count_nonzero(np.abs(np.diagonal(upper)) > d * ROUNDING))
    basis, whitener = np.zeros((d, m)), np.zeros((m, m))
    basis[:, :rank] = q[:, :rank]
    if rank:
        inverse = scipy.linalg.solve_triangular(upper[:rank, :rank], np.eye(rank), check_finite=False)
        whitener[:rank, order[:rank]] = inverse.T
    return rank, basis, whitener, float(np.log(np.abs(np.diagonal(upper)[:rank])).sum())


def residual(rows: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """B = A − (A Q) Qᵀ for rows (K, t, d): what evidence leaves open; rows that it determines are 0 exactly."""
    left = rows
    for _ in range(2):  # twice is enough: what is left is then orthogonal to the basis, however small
        left = left - np.matmul(np.matmul(left, basis), basis.swapaxes(-1, -2))
    before = np.sqrt(np.square(rows).sum(axis=-1))
    after = np.sqrt(np.square(left).sum(axis=-1))
    return np.where((after > rows.shape[-1] * ROUNDING * before)[..., None], left, 0.0)


def lower_factor(rows: np.ndarray) -> np.ndarray | None:
    """L (t, t) with L Lᵀ = rows rowsᵀ, its diagonal > 0; None where the rows depend on each other."""
    t, d = rows.shape
    length = np.sqrt(np.square(rows).sum(axis=-1))
    if t > d or np.any(length == 0.0):
        return None
    upper: Any = np.linalg.qr(rows.T / length, mode="r")
    size = np.diagonal(upper)
    if np.any(np.abs(size) <= d * ROUNDING):
        return None
    return np.tril((upper * np.sign(size)[:, None]).T * length[:, None])
