"""Maps: numbers over a plane, and the mean and sd of a Gaussian process over two columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.numerics.readable import number, typeset
from credo.plots.chart import Axis, Band, Chart, Dots, Line, Mark, Text, axis, logarithmic
from credo.plots.contours import contour, superlevel, thinned
from credo.plots.panels import stacked
from credo.plots.processes import BEYOND, column_index, held_label, held_row
from credo.plots.readings import column_names, reading

__all__ = ["FunctionMaps", "Surface", "check_resolution", "function_maps", "surface"]

# Places along each axis of a map: five pixels of the picture each, which contours smooth.
RESOLUTION = 48
# All levels on top of each other cover this share of the ground: text on them stays readable (contrast 4.5).
SHADE = 0.5
# Half the room of a label, of the plot's width (a character) and height, in which its line is left out.
ROOM = (0.0085, 0.035)
# Rows that labels keep clear of: of more there is no clear place.
MOST_ROWS = 300
# Lines and shades follow a monotone interpolation on about so many places, so that they are smooth to the eye.
SMOOTH = 96
# Of the plot's size: a fifth of a pixel.
VISIBLE = 5e-4


@dataclass(frozen=True)
class Surface:
    """A number over a plane, as shades and labelled lines.

    title, x_name, y_name, description ; x (m,), y (k,), values (k, m)
    levels : (value, text) of its lines, rising ; role : their colour
    rows (n, 2) : dots, or None ; points : (x, y, text, whether filled), marked
    log : whether each axis is logarithmic
    """

    title: str
    x_name: str
    y_name: str
    description: str
    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    levels: tuple[tuple[float, str], ...]
    role: str = "primary"
    rows: np.ndarray | None = None
    points: tuple[tuple[float, float, str, bool], ...] = ()
    log: tuple[bool, bool] = (False, False)

    def chart(self) -> Chart:
        ends = [_axis(*each) for each in ((self.x_name, self.x, self.log[0]), (self.y_name, self.y, self.log[1]))]
        x, y = (np.log10(v) if log else v for v, log in zip((self.x, self.y), self.log, strict=True))
        x, y, values = _smooth(x, y, self.values)
        points = [(*self._placed(a, b), text, filled) for a, b, text, filled in self.points]
        marks: list[Mark] = []
        shade = 1.0 - (1.0 - SHADE) ** (1.0 / max(3, len(self.levels)))
        for level, _ in self.levels:
            bands = (_thin(band, ends) for band in superlevel(x, y, values, level))
            marks += [Band(at, low, high, self.role, shade) for at, low, high in bands]
        labels: list[Mark] = []
        taken, rows = [(a, b) for a, b, *_ in points], np.empty((0, 2)) if self.rows is None else self.rows
        for level, text in reversed(self.levels):
            lines, label = _labelled(contour(x, y, values, level), ends, taken, rows, text)
            marks += [Line(a, b, self.role, 1.2) for a, b in (_thin(line.T, ends) for line in lines)]
            labels += [] if label is None else [label]
        if self.rows is not None and len(self.rows):
            few = len(self.rows) <= 150
            marks.append(Dots(self.rows[:, 0], self.rows[:, 1], "ink", 2.2 if few else 1.4, 0.9 if few else 0.4))
        for a, b, text, filled in points:
            marks.append(Dots(np.array([a]), np.array([b]), "ink", 5.0, hollow=not filled))
            left = a > 0.5 * (ends[0].low + ends[0].high)
            marks.append(Text(a, b, text, "ink", "end" if left else "start", dx=-9.0 if left else 9.0))
        return Chart(self.title, self.description, ends[0], ends[1], (*marks, *labels), grid="", margin=20.0)

    def _placed(self, a: float, b: float) -> tuple[float, float]:
        first, second = (float(np.log10(v)) if log else v for v, log in zip((a, b), self.log, strict=True))
        return first, second


def _axis(name: str, values: np.ndarray, log: bool) -> Axis:
    if not log:
        return axis(name, values, pad=0.0)
    wide = logarithmic(name, values)
    return Axis(name, float(np.log10(values[0])), float(np.log10(values[-1])), wide.ticks)


def _smooth(x: np.ndarray, y: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The surface on finer grids; between places it stays within their values."""
    from scipy.interpolate import PchipInterpolator  # a fifth of a second that other pictures need not pay

    for i, at in enumerate((y, x)):
        factor = -(-SMOOTH // at.size)
        fine = np.interp(np.arange(factor * (at.size - 1) + 1) / factor, np.arange(at.size), at)
        values = PchipInterpolator(at, values, axis=i)(fine)
        x, y = (x, fine) if i == 0 else (fine, y)
    return x, y, values


def _thin(columns: Any, ends: list[Axis]) -> np.ndarray:
    """(x, y) of a line, or (x, lower, upper) of a band, without points that nobody would miss."""
    size = np.array([each.high - each.low for each in (ends[0], *ends[1:] * (len(columns) - 1))])
    return (thinned(np.column_stack(columns) / size, VISIBLE) * size).T


def _labelled(
    lines: list[np.ndarray], ends: list[Axis], taken: list[tuple[float, float]], rows: np.ndarray, text: str
) -> tuple[list[np.ndarray], Text | None]:
    """The lines with a gap for the label; it stands as far from those before as it can, where a line is level."""
    low, size = np.array([e.low for e in ends]), np.array([e.high - e.low for e in ends])
    best, place = 0.0, None
    for line in lines:
        scaled = (line - low) / size
        if len(line) < 6:
            continue
        slope = np.gradient(scaled, axis=0)
        level = np.abs(slope[:, 0]) / np.maximum(np.hypot(slope[:, 0], slope[:, 1]), 1e-12)
        others = [(np.array(t) - low) / size for t in taken]
        far = np.min([np.hypot(*(scaled - o).T) for o in others], axis=0) if others else np.ones(len(line))
        inside = np.all((scaled > 0.07) & (scaled < 0.93), axis=1)
        dots = [np.hypot(*(scaled - (row - low) / size).T) for row in rows[:MOST_ROWS]]
        clear = np.minimum(np.min(dots, axis=0) / 0.05, 1.0) if dots else 1.0
        score = np.where(inside, np.minimum(far, 0.35) * (0.3 + level) * (0.4 + 0.6 * clear), 0.0)
        if score.max() > best:
            best, place = float(score.max()), line[int(np.argmax(score))]
    if place is None or best < 0.05:
        return lines, None
    taken.append((float(place[0]), float(place[1])))
    broken, room = [], size * (ROOM[0] * (len(text) + 2), ROOM[1])
    for line in lines:
        near = np.all(np.abs(line - place) < room, axis=1)
        pieces = np.split(line, np.flatnonzero(np.diff(near)) + 1)
        broken += pieces[int(near[0]) :: 2]  # the others are under the label
    return broken, Text(float(place[0]), float(place[1]), text, "ink", "middle")


def surface(
    x: Any,
    y: Any,
    values: Any,
    *,
    names: tuple[str, str] = ("x", "y"),
    title: str = "Surface",
    role: str = "primary",
    rows: Any = None,
    log: tuple[bool, bool] = (False, False),
    levels: Sequence[float] | None = None,
) -> Surface:
    """Numbers over a grid, as shades and labelled lines at about seven round levels.

    Parameters
    ----------
    x (m,), y (k,) : increasing ; values (k, m) at (x_i, y_j)
    rows : (n, 2), drawn as dots ; log : whether each axis is logarithmic ; levels : of the lines, increasing

    Raises
    ------
    DataError : shapes that do not fit, values that are not finite, or axes that do not increase.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 11)
    >>> surface(x, x, x[:, None] ** 2 + x**2).levels[0]
    (0.5, '0.5')
    """
    x, y, values = (np.asarray(each, dtype=np.float64) for each in (x, y, values))
    for name, each, wanted in (("x", x, log[0]), ("y", y, log[1])):
        if each.ndim != 1 or each.size < 2 or not np.all(np.isfinite(each)) or np.any(np.diff(each) <= 0.0):
            raise DataError(f"plots.surface: {name} must be two or more finite, increasing numbers.", value=each)
        if wanted and each[0] <= 0.0:
            raise DataError(f"plots.surface: {name} must be > 0 on a logarithmic axis.", value=each[0])
    if values.shape != (y.size, x.size) or not np.all(np.isfinite(values)):
        raise DataError(f"plots.surface: values must be finite, of shape {(y.size, x.size)}.", value=values.shape)
    dots = None if rows is None else np.asarray(rows, dtype=np.float64).reshape(-1, 2)
    said = _extremes(names, x, y, values)
    return Surface(title, *names, said, x, y, values, _levels(values, levels), role, dots, log=log)


def _extremes(names: tuple[str, str], x: np.ndarray, y: np.ndarray, values: np.ndarray) -> str:
    ends = [("lowest", int(np.argmin(values))), ("highest", int(np.argmax(values)))]
    said = " and ".join(
        f"{what}, {number(float(values.flat[k]), 3)}, at {names[0]} {number(float(x[k % x.size]), 3)}, "
        f"{names[1]} {number(float(y[k // x.size]), 3)}"
        for what, k in ends
    )
    return typeset(f"It is {said}.")


def _levels(values: np.ndarray, stated: Sequence[float] | None) -> tuple[tuple[float, str], ...]:
    if stated is not None:
        return tuple((float(v), typeset(number(float(v), 4))) for v in sorted(stated))
    if float(np.ptp(values)) <= 1e-9 * float(np.abs(values).max()):
        return ()  # flat: what a line would follow is rounding
    ticks = axis("", values, pad=0.0, n=8).ticks
    return tuple((p, text) for p, text in ticks if values.min() < p < values.max())


@dataclass(frozen=True)
class FunctionMaps:
    """mean, sd : a `Surface` each of the function over two columns ; x, y : their names, and where others are held"""

    mean: Surface
    sd: Surface

    def chart(self) -> Chart:
        both = [part.chart() for part in (self.mean, self.sd)]
        said = f"Mean: {self.mean.description} Sd: {self.sd.description}"
        return stacked(self.mean.title.replace("Mean of ", "Belief about "), said, both, lines=10)


def function_maps(
    model: Any,
    columns: tuple[int | str, int | str] = (0, 1),
    *,
    at: Any = None,
    outcome: str = "y",
    output: Any = None,
    resolution: int = RESOLUTION,
    rows: Any = None,
) -> FunctionMaps:
    """Two maps of what a Gaussian process believes of its function over two columns: its mean, and the sd of it.

    The sd is of the function alone, without noise: where it is large, another row would tell most.

    Parameters
    ----------
    model : a fitted Gaussian process of two columns or more
    columns : numbers or names ; at : (d,) where the others are held; None is each column's median
    outcome, output, rows : as of `function_band`, rows being (n, 2)
    resolution : places along each axis, 2 or more

    Raises
    ------
    ParameterError : one column, or no such columns.

    Cost of predicting resolution² rows.

    Examples
    --------
    >>> import credo as cr
    >>> rng = np.random.default_rng(0); X = rng.uniform(-1, 1, (30, 2))
    >>> model = cr.GaussianProcessRegressor().fit(X, X[:, 0] * X[:, 1])
    >>> maps = function_maps(model, resolution=20)
    >>> maps.mean.values.shape, bool(maps.sd.values.min() >= 0.0)
    ((20, 20), True)
    """
    owner = "plots.function_maps"
    read = reading(owner, model, output)
    names, d = column_names(model), read.X.shape[1]
    if d < 2:
        raise ParameterError(owner, "model", "of two columns or more", d, "Of one column use plots.function_band.")
    pair = tuple(columns) if isinstance(columns, (tuple, list)) else (columns,)
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ParameterError(owner, "columns", "two different columns", columns)
    i, j = (column_index(owner, "columns", names, each) for each in pair)
    check_resolution(owner, resolution)
    x, y = (_range(read.X[:, k], resolution) for k in (i, j))
    held = held_row(owner, read.X, at)
    X = np.tile(held, (x.size * y.size, 1))
    X[:, i], X[:, j] = np.tile(x, y.size), np.repeat(y, x.size)
    known = read.known(X, 0.5)
    what = {"class": f"probability of {read.label}", "count": f"rate of {outcome}"}.get(read.kind, outcome)
    dots = read.X[:, [i, j]] if rows is None else rows
    labels = (held_label(names[i], names, held, (i, j)), names[j])
    shape = (y.size, x.size)
    mean, sd = (
        replace(
            surface(x, y, values.reshape(shape), names=labels, title=f"{title} of {what}", role=role, rows=dots),
            description=_extremes((names[i], names[j]), x, y, values.reshape(shape)),
        )
        for values, title, role in ((known.mean, "Mean", "primary"), (known.sd, "Sd", "secondary"))
    )
    return FunctionMaps(mean, sd)


def _range(seen: np.ndarray, resolution: int) -> np.ndarray:
    room = 0.5 * BEYOND * float(np.ptp(seen)) or 0.5 * abs(float(seen[0])) or 1.0
    return np.linspace(float(seen.min()) - room, float(seen.max()) + room, resolution)


def check_resolution(owner: str, resolution: Any) -> None:
    if not isinstance(resolution, (int, np.integer)) or isinstance(resolution, bool) or resolution < 2:
        raise ParameterError(owner, "resolution", "an integer ≥ 2", resolution)
