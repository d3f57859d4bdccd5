"""The E-step of Gaussian mixtures over columns z (d, n), in chunks that stay in cache.

Notation: ℓ_k(z) = a_k − ½ (z − μ_k)ᵀ Λ_k (z − μ_k) is the log joint density of z and component k;
r_k = exp ℓ_k / Σ_j exp ℓ_j its responsibility. Variational Bayes has the same form with its own a_k and Λ_k.

Two ways to the same numbers. *Quadratic*: ℓ = Θ φ with features φ = [1, z, z zᵀ], one matrix product for all
components, and its transpose gathers the moments; it loses digits where a component is narrow and far from the centre.
*Direct*: differences z − μ_k component by component, exact there, and faster for wide rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from credo.models.mixture.moments import Moments

__all__ = ["Beside", "Gaussians", "expected_moments", "log_weights", "normalise", "squared_distances"]

# Above, d² features a row cost more than they save in calls (measured at k = 16: equal near 40).
WIDEST = 32
# tr Λ_k (1 + |μ_k|²), the digits that cancel in the quadratic form, up to which a log density keeps nine: 1e6 × 2e-16.
NARROWEST = 1e6
# Numbers in a chunk's features and responsibilities: 2 MiB, on the edge of a second-level cache. Smaller chunks are
# slower for wide rows (15 % at d = 32), whose matrix products get too thin, and no faster for narrow ones.
CHUNK = 2**18


@dataclass(frozen=True, eq=False)
class Gaussians:
    """The k log densities of an E-step, in working coordinates.

    kind : "full", "tied" or "diag"
    log_constant : a (k,)
    mean : μ (k, d)
    factor : U with Λ = U Uᵀ: (k, d, d), (d, d) or, for "diag", the square roots of Λ's diagonal (k, d)
    """

    kind: str
    log_constant: np.ndarray
    mean: np.ndarray
    factor: np.ndarray

    @cached_property
    def precision(self) -> np.ndarray:
        return self.factor**2 if self.kind == "diag" else self.factor @ self.factor.swapaxes(-1, -2)

    @cached_property
    def trace(self) -> np.ndarray:
        """tr Λ_k (k,) = ‖U_k‖²."""
        squares = np.square(self.factor)
        each = squares.sum(axis=-1) if self.kind == "diag" else squares.sum(axis=(-2, -1))
        return np.broadcast_to(each, self.log_constant.shape)

    @cached_property
    def is_tame(self) -> bool:
        """Whether the quadratic form keeps its digits."""
        d = self.mean.shape[1]
        return bool((self.kind == "diag" or d <= WIDEST) and np.max(self.cancellation) <= NARROWEST)

    @cached_property
    def cancellation(self) -> np.ndarray:
        """tr Λ_k (1 + |μ_k|²) (k,): how much larger the terms of the quadratic form are than their sum near μ_k."""
        return self.trace * (1.0 + np.square(self.mean).sum(axis=1))

    def factor_of(self, k: int) -> np.ndarray:
        return self.factor if self.kind == "tied" else self.factor[k]

    def whitened(self, columns: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """z − μ_k and U_kᵀ (z − μ_k), both (d, n)."""
        deviation = columns - self.mean[k][:, None]
        factor = self.factor_of(k)
        return deviation, (factor[:, None] * deviation if self.kind == "diag" else factor.T @ deviation)

    @cached_property
    def natural(self) -> np.ndarray:
        """Θ (k, F): coefficients of [1, z, products of z] in ℓ; for "tied" of [1, z], the product being common."""
        if self.kind == "diag":
            linear = self.precision * self.mean
        else:
            linear = np.einsum("...ij,...j->...i", self.precision, self.mean)
        constant = self.log_constant - 0.5 * np.sum(linear * self.mean, axis=1)
        parts = [constant[:, None], linear]
        if self.kind == "diag":
            parts.append(-0.5 * self.precision)
        elif self.kind == "full":
            i, j = np.triu_indices(self.mean.shape[1])
            parts.append(np.where(i == j, -0.5, -1.0) * self.precision[:, i, j])
        return np.concatenate(parts, axis=1)

    @cached_property
    def natural_in_fours(self) -> np.ndarray:
        """Of kind "full": c, A, b and a row of zeros (k, 1 + (D + 2) D) with ℓ = c + zᵀ A z + bᵀ z, A upper triangular,
        and zeros where d is rounded up to D."""
        k, d = self.mean.shape
        wide, (i, j) = in_fours(d), np.triu_indices(d)
        theta = np.zeros((k, 1 + (wide + 2) * wide))
        square = theta[:, 1:].reshape(k, wide + 2, wide)
        theta[:, 0], square[:, wide, :d] = self.natural[:, 0], self.natural[:, 1 : 1 + d]
        square[:, i, j] = self.natural[:, 1 + d :]
        return theta


def in_fours(d: int) -> int:
    """d rounded up to a multiple of four, in which the compiled loop takes columns."""
    return -(-d // 4) * 4


# Log weight of a component that no row belongs to: −∞ would turn into NaN inside matrix products.
EMPTY = -1e300


def log_weights(weights: np.ndarray) -> np.ndarray:
    """log π, `EMPTY` for 0."""
    return np.where(weights > 0.0, np.log(np.maximum(weights, np.finfo(float).tiny)), EMPTY)


def normalise(log_joint: np.ndarray, weights: np.ndarray | None, power: float = 1.0) -> float:
    """Turn ℓ (k, n) into w r in place; returns Σ w log Σ_k exp(power ℓ_k) / power.

    >>> log_joint = np.log([[1.0, 3.0], [1.0, 1.0]])
    >>> round(normalise(log_joint, None), 6), log_joint.tolist()
    (2.079442, [[0.5, 0.75], [0.5, 0.25]])
    """
    if power != 1.0:
        log_joint *= power
    highest = log_joint.max(axis=0)
    log_joint -= highest
    np.exp(log_joint, out=log_joint)
    total = log_joint.sum(axis=0)
    highest += np.log(total)
    if weights is None:
        log_joint /= total
        return float(highest.sum()) / power
    log_joint *= weights / total
    return float(weights @ highest) / power


@dataclass(eq=False)
class Beside:
    """Other columns of the same rows, whose log densities are linear in features: ℓ_k += Θ_k · φ.

    theta : Θ (k, F) ; features : φ (n, F) ; gathered : Σ r φ (k, F), filled by the E-step
    """

    theta: np.ndarray
    features: np.ndarray
    gathered: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.gathered = np.zeros_like(self.theta)

    def add(self, log_joint: np.ndarray, rows: Any) -> None:
        log_joint += self.theta @ self.features[rows].T

    def gather(self, r: np.ndarray, rows: Any) -> None:
        self.gathered += r @ self.features[rows]


def expected_moments(
    columns: np.ndarray,
    weights: np.ndarray | None,
    gaussians: Gaussians,
    power: float = 1.0,
    beside: Beside | None = None,
) -> Moments:
    """`Moments` of columns z (d, n) with weights (n,). Cost 2 n k d² multiplications, 4 n k d for "diag"."""
    return (_quadratic if gaussians.is_tame else _direct)(columns, weights, gaussians, power, beside)


# -- quadratic ---------------------------------------------------------------------------------------------------


def _quadratic(
    columns: np.ndarray, weights: np.ndarray | None, g: Gaussians, power: float, beside: Beside | None = None
) -> Moments:
    (d, n), theta = columns.shape, g.natural
    k, width = theta.shape
    step = min(n, max(256, CHUNK // (width + 2 * k)))
    features, log_joint, gathered = np.empty((width, step)), np.empty((k, step)), np.zeros((k, width))
    features[0] = 1.0
    log_likelihood, common = 0.0, np.zeros((d, d))
    fill = {"full": _fill_products, "diag": _fill_squares, "tied": _fill_nothing}[g.kind]
    for i in range(0, n, step):
        z = columns[:, i : i + step]
        m = z.shape[1]
        w = None if weights is None else weights[i : i + m]
        features[1 : 1 + d, :m] = z
        fill(features[1 + d :, :m], z)
        part = log_joint[:, :m]
        np.matmul(theta, features[:, :m], out=part)
        if beside is not None:
            beside.add(part, slice(i, i + m))
        log_likelihood += normalise(part, w, power)
        if beside is not None:
            beside.gather(part, slice(i, i + m))
        gathered += part @ features[:, :m].T
        if g.kind == "tied":
            common += (z if w is None else z * w) @ z.T
    return _gathered(g, gathered, common, log_likelihood)


def _fill_products(out: np.ndarray, z: np.ndarray) -> None:
    """z_i z_j for i ≤ j, row of the triangle by row."""
    at = 0
    for i in range(len(z)):
        np.multiply(z[i], z[i:], out=out[at : at + len(z) - i])
        at += len(z) - i


def _fill_squares(out: np.ndarray, z: np.ndarray) -> None:
    np.square(z, out=out)


def _fill_nothing(out: np.ndarray, z: np.ndarray) -> None:
    pass


def _gathered(g: Gaussians, gathered: np.ndarray, common: np.ndarray, log_likelihood: float) -> Moments:
    k, d = g.mean.shape
    weight, first, rest = gathered[:, 0], gathered[:, 1 : 1 + d], gathered[:, 1 + d :]
    second = rest
    if g.kind == "tied":
        second = common
        # −½ zᵀ Λ z, the same for every component, was left out of ℓ
        log_likelihood -= 0.5 * float(np.sum(g.precision * common))
    elif g.kind == "full":
        i, j = np.triu_indices(d)
        second = np.empty((k, d, d))
        second[:, i, j] = second[:, j, i] = rest
    return Moments(g.kind, weight, first, second, np.zeros((k, d)), log_likelihood)


# -- direct ------------------------------------------------------------------------------------------------------


def squared_distances(columns: np.ndarray, g: Gaussians) -> np.ndarray:
    """(z − μ_k)ᵀ Λ_k (z − μ_k) (k, n) of columns (d, n)."""
    out = np.empty((len(g.mean), columns.shape[1]))
    for k in range(len(out)):
        _, white = g.whitened(columns, k)
        np.einsum("ij,ij->j", white, white, out=out[k])
    return out


def _direct(
    columns: np.ndarray, weights: np.ndarray | None, g: Gaussians, power: float, beside: Beside | None = None
) -> Moments:
    (d, n), k = columns.shape, len(g.mean)
    weight, first = np.zeros(k), np.zeros((k, d))
    second = np.zeros({"full": (k, d, d), "tied": (d, d), "diag": (k, d)}[g.kind])
    log_likelihood, step = 0.0, min(n, max(256, CHUNK // (3 * d + 2 * k)))
    for i in range(0, n, step):
        z = columns[:, i : i + step]
        r = g.log_constant[:, None] - 0.5 * squared_distances(z, g)
        if beside is not None:
            beside.add(r, slice(i, i + step))
        log_likelihood += normalise(r, None if weights is None else weights[i : i + step], power)
        if beside is not None:
            beside.gather(r, slice(i, i + step))
        weight += r.sum(axis=1)
        for j in range(k):
            deviation = z - g.mean[j][:, None]
            first[j] += deviation @ r[j]
            if g.kind == "diag":
                second[j] += np.square(deviation) @ r[j]
            else:
                target = second if g.kind == "tied" else second[j]
                target += (deviation * r[j]) @ deviation.T
    return Moments(g.kind, weight, first, second, g.mean, log_likelihood)
