"""A smooth curve as a mixed model: a straight line, and wiggles whose coefficients are one Normal effect.

A natural cubic spline with heights v at k knots has ∫ f″² = vᵀ S v, S = Dᵀ B⁻¹ D, with h the gaps between them,

    D_i = (1/h_i, −1/h_i − 1/h_{i+1}, 1/h_{i+1})     second differences
    B_ii = (h_i + h_{i+1})/3,  B_i,i+1 = h_{i+1}/6    products of their hats

S leaves straight lines alone. Along its other k − 2 eigenvectors, divided by the roots of their eigenvalues, the
penalty is the sum of squares: coefficients u ~ Normal(0, τ²) are the spline smoothed by 1/τ². What of the wiggles is a
line over the rows of the fit is taken out, and they are scaled so that τ is the root mean square of the curve about it.

Reference: Wood (2017), Generalized Additive Models, §5.3.1 and §5.8; Wahba (1978), Improper priors, spline smoothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.errors import DataError
from credo.saving import register
from credo.tables.features import Splines

__all__ = ["PenalisedSpline", "bending"]

#: knots where none are stated
KNOTS = 10


def bending(knots: np.ndarray) -> np.ndarray:
    """S (k, k) with vᵀ S v = ∫ f″² for the natural cubic spline of heights v at increasing knots (k,).

    >>> x = np.array([0.0, 1.0, 3.0])
    >>> float(np.abs(bending(x) @ x).max()) < 1e-12                    # a straight line does not bend
    True
    """
    h = np.diff(knots)
    rows = np.arange(len(h) - 1)
    D = np.zeros((len(rows), len(knots)))
    D[rows, rows], D[rows, rows + 2] = 1.0 / h[:-1], 1.0 / h[1:]
    D[rows, rows + 1] = -D[rows, rows] - D[rows, rows + 2]
    B = np.diag((h[:-1] + h[1:]) / 3.0) + np.diag(h[1:-1] / 6.0, 1) + np.diag(h[1:-1] / 6.0, -1)
    return D.T @ np.linalg.solve(B, D)


@register
@dataclass(frozen=True, eq=False)
class PenalisedSpline:
    """A fitted basis of line and wiggles; beyond the smallest and largest value of the fit it goes on straight.

    basis : heights at the knots, of (x − center)/scale
    wiggle : (k − 1, k − 2), heights above that at the first knot of each wiggle
    line : (2, k − 2), the straight part of each wiggle that is taken out
    """

    basis: Any
    wiggle: np.ndarray
    line: np.ndarray
    center: float
    scale: float

    straight_names: ClassVar[tuple[str, ...]] = ("linear",)
    part_names: ClassVar[tuple[str, ...]] = ("",)

    @classmethod
    def fit(cls, x: np.ndarray, k: int | None, text: str) -> PenalisedSpline:
        """Knots at quantiles of the distinct values; k = 10, or as many as there are values.

        Raises
        ------
        DataError : fewer than three distinct values, or than k.
        """
        values = np.unique(x)
        if len(values) < max(3, k or 0):
            told = f"k = {k} is more" if k is not None and len(values) >= 3 else "a curve needs three"
            raise DataError(
                f"{text}: there are {len(values)} distinct values, and {told}.",
                value=len(values),
                remedy=f"Write s(x, k={len(values)}) at most." if len(values) >= 3 else "Write x, or C(x).",
            )
        center, scale = float(x.mean()), float(x.std())
        t = (x - center) / scale
        knots = np.quantile((values - center) / scale, np.linspace(0.0, 1.0, k or min(KNOTS, len(values))))
        basis = Splines(len(knots), kind="natural", knots=knots.tolist()).fit(t[:, None])
        roots, vectors = np.linalg.eigh(bending(knots)[1:, 1:])  # heights above the first: lines are its one null
        wiggle = vectors[:, 1:] / np.sqrt(roots[1:])
        Z = basis.transform(t[:, None]) @ wiggle
        straight = np.column_stack([np.ones(len(t)), t])
        line = np.linalg.lstsq(straight, Z, rcond=None)[0]
        size = np.sqrt(np.sum((Z - straight @ line) ** 2) / len(t))
        return cls(basis, wiggle / size, line / size, center, scale)

    @property
    def size(self) -> int:
        """How many wiggles there are."""
        return self.wiggle.shape[1]

    def straight(self, x: np.ndarray) -> np.ndarray:
        """x above its mean in the fit (n,)."""
        return x - self.center

    def wiggles(self, x: np.ndarray) -> np.ndarray:
        """(n, k − 2); over the rows of the fit each has mean 0 and no slope, and their sum of squares the mean 1."""
        if not len(x):
            return np.empty((0, self.size))
        t = (x - self.center) / self.scale
        return self.basis.transform(t[:, None]) @ self.wiggle - self.line[0] - t[:, None] * self.line[1]
