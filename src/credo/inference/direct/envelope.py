"""A piecewise exponential envelope of a log-concave density: its pieces, and many draws of it at once.

Tangents touch a concave function from above. Where there is no derivative, the chords of neighbouring intervals,
extended, do (`mcmc.adaptive_rejection.Hull`, which Gibbs sampling uses one draw at a time).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.errors import NumericalError

__all__ = ["Envelope", "tangents"]


@dataclass(frozen=True)
class Envelope:
    """log h(t) = level + slope (t − anchor) on [left, right], each (P,); the anchor is a finite point of the piece."""

    left: np.ndarray
    right: np.ndarray
    anchor: np.ndarray
    level: np.ndarray
    slope: np.ndarray

    def log_areas(self) -> np.ndarray:
        """log ∫ h over each piece; +inf where a tail does not fall."""
        top = self._top()
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = np.abs(self.slope) * (self.right - self.left)
            flat = rise < 1e-8
            bent = np.log(-np.expm1(-rise)) - np.log(np.abs(self.slope))
            level = np.log(self.right - self.left)
        return np.where(top == np.inf, np.inf, top + np.where(flat, level, bent))

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draws (n,) and the envelope's log values there."""
        logs = self.log_areas()
        if not np.all(logs < np.inf):
            bad = int(np.argmax(logs))
            raise NumericalError(
                f"adaptive_rejection: the log density does not fall off beyond {self.anchor[bad]:.6g}.",
                value=self.anchor[bad],
                remedy="The density must be proper and log-concave: check its sign, or state the support.",
            )
        cumulative = np.cumsum(np.exp(logs - logs.max()))
        piece = np.minimum(np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right"), logs.size - 1)
        a, b, slope = self.left[piece], self.right[piece], self.slope[piece]
        u = 1.0 - rng.random(n)  # in (0, 1]
        rise = np.abs(slope) * (b - a)
        flat = rise < 1e-8
        with np.errstate(divide="ignore", invalid="ignore"):
            # the distance from the higher end, so that nothing overflows
            distance = np.where(flat, u * (b - a), -np.log1p(u * np.expm1(-rise)) / np.abs(slope))
        t = np.where(slope > 0, b - distance, a + distance)
        t = np.clip(t, a, b)
        return t, self.level[piece] + slope * (t - self.anchor[piece])

    def _top(self) -> np.ndarray:
        """The log value at the higher end."""
        end = np.where(self.slope > 0, self.right, self.left)
        with np.errstate(invalid="ignore"):
            value = self.level + self.slope * (end - self.anchor)
        # A level tail or one that rises for ever has an infinite area.
        return np.where(np.isinf(end) | ((self.slope == 0.0) & np.isinf(self.right - self.left)), np.inf, value)


def tangents(x: np.ndarray, y: np.ndarray, slope: np.ndarray, low: float, high: float) -> Envelope:
    """The tangents at ascending x (P,) with values y and derivatives slope, each up to where it meets the next."""
    h, bend = np.diff(x), slope[:-1] - slope[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (np.diff(y) - slope[1:] * h) / bend
    meet = np.where(bend > 1e-12 * (np.abs(slope[:-1]) + np.abs(slope[1:])), meet, 0.5 * h)
    edges = np.concatenate([[low], x[:-1] + np.clip(meet, 0.0, h), [high]])
    keep = edges[1:] > edges[:-1]
    return Envelope(edges[:-1][keep], edges[1:][keep], x[keep], y[keep], slope[keep])
