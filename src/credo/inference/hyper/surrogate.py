"""A polynomial in place of a log density that takes long: fitted at few nodes, tried at others, integrated instead.

Notation: u whitened positions; P(u) a polynomial with all terms up to degree 3, u_i⁴ and u_i² u_j² (all of degree 4
where nodes suffice), by least squares with weights exp(½(log p − max)). Beyond a radius r₀ that nodes surround, P goes
on along its ray as the parabola that touches it there, bent downwards at least.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

__all__ = ["Surrogate"]

# Nodes for each term of the polynomial.
SPARE = 1.4
# The radius that nodes 2 sds apart surround, and the least slope beyond.
TRUSTED, LEAST_SLOPE = 3.2, 0.3


class Surrogate:
    """P and its error: `error` is the root mean square of what P missed at each node when fitted without it, nodes
    weighted by their density. An error e of log p everywhere moves log evidence by at most e, means and sds by about e.
    """

    def __init__(self, u: np.ndarray, log_p: np.ndarray) -> None:
        self.top = float(log_p.max())
        fall = log_p - self.top
        d = u.shape[1]
        full = [each for k in range(5) for each in combinations_with_replacement(range(d), k)]
        even = [each for each in full if len(each) < 4 or all(each.count(j) % 2 == 0 for j in each)]
        self.terms = next((each for each in (full, even) if len(u) >= SPARE * len(each)), [])
        self.error = np.inf
        if not self.terms:
            return
        weight = np.exp(0.25 * fall)  # its square is the weight
        design = self._basis(u) * weight[:, None]
        Q, R = np.linalg.qr(design)
        if np.abs(R.diagonal()).min() < 1e-8 * np.abs(R.diagonal()).max():
            return
        self.coefficients = np.linalg.solve(R, Q.T @ (weight * fall))
        missed = (fall - self._basis(u) @ self.coefficients) / np.maximum(1.0 - np.square(Q).sum(axis=1), 1e-3)
        mass = np.exp(fall)
        self.error = float(np.sqrt(mass @ np.square(missed) / mass.sum()))

    def _basis(self, u: np.ndarray) -> np.ndarray:
        scaled = u / 2.0
        return np.stack([np.prod(scaled[:, each], axis=1) if each else np.ones(len(u)) for each in self.terms], axis=1)

    def __call__(self, u: np.ndarray) -> np.ndarray:
        """log p (B,) at u (B, d), as good as `error` says."""
        radius = np.sqrt(np.square(u).sum(axis=1))
        far = np.flatnonzero(radius > TRUSTED)
        values = self._basis(u) @ self.coefficients
        if len(far):
            ray, step = u[far] / radius[far, None], 0.1
            inner, at, outer = (self._basis(ray * (TRUSTED + k * step)) @ self.coefficients for k in (-1.0, 0.0, 1.0))
            slope = np.minimum((outer - inner) / (2.0 * step), -LEAST_SLOPE)
            bend = np.minimum((outer - 2.0 * at + inner) / step**2, 0.0)
            beyond = radius[far] - TRUSTED
            values[far] = at + beyond * (slope + 0.5 * bend * beyond)
        return self.top + values
