"""The log density between nodes of a lattice, by cubic splines: what draws of a costly density come from.

A cubic spline through nodes h apart misses log p by some h⁴/384 of its fourth derivative, where tents and kernels about
nodes miss p by h² of its second. On a centred lattice, two cubic ones, the mean of both splines is taken.
"""

from __future__ import annotations

import numpy as np

__all__ = ["Splines"]

# Layers about the nodes that are extrapolated: a spline forgets what is not there by a factor 0.27 a layer.
LAYERS = 4
# Shares of what quadratic, linear and constant extrapolations say where there are several.
TRUST = (1.0, 1e-3, 1e-6)
# A cliff lower than this is no deeper: −∞ cannot be interpolated.
CLIFF = 300.0
# How far apart two splines may be on average, and how much higher than all nodes one may be between them.
APART, HIGHER = 0.5, 2.0


class Splines:
    """units (J, d) integers on a lattice whose cubic parts have spacing `size`; log_p (J,); good about `heavy` ones."""

    def __init__(self, units: np.ndarray, log_p: np.ndarray, size: int, heavy: np.ndarray) -> None:
        self.size, self.top = size, float(log_p.max())
        shifts = units[:, 0] % size
        own = [shifts == k for k in np.unique(shifts[heavy])]
        own.sort(key=lambda each: -np.exp(log_p[each] - self.top).sum())
        self._parts = [self._part(units[each], log_p[each], heavy[each]) for each in own]
        if len(own) > 1:  # one that was not flooded whole knows nothing
            mass = np.exp(log_p[heavy] - self.top)
            apart = mass @ np.abs(self._by(0, units[heavy]) - self._by(1, units[heavy])) / mass.sum()
            self._parts = self._parts[: 1 if apart > APART else 2]

    def _part(self, units: np.ndarray, log_p: np.ndarray, heavy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the box of a cubic lattice begins, and the coefficients of its spline."""
        shift = int(units[0, 0] % self.size)
        at = (units - shift) // self.size
        low, high = at[heavy].min(axis=0) - LAYERS, at[heavy].max(axis=0) + LAYERS
        box = np.full(high - low + 1, np.nan)
        inside = ((at >= low) & (at <= high)).all(axis=1)
        box[tuple((at[inside] - low).T)] = np.maximum(log_p[inside], self.top - CLIFF)
        return shift + low * self.size, _coefficients(_filled(box))

    def _by(self, k: int, at: np.ndarray) -> np.ndarray:
        """log p by one part."""
        from scipy.ndimage import map_coordinates

        low, coefficients = self._parts[k]
        return map_coordinates(coefficients, (at - low).T / self.size, order=3, mode="nearest", prefilter=False)

    def __call__(self, at: np.ndarray) -> np.ndarray:
        """log p (n,) at positions (n, d) in units."""
        values = np.mean([self._by(k, at) for k in range(len(self._parts))], axis=0)
        return np.minimum(values, self.top + HIGHER)


def _coefficients(box: np.ndarray) -> np.ndarray:
    from scipy.ndimage import spline_filter

    return np.asarray(spline_filter(box, order=3, mode="mirror"))


def _filled(box: np.ndarray) -> np.ndarray:
    """The box with what is unknown (NaN) extrapolated from the nodes, layer by layer; never upwards."""
    lowest = np.nanmin(box)
    for _ in range(LAYERS):
        unknown = np.isnan(box)
        if not unknown.any():
            return box
        total, share = np.zeros(box.shape), np.zeros(box.shape)
        for axis in range(box.ndim):
            for step in (1, -1):
                a, b, c = (_moved(box, axis, k * step) for k in (1, 2, 3))
                linear, quadratic = 2.0 * a - b, 3.0 * (a - b) + c
                said = np.select([~np.isnan(quadratic), ~np.isnan(linear)], [quadratic, linear], a)
                trust = np.select([~np.isnan(quadratic), ~np.isnan(linear), ~np.isnan(a)], TRUST, 0.0)
                total += np.where(trust > 0.0, trust * np.minimum(said, a), 0.0)
                share += trust
        reached = unknown & (share > 0.0)
        box = np.where(reached, total / np.where(reached, share, 1.0), box)
        box = np.maximum(box, lowest - CLIFF)
    return np.where(np.isnan(box), np.nanmin(box), box)


def _moved(box: np.ndarray, axis: int, by: int) -> np.ndarray:
    """box[i + by] along an axis, NaN beyond its ends."""
    moved = np.full(box.shape, np.nan)
    to, of = [slice(None)] * box.ndim, [slice(None)] * box.ndim
    if abs(by) >= box.shape[axis]:
        return moved
    to[axis], of[axis] = (slice(None, -by), slice(by, None)) if by > 0 else (slice(-by, None), slice(None, by))
    moved[tuple(to)] = box[tuple(of)]
    return moved
