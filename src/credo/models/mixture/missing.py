"""The E-step with missing cells: exact observed-data EM.

Given component k, the observed cells o of a row are N(μ_o, Σ_oo), and the missing ones m are Normal around

    E z_m = μ_m + Σ_mo Σ_oo⁻¹ (z_o − μ_o)     with covariance   C = Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om

so that a row's moments are those of the completed row plus C. Rows with the same cells missing share Σ_oo. For diagonal
covariances C is diagonal and nothing is shared: masks do the work of patterns.

Reference: Ghahramani and Jordan (1994), Supervised learning from incomplete data via an EM approach, NIPS 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo.distributions.normal import LOG_2PI
from credo.models.mixture.expectation import Beside, Gaussians, normalise, squared_distances
from credo.models.mixture.factors import stacked_cholesky
from credo.models.mixture.moments import Moments

__all__ = [
    "expected_moments_observed", "distances", "patterns", "Pattern", "Conditional", "conditionals", "add_completed",
    "Masked",
]  # fmt: skip


class Pattern(NamedTuple):
    """rows : numbers of the rows whose observed columns are exactly `observed`."""

    rows: np.ndarray
    observed: np.ndarray
    missing: np.ndarray


def patterns(columns: np.ndarray) -> list[Pattern]:
    """The patterns of missing cells of columns (d, n), in a fixed order."""
    present = ~np.isnan(columns)
    codes = np.packbits(present, axis=0).T
    _, which = np.unique(codes, axis=0, return_inverse=True)
    order = np.argsort(which, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(which.ravel()[order])) + 1)
    return [Pattern(g, np.flatnonzero(present[:, g[0]]), np.flatnonzero(~present[:, g[0]])) for g in groups]


class Conditional(NamedTuple):
    """Of one pattern: `lower` (K, o, o) factors of Σ_oo, `regression` (K, m, o) Σ_mo Σ_oo⁻¹, `covariance` (K, m, m) C.

    K is the number of components, or 1 where they share a covariance.
    """

    lower: np.ndarray
    regression: np.ndarray
    covariance: np.ndarray


def conditionals(g: Gaussians, observed: np.ndarray, missing: np.ndarray) -> Conditional:
    """What the observed columns say about the missing ones, component by component. Cost K d³."""
    covariance = _covariance(g)
    lower = stacked_cholesky(covariance[:, observed[:, None], observed], "covariance of the observed columns")
    cross = covariance[:, observed[:, None], missing]
    white = np.linalg.solve(lower, cross)
    regression = np.linalg.solve(lower.swapaxes(1, 2), white).swapaxes(1, 2)
    rest = covariance[:, missing[:, None], missing] - white.swapaxes(1, 2) @ white
    return Conditional(lower, regression, rest)


def _covariance(g: Gaussians) -> np.ndarray:
    """Λ⁻¹ = U⁻ᵀ U⁻¹, (K, d, d)."""
    factor = (
        g.factor[:, :, None] * np.eye(g.factor.shape[-1])
        if g.kind == "diag"
        else g.factor.reshape(-1, *g.factor.shape[-2:])
    )
    inverse = np.linalg.inv(factor)
    return inverse.swapaxes(1, 2) @ inverse


def distances(columns: np.ndarray, g: Gaussians) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the observed cells of columns (d, n), NaN where missing: (z_o − μ_o)ᵀ Σ_oo⁻¹ (z_o − μ_o) and −½ log|Σ_oo|,
    both (k, n), and the number of observed cells (n,)."""
    if not np.isnan(columns).any():
        whole = np.broadcast_to(_half_log_det(g)[:, None], (len(g.mean), columns.shape[1]))
        return squared_distances(columns, g), whole, np.full(columns.shape[1], len(columns))
    if g.kind == "diag":
        masked = Masked.of(columns)
        return masked.distances(g), np.log(np.abs(g.factor)) @ masked.present, masked.present.sum(axis=0)
    squares, log_scale = np.empty((2, len(g.mean), columns.shape[1]))
    for pattern in patterns(columns):
        given = conditionals(g, pattern.observed, pattern.missing)
        z = columns[np.ix_(pattern.observed, pattern.rows)]
        squares[:, pattern.rows], half = _observed(z - g.mean[:, pattern.observed, None], given)
        log_scale[:, pattern.rows] = half[:, None]
    return squares, log_scale, (~np.isnan(columns)).sum(axis=0)


def _observed(deviation: np.ndarray, given: Conditional) -> tuple[np.ndarray, np.ndarray]:
    """|L⁻¹ (z_o − μ_o)|² (k, n), and −½ log|Σ_oo| (k,) or (1,)."""
    white = np.linalg.solve(given.lower, deviation)
    return np.square(white).sum(axis=1), -np.log(np.diagonal(given.lower, axis1=1, axis2=2)).sum(axis=1)


def _log_joint(deviation: np.ndarray, n_missing: int, given: Conditional, g: Gaussians) -> np.ndarray:
    """a_k − ½ log|Λ_k| + (m/2) log 2π − ½ log|Σ_oo| − ½ |L⁻¹ (z_o − μ_o)|²: a_k holds ½ log|Λ_k| − (d/2) log 2π."""
    squares, half = _observed(deviation, given)
    constant = g.log_constant - _half_log_det(g) + 0.5 * n_missing * LOG_2PI + half
    return constant[:, None] - 0.5 * squares


def _half_log_det(g: Gaussians) -> np.ndarray:
    """½ log|Λ_k| (k,) or (1,)."""
    if g.kind == "diag":
        return np.log(np.abs(g.factor)).sum(axis=1)
    return np.atleast_1d(np.linalg.slogdet(g.factor)[1])


def expected_moments_observed(
    columns: np.ndarray,
    weights: np.ndarray | None,
    g: Gaussians,
    power: float = 1.0,
    beside: Beside | None = None,
) -> Moments:
    """`Moments` of columns z (d, n), NaN where missing. Cost k d³ a pattern and 2 n k d²; 8 n k d for "diag"."""
    if g.kind == "diag":
        return Masked.of(columns).moments(weights, g, power, beside)
    k, d = g.mean.shape
    weight, first, log_likelihood = np.zeros(k), np.zeros((k, d)), 0.0
    second = np.zeros((k, d, d))
    for pattern in patterns(columns):
        o, m = pattern.observed, pattern.missing
        given = conditionals(g, o, m)
        z = columns[np.ix_(o, pattern.rows)]
        deviation = z - g.mean[:, o, None]
        r = _log_joint(deviation, m.size, given, g)
        if beside is not None:
            beside.add(r, pattern.rows)
        log_likelihood += normalise(r, None if weights is None else weights[pattern.rows], power)
        if beside is not None:
            beside.gather(r, pattern.rows)
        n = r.sum(axis=1)
        weight += n
        add_completed(first, second, deviation, r, n, pattern, given)
    return Moments(g.kind, weight, first, second.sum(axis=0) if g.kind == "tied" else second, g.mean, log_likelihood)


def add_completed(
    first: np.ndarray, second: np.ndarray, deviation: np.ndarray, r: np.ndarray, n: np.ndarray, pattern: Pattern,
    given: Conditional,
) -> None:  # fmt: skip
    """Add Σ r E[z − μ] (k, d) and Σ r E[z − μ] E[z − μ]ᵀ + n C (k, d, d) of rows whose observed cells deviate by
    `deviation` (k, o, rows)."""
    o, m = pattern.observed, pattern.missing
    observed = (deviation * r[:, None, :]).sum(axis=2)
    products = (deviation * r[:, None, :]) @ deviation.swapaxes(1, 2)
    # completed deviation = completion @ observed deviation
    completion = np.zeros((len(given.lower), first.shape[1], o.size))
    completion[:, o, np.arange(o.size)] = 1.0
    completion[:, m] = given.regression
    first += (completion @ observed[:, :, None])[:, :, 0]
    second += completion @ products @ completion.swapaxes(1, 2)
    second[:, m[:, None], m] += n[:, None, None] * given.covariance


class Masked(NamedTuple):
    """Diagonal covariances: present (d, n) as 0 and 1, and the cells about a common origin, 0 where missing."""

    present: np.ndarray
    cells: np.ndarray

    @classmethod
    def of(cls, columns: np.ndarray) -> Masked:
        missing = np.isnan(columns)
        return cls((~missing).astype(np.float64), np.where(missing, 0.0, columns))

    def distances(self, g: Gaussians) -> np.ndarray:
        """Σ λ (z − μ)² over observed cells, (k, n)."""
        out = np.empty((len(g.mean), self.cells.shape[1]))
        for k in range(len(out)):
            white = g.factor[k][:, None] * (self.cells - self.present * g.mean[k][:, None])
            np.einsum("ij,ij->j", white, white, out=out[k])
        return out

    def log_joint(self, g: Gaussians) -> np.ndarray:
        """a_k with the terms of missing cells left out: ½ log λ − ½ log 2π − ½ λ (z − μ)² for each observed one."""
        constant = g.log_constant - _half_log_det(g) + 0.5 * g.mean.shape[1] * LOG_2PI
        log_factor = np.log(np.abs(g.factor)) - 0.5 * LOG_2PI
        return log_factor @ self.present + constant[:, None] - 0.5 * self.distances(g)

    def moments(self, weights: np.ndarray | None, g: Gaussians, power: float, beside: Beside | None) -> Moments:
        r = self.log_joint(g)
        if beside is not None:
            beside.add(r, slice(None))
        log_likelihood = normalise(r, weights, power)
        if beside is not None:
            beside.gather(r, slice(None))
        return self.gathered(r, r, g, log_likelihood)

    def gathered(self, r: np.ndarray, u: np.ndarray, g: Gaussians, log_likelihood: float) -> Moments:
        """Moments of the cells weighted by u (k, n), those of missing cells being means and variances weighted by r."""
        first, second = np.empty_like(g.mean), np.empty_like(g.mean)
        for k in range(len(r)):
            deviation = self.cells - self.present * g.mean[k][:, None]
            first[k] = deviation @ u[k]
            second[k] = np.square(deviation) @ u[k]
        # a missing cell is at its mean, with its component's variance
        second += (r.sum(axis=1)[:, None] - r @ self.present.T) / g.precision
        return Moments("diag", u.sum(axis=1), first, second, g.mean, log_likelihood)
