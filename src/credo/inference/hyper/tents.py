"""Draws from a density seen at lattice nodes: proposals from its interpolation, rejection to make them exact.

On a cubic lattice the function that is linear along every axis between nodes is a mixture of tents, one a node: a node
by weight, plus the sum of two uniforms along each axis. Its density at any point needs the 2ᵈ nodes around. A centred
lattice is two cubic ones, and takes the mean of both.
"""

from __future__ import annotations

from itertools import product

import numpy as np

__all__ = ["Tents"]


class Tents:
    """units (J, d) integers on a lattice whose cubic parts have spacing `size`; weights (J,) summing to 1."""

    def __init__(self, units: np.ndarray, weights: np.ndarray, size: int) -> None:
        self.units, self.weights, self.size = units, weights, size
        self._low = units.min(axis=0) - size
        self._span = units.max(axis=0) + size - self._low + 1
        keys = self._keys(units)
        order = np.argsort(keys)
        self._sorted, self._sorted_weights = keys[order], weights[order]
        self.shifts = np.unique(units[:, 0] % size)

    def _keys(self, units: np.ndarray) -> np.ndarray:
        key = np.zeros(len(units), dtype=np.int64)
        for column, low, span in zip(units.T, self._low, self._span, strict=True):
            key = key * span + (column - low)
        return key

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, d) positions in units."""
        at = self.units[rng.choice(len(self.weights), size=n, p=self.weights)]
        return at + self.size * (rng.random(at.shape) - rng.random(at.shape))

    def density(self, at: np.ndarray) -> np.ndarray:
        """(n,) density of the proposals at positions (n, d), up to a constant; 0 away from all nodes."""
        total = np.zeros(len(at))
        for shift in self.shifts:
            scaled = (at - shift) / self.size
            base = np.floor(scaled)
            beyond = scaled - base
            for corner in product((0, 1), repeat=at.shape[1]):
                share = np.prod(np.where(corner, beyond, 1.0 - beyond), axis=1)
                total += share * self._weights_at(((base + corner) * self.size + shift).astype(np.int64))
        return total

    def _weights_at(self, units: np.ndarray) -> np.ndarray:
        """Of nodes (n, d); 0 where there is none."""
        inside = ((units >= self._low) & (units < self._low + self._span)).all(axis=1)
        key = self._keys(np.where(inside[:, None], units, self._low))
        found = np.minimum(np.searchsorted(self._sorted, key), len(self._sorted) - 1)
        hit = inside & (self._sorted[found] == key)
        return np.where(hit, self._sorted_weights[found], 0.0)
