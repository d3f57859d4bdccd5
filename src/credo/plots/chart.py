"""`Chart`: a drawing as data. Figures describe themselves as charts; matplotlib and the report's SVG both draw those.

A chart is two axes and marks in data coordinates, in the order in which they are painted. Marks have a *role*
("primary", "muted"...), which the theme turns into a colour. There is no legend: lines are labelled where they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from credo.numerics.readable import number, typeset

__all__ = [
    "Chart", "Axis", "Mark", "Line", "Band", "Dots", "Segments", "Bars", "Text", "Figure", "axis", "categories",
    "logarithmic", "spread_out",
]  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A line through (x, y); NaN breaks it."""

    x: np.ndarray
    y: np.ndarray
    role: str = "primary"
    width: float = 2.0
    dashed: bool = False


@dataclass(frozen=True)
class Band:
    """The area between two lines."""

    x: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    role: str = "primary"
    opacity: float = 0.18


@dataclass(frozen=True)
class Dots:
    """Points, `radius` in pixels; hollow ones differ from others without colour."""

    x: np.ndarray
    y: np.ndarray
    role: str = "primary"
    radius: float = 3.5
    opacity: float = 1.0
    hollow: bool = False


@dataclass(frozen=True)
class Segments:
    """Straight strokes from (x0, y0) to (x1, y1)."""

    x0: np.ndarray
    y0: np.ndarray
    x1: np.ndarray
    y1: np.ndarray
    role: str = "primary"
    width: float = 2.0
    opacity: float = 1.0
    dashed: bool = False


@dataclass(frozen=True)
class Bars:
    """Rectangles."""

    x0: np.ndarray
    x1: np.ndarray
    y0: np.ndarray
    y1: np.ndarray
    role: str = "muted"
    opacity: float = 0.35


@dataclass(frozen=True)
class Text:
    """A label at (x, y), moved by (dx, dy) pixels, dy upwards; anchor: which of its ends is there."""

    x: float
    y: float
    text: str
    role: str = "ink"
    anchor: str = "start"
    dx: float = 0.0
    dy: float = 0.0


Mark = Line | Band | Dots | Segments | Bars | Text


@dataclass(frozen=True)
class Axis:
    """label; low, high : ends of what is shown; ticks : (position, text)."""

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class Chart:
    """title, description : for a reader, and for one who cannot see it
    margin : pixels right of the plot, for labels at the ends of lines
    head : pixels above the plot, for labels there
    rows : of a chart with one row an item, how many; its height follows
    grid : axes with lines at their ticks
    """

    title: str
    description: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    margin: float = 8.0
    head: float = 0.0
    rows: int = 0
    grid: str = "y"


class Figure(Protocol):
    """Anything that can be drawn."""

    def chart(self) -> Chart: ...


def axis(
    label: str,
    *values: Any,
    low: float | None = None,
    high: float | None = None,
    pad: float = 0.04,
    n: int = 5,
    as_percent: bool = False,
) -> Axis:
    """An axis that holds the values, with about n round ticks.

    low, high : ends that are fixed; the free ones get a margin of `pad`
    """
    ends = [v for v in (low, high) if v is not None]
    flat = np.concatenate([np.ravel(np.asarray(v, dtype=np.float64)) for v in (*values, ends)])
    flat = flat[np.isfinite(flat)]
    least, most = (float(flat.min()), float(flat.max())) if flat.size else (0.0, 1.0)
    if most - least <= 1e-9 * max(abs(least), abs(most)):  # one value: show it in the middle
        room = 0.5 * abs(most) or 0.5
        least, most = least - room, most + room
    room = pad * (most - least)
    start, end = (least - room if low is None else low), (most + room if high is None else high)
    return Axis(label, start, end, tuple(_ticks(start, end, n, as_percent)))


def _ticks(low: float, high: float, n: int, as_percent: bool) -> list[tuple[float, str]]:
    """Multiples of 1, 2 or 5 × 10^k within [low, high]."""
    raw = (high - low) / n
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((m * power for m in (1.0, 2.0, 5.0) if m * power >= raw * 0.999), 10.0 * power)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    positions = [k * step for k in range(first, last + 1)]
    if as_percent:
        digits = max(0, -math.floor(math.log10(100.0 * step) + 1e-9))
        return [(p, typeset(f"{100.0 * p + 0.0:.{digits}f} %")) for p in positions]
    largest = max((abs(p) for p in positions), default=1.0)
    if largest >= 1e7 or step < 1e-5:
        return [(p, typeset(number(p, 6))) for p in positions]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    # Four digits, which may be years, stay together.
    return [(p, typeset(f"{p + 0.0:{',' if largest >= 10_000 else ''}.{digits}f}")) for p in positions]


def categories(labels: Sequence[str]) -> Axis:
    """A vertical axis of items, the first at the top, at positions k − 1 … 0."""
    k = len(labels)
    return Axis("", -0.6, k - 0.4, tuple((float(k - 1 - i), label) for i, label in enumerate(labels)))


def logarithmic(label: str, values: Any) -> Axis:
    """An axis in log₁₀ of positive values; ticks at 1, 2, 5 × 10^k as far as there is room."""
    logs = np.log10(np.asarray(values, dtype=np.float64))
    low, high = float(logs.min()) - 0.05, float(logs.max()) + 0.05
    decades = range(math.floor(low), math.ceil(high) + 1)
    steps = (1, 2, 5) if high - low < 2.0 else (1,)
    ticks = [(math.log10(m * 10.0**d), number(m * 10.0**d)) for d in decades for m in steps]
    return Axis(label, low, high, tuple((p, t) for p, t in ticks if low <= p <= high))


def spread_out(positions: Sequence[float], gap: float) -> list[float]:
    """The positions moved apart as little as it takes for labels `gap` apart, in their order.

    Pool-adjacent: labels that touch form a block about their mean.

    >>> spread_out([0.0, 0.1, 1.0], 0.3)
    [-0.1, 0.2, 1.0]
    """
    order = np.argsort(positions, kind="stable")
    blocks: list[tuple[float, int]] = []  # (centre, labels)
    for i in order:
        centre, size = float(positions[i]), 1
        while blocks and centre - blocks[-1][0] < 0.5 * gap * (size + blocks[-1][1]):
            other, more = blocks.pop()
            centre, size = (centre * size + other * more) / (size + more), size + more
        blocks.append((centre, size))
    placed = [centre + gap * (j - 0.5 * (size - 1)) for centre, size in blocks for j in range(size)]
    result = [0.0] * len(placed)
    for i, value in zip(order, placed):
        result[i] = round(value, 12)
    return result
