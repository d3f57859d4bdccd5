"""Charts as inline SVG, without matplotlib: small, sharp at every size, coloured by the page's style.

Roles become classes, so that one picture serves light, dark and print. The text of a chart is its title and
description; the marks are hidden from readers that cannot see them.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from credo.plots.chart import Band, Bars, Chart, Dots, Line, Segments, Text
from credo.reports.markup import Markup, element, fragment

__all__ = ["svg"]

# Units of the picture: it is shown at about this width on a phone, so that text is as large as it says.
WIDTH, HEIGHT, ROW = 420.0, 270.0, 25.0
FONT = 12.5
# Mean width of a character of the system's sans-serif, relative to its size.
CHARACTER = 0.58


class _Frame:
    """From data to picture: x(value), y(value) in units of the picture."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        longest = max((len(text) for _, text in chart.y.ticks), default=0)
        self.left = 10.0 + longest * FONT * CHARACTER if longest else 8.0
        self.top = 26.0 if chart.y.label else max(8.0, chart.head)
        self.width = max(80.0, WIDTH - self.left - max(chart.margin, 14.0))
        self.height = chart.rows * ROW + 12.0 if chart.rows else HEIGHT - self.top - 44.0
        self.total = self.top + self.height + 44.0

    def x(self, values: Any) -> np.ndarray:
        a = self.chart.x
        return self.left + (np.asarray(values, dtype=np.float64) - a.low) / (a.high - a.low) * self.width

    def y(self, values: Any) -> np.ndarray:
        a = self.chart.y
        return self.top + (a.high - np.asarray(values, dtype=np.float64)) / (a.high - a.low) * self.height


def svg(chart: Chart, name: str) -> Markup:
    """The chart as an <svg> element; `name` must be unique on the page.

    >>> from credo.plots.chart import Axis, Chart
    >>> picture = svg(Chart("A <title>", "Nothing.", Axis("x", 0, 1, ()), Axis("y", 0, 1, ()), ()), "c1")
    >>> '<title id="c1-t">A &lt;title&gt;</title>' in picture
    True
    """
    frame = _Frame(chart)
    clip = element(
        "clipPath", _rectangle(frame.left - 6, frame.top - 6, frame.width + 12, frame.height + 12), id=f"{name}-c"
    )
    shapes = [_paint(mark, frame) for mark in chart.marks if not isinstance(mark, Text)]
    labels = [_paint(mark, frame) for mark in chart.marks if isinstance(mark, Text)]
    picture = element(
        "g", _grid(frame), element("g", *shapes, clip_path=f"url(#{name}-c)"), _axes(frame), *labels, aria_hidden="true"
    )
    return element(
        "svg", element("title", chart.title, id=f"{name}-t"), element("desc", chart.description, id=f"{name}-d"),
        element("defs", clip), picture, viewBox=f"0 0 {WIDTH:g} {frame.total:g}", role="img",
        aria_labelledby=f"{name}-t", aria_describedby=f"{name}-d", class_="chart",
    )  # fmt: skip


def _grid(frame: _Frame) -> Markup:
    right, bottom = frame.left + frame.width, frame.top + frame.height
    path = ""
    if "x" in frame.chart.grid:
        path += "".join(f"M{_n(x)} {_n(frame.top)}V{_n(bottom)}" for x in frame.x([p for p, _ in frame.chart.x.ticks]))
    if "y" in frame.chart.grid:
        path += "".join(f"M{_n(frame.left)} {_n(y)}H{_n(right)}" for y in frame.y([p for p, _ in frame.chart.y.ticks]))
    return element("path", d=path, class_="grid") if path else Markup("")


def _axes(frame: _Frame) -> Markup:
    chart, bottom = frame.chart, frame.top + frame.height
    parts = [element("path", d=f"M{_n(frame.left)} {_n(bottom)}h{_n(frame.width)}", class_="axis")]
    parts += [_label(float(frame.x(p)), bottom + 16, text, "ink", "middle") for p, text in chart.x.ticks]
    parts += [_label(frame.left - 7, float(frame.y(p)) + 4, text, "ink", "end") for p, text in chart.y.ticks]
    if chart.x.label:
        middle = min(max(frame.left + frame.width / 2, _half(chart.x.label)), WIDTH - _half(chart.x.label))
        parts.append(_label(middle, bottom + 36, chart.x.label, "muted", "middle"))
    if chart.y.label:
        parts.append(_label(2.0, frame.top - 13, chart.y.label, "muted", "start"))
    return fragment(parts)


def _half(text: str) -> float:
    return 0.5 * len(text) * FONT * CHARACTER


def _label(x: float, y: float, text: str, role: str, anchor: str) -> Markup:
    return element("text", text, x=_n(x), y=_n(y), class_=f"t-{role} a-{anchor}")


def _n(value: float) -> str:
    """A coordinate to a tenth, which is less than a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def _points(x: np.ndarray, y: np.ndarray) -> str:
    """Moves and lines through the points; NaN lifts the pen."""
    parts, pen = [], "M"
    for a, b in zip(x, y):
        if not (np.isfinite(a) and np.isfinite(b)):
            pen = "M"
            continue
        # Far outside, where it is clipped anyway, digits would only cost room.
        parts.append(f"{pen}{_n(float(np.clip(a, -2e3, 4e3)))} {_n(float(np.clip(b, -2e3, 4e3)))}")
        pen = "L"
    return "".join(parts)


def _rectangle(x: float, y: float, width: float, height: float) -> Markup:
    return element("rect", x=_n(x), y=_n(y), width=_n(width), height=_n(height))


@singledispatch
def _paint(mark: Any, frame: _Frame) -> Markup:
    raise TypeError(f"no such mark: {mark!r}")


@_paint.register
def _(mark: Line, frame: _Frame) -> Markup:
    return element(
        "path", d=_points(frame.x(mark.x), frame.y(mark.y)), class_=f"s-{mark.role}", stroke_width=f"{mark.width:g}",
        stroke_dasharray="5 4" if mark.dashed else None,
    )  # fmt: skip


@_paint.register
def _(mark: Band, frame: _Frame) -> Markup:
    x, keep = np.asarray(mark.x), np.isfinite(mark.lower) & np.isfinite(mark.upper)
    along = np.concatenate([x[keep], x[keep][::-1]])
    edge = np.concatenate([np.asarray(mark.upper)[keep], np.asarray(mark.lower)[keep][::-1]])
    path = _points(frame.x(along), frame.y(edge)) + "Z"
    return element("path", d=path, class_=f"f-{mark.role}", fill_opacity=f"{mark.opacity:g}")


@_paint.register
def _(mark: Dots, frame: _Frame) -> Markup:
    """All dots are one path of circles: thousands of elements would slow the page."""
    r = mark.radius
    circle = f"m-{r:g} 0a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0-{2 * r:g} 0"
    places = [(a, b) for a, b in zip(frame.x(mark.x), frame.y(mark.y)) if np.isfinite(a) and np.isfinite(b)]
    path = "".join(f"M{_n(float(a))} {_n(float(b))}{circle}" for a, b in places)
    if mark.hollow:
        return element("path", d=path, class_=f"h-{mark.role}", stroke_width="1.6")
    return element("path", d=path, class_=f"f-{mark.role}", fill_opacity=f"{mark.opacity:g}")


@_paint.register
def _(mark: Segments, frame: _Frame) -> Markup:
    ends = zip(frame.x(mark.x0), frame.y(mark.y0), frame.x(mark.x1), frame.y(mark.y1))
    path = "".join(f"M{_n(a)} {_n(b)}L{_n(c)} {_n(d)}" for a, b, c, d in ends if np.all(np.isfinite([a, b, c, d])))
    return element(
        "path", d=path, class_=f"s-{mark.role}", stroke_width=f"{mark.width:g}",
        stroke_opacity=f"{mark.opacity:g}" if mark.opacity < 1 else None,
        stroke_dasharray="4 3" if mark.dashed else None,
    )  # fmt: skip


@_paint.register
def _(mark: Bars, frame: _Frame) -> Markup:
    x0, x1, y0, y1 = frame.x(mark.x0), frame.x(mark.x1), frame.y(mark.y0), frame.y(mark.y1)
    path = "".join(f"M{_n(a)} {_n(c)}H{_n(b)}V{_n(d)}H{_n(a)}Z" for a, b, c, d in zip(x0, x1, y0, y1))
    return element("path", d=path, class_=f"f-{mark.role}", fill_opacity=f"{mark.opacity:g}")


@_paint.register
def _(mark: Text, frame: _Frame) -> Markup:
    x, y = float(frame.x(mark.x)) + mark.dx, float(frame.y(mark.y)) - mark.dy + 4.0
    return _label(x, y, mark.text, mark.role, mark.anchor)
