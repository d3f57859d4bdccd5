"""Horseshoe: w_j ~ N(0, λ_j² τ²), λ_j ~ half-Cauchy(1), τ ~ half-Cauchy(scale)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.distributions.base import POSITIVE_VALUE, Constraint, Family
from credo.distributions.support import REAL, Support
from credo.errors import UnavailableError

__all__ = ["Horseshoe"]


@dataclass(frozen=True, eq=False)
class Horseshoe(Family):
    """A prior on coefficients most of which are nearly zero, and a few of any size.

    One global scale τ for all coefficients pulls them to zero, one local scale λ_j a coefficient lets it escape. The
    density of w has no closed form and is infinite at 0, so there is no mode: the horseshoe is for Gibbs sampling.

    Parameters
    ----------
    scale : of the half-Cauchy prior of τ, in the coefficients' own units: about (coefficients expected to matter) /
        (those that do not) × their size. None is scale-free: 1/columns, for standardised columns
        and relative to the noise, so that a priori about one coefficient is as large as the noise.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> w = cr.Horseshoe(0.1).sample((1000, 50), np.random.default_rng(0))
    >>> bool(np.median(np.abs(w)) < 0.1 < np.quantile(np.abs(w), 0.99))
    True

    References
    ----------
    Carvalho, Polson and Scott (2010), Biometrika 97; Piironen and Vehtari (2017), EJS 11.
    """

    scale: Any = None

    domain: ClassVar[dict[str, Constraint]] = {"scale": POSITIVE_VALUE}
    learnable: ClassVar[tuple[str, ...]] = ("scale",)

    @property
    def support(self) -> Support:
        return REAL

    def log_prob(self, x: Any) -> Any:
        """Raises `UnavailableError`: no closed form."""
        raise UnavailableError("The horseshoe has no closed density.", remedy="Sample it, or use inference='gibbs'.")

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Coefficients along the last axis share one τ."""
        if self.scale is None:
            raise UnavailableError(
                "Horseshoe(scale=None) takes its unit from the columns and the noise, so it has no draws of its own.",
                remedy="State the scale: Horseshoe(1.0).",
            )
        shape = size if size else (1,)
        together = np.abs(rng.standard_cauchy((*shape[:-1], 1))) * self.scale
        draws = rng.standard_normal(shape) * rng.standard_cauchy(shape) * together
        return draws if size else draws[0]
