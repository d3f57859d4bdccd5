"""Highest-density regions: the smallest sets that hold a given mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.models.density.line import nodes

__all__ = ["Region", "highest_density"]

# Nodes a bandwidth: the trapezium rule's error on a Gaussian kernel is then below rounding, on others below 1e-3.
_NODES = 16
# Draws that place the level in several columns: its mass is then right to ±0.3 % (one sd, at most).
_DRAWS = 20_000


@dataclass(frozen=True)
class Region:
    """{x : f(x) ≥ level}, which holds `mass`; in one column as intervals (k, 2), else `intervals` is None."""

    mass: float
    level: float
    intervals: np.ndarray | None


def highest_density(model: Any, mass: float) -> Region:
    """The region of a fitted `KernelDensity`; in several columns the level comes from 20,000 draws (Hyndman 1996)."""
    if model.n_features_in_ > 1:
        draws = model.sample(_DRAWS, np.random.default_rng(0))
        log_f = model._log_density(draws, 1e-3)
        return Region(mass, float(np.exp(np.quantile(log_f, 1.0 - mass))), None)
    smoothing, Z, _ = model._mirrored()
    x = smoothing.from_unit(nodes(Z[:, 0], _NODES)[:, None])
    bounds = model._bounds()
    if bounds is not None:
        x = np.unique(np.clip(x, bounds[0, 0], bounds[0, 1]))[:, None]
    f = np.exp(model._log_density(x, 1e-6))
    x = x[:, 0]
    level = _level(x, f, mass)
    return Region(mass, level, _intervals(x, f, level))


def _level(x: np.ndarray, f: np.ndarray, mass: float) -> float:
    """The level above which the line through (x, f) holds `mass` of its area: bisection."""
    low, high = 0.0, float(f.max())
    total = _above(x, f, 0.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _above(x, f, middle) >= mass * total else (low, middle)
    return 0.5 * (low + high)


def _above(x: np.ndarray, f: np.ndarray, level: float) -> float:
    """Area under the line where it is above the level."""
    a, b, width = f[:-1], f[1:], np.diff(x)
    top, bottom = np.maximum(a, b), np.minimum(a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(bottom >= level, 1.0, np.where(top > level, (top - level) / (top - bottom), 0.0))
    height = np.where(bottom >= level, 0.5 * (a + b), 0.5 * (top + level))
    return float(np.sum(part * width * height))


def _intervals(x: np.ndarray, f: np.ndarray, level: float) -> np.ndarray:
    above = f >= level
    change = np.flatnonzero(above[1:] != above[:-1])
    crossing = x[change] + (level - f[change]) * (x[change + 1] - x[change]) / (f[change + 1] - f[change])
    ends = [*([x[0]] if above[0] else []), *crossing, *([x[-1]] if above[-1] else [])]
    return np.array(ends).reshape(-1, 2)
