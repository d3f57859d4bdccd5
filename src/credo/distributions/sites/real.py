"""Laws of real outcomes centred at η that are not Normal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.distributions import likelihoods
from credo.distributions.sites.base import SiteLaw, slopes_in_logs

__all__ = ["StudentT"]


class StudentT(SiteLaw):
    """y = η + σ t_ν, ψ = (ν, σ). Not log-concave: an outlier has ℓ″ > 0.

    With z = (y − η)/σ, h² = ν + z², c = z/h, s² = ν/h², A = ν + 1:

        ∂ν ℓ′ = c (c² − 1/h²)/(hσ)          ∂ν ℓ″ = [c⁴ − 3 A c²/h² + ν/h⁴]/(hσ)²
        ∂σ ℓ′ = −2 A c s²/(hσ²)             ∂σ ℓ″ = −2 A s² (3 c² − s²)/(h²σ³)

    >>> law, y, eta = StudentT(), np.array([10.0]), np.array([0.0])
    >>> [round(float(part[1][0]), 4) for part in law.psi_slopes(y, eta, [4.0, 1.0])]
    [0.0915, -0.037]
    """

    psi_names = ("df", "scale")
    log_concave = False

    def likelihood(self, psi: Sequence[Any] = ()) -> likelihoods.StudentTIdentity:
        return likelihoods.StudentTIdentity(df=psi[0], scale=psi[1])

    def safe_curvature(self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any] = ()) -> np.ndarray:
        """ℓ′/(y − η): the precision of a Normal that touches the density at η from below, so that steps ascend."""
        df, scale = psi
        return (df + 1.0) / (np.hypot(np.sqrt(df), (y - eta) / scale) * scale) ** 2

    def psi_slopes(self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
        df, scale = psi
        of_df, of_scale = slopes_in_logs(likelihoods.StudentTIdentity(), y, eta, psi)
        z = (y - eta) / scale
        h = np.hypot(np.sqrt(df), z)
        c, s2, a = z / h, df / h / h, df + 1.0
        c2, width = c * c, h * scale
        by_df = (of_df / df, c * (c2 - 1.0 / h / h) / width, (c2 * c2 - 3.0 * a * c2 / h / h + s2 / h / h) / width**2)
        by_scale = (
            of_scale / scale,
            -2.0 * a * c * s2 / width / scale,
            -2.0 * a * s2 * (3.0 * c2 - s2) / width**2 / scale,
        )
        return [by_df, by_scale]
