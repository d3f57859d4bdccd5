"""`Boxes`: a regression tree on the encoded space as boxes, one a leaf, with the mass of each side.

The measure is that of `Space.sample` without its conditions and constraints: every parameter by itself, uniform in its
own measure, so that values of an integer or a category count alike and a logarithmic range by its logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.importance.equations import overlap, shared_levels
from credo.design.spaces import Space

__all__ = ["Boxes", "Measure"]

# Whole numbers of a larger range are measured as if they were continuous: no tree can tell the difference.
MOST_LEVELS = 4096


@dataclass(frozen=True, eq=False)
class Measure:
    """How one parameter's values lie in its columns of the encoding.

    columns : its own ; levels (K,) : increasing places of its values, or None where it is continuous ; mass (K,) : of
    each value ; is_categorical : whether the columns are one-hot, and `levels` their numbers
    """

    name: str
    columns: tuple[int, ...]
    levels: np.ndarray | None = None
    mass: np.ndarray | None = None
    is_categorical: bool = False

    @classmethod
    def of(cls, space: Space) -> list[Measure]:
        """Those of the parameters that can vary, in the space's order."""
        found, start = [], 0
        for name, parameter in space.parameters.items():
            columns = tuple(range(start, start + parameter.width))
            start += parameter.width
            if columns:
                found.append(cls(name, columns, *_levels(parameter), parameter.kind == "categorical"))
        return found

    def below(self, place: np.ndarray) -> np.ndarray:
        """Mass of values whose place is at most this."""
        if self.levels is None or self.mass is None:
            return np.clip(place, 0.0, 1.0)
        cumulated = np.concatenate([[0.0], np.cumsum(self.mass)])
        return cumulated[np.searchsorted(self.levels, place, side="right")]


def _levels(parameter: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    if parameter.kind == "categorical":
        k = parameter.width
        return np.arange(k, dtype=np.float64), np.full(k, 1.0 / k)
    if not parameter.count <= MOST_LEVELS:
        return None, None
    if parameter.kind == "integer":  # each number owns a cell, wider for small ones on a logarithmic scale
        numbers = np.arange(parameter.low, parameter.high + 1)
        edges = parameter.to_unit(np.append(numbers - 0.5, parameter.high + 0.5))[:, 0]
        return parameter.to_unit(numbers)[:, 0], np.diff(edges)
    k = len(parameter.choices)
    return parameter.to_unit(parameter.choices)[:, 0], np.full(k, 1.0 / k)


@dataclass(frozen=True, eq=False)
class Boxes:
    """values (L,) ; sides : for each parameter (low, high) (L,) of cumulated masses, or levels (L, K) ; widths : their
    masses (L,)"""

    values: np.ndarray
    sides: list[Any]
    widths: list[np.ndarray]

    @classmethod
    def of(cls, tree: Any, measures: list[Measure]) -> Boxes:
        """Of a fitted scikit-learn tree (its `tree_`) whose columns are the encoding's. Boxes without mass are left
        out: two levels at once, or between two whole numbers."""
        low, high, values = _leaves(tree)
        sides: list[Any] = []
        widths: list[np.ndarray] = []
        for measure in measures:
            side = _side(measure, low, high)
            sides.append(side)
            widths.append(side @ measure.mass if measure.is_categorical else side[1] - side[0])
        kept = np.all(np.array(widths) > 0.0, axis=0)
        sides = [s[kept] if m.is_categorical else (s[0][kept], s[1][kept]) for s, m in zip(sides, measures)]
        return cls(values[kept], sides, [width[kept] for width in widths])

    @property
    def weighted(self) -> np.ndarray:
        """Values times masses (L,)."""
        return self.values * np.prod(self.widths, axis=0)

    def ratios(self, other: Boxes, measures: list[Measure]) -> list[np.ndarray]:
        """r_j (L, L') of every parameter; see `equations`."""
        found = []
        for j, measure in enumerate(measures):
            mine, theirs = self.sides[j], other.sides[j]
            if measure.is_categorical:
                assert measure.mass is not None
                shared = shared_levels(mine, theirs, measure.mass)
            else:
                shared = overlap(*mine, *theirs)
            found.append(shared / np.outer(self.widths[j], other.widths[j]))
        return found


def _leaves(tree: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends (L, columns) and values (L,): a box is low < x ≤ high."""
    left, right = tree.children_left, tree.children_right
    low = np.full((tree.node_count, tree.n_features), -np.inf)
    high = np.full((tree.node_count, tree.n_features), np.inf)
    for node in range(tree.node_count):  # parents come before their children
        if left[node] < 0:
            continue
        column, threshold = tree.feature[node], tree.threshold[node]
        for child in (left[node], right[node]):
            low[child], high[child] = low[node], high[node]
        high[left[node], column] = min(high[node, column], threshold)
        low[right[node], column] = max(low[node, column], threshold)
    ends = left < 0
    return low[ends], high[ends], tree.value[ends, 0, 0]


def _side(measure: Measure, low: np.ndarray, high: np.ndarray) -> Any:
    columns = list(measure.columns)
    if not measure.is_categorical:
        return measure.below(low[:, columns[0]]), measure.below(high[:, columns[0]])
    # Level i is the point where column i is 1 and the others are 0.
    ones = np.eye(len(columns))
    return np.all((ones > low[:, None, columns]) & (ones <= high[:, None, columns]), axis=2)
