"""`Cube`: the encoded space, [0, 1]ᵈ, in which some columns are grids and some groups of columns are one-hot.

Notation
    X (n, d)       points of the cube
    ordered        columns that are numbers: continuous ones and grids
    groups         sets of columns of which one is 1 and the others 0: a level of a categorical parameter
    rows (n, k)    what a model sees: the ordered columns, then the level (0, 1, …) of each group
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from credo.design.surrogates.bends import bend, bend_slope
from credo.errors import ParameterError

__all__ = ["Conditional", "Cube", "Grid", "OneHot", "cube_of"]


@dataclass(frozen=True)
class Grid:
    """A column that takes only these values of [0, 1], increasing: an integer or ordinal parameter.

    >>> Grid.of(0, 3)
    Grid(column=0, values=(0.0, 0.5, 1.0))
    """

    column: int
    values: tuple[float, ...]

    @classmethod
    def of(cls, column: int, levels: int) -> Grid:
        """`levels` values, evenly spread from 0 to 1."""
        return cls(column, tuple(np.linspace(0.0, 1.0, levels).tolist()))


@dataclass(frozen=True)
class OneHot:
    """Columns of which exactly one is 1: a categorical parameter."""

    columns: tuple[int, ...]


@dataclass(frozen=True)
class Conditional:
    """Columns that only sometimes matter: `active`, a function of points (m, d), says where (m, d). Elsewhere they are
    at the middle of their range, so that points which differ in nothing that matters are one point."""

    active: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Cube:
    """d columns, with their grids and one-hot groups; conditional : which columns matter, None if all always do.

    bends : how the ordered columns are bent before a model sees them, see `bends`; () for not at all

    >>> cube = cube_of([Grid.of(0, 3), OneHot((1, 2))], 4)
    >>> cube.snap(np.array([[0.4, 0.2, 0.3, 0.123]])).tolist()
    [[0.5, 0.0, 1.0, 0.123]]
    >>> cube.rows(cube.snap(np.array([[0.4, 0.2, 0.3, 0.123]]))).tolist()
    [[0.5, 0.123, 1.0]]
    """

    d: int
    grids: tuple[Grid, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    conditional: Conditional | None = None
    bends: tuple[float, ...] = ()
    values: dict[int, np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", {grid.column: np.asarray(grid.values) for grid in self.grids})

    @cached_property
    def ordered(self) -> np.ndarray:
        grouped = {column for group in self.groups for column in group}
        return np.array([j for j in range(self.d) if j not in grouped], dtype=np.intp)

    @cached_property
    def continuous(self) -> np.ndarray:
        return np.array([j for j in self.ordered.tolist() if j not in self.values], dtype=np.intp)

    @cached_property
    def middle(self) -> np.ndarray:
        """Where columns (d,) that do not matter are."""
        middle = np.full(self.d, 0.5)
        for group in self.groups:
            middle[list(group)] = 1.0 / len(group)
        return middle

    @property
    def is_continuous(self) -> bool:
        return self.continuous.size == self.d and self.conditional is None

    @property
    def size(self) -> float:
        """How many points there are; ∞ with a continuous column."""
        if self.continuous.size:
            return np.inf
        return float(np.prod([float(len(v)) for v in self.values.values()] + [float(len(g)) for g in self.groups]))

    def snap(self, X: np.ndarray) -> np.ndarray:
        """The nearest points that are of the space; of a group, the level of its largest column; the middle where a
        column does not matter."""
        snapped = np.clip(X, 0.0, 1.0)
        for column, values in self.values.items():
            right = np.clip(np.searchsorted(values, snapped[:, column]), 1, max(len(values) - 1, 1))
            if len(values) == 1:
                snapped[:, column] = values[0]
                continue
            low, high = values[right - 1], values[right]
            snapped[:, column] = np.where(snapped[:, column] - low <= high - snapped[:, column], low, high)
        for group in self.groups:
            columns = list(group)
            level = np.argmax(snapped[:, columns], axis=1)
            snapped[:, columns] = np.eye(len(columns))[level]
        return self.settled(snapped)

    def settled(self, X: np.ndarray) -> np.ndarray:
        """The points with columns that do not matter at the middle."""
        return X if self.conditional is None else np.where(self.conditional.active(X), X, self.middle)

    def rows(self, X: np.ndarray) -> np.ndarray:
        """What a model sees of the points."""
        ordered = bend(X[:, self.ordered], np.asarray(self.bends)) if self.bends else X[:, self.ordered]
        if not self.groups:
            return np.ascontiguousarray(ordered)
        levels = [self._level(X[:, list(group)]) for group in self.groups]
        return np.column_stack([ordered, *levels])

    def _level(self, part: np.ndarray) -> np.ndarray:
        """The level of a group's columns (m, levels); one more than any where the group does not matter."""
        level = np.argmax(part, axis=1).astype(np.float64)
        return level if self.conditional is None else np.where(part.max(axis=1) < 1.0, float(part.shape[1]), level)

    def slopes(self, X: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """A gradient in rows (n, k) as one in points X (n, d), 0 in groups and where a column does not matter."""
        full = np.zeros((len(gradient), self.d))
        full[:, self.ordered] = gradient[:, : self.ordered.size]
        if self.bends:
            full[:, self.ordered] *= bend_slope(X[:, self.ordered], np.asarray(self.bends))
        return full if self.conditional is None else full * self.conditional.active(X)

    def neighbours(self, x: np.ndarray) -> np.ndarray:
        """Points (k, d) that differ from x in one grid's step, or one group's level."""
        found = []
        for column, values in self.values.items():
            at = int(np.argmin(np.abs(values - x[column])))
            for step in (-1, 1):
                if 0 <= at + step < len(values):
                    found.append(x.copy())
                    found[-1][column] = values[at + step]
        for group in self.groups:
            columns = list(group)
            for level in range(len(columns)):
                if x[columns[level]] != 1.0:
                    found.append(x.copy())
                    found[-1][columns] = np.eye(len(columns))[level]
        near = np.array(found).reshape(-1, self.d)
        if self.conditional is None or not len(near):
            return near
        near = np.unique(self.snap(near), axis=0)
        return near[np.any(near != x, axis=1)]

    def all_points(self) -> np.ndarray:
        """Every point (size, d) of a space without continuous columns."""
        axes = [range(len(values)) for values in self.values.values()] + [range(len(group)) for group in self.groups]
        codes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        points = np.zeros((len(codes), self.d))
        for code, (column, values) in zip(codes.T, self.values.items()):
            points[:, column] = values[code]
        for code, group in zip(codes.T[len(self.values) :], self.groups):
            points[:, list(group)] = np.eye(len(group))[code]
        return points if self.conditional is None else np.unique(self.settled(points), axis=0)


def cube_of(kinds: Sequence[Grid | OneHot | Conditional] | None, d: int) -> Cube:
    """The cube of d columns of which `kinds` names those that are not continuous, and says which only sometimes matter.

    ParameterError : columns that do not exist or are named twice; grids that do not increase within [0, 1].
    """
    grids, groups, taken, conditional = [], [], set(), None
    for kind in kinds or ():
        if isinstance(kind, Conditional):
            conditional = kind
            continue
        if not isinstance(kind, (Grid, OneHot)):
            raise ParameterError("propose", "kinds", "records Grid, OneHot and Conditional", kind)
        columns = (kind.column,) if isinstance(kind, Grid) else tuple(kind.columns)
        if any(not 0 <= column < d for column in columns) or taken & set(columns) or len(set(columns)) < len(columns):
            raise ParameterError("propose", "kinds", f"of columns below {d}, each named once", kind)
        taken.update(columns)
        if isinstance(kind, OneHot):
            groups.append(columns)
            continue
        values = np.asarray(kind.values, dtype=np.float64)
        if not values.size or np.any(np.diff(values) <= 0.0) or values[0] < 0.0 or values[-1] > 1.0:
            raise ParameterError("propose", "kinds", "grids that increase within [0, 1]", kind)
        grids.append(kind)
    return Cube(d, tuple(grids), tuple(groups), conditional)
