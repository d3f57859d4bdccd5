"""Rows that lie on one plane exactly, under Student-t noise of unknown scale σ: whether σ runs to 0.

As σ → 0 a row on the plane multiplies the likelihood by 1/σ, a row off it by σ^df, and K coefficients leave σ^K:

    p(y | σ, df) ∝ σ^{−s + K + (n − s) df}        per log σ, s of n rows on the plane

so the posterior is improper where s − K ≥ (n − s) df + 2b, b the slope of σ's prior in log σ² at 0 (Fernández and Steel
1999, Biometrika 86). Zeros among amounts do this, copies of a row, and rows without any noise among others.

A df that is learned may be as small as it takes, so that strictly one tie is enough. But y was written down with some
resolution, below which σ means nothing; what is asked then is whether the density is higher at that σ than where it
describes the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import NotIdentifiedError
from credo.inference.exact.propriety import slope_at_zero
from credo.models.linear.robust import LatentNoise

__all__ = ["require_noise_off_the_plane", "require_scale_above_rounding"]

# Residuals that are rounding of a fit, relative to what each row adds up: an outlier's size says nothing of the others.
EXACT = 1e-10
# Steps of weighted least squares towards least absolute residuals: a plane of half the rows shows after a dozen.
STEPS = 20
# σ relative to `_spread` of y: below, what draws say is rounding; above, an ordinary value.
ROUNDING, ORDINARY = 1e-12, 0.05
REMEDY = (
    "Give the scale a prior that vanishes at 0 (scale_prior=cr.LogNormal(...)), state it, use cr.noise.Laplace(), or "
    "model these rows apart, as by cr.LogisticRegression of whether they are so."
)


def require_noise_off_the_plane(design: np.ndarray, y: np.ndarray, noise: LatentNoise, prior: Any) -> None:
    """`NotIdentifiedError` where the density of σ rises for ever towards 0; design (n, K) with the intercept's column,
    y (n, T), `prior` the `NoisePrior` of σ. Cost 20 n K²."""
    slope = slope_at_zero(prior)
    if np.isinf(slope):
        return
    for target in y.T:
        unit = _spread(target)
        z = target / unit
        on, rank, residual = _fullest_plane(design, z)
        n, s = z.size, int(on.sum())
        if s <= rank:
            continue
        if noise.df is not None or s == n:
            improper = s - rank >= (n - s) * (noise.df or 0.0) + 2.0 * slope
        else:
            improper = _is_higher_at_resolution(residual, design, z, rank, noise, unit)
        if improper:
            df = "few degrees of freedom" if noise.df is None else f"df={noise.df:g}"
            raise NotIdentifiedError(
                f"The noise scale is not identified: {s} of {n} rows lie on one plane exactly (equal outcomes, or "
                f"copies), and under Student-t noise of {df} the density rises without end as the scale falls to 0.",
                value=s,
                remedy=REMEDY,
            )


def require_scale_above_rounding(scale: np.ndarray, y: np.ndarray) -> None:
    """The same of chains that got there: draws (…, T) or (…) of σ, y (n, T)."""
    least = scale.reshape(-1, y.shape[1]).min(axis=0)
    lost = least < ROUNDING * np.array([_spread(target) for target in y.T])
    if lost.any():
        raise NotIdentifiedError(
            "The noise scale is not identified: under Student-t noise it fell to 0 up to rounding, where some rows are "
            "fitted exactly.",
            value=float(least[lost].min()),
            remedy=REMEDY,
        )


def _spread(y: np.ndarray) -> float:
    """The median distance of what is not at the median of y (n,): one outlier may be all of a standard deviation."""
    away = np.abs(y - np.median(y))
    return float(np.median(away[away > 0.0])) if away.any() else float(np.abs(y).max()) or 1.0


def _fullest_plane(design: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
    """(rows on it (n,), its rank, residuals (n,), 0 on it) of the plane found that has most rows beyond its rank."""
    size = np.sqrt(np.square(design).mean(axis=0))
    x = design / np.where(size > 0.0, size, 1.0)
    values, counts = np.unique(z, return_counts=True)
    starts = [z == values[counts.argmax()], _largest_copies(x, z), _least_absolute(x, z)]
    found = [_through(x, z, rows) for rows in starts]
    return max(found, key=lambda plane: plane[0].sum() - plane[1])


def _through(x: np.ndarray, z: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
    w = np.linalg.lstsq(x[rows], z[rows], rcond=None)[0]
    residual = z - x @ w
    on = np.abs(residual) <= EXACT * (np.abs(z) + np.abs(x) @ np.abs(w))
    rank = int(np.linalg.matrix_rank(x[on])) if on.any() else x.shape[1]
    return on, rank, np.where(on, 0.0, residual)


def _largest_copies(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The rows of the K most frequent (x, z)."""
    _, group, counts = np.unique(np.column_stack([x, z]), axis=0, return_inverse=True, return_counts=True)
    largest = np.argsort(-counts, kind="stable")[: x.shape[1]]
    return np.isin(group.ravel(), largest)


def _least_absolute(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The half of the rows nearest to the plane of least absolute residuals, at least as many as columns."""
    weight = np.ones(z.size)
    for _ in range(STEPS):
        root = np.sqrt(weight)
        away = np.abs(z - x @ np.linalg.lstsq(x * root[:, None], z * root, rcond=None)[0])
        weight = 1.0 / np.maximum(away, 1e-9)
    return away <= max(np.quantile(away, 0.3), np.sort(away)[min(x.shape[1], z.size - 1)])


def _is_higher_at_resolution(
    residual: np.ndarray, design: np.ndarray, z: np.ndarray, rank: int, noise: LatentNoise, unit: float
) -> bool:
    """Whether log p(y, σ, df) on the plane at the smallest difference of y is above what it is at ordinary σ."""
    gaps = np.diff(np.unique(z))
    resolution = max(float(gaps.min(initial=np.inf)), ROUNDING)
    multiples = gaps / resolution
    if not np.allclose(multiples, np.round(multiples), rtol=1e-6):  # numbers of many digits, of which few differ
        resolution = min(resolution, 1.0 / z.size**2)
    if resolution >= ORDINARY:
        return False
    plain = z - design @ np.linalg.lstsq(design, z, rcond=None)[0]
    df = np.log(np.geomspace(1e-3, 50.0, 24))

    def highest(residuals: np.ndarray, log_sigma: np.ndarray) -> float:
        t, of_df = (a.ravel() for a in np.meshgrid(log_sigma, df))
        rows = np.broadcast_to(residuals, (t.size, residuals.size))
        value = noise.log_density(rows, t, of_df) + rank * t + noise.log_prior_scale(t + np.log(unit))
        return float((value + noise.log_prior_df(of_df)).max())

    ordinary = np.linspace(np.log(ORDINARY), 1.0, 12)
    usual = max(highest(plain, ordinary), highest(residual, ordinary))
    return highest(residual, np.array([np.log(resolution)])) > usual
