"""Supports: the set a random value lives in, as a record that samplers and checks can read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Support", "REAL", "POSITIVE", "NON_NEGATIVE", "UNIT_INTERVAL", "BOOLEAN", "COUNTS", "POSITIVE_COUNTS",
           "SIMPLEX", "POSITIVE_DEFINITE"]  # fmt: skip


@dataclass(frozen=True)
class Support:
    """An interval of reals or integers, the simplex, or the positive-definite cone.

    `kind` is "real", "integer", "simplex" or "positive_definite"; `low` and `high` bound the first two
    (scalars or arrays); open or closed ends are not distinguished.
    """

    kind: str
    low: float | np.ndarray = -np.inf
    high: float | np.ndarray = np.inf

    @property
    def is_discrete(self) -> bool:
        return self.kind == "integer"

    def contains(self, x: np.ndarray) -> np.ndarray:
        """Elementwise membership for the interval kinds (NaN is in no support)."""
        x = np.asarray(x)
        inside = (x >= self.low) & (x <= self.high)
        return inside & (np.floor(x) == x) if self.is_discrete else inside


REAL = Support("real")
POSITIVE = Support("real", 0.0)
NON_NEGATIVE = Support("real", 0.0)
UNIT_INTERVAL = Support("real", 0.0, 1.0)
BOOLEAN = Support("integer", 0, 1)
COUNTS = Support("integer", 0)
POSITIVE_COUNTS = Support("integer", 1)
SIMPLEX = Support("simplex")
POSITIVE_DEFINITE = Support("positive_definite")
