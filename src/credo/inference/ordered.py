"""Bijections from ℝᵏ onto vectors in increasing order, with or without ends.

no end         x_1 = z_1                x_i = x_{i−1} + e^{z_i}      log |∂x/∂z| = Σ_{i ≥ 2} z_i
low < x_1      x_1 = low + e^{z_1}      likewise                     Σ z_i
x_k < high     −x in reverse order, above −high
both           the numbers cut the width into k + 1 shares: a simplex
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from credo.inference.transforms import Simplex, Transform

__all__ = ["Ordered", "OrderedBetween", "ordered_transform"]


def ordered_transform(rows: int, k: int, low: float = -np.inf, high: float = np.inf) -> Transform:
    """The bijection onto `rows` vectors of `k` numbers in increasing order between two ends."""
    if np.isfinite(low) and np.isfinite(high):
        return OrderedBetween(rows, k, low, high)
    return Ordered(rows, k, -high, falls=True) if np.isfinite(high) else Ordered(rows, k, low)


@dataclass(frozen=True, eq=False)
class Ordered(Transform):
    """`rows` vectors of `k` numbers each in increasing order, all above `low`.

    Between two ends see `OrderedBetween`; below an upper end alone, `falls`: −x in reverse order is above −high = low.
    """

    rows: int
    k: int
    low: float = -np.inf
    falls: bool = False

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.rows * self.k

    free = size  # type: ignore[assignment]

    @property
    def _first(self) -> int:
        """The first number whose step is e^z."""
        return 0 if np.isfinite(self.low) else 1

    def _rows(self, flat: np.ndarray) -> np.ndarray:
        rows = flat.reshape(*flat.shape[:-1], self.rows, self.k)
        return rows[..., ::-1] if self.falls else rows

    def _flat(self, rows: np.ndarray) -> np.ndarray:
        rows = rows[..., ::-1] if self.falls else rows
        return rows.reshape(*rows.shape[:-2], self.size)

    def forward(self, z: np.ndarray) -> np.ndarray:
        steps = np.array(self._rows(z), dtype=np.float64)
        steps[..., self._first :] = np.exp(steps[..., self._first :])
        x = np.cumsum(steps, axis=-1) + (self.low if self._first == 0 else 0.0)
        return self._flat(-x if self.falls else x)

    def inverse(self, x: np.ndarray) -> np.ndarray:
        ordered = -self._rows(x) if self.falls else self._rows(x)
        steps = np.diff(ordered, axis=-1, prepend=self.low if self._first == 0 else 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):  # what is not in order is named by the start check
            steps[..., self._first :] = np.log(steps[..., self._first :])
        return self._flat(steps)

    def log_jacobian(self, x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        steps, slope = self._rows(z)[..., self._first :], np.zeros((*z.shape[:-1], self.rows, self.k))
        slope[..., self._first :] = 1.0
        return steps.sum(axis=(-1, -2)), self._flat(slope)

    def pull_back(self, x: np.ndarray, z: np.ndarray, g: np.ndarray) -> np.ndarray:
        slope = -self._rows(g) if self.falls else self._rows(g)
        back = np.cumsum(slope[..., ::-1], axis=-1)[..., ::-1].copy()
        back[..., self._first :] *= np.exp(self._rows(z)[..., self._first :])
        return self._flat(back)


@dataclass(frozen=True, eq=False)
class OrderedBetween(Transform):
    """`rows` vectors of `k` numbers in increasing order between two ends, which they cut into shares of a simplex."""

    rows: int
    k: int
    low: float
    high: float

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.rows * self.k

    free = size  # type: ignore[assignment]

    @cached_property
    def _shares(self) -> Simplex:
        return Simplex(self.rows, self.k + 1)

    def _parts(self, x: np.ndarray) -> np.ndarray:
        rows = (x.reshape(*x.shape[:-1], self.rows, self.k) - self.low) / (self.high - self.low)
        parts = np.diff(rows, axis=-1, prepend=0.0, append=1.0)
        return parts.reshape(*x.shape[:-1], self._shares.size)

    def forward(self, z: np.ndarray) -> np.ndarray:
        shares = self._shares.forward(z).reshape(*z.shape[:-1], self.rows, self.k + 1)
        x = self.low + (self.high - self.low) * np.cumsum(shares, axis=-1)[..., :-1]
        return x.reshape(z.shape)

    def inverse(self, x: np.ndarray) -> np.ndarray:
        return self._shares.inverse(self._parts(x))

    def log_jacobian(self, x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, slope = self._shares.log_jacobian(self._parts(x), z)
        return value + self.size * np.log(self.high - self.low), slope

    def pull_back(self, x: np.ndarray, z: np.ndarray, g: np.ndarray) -> np.ndarray:
        slope = g.reshape(*g.shape[:-1], self.rows, self.k)
        by_share = np.cumsum(slope[..., ::-1], axis=-1)[..., ::-1] * (self.high - self.low)
        padded = np.concatenate([by_share, np.zeros_like(by_share[..., :1])], axis=-1)
        return self._shares.pull_back(self._parts(x), z, padded.reshape(*g.shape[:-1], self._shares.size))
