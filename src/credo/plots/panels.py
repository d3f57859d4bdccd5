"""Several charts as one: panels below each other that share the horizontal axis.

So a figure of several parts is still one chart, which both painters draw, and a telephone shows as large as a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from credo.plots.chart import Axis, Band, Bars, Chart, Dots, Line, Mark, Segments, Text

__all__ = ["stacked"]

# A panel takes a slot of height 1, of which this share is its plot; above it stand its title and some air.
PLOT = 0.8
# Heights of a line of text, of which `Chart.rows` counts: enough for five ticks.
LINES = 7


def stacked(title: str, description: str, charts: Sequence[Chart], lines: int = LINES) -> Chart:
    """The charts below each other, the first on top, each under its own title; horizontal axis of the first.

    lines : height of a panel, in lines of text

    Marks beyond a panel's vertical axis are cut, so that they do not reach into the next.

    >>> from credo.plots.chart import Axis
    >>> one = Chart("one", "", Axis("x", 0, 1, ()), Axis("y", 0, 10, ((5.0, "5"),)), ())
    >>> both = stacked("both", "", [one, one])
    >>> [round(position, 9) for position, _ in both.y.ticks]
    [1.4, 0.4]
    """
    n = len(charts)
    ticks: list[tuple[float, str]] = []
    marks: list[Mark] = []
    for i, chart in enumerate(charts):
        base = float(n - 1 - i)
        ticks += [(_placed(p, chart.y, base), text) for p, text in chart.y.ticks]
        marks += [moved for mark in chart.marks if (moved := _moved(mark, chart.y, base)) is not None]
        marks.append(Text(chart.x.low, base + PLOT, chart.title, "ink", dy=10.0))
    labels = {chart.y.label for chart in charts}
    y = Axis(labels.pop() if len(labels) == 1 else "", -0.03, n - 1 + PLOT + 0.12, tuple(ticks))
    first = charts[0]
    return Chart(
        title, description, first.x, y, tuple(marks), max(c.margin for c in charts), rows=n * lines, grid=first.grid
    )


def _placed(value: float, y: Axis, base: float) -> float:
    return base + PLOT * (value - y.low) / (y.high - y.low)


def _moved(mark: Mark, y: Axis, base: float) -> Mark | None:
    """The mark in its slot, cut to its axis; None if nothing of it is left."""

    def within(values: object) -> np.ndarray:
        cut = np.clip(np.asarray(values, dtype=np.float64), y.low, y.high)
        return base + PLOT * (cut - y.low) / (y.high - y.low)

    if isinstance(mark, Line):
        values = np.asarray(mark.y, dtype=np.float64)
        inside = (values >= y.low) & (values <= y.high)
        return replace(mark, y=np.where(inside, within(values), np.nan))
    if isinstance(mark, Band):
        return replace(mark, lower=within(mark.lower), upper=within(mark.upper))
    if isinstance(mark, Dots):
        values = np.asarray(mark.y, dtype=np.float64)
        inside = (values >= y.low) & (values <= y.high)
        return replace(mark, x=np.asarray(mark.x)[inside], y=within(values[inside])) if inside.any() else None
    if isinstance(mark, (Segments, Bars)):
        return replace(mark, y0=within(mark.y0), y1=within(mark.y1))
    return replace(mark, y=_placed(float(mark.y), y, base))
