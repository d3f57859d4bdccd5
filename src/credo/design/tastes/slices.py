"""Belief along one parameter, or two, with the others held: what a page draws beside its sliders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.spaces import Choice, Ordinal
from credo.design.tastes.answers import Point
from credo.design.tastes.belief import TasteBelief
from credo.design.tastes.parts import checked_points
from credo.errors import ParameterError

__all__ = ["Map", "Slice", "map2", "slice"]

ALONG, ACROSS = 41, 21
# Values along a parameter, at most: of a map so many squared.
MOST = 1000
# A band of ± so many sds holds nine in ten.
BAND = 1.645


@dataclass(frozen=True, eq=False)
class Slice:
    """name; grid : values of the parameter, in order; mean, lower, upper (n,) : liking, with a band that holds 90 %"""

    name: str
    grid: list[Any]
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True, eq=False)
class Map:
    """names of two parameters; grids : their values; mean, sd (n, m) : liking, rows along the first"""

    names: tuple[str, str]
    grids: tuple[list[Any], list[Any]]
    mean: np.ndarray
    sd: np.ndarray


def slice(belief: TasteBelief, name: str, at: Point, n: int = ALONG) -> Slice:
    """Liking along one parameter, evenly on its own scale (all values of a category), the others as `at` has them.

    Where the parameter does not matter at `at` liking is flat.
    ParameterError : a parameter that is not there or fixed; `at` that is no point of the space.

    >>> import credo as cr
    >>> from credo.design.tastes import Best, believe_taste
    >>> space = cr.Space(x=cr.Real(1, 100, log=True), c=cr.Choice(["a", "b"]))
    >>> belief = believe_taste(space, [], rng=np.random.default_rng(0))
    >>> slice(belief, "c", {"x": 2.0, "c": "a"}).grid, slice(belief, "x", {"x": 2.0, "c": "a"}, 3).grid
    (['a', 'b'], [1.0, 10.0..., 100.0])
    """
    grid, blocks, columns = _axis(belief, name, n)
    X = np.tile(_encoded(belief, at), (len(grid), 1))
    X[:, columns] = blocks
    mean, sd = _liking(belief, X)
    return Slice(name, grid, mean, mean - BAND * sd, mean + BAND * sd)


def map2(belief: TasteBelief, a: str, b: str, at: Point, n: int = ACROSS) -> Map:
    """Liking over two parameters, the others as `at` has them. ParameterError : as `slice`; the same one twice."""
    if a == b:
        raise ParameterError("map2", "b", f"another parameter than {a!r}", b)
    (first, one, ones), (second, two, twos) = _axis(belief, a, n), _axis(belief, b, n)
    X = np.tile(_encoded(belief, at), (len(first) * len(second), 1))
    X[:, ones], X[:, twos] = np.repeat(one, len(second), axis=0), np.tile(two, (len(first), 1))
    mean, sd = (part.reshape(len(first), len(second)) for part in _liking(belief, X))
    return Map((a, b), (first, second), mean, sd)


def _encoded(belief: TasteBelief, at: Point) -> np.ndarray:
    (point,) = checked_points("slice", "at", belief.space, [at])
    return belief.space.encode(point).X


def _liking(belief: TasteBelief, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """With what does not matter put in the middle."""
    return belief.liking_at(belief.space.encode(belief.space.decode(X)).X)


def _axis(belief: TasteBelief, name: str, n: int) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """Values, their coordinates (values, columns), and which columns they are."""
    if not isinstance(belief, TasteBelief):
        raise ParameterError("slice", "belief", "a TasteBelief, of believe_taste", belief)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= MOST:
        raise ParameterError("slice", "n", f"an integer from 1 to {MOST}", n)
    parameter = belief.space.parameters.get(name)
    if parameter is None or not parameter.width:
        free = [each for each, p in belief.space.parameters.items() if p.width]
        raise ParameterError("slice", "name", f"one of {free}", name)
    if isinstance(parameter, (Choice, Ordinal)):
        grid = list(parameter.choices)
    else:
        grid = list(dict.fromkeys(parameter.from_unit(np.linspace(0.0, 1.0, n)[:, None])))
    columns = [j for j, column in enumerate(belief.space.columns) if column.parameter == name]
    return grid, parameter.to_unit(grid), np.array(columns)
