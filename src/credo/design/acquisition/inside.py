"""`Inside`: another acquisition, less where a trial would teach mostly about what lies outside of the cube.

A process is least sure in corners, which lie far from all trials, and of which there are 2ᵈ. Improvement then sends
trial after trial there (boundary over-exploration), though of what is near a corner only 2⁻ᵈ can be the best.

Notation
    r (d,)   half-width of what a trial teaches about: a quarter of the lengthscale
    Φ(x/r), Φ((1 − x)/r)    the shares of Normal(x, r) that lie above 0, and below 1

    log w(x) = Σ_j min(0, log Φ(x_j/r_j) − log Φ(b_j/r_j)) + min(0, log Φ((1 − x_j)/r_j) − log Φ((1 − b_j)/r_j))

with b the best trial: a side on which the best lies itself is not avoided, and any other costs at most log 2.

Siivola, Vehtari, Vanhatalo, González & Andersen (2018), Correcting boundary over-exploration deficiencies in Bayesian
optimization with virtual derivative sign observations, MLSP; there the same is done by observations of signs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.special

from credo.design.surrogates.surrogate import Surrogate

__all__ = ["Inside"]

# Lengthscales that a trial teaches about, to either side.
REACH = 0.25
ROOT = float(np.sqrt(2.0 / np.pi))


@dataclass(frozen=True, eq=False)
class Inside:
    """best (d,) : the best trial; reach (d,) : r, infinite in columns whose ends are no edges: grids and categories"""

    best: np.ndarray
    reach: np.ndarray

    @classmethod
    def of(cls, surrogate: Surrogate, best: np.ndarray) -> Inside:
        cube, reach = surrogate.cube, np.full(best.size, np.inf)
        if cube.conditional is None:
            reach[cube.ordered] = REACH * surrogate.lengths
            reach[list(cube.values)] = np.inf
        return cls(best, reach)

    def __call__(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log w (m,) at points X (m, d), and its slopes (m, d)."""
        total, slopes = np.zeros(len(X)), np.zeros(X.shape)
        for at, best, sign in ((X, self.best, 1.0), (1.0 - X, 1.0 - self.best, -1.0)):
            t = at / self.reach
            share = scipy.special.log_ndtr(t)
            less = share - scipy.special.log_ndtr(best / self.reach)
            near = less < 0.0
            total += np.where(near, less, 0.0).sum(axis=1)
            slopes += sign * np.where(near, 0.5 * ROOT * np.exp(-0.5 * t * t - share) / self.reach, 0.0)
        return total, slopes
