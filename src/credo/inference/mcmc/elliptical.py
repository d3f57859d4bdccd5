"""Elliptical slice sampling (Murray, Adams and MacKay 2010): for targets N(x; m, L Lᵀ) × likelihood, with nothing to
tune.

x' = m + (x − m) cos θ + L ξ sin θ lies on the ellipse through x and a draw of the prior; θ is found by shrinking.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.inference.mcmc.kernel import NoTuning, State, Step, Tuner, initial_state
from credo.inference.mcmc.slice import SliceInfo
from credo.inference.target import Target
from credo.numerics.cholesky import cholesky, solve_lower

__all__ = ["EllipticalSlice"]


@dataclass(frozen=True, eq=False)
class EllipticalSlice:
    """Elliptical slice sampling under a Normal prior with this `mean` (dim,) and `covariance` (dim, dim) or variances
    (dim,).

    The target is the whole posterior: the prior's log density is taken off inside, in O(dim²) an evaluation.

    >>> EllipticalSlice(np.zeros(2), np.eye(2)).inference
    'elliptical_slice'
    """

    mean: Any
    covariance: Any
    inference: str = "elliptical_slice"
    needs_gradient = False
    unconstrained = False

    def __post_init__(self) -> None:
        mean, covariance = np.asarray(self.mean, dtype=np.float64), np.asarray(self.covariance, dtype=np.float64)
        if covariance.shape not in ((mean.size,), (mean.size, mean.size)):
            raise ParameterError(
                "EllipticalSlice", "covariance", f"of shape ({mean.size},) or square", covariance.shape
            )
        if covariance.ndim == 1 and not np.all(covariance > 0):
            raise ParameterError("EllipticalSlice", "covariance", "> 0", covariance)
        factor = (
            np.sqrt(covariance) if covariance.ndim == 1 else cholesky(covariance, "EllipticalSlice.covariance").lower
        )
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "_factor", factor)

    def init(self, position: np.ndarray, target: Target) -> State:
        return initial_state(position, target, gradient=False)

    def _log_prior(self, x: np.ndarray) -> float:
        factor: np.ndarray = self._factor  # type: ignore[attr-defined]
        white = (x - self.mean) / factor if factor.ndim == 1 else solve_lower(factor, x - self.mean)
        return -0.5 * float(white @ white)

    def step(self, rng: np.random.Generator, state: State) -> Step:
        if state.log_density is None:
            state = State(state.position, *(yield state.position))
        x = state.position
        factor: np.ndarray = self._factor  # type: ignore[attr-defined]
        noise = rng.standard_normal(x.size)
        other = factor * noise if factor.ndim == 1 else factor @ noise
        level = state.log_density - self._log_prior(x) - rng.exponential()  # type: ignore[operator]
        angle = 2.0 * math.pi * rng.random()
        low, high = angle - 2.0 * math.pi, angle
        count = 0
        while True:
            y = self.mean + (x - self.mean) * math.cos(angle) + other * math.sin(angle)
            value = (yield y).log_density
            count += 1
            if value - self._log_prior(y) > level or high - low < 1e-12:  # rounding: the ellipse has shrunk to x itself
                return (State(y, value) if value - self._log_prior(y) > level else state), SliceInfo(count)
            low, high = (angle, high) if angle < 0 else (low, angle)
            angle = low + (high - low) * rng.random()

    def tuner(self, dim: int, warmup: int) -> Tuner:
        return NoTuning(self)
