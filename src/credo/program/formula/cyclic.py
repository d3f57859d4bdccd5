"""A smooth curve that repeats itself: a periodic cubic spline whose bending is penalised.

With heights v at knots x₁ < … < x_m of one period and h the gaps between them, around the circle, its second
derivatives there solve B f″ = D v, and ∫ f″² = vᵀ S v with S = Dᵀ B⁻¹ D,

    D_i = (1/h_{i−1}, −1/h_{i−1} − 1/h_i, 1/h_i)
    B_ii = (h_{i−1} + h_i)/3,  B_i,i±1 = h/6

Constants alone do not bend. Along the other m − 1 eigenvectors of S, divided by the roots of their eigenvalues, the
penalty is the sum of squares.

Reference: Wood (2017), Generalized Additive Models, §5.3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from credo.errors import DataError
from credo.program.formula.splines import KNOTS
from credo.saving import register

__all__ = ["CyclicSpline", "circle"]


def circle(knots: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """(C (m, m) with f″ = C v at the knots, S (m, m) with ∫ f″² = vᵀ S v) of knots (m,), m ≥ 3, within one period."""
    m = len(knots)
    h = np.diff(np.append(knots, knots[0] + period))  # h_i from knot i to the next
    before = np.roll(h, 1)
    D, B, i = np.zeros((m, m)), np.zeros((m, m)), np.arange(m)
    np.add.at(D, (i, i - 1), 1.0 / before)
    np.add.at(D, (i, (i + 1) % m), 1.0 / h)
    np.add.at(D, (i, i), -1.0 / before - 1.0 / h)
    np.add.at(B, (i, i), (before + h) / 3.0)
    np.add.at(B, (i, i - 1), before / 6.0)
    np.add.at(B, (i, (i + 1) % m), h / 6.0)
    C = np.linalg.solve(B, D)
    return C, D.T @ C


@register
@dataclass(frozen=True, eq=False)
class CyclicSpline:
    """A fitted basis of curves of one period.

    knots : (m,) on the circle of length 1; heights : (m, m − 1), of each curve at the knots; start, period : of x;
    middle : (m − 1,), the mean of each over the rows of the fit, which is taken out
    """

    knots: np.ndarray
    heights: np.ndarray
    start: float
    period: float
    middle: np.ndarray

    straight_names: ClassVar[tuple[str, ...]] = ()
    part_names: ClassVar[tuple[str, ...]] = ("",)

    @classmethod
    def fit(cls, x: np.ndarray, k: int | None, period: float | None, text: str) -> CyclicSpline:
        """Knots at quantiles of the distinct places on the circle; its length is the range of x where none is stated.

        Raises
        ------
        DataError : fewer than three distinct places, or than k; x of no length.
        """
        start = float(x.min())
        length = float(x.max()) - start if period is None else period
        places = np.unique(np.mod((x - start) / length, 1.0)) if length > 0 else np.zeros(1)
        if len(places) < max(3, k or 0):
            raise DataError(
                f"{text}: there are {len(places)} distinct places in a period, and "
                f"{f'k = {k} is more' if k and len(places) >= 3 else 'a curve needs three'}.",
                value=len(places),
                remedy="Write C(x)." if len(places) < 3 else f"Write k={len(places)} at most.",
            )
        ends = np.linspace(0.0, 1.0, (k or min(KNOTS, len(places))) + 1)[:-1]
        knots = np.quantile(places, ends)
        _, S = circle(knots, 1.0)
        roots, vectors = np.linalg.eigh(S)
        heights = vectors[:, 1:] / np.sqrt(roots[1:])
        raw = cls(knots, heights, start, length, np.zeros(heights.shape[1]))
        Z = raw.parts([x])[0]
        middle = Z.mean(axis=0)
        size = np.sqrt(np.sum((Z - middle) ** 2) / len(x))
        return cls(knots, heights / size, start, length, middle / size)

    def straight(self, x: list[np.ndarray]) -> np.ndarray:
        """No part of it is straight (n, 0)."""
        return np.empty((len(x[0]), 0))

    def parts(self, x: list[np.ndarray]) -> list[np.ndarray]:
        """[(n, m − 1)]; over the rows of the fit each has the mean 0, and their sum of squares the mean 1."""
        at = np.mod((x[0] - self.start) / self.period - self.knots[0], 1.0) + self.knots[0]
        ends = np.append(self.knots, self.knots[0] + 1.0)
        j = np.clip(np.searchsorted(ends, at, side="right") - 1, 0, len(self.knots) - 1)
        h = np.diff(ends)[j]
        b = (at - ends[j]) / h
        a, after = 1.0 - b, (j + 1) % len(self.knots)
        bend = circle(self.knots, 1.0)[0] @ self.heights
        curves = a[:, None] * self.heights[j] + b[:, None] * self.heights[after]
        curves += ((a**3 - a) * h**2 / 6.0)[:, None] * bend[j] + ((b**3 - b) * h**2 / 6.0)[:, None] * bend[after]
        return [curves - self.middle]
