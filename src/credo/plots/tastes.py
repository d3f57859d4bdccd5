"""What is believed of a person's taste: how liking grew over answers, along each parameter, over two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ParameterError
from credo.numerics.readable import count, number, typeset
from credo.plots.chart import Band, Chart, Dots, Line, Mark, Text, axis
from credo.plots.fields import Surface
from credo.plots.slicing import SliceFigure, shown_value

if TYPE_CHECKING:
    from credo.design.tastes import TasteBelief

__all__ = ["LikingFigure", "liking_over_answers", "taste_maps", "taste_slices"]

# A band of ± so many sds holds nine in ten.
BAND = 1.645
# Lines of a map between its lowest and its highest value.
LEVELS = 6


@dataclass(frozen=True)
class LikingFigure:
    """How much the cards of each answer are liked, as is believed now.

    answer (n,) : number of the answer in which a card was shown; liking (n,); chosen (n,) : whether it was the best
    best, sd (m,) : of the card liked best until answer 1 … m
    """

    answer: np.ndarray
    liking: np.ndarray
    chosen: np.ndarray
    best: np.ndarray
    sd: np.ndarray

    @property
    def description(self) -> str:
        found = int(np.flatnonzero(self.best == self.best[-1])[0]) + 1
        said = (
            f"{count(len(self.best), 'answer')}. The card liked best of all, {number(float(self.best[-1]), 3)} above "
        )
        said += f"the average of the space, was shown in answer {found}. Hollow: cards that were passed over. The line "
        return typeset(said + "is the best until then, the band holds 90 % of the belief about it.")

    def chart(self) -> Chart:
        steps = np.arange(1, len(self.best) + 1)
        low, high = self.best - BAND * self.sd, self.best + BAND * self.sd
        x = axis("answer", low=0.5, high=len(self.best) + 0.5, n=min(8, len(self.best)))
        y = axis("liking, higher is better", self.liking, low, high)
        at = np.repeat(np.append(steps - 0.5, steps[-1] + 0.5), 2)[1:-1]
        marks: list[Mark] = [Band(at, np.repeat(low, 2), np.repeat(high, 2))]
        small = 2.8 if len(steps) <= 60 else 1.8
        for here, role, hollow in ((~self.chosen, "muted", True), (self.chosen, "ink", False)):
            if here.any():
                marks.append(Dots(self.answer[here], self.liking[here], role, small + 0.4 * hollow, 0.8, hollow))
        marks.append(Line(at, np.repeat(self.best, 2), "primary", 2.2))
        marks.append(Text(x.high, float(self.best[-1]), "best so far", "primary", dx=5.0))
        return Chart("Liking over answers", self.description, x, y, tuple(marks), margin=80.0)


def liking_over_answers(
    belief: TasteBelief, rounds: Sequence[tuple[Sequence[Mapping[str, Any]], Mapping[str, Any] | None]]
) -> LikingFigure:
    """How liking grew: for each answer the points that were shown, and the one that was named best, or None.

    Raises
    ------
    ParameterError : no answer.

    Examples
    --------
    >>> import credo as cr
    >>> from credo.design.tastes import Best, believe_taste
    >>> space = cr.Space(x=cr.Real(0, 1))
    >>> shown = [{"x": 0.2}, {"x": 0.8}]
    >>> belief = believe_taste(space, [Best(shown[0], shown)], rng=np.random.default_rng(0))
    >>> figure = liking_over_answers(belief, [(shown, shown[0])])
    >>> figure.chosen.tolist(), bool(figure.best[0] == figure.liking[0])
    ([True, False], True)
    """
    if not rounds:
        raise ParameterError("plots.liking_over_answers", "rounds", "one or more answers", rounds)
    points = [point for shown, _ in rounds for point in shown]
    mean, sd = belief.liking(points)
    answer = np.repeat(np.arange(1, len(rounds) + 1), [len(shown) for shown, _ in rounds])
    chosen = np.array([point == best for shown, best in rounds for point in shown], dtype=bool)
    ends = np.cumsum([len(shown) for shown, _ in rounds])
    top = np.array([int(np.argmax(mean[:end])) for end in ends])
    return LikingFigure(answer, mean, chosen, mean[top], sd[top])


def taste_slices(belief: TasteBelief, at: Mapping[str, Any], most: int = 12) -> list[SliceFigure]:
    """Liking along each parameter that matters at a point, the others held there; those that change it most first.

    Examples
    --------
    >>> import credo as cr
    >>> from credo.design.tastes import Best, believe_taste
    >>> space = cr.Space(x=cr.Real(0, 1), c=cr.Choice(["a", "b"]))
    >>> shown = [{"x": 0.2, "c": "a"}, {"x": 0.8, "c": "a"}]
    >>> belief = believe_taste(space, [Best(shown[0], shown)], rng=np.random.default_rng(0))
    >>> [figure.name for figure in taste_slices(belief, shown[0])]
    ['x', 'c']
    """
    from credo.design.spaces import Choice, Ordinal
    from credo.design.tastes import slice as along

    names = [name for name, parameter in belief.space.parameters.items() if parameter.width and name in at]
    found = sorted((along(belief, name, at) for name in names), key=lambda each: -float(np.ptp(each.mean)))[:most]
    if not found:
        return []
    limits = min(float(each.lower.min()) for each in found), max(float(each.upper.max()) for each in found)
    figures = []
    for each in found:
        parameter = belief.space.parameters[each.name]
        levels = tuple(map(shown_value, each.grid)) if isinstance(parameter, (Choice, Ordinal)) else None
        if levels is None:
            places, place = np.array(each.grid, dtype=np.float64), float(at[each.name])
        else:
            places, place = np.arange(len(levels), dtype=np.float64), float(each.grid.index(at[each.name]))
        figures.append(
            SliceFigure(
                each.name, places, each.mean, each.lower, each.upper, place, np.empty((0, 2)), limits, dict(at),
                levels=levels, is_logarithmic=bool(getattr(parameter, "log", False)), outcome="Liking",
                lower_is_better=False,
            )
        )  # fmt: skip
    return figures


def taste_maps(
    belief: TasteBelief, a: str, b: str, at: Mapping[str, Any], shown: Sequence[Mapping[str, Any]] = ()
) -> list[Surface]:
    """Liking over two parameters that are numbers, and how uncertain it is; the others held at a point.

    shown : points whose places are marked by dots

    Raises
    ------
    ParameterError : a parameter that is not there, is no number, or the same one twice.

    Examples
    --------
    >>> import credo as cr
    >>> from credo.design.tastes import Best, believe_taste
    >>> space = cr.Space(x=cr.Real(0, 1), y=cr.Real(1, 100, log=True))
    >>> shown = [{"x": 0.2, "y": 2.0}, {"x": 0.8, "y": 50.0}]
    >>> belief = believe_taste(space, [Best(shown[0], shown)], rng=np.random.default_rng(0))
    >>> liking, doubt = taste_maps(belief, "x", "y", shown[0], shown)
    >>> liking.values.shape == doubt.values.shape == (21, 21)
    True
    """
    from credo.design.spaces import Choice, Ordinal
    from credo.design.tastes import map2

    for name in (a, b):
        if isinstance(belief.space.parameters.get(name), (Choice, Ordinal)):
            raise ParameterError("plots.taste_maps", "name", "a parameter that is a number", name)
    found = map2(belief, a, b, at)
    log = tuple(bool(getattr(belief.space.parameters[name], "log", False)) for name in (a, b))
    places = np.array([[point[a], point[b]] for point in shown if a in point and b in point], dtype=np.float64)
    for column in (0, 1):
        if log[column] and len(places):
            places[:, column] = np.log10(places[:, column])
    x, y = (np.array(grid, dtype=np.float64) for grid in found.grids)
    here = (float(at[a]), float(at[b]), "best", True)
    top = np.unravel_index(int(np.argmax(found.mean)), found.mean.shape)
    said = (
        f"Liking over {a} and {b}, the others held at the best card: highest at {number(float(x[top[0]]), 3)} and "
        f"{number(float(y[top[1]]), 3)}. Dots: cards that were shown, whatever their other parameters."
    )
    doubt = "Standard deviation of the liking: low where cards were shown, high where nothing is known yet."
    parts = (("Liking", found.mean, "primary", said), ("Uncertainty", found.sd, "secondary", doubt))
    return [
        Surface(
            title, a, b, typeset(text), x, y, values.T, _levels(values), role, places if len(places) else None,
            (here,), (log[0], log[1]),
        )
        for title, values, role, text in parts
    ]  # fmt: skip


def _levels(values: np.ndarray) -> tuple[tuple[float, str], ...]:
    """Round numbers within the values."""
    ticks = axis("", values, pad=0.0, n=LEVELS).ticks
    low, high = float(values.min()), float(values.max())
    return tuple((value, text) for value, text in ticks if low < value < high)
