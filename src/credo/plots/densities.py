"""Densities without a family: a kernel density with its modes and its densest region, a histogram with its doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError
from credo.numerics.readable import aligned, count, number, percent, typeset
from credo.plots.chart import Axis, Band, Bars, Chart, Dots, Line, Segments, Text, axis

if TYPE_CHECKING:
    from credo.models.density import Bars as Bins
    from credo.models.density import Histogram, KernelDensity

__all__ = ["DensityFigure", "HistogramFigure", "density", "histogram"]

# Points of the curve: more than pixels show.
GRID = 512
# Modes that are named, highest first.
MOST_MODES = 4
# A far outlier would take all of the picture.
SHOWN = (5e-4, 0.9995)


@dataclass(frozen=True)
class DensityFigure:
    """A kernel density of one column.

    x, density (m,) ; modes (k,), mode_density (k,), highest first
    region (j, 2) : the smallest intervals that together hold `mass`
    """

    name: str
    x: np.ndarray
    density: np.ndarray
    modes: np.ndarray
    mode_density: np.ndarray
    region: np.ndarray
    mass: float

    def chart(self) -> Chart:
        marks: list[Any] = []
        for low, high in self.region:
            inside = (self.x > low) & (self.x < high)
            x = np.concatenate([[low], self.x[inside], [high]])
            marks.append(Band(x, np.zeros_like(x), np.interp(x, self.x, self.density)))
        marks.append(Line(self.x, self.density))
        shown = self._shown_modes()
        marks.append(Dots(self.modes[shown], self.mode_density[shown]))
        marks += [Text(float(m), float(f), _said(m), anchor="middle", dy=12.0) for m, f in zip(
            self.modes[shown], self.mode_density[shown])]  # fmt: skip
        top = 1.18 * float(self.density.max())
        return Chart(
            f"Density of {self.name}", self._description(), axis(self.name, self.x, pad=0.0),
            Axis("", 0.0, top, ()), tuple(marks), grid="",
        )  # fmt: skip

    def _shown_modes(self) -> np.ndarray:
        inside = (self.modes >= self.x[0]) & (self.modes <= self.x[-1])
        return np.flatnonzero(inside)[:MOST_MODES]

    def _description(self) -> str:
        at = ", ".join(_said(m) for m in self.modes[:MOST_MODES])
        more = " and lower ones" if self.modes.size > MOST_MODES else ""
        where = " and ".join(
            " to ".join(map(typeset, aligned([*ends], float(np.ptp(ends))))) for ends in self.region[:MOST_MODES]
        )
        more_parts = f" and {self.region.shape[0] - MOST_MODES} more" if self.region.shape[0] > MOST_MODES else ""
        return (
            f"{count(self.modes.size, 'mode')}: {at}{more}. Shaded: the densest region that holds "
            f"{percent(self.mass)}, {where}{more_parts}."
        )


def density(model: KernelDensity, name: str = "value", mass: float = 0.9) -> DensityFigure:
    """A kernel density of one column, with its modes and the smallest region that holds `mass`.

    Raises
    ------
    DataError : several columns.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.models.density import KernelDensity
    >>> x = np.concatenate([np.linspace(-1, 1, 50), np.linspace(4, 8, 50)])[:, None]
    >>> density(KernelDensity(bandwidth=0.7).fit(x), "width").modes.round(1).tolist()
    [0.0, 6.0]
    """
    if model.n_features_in_ != 1:
        raise DataError("plots.density draws one column.", value=model.n_features_in_)
    low, high = model.quantile(SHOWN)
    x = np.linspace(float(low), float(high), GRID)
    modes = model.modes()
    region = model.highest_density(mass).intervals
    assert region is not None
    shown = np.clip(region, x[0], x[-1])
    return DensityFigure(
        name, x, np.exp(model.log_prob(x)), modes.points[:, 0], modes.density, shown[shown[:, 1] > shown[:, 0]], mass
    )


@dataclass(frozen=True)
class HistogramFigure:
    """A histogram of one column: its bins, each with the interval of its density that holds `mass`."""

    name: str
    bins: Bins

    def chart(self) -> Chart:
        b = self.bins
        middle, zero = 0.5 * (b.edges[1:] + b.edges[:-1]), np.zeros(b.density.size)
        marks = (
            Bars(b.edges[:-1], b.edges[1:], zero, b.density, "primary"),
            Segments(middle, b.lower, middle, b.upper, "ink", 1.0),
        )
        top = 1.08 * float(b.upper.max())
        said = (
            f"{count(b.density.size, 'bin')} from {_said(b.edges[0])} to {_said(b.edges[-1])}; strokes are the "
            f"intervals that hold a bin's density with probability {percent(b.mass)}."
        )
        x, y = axis(self.name, b.edges, pad=0.02), Axis("", 0.0, top, ())
        return Chart(f"Histogram of {self.name}", said, x, y, marks, grid="")


def histogram(model: Histogram, name: str = "value", mass: float = 0.9) -> HistogramFigure:
    """A histogram of one column, each bin with the interval of its density.

    Raises
    ------
    DataError : several columns.

    Examples
    --------
    >>> from credo.models.density import Histogram
    >>> figure = histogram(Histogram(bins=2).fit([[0.0], [1.0], [2.0], [9.0]]))
    >>> figure.bins.counts.tolist()
    [3.0, 1.0]
    """
    return HistogramFigure(name, model.bars(mass))


def _said(value: Any) -> str:
    return typeset(number(float(value), 3))
