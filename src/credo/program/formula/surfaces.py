"""Smooth surfaces as mixed models: a plane, or a twisted one, and wiggles that are Normal effects.

`ThinPlate`, s(x, z): one sd for all directions, for columns of one unit (places on a map). With r² log r between all
points and k knots, T the constant and both columns at the knots and δ with Tᵀ δ = 0, the bending energy is
8π δᵀ E δ; along Z (ZᵀEZ)^{−1/2}, Z a basis of such δ, it is a sum of squares.

`TensorProduct`, t2(x, z): each column has a scale of its own. The curve of each is split into {1, line} and wiggles;
products of these are the unpenalised {1, x, z, xz} and three effects: wiggles in x times {1, z}, {1, x} times wiggles
in z, wiggles times wiggles, each with its sd.

What is straight over the rows of the fit is taken out of the effects, which are scaled so that each sd is the root mean
square of its part.

Reference: Wood (2003), Thin plate regression splines; Wood, Scheipl and Faraway (2013), Straightforward intermediate
rank tensor product smoothing in mixed models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import xlogy

from credo.errors import DataError
from credo.program.formula.splines import PenalisedSpline
from credo.saving import register

__all__ = ["TensorProduct", "ThinPlate"]

#: knots of a thin plate, and of each column of a tensor product, where none are stated
PLATE, MARGIN = 30, 5


@register
@dataclass(frozen=True, eq=False)
class ThinPlate:
    """A fitted basis; knots : (k, 2), of (x − center)/scale; wiggle : (k, k − 3); plane : (3, k − 3), taken out."""

    knots: np.ndarray
    wiggle: np.ndarray
    plane: np.ndarray
    center: np.ndarray
    scale: float

    straight_names: ClassVar[tuple[str, ...]] = ("1", "2")
    part_names: ClassVar[tuple[str, ...]] = ("",)

    @classmethod
    def fit(cls, x: list[np.ndarray], k: int | None, text: str) -> ThinPlate:
        """Knots are k of the points, each as far from those before as can be.

        Raises
        ------
        DataError : fewer distinct points than k, or than four; all on one line.
        """
        at = np.column_stack(x)
        center, scale = at.mean(axis=0), float(np.sqrt(np.mean(at.var(axis=0))))
        points = np.unique((at - center) / (scale or 1.0), axis=0)
        if len(points) < max(4, k or 0):
            told = f"k = {k} is more" if k and len(points) >= 4 else "a surface needs four"
            raise DataError(f"{text}: there are {len(points)} distinct points, and {told}.", value=len(points))
        if np.linalg.matrix_rank(points - points.mean(axis=0), tol=1e-9) < 2:
            raise DataError(f"{text}: all points lie on one line.", remedy="A curve is s(x).", value=len(points))
        knots = _spread(points, k or min(PLATE, len(points)))
        T = np.column_stack([np.ones(len(knots)), knots])
        Z = np.linalg.qr(T, mode="complete")[0][:, 3:]
        roots, vectors = np.linalg.eigh(Z.T @ _bumps(knots, knots) @ Z)
        wiggle = Z @ vectors / np.sqrt(np.maximum(roots, 1e-12 * roots[-1]))
        raw = cls(knots, wiggle, np.zeros((3, wiggle.shape[1])), center, scale)
        plane, size = _without(raw._plane(at), raw.parts(x)[0])
        return cls(knots, wiggle / size, plane, center, scale)

    def straight(self, x: list[np.ndarray]) -> np.ndarray:
        """Both columns above their means (n, 2)."""
        return np.column_stack(x) - self.center

    def parts(self, x: list[np.ndarray]) -> list[np.ndarray]:
        """[(n, k − 3)]; over the rows of the fit no plane is in it, and its sum of squares has the mean 1."""
        at = np.column_stack(x)
        return [_bumps((at - self.center) / self.scale, self.knots) @ self.wiggle - self._plane(at) @ self.plane]

    def _plane(self, at: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(at)), (at - self.center) / self.scale])


def _bumps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """r² log r."""
    squares = cdist(a, b, "sqeuclidean")
    return 0.5 * xlogy(squares, squares)


def _spread(points: np.ndarray, k: int) -> np.ndarray:
    """k of the points: the one nearest to the middle, then always the one farthest from those taken."""
    taken = [int(np.argmin(np.sum((points - points.mean(axis=0)) ** 2, axis=1)))]
    far = np.sum((points - points[taken[0]]) ** 2, axis=1)
    while len(taken) < k:
        taken.append(int(np.argmax(far)))
        far = np.minimum(far, np.sum((points - points[taken[-1]]) ** 2, axis=1))
    return points[taken]


def _without(straight: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, float]:
    """(the coefficients of what is straight in Z over the size, the root mean square of the rest)."""
    line = np.linalg.lstsq(straight, Z, rcond=None)[0]
    size = float(np.sqrt(np.sum((Z - straight @ line) ** 2) / len(Z)))
    return line / size, size


@register
@dataclass(frozen=True, eq=False)
class TensorProduct:
    """margins : the spline of each column; lines : of each effect, (4, its size), what is twisted plane in it; sizes :
    the root mean square of each before scaling."""

    margins: tuple[PenalisedSpline, PenalisedSpline]
    lines: tuple[np.ndarray, ...]
    sizes: tuple[float, ...]

    straight_names: ClassVar[tuple[str, ...]] = ("1", "2", "1:2")
    part_names: ClassVar[tuple[str, ...]] = ("1", "2", "1:2")

    @classmethod
    def fit(cls, x: list[np.ndarray], k: int | None, text: str) -> TensorProduct:
        """k knots in each column, 5 where none are stated.

        Raises
        ------
        DataError : fewer than three distinct values of a column, or than k; columns that are each other's.
        """
        one, two = (PenalisedSpline.fit(each, k or min(MARGIN, max(len(np.unique(each)), 3)), text) for each in x)
        raw = cls((one, two), (), ())
        straight = raw._twisted(x)
        if np.linalg.matrix_rank(straight) < 4:
            raise DataError(f"{text}: its columns follow from each other.", remedy="A curve is s(x).", value=text)
        found = [_without(straight, Z) for Z in raw._products(x)]
        return cls((one, two), tuple(line for line, _ in found), tuple(size for _, size in found))

    def straight(self, x: list[np.ndarray]) -> np.ndarray:
        """x, z and their product, above means (n, 3)."""
        one, two = (margin.straight(each) for margin, each in zip(self.margins, x))
        return np.column_stack([one, two, one * two])

    def parts(self, x: list[np.ndarray]) -> list[np.ndarray]:
        """The three effects' columns; over the rows of the fit each has a sum of squares of mean 1."""
        twisted = self._twisted(x)
        return [Z / size - twisted @ line for Z, line, size in zip(self._products(x), self.lines, self.sizes)]

    def _twisted(self, x: list[np.ndarray]) -> np.ndarray:
        one, two = self._scaled(x)
        return np.column_stack([np.ones(len(one)), one, two, one * two])

    def _scaled(self, x: list[np.ndarray]) -> list[np.ndarray]:
        return [margin.straight(each) / margin.scale for margin, each in zip(self.margins, x)]

    def _products(self, x: list[np.ndarray]) -> list[np.ndarray]:
        one, two = (margin.wiggles(each) for margin, each in zip(self.margins, x))
        ones = np.ones(len(one))
        line_one, line_two = (np.column_stack([ones, each]) for each in self._scaled(x))
        return [_rowwise(one, line_two), _rowwise(line_one, two), _rowwise(one, two)]


def _rowwise(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """All products of a column of a and one of b (n, p q)."""
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), a.shape[1] * b.shape[1])
