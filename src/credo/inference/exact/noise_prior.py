"""What is believed about the noise scale before the data, as a density of t = log σ²."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

__all__ = ["NoisePrior"]

# Step of the central difference of a family's log density in t: the error of the slope is then some 1e-10.
STEP = 1e-5


@dataclass(frozen=True)
class NoisePrior:
    """σ² ~ InverseGamma(shape, scale), conjugate; or σ ~ `family`, any law on the positive numbers.

    Improper members: both 0 is the scale-free 1/σ²; shape −½ and scale 0 is flat in σ.
    """

    shape: float = 0.0
    scale: float = 0.0
    family: Any = None

    @property
    def is_conjugate(self) -> bool:
        return self.family is None

    def log_normaliser(self) -> float:
        """log bᵃ/Γ(a); 0 for 1/σ², −log 2 for the density 1 of σ (p(σ²) = 1/(2σ))."""
        if self.scale == 0.0:
            return 0.0 if self.shape == 0.0 else -float(np.log(2.0))
        return self.shape * np.log(self.scale) - float(scipy.special.gammaln(self.shape))

    def log_density(self, t: np.ndarray) -> np.ndarray:
        """Log density of t = log σ², elementwise."""
        if self.family is None:
            with np.errstate(over="ignore"):
                fall = self.scale * np.exp(-t) if self.scale else 0.0
            return self.log_normaliser() - self.shape * t - fall
        with np.errstate(over="ignore", divide="ignore"):  # beyond the floats the density is 0
            value = self.family.log_prob(np.exp(0.5 * t)) + 0.5 * t - np.log(2.0)
        return np.where(np.isfinite(value), value, -np.inf)

    def slope(self, t: float) -> float:
        """d log density/dt."""
        if self.family is None:
            return float(-self.shape + self.scale * np.exp(-t))
        low, high = self.log_density(np.array([t - STEP, t + STEP]))
        return float((high - low) / (2.0 * STEP))
