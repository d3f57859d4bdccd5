"""`Table`: points of a space as the columns that trees split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.design.spaces import Constant, Space
from credo.design.spaces.choices import Choice

__all__ = ["INACTIVE", "Table"]

# Where a parameter does not matter: below all coordinates and all codes, so that one split tells the two apart.
INACTIVE = -1.0


class Table:
    """One column for each parameter that is not constant: its coordinate in [0, 1], the code 0, 1, … of its category,
    or −1 where it is inactive.

    >>> import credo as cr
    >>> table = Table(cr.Space(c=cr.Choice(["a", "b"]), x=cr.Real(0, 4, when={"c": "b"})))
    >>> table.columns([{"c": "a"}, {"c": "b", "x": 1.0}]).tolist()
    [[0.0, -1.0], [1.0, 0.25]]
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self.parameters = {n: p for n, p in space.parameters.items() if not isinstance(p, Constant)}
        #: column → how many categories, for those without order
        self.levels = {
            j: len(parameter.choices)
            for j, parameter in enumerate(self.parameters.values())
            if isinstance(parameter, Choice)
        }

    @property
    def width(self) -> int:
        return len(self.parameters)

    def columns(self, points: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """(n, width) of points."""
        X = np.full((len(points), self.width), INACTIVE)
        for j, (name, parameter) in enumerate(self.parameters.items()):
            here = [i for i, point in enumerate(points) if name in point]
            if not here:
                continue
            given = [points[i][name] for i in here]
            X[here, j] = (
                [parameter.index(value) for value in given]  # type: ignore[attr-defined]
                if j in self.levels
                else parameter.to_unit(given)[:, 0]
            )
        return X

    def uniforms(self, points: Sequence[Mapping[str, Any]], rng: np.random.Generator) -> np.ndarray:
        """Rows (n, parameters of the space) of [0, 1] that `Space.from_uniform` turns into the points; at random where
        a parameter is inactive."""
        U = rng.random((len(points), len(self.space.parameters)))
        columns = [list(self.space.parameters).index(name) for name in self.parameters]
        X = self.columns(points)
        for j, column in enumerate(columns):
            active = X[:, j] != INACTIVE
            U[active, column] = (X[active, j] + 0.5) / self.levels[j] if j in self.levels else X[active, j]
        return np.clip(U, 0.0, 1.0)
