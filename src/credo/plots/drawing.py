"""Charts drawn by matplotlib (extra `plots`), the only place that imports it."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from credo.errors import MissingDependencyError
from credo.plots.chart import Axis, Band, Bars, Chart, Dots, Figure, Line, Segments, Text
from credo.plots.theme import colours

__all__ = ["draw"]

# Inches; a row of a chart with one row an item takes as much as its text with air.
WIDTH, HEIGHT, ROW_HEIGHT = 5.6, 3.6, 0.27


def draw(figure: Figure, ax: Any = None, theme: str = "light") -> Any:
    """Draw a figure.

    Parameters
    ----------
    figure : what a function of `credo.plots` returns
    ax : the matplotlib axes to draw on; None makes a new figure of them
    theme : "light" or "dark"

    Returns
    -------
    The axes; `draw(...).figure.savefig("picture.svg")` writes a file.

    Raises
    ------
    MissingDependencyError : matplotlib is not installed.
    ParameterError : no such theme.

    Examples
    --------
    >>> import credo as cr
    >>> from credo.plots import posterior_density
    >>> ax = draw(posterior_density(cr.Normal(0, 1), "slope"))
    >>> ax.get_title(loc="left")
    'Belief about slope'
    """
    chart, palette = figure.chart(), colours(theme)
    if ax is None:
        ax = _new_axes(chart, palette)
    _style(ax, chart, palette)
    for mark in chart.marks:
        _paint(mark, ax, palette)
    return ax


def _new_axes(chart: Chart, palette: dict[str, str]) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingDependencyError("matplotlib", "plots", "credo.plots.draw") from None
    height = max(2.2, 1.3 + ROW_HEIGHT * chart.rows) if chart.rows else HEIGHT
    figure, ax = plt.subplots(figsize=(WIDTH, height))
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.1)
    figure.set_facecolor(palette["ground"])
    return ax


def _style(ax: Any, chart: Chart, palette: dict[str, str]) -> None:
    """The house style, set on these axes alone: the user's rcParams stay as they are."""
    ax.set_facecolor(palette["ground"])
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(palette["muted"])
    ax.set_axisbelow(True)
    for direction, each in (("x", chart.x), ("y", chart.y)):
        _style_axis(getattr(ax, f"{direction}axis"), each, palette)
        if direction in chart.grid:
            ax.grid(axis=direction, color=palette["grid"], linewidth=0.8)
    ax.set_xlim(chart.x.low, chart.x.high)
    ax.set_ylim(chart.y.low, chart.y.high)
    ax.set_xlabel(chart.x.label, color=palette["muted"], fontsize=9.5)
    # The label of the vertical axis lies flat above it, where it is read first.
    title = ax.set_title(
        chart.title,
        loc="left",
        color=palette["ink"],
        fontsize=11.5,
        fontweight="bold",
        pad=24 if chart.y.label or chart.head else 8,
    )
    if chart.y.label:
        ax.annotate(
            chart.y.label, (0.0, 1.0), xycoords="axes fraction", xytext=(0, 7), textcoords="offset points",
            color=palette["muted"], fontsize=9.5, parse_math=False,
        )  # fmt: skip
    for text in (title, ax.xaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()):
        text.set_parse_math(False)  # a $ in a column's name is no formula


def _style_axis(side: Any, each: Axis, palette: dict[str, str]) -> None:
    side.set_ticks([position for position, _ in each.ticks], [text for _, text in each.ticks])
    side.set_tick_params(length=0, labelsize=9.5, labelcolor=palette["ink"], pad=5)


@singledispatch
def _paint(mark: Any, ax: Any, palette: dict[str, str]) -> None:
    raise TypeError(f"no such mark: {mark!r}")


@_paint.register
def _(mark: Line, ax: Any, palette: dict[str, str]) -> None:
    style = (0, (4, 3)) if mark.dashed else "-"
    ax.plot(mark.x, mark.y, color=palette[mark.role], linewidth=mark.width * 0.9, linestyle=style)


@_paint.register
def _(mark: Band, ax: Any, palette: dict[str, str]) -> None:
    ax.fill_between(mark.x, mark.lower, mark.upper, color=palette[mark.role], alpha=mark.opacity, linewidth=0)


@_paint.register
def _(mark: Dots, ax: Any, palette: dict[str, str]) -> None:
    colour = palette[mark.role]
    face = palette["ground"] if mark.hollow else colour
    ax.scatter(
        mark.x, mark.y, s=(1.6 * mark.radius) ** 2, facecolor=face, edgecolor=colour,
        linewidth=1.4 if mark.hollow else 0, alpha=mark.opacity, zorder=3,
    )  # fmt: skip


@_paint.register
def _(mark: Segments, ax: Any, palette: dict[str, str]) -> None:
    # One line with gaps: a thousand lines would take seconds.
    gap = np.full(np.shape(mark.x0), np.nan)
    x, y = np.stack([mark.x0, mark.x1, gap], axis=1).ravel(), np.stack([mark.y0, mark.y1, gap], axis=1).ravel()
    ax.plot(
        x, y, color=palette[mark.role], linewidth=mark.width * 0.9, alpha=mark.opacity,
        linestyle=(0, (4, 3)) if mark.dashed else "-",
    )  # fmt: skip


@_paint.register
def _(mark: Bars, ax: Any, palette: dict[str, str]) -> None:
    ax.bar(
        mark.x0, np.subtract(mark.y1, mark.y0), width=np.subtract(mark.x1, mark.x0), bottom=mark.y0, align="edge",
        color=palette[mark.role], alpha=mark.opacity, linewidth=0,
    )  # fmt: skip


@_paint.register
def _(mark: Text, ax: Any, palette: dict[str, str]) -> None:
    ax.annotate(
        mark.text, (mark.x, mark.y), xytext=(mark.dx * 0.75, mark.dy * 0.75), textcoords="offset points",
        ha={"start": "left", "middle": "center", "end": "right"}[mark.anchor], va="center", fontsize=9.5,
        color=palette[mark.role], annotation_clip=False, parse_math=False,
    )  # fmt: skip
