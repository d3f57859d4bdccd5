"""A kernel density of one column: its distribution function, quantiles, and nodes fine enough to draw it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.models.density.kernels import log_norm, log_values, reach, unit_cdf
from credo.models.density.smoothing import Smoothing
from credo.numerics.inversion import invert_cdf

__all__ = ["Line", "nodes"]

# Pairs held at once: 16 MB.
_PAIRS = 2**21
# Bandwidths on either side of a point where nodes lie; a Gaussian has fallen to e⁻⁸ there.
_SIDES = 4


@dataclass(frozen=True)
class Line:
    """A density on a line.

    z (n,), w (n,) : points, mirror images among them, in units of the bandwidth h about the centre
    ends (2,) : of the support, in the same units
    centre, h : x = centre + h u
    """

    kernel: str
    z: np.ndarray
    w: np.ndarray
    ends: np.ndarray
    centre: float
    h: float

    @classmethod
    def of(cls, kernel: str, smoothing: Smoothing, z: np.ndarray, w: np.ndarray | None, ends: np.ndarray) -> Line:
        centre, h = float(smoothing.centre[0]), float(smoothing.scale.ravel()[0])
        weights = np.full(z.size, 1.0 / z.size) if w is None else w
        return cls(kernel, z, weights, (ends - centre) / h, centre, h)

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """P(X ≤ x); O(n) a point."""
        return self._mass((x - self.centre) / self.h)

    def quantile(self, q: np.ndarray) -> np.ndarray:
        """The x with cdf(x) = q."""
        far = reach(self.kernel, 1)
        low = max(float(self.z.min()) - far, self.ends[0])
        high = min(float(self.z.max()) + far, self.ends[1])
        start = np.clip(np.quantile(self.z, q, weights=self.w, method="inverted_cdf"), low, high)
        inner = invert_cdf(self._mass, np.clip(q, *self._mass(np.array([low, high]))), low, high, self._density, start)
        # A Gaussian's tails have no end.
        u = np.where(q == 0.0, self._end(0, low), np.where(q == 1.0, self._end(1, high), inner))
        return self.centre + self.h * u

    def _end(self, side: int, found: float) -> float:
        open_tail = self.kernel in ("gaussian", "exponential") and not np.isfinite(self.ends[side])
        return (-np.inf, np.inf)[side] if open_tail else found

    def _mass(self, u: np.ndarray) -> np.ndarray:
        inside = np.clip(u, self.ends[0], self.ends[1])
        total = self._sums(inside, lambda gap: unit_cdf(self.kernel, gap))
        if np.isfinite(self.ends[0]):
            total = total - self._sums(self.ends[:1], lambda gap: unit_cdf(self.kernel, gap))
        return np.clip(total, 0.0, 1.0)

    def _density(self, u: np.ndarray) -> np.ndarray:
        return self._sums(u, lambda gap: np.exp(log_values(self.kernel, np.abs(gap)) - log_norm(self.kernel, 1)))

    def _sums(self, u: np.ndarray, of: Any) -> np.ndarray:
        flat, step = np.ravel(u), max(1, _PAIRS // self.z.size)
        parts = [of(flat[i : i + step, None] - self.z) @ self.w for i in range(0, flat.size, step)]
        return np.concatenate(parts).reshape(np.shape(u)) if parts else np.zeros(np.shape(u))


def nodes(z: np.ndarray, per_bandwidth: int) -> np.ndarray:
    """Ordered nodes (m,) within 4 bandwidths of the points z (n,), `per_bandwidth` to a bandwidth."""
    cells = np.unique(np.round(z * per_bandwidth))
    steps = np.arange(-_SIDES * per_bandwidth, _SIDES * per_bandwidth + 1)
    # Where cells touch, all but the ends add nothing: runs are widened, not cells.
    first = np.flatnonzero(np.diff(cells, prepend=-np.inf) > 1.0)
    last = np.flatnonzero(np.diff(cells, append=np.inf) > 1.0)
    ends = np.unique(np.concatenate([cells[first], cells[last]]))
    return np.unique(np.concatenate([cells, (ends[:, None] + steps).ravel()])) / per_bandwidth
