"""Parallel coordinates: every trial a line through its parameters' values, down to its value.

The parameters' axes lie below each other, so that names are read where they are, and a phone holds any number of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ParameterError, UnavailableError
from credo.numerics.readable import count, number, shortened, typeset
from credo.plots.chart import Axis, Chart, Mark, Segments, Text
from credo.plots.fronts import balanced
from credo.plots.slicing import shown_value
from credo.plots.trials import checked_study, directions, kind_of, values_of

if TYPE_CHECKING:
    from credo.studies import Study

__all__ = ["ParallelFigure", "ParallelRow", "parallel_coordinates"]

# Lines that are drawn: more are a carpet.
MOST_LINES = 200
# Lines that stand out: a tenth of the trials, at least and at most so many.
FEWEST_BEST, MOST_BEST = 3, 20
# Where a line passes an axis whose parameter is inactive: right of it.
OFF = 1.12
# Height of the names below an axis, of the distance to the next.
NAMES = 0.36
# Names of levels below an axis: characters that it holds.
WIDE = 40


@dataclass(frozen=True)
class ParallelRow:
    """One axis. name ; place (n,) : of every trial within [0, 1], NaN where the parameter is inactive
    ticks : (place, text)"""

    name: str
    place: np.ndarray
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class ParallelFigure:
    """rows : an axis each, the last ones the objectives' ; best (n,) : whether a trial is among the best, shown strong
    chosen : the number (within the figure) of the trial to take, or −1 ; n_trials : of which the figure may show fewer
    """

    rows: tuple[ParallelRow, ...]
    best: np.ndarray
    chosen: int
    n_trials: int
    lower_is_better: bool = True

    @property
    def description(self) -> str:
        said = f"Every line is a trial, {count(int(self.best.sum()), 'best one', 'best ones')} strong"
        said += ", the one to take with wide strokes." if self.chosen >= 0 else "."
        narrow = []
        for row in self.rows[: -1 if len(self.rows) > 1 else None]:
            kept = row.place[self.best]
            kept = kept[np.isfinite(kept)]
            if kept.size >= FEWEST_BEST and np.ptp(kept) < 0.3:
                narrow.append(row.name)
        if narrow:
            said += f" The best agree on {', '.join(narrow[:4])}."
        if any(np.isnan(row.place).any() for row in self.rows):
            said += " Right of an axis: the parameter is inactive."
        if self.n_trials > self.best.size:
            said += f" {self.best.size:,} of {self.n_trials:,} trials are drawn."
        return typeset(said)

    def chart(self) -> Chart:
        k = len(self.rows)
        height = np.arange(k)[::-1].astype(np.float64)
        off = any(np.isnan(row.place).any() for row in self.rows)
        place = np.array([np.where(np.isnan(row.place), OFF, row.place) for row in self.rows])
        right = OFF + 0.05 if off else 1.0
        marks: list[Mark] = [
            Segments(np.zeros(k), height, np.ones(k), height, "muted", 1.2),
        ]
        rest, best = ~self.best, self.best.copy()
        if self.chosen >= 0:
            best[self.chosen] = False
        n = max(int(rest.sum()), 1)
        styles = [(rest, "muted", 1.0, float(np.clip(20.0 / n, 0.18, 0.6))), (best, "primary", 1.5, 0.8)]
        if self.chosen >= 0:
            styles.append((np.arange(place.shape[1]) == self.chosen, "secondary", 3.0, 1.0))
        for here, role, width, opacity in styles:
            if here.any():
                marks.append(_threads(place[:, here], height, role, width, opacity))
        for row, h in zip(self.rows, height.tolist()):
            for p, text in row.ticks:
                anchor = "start" if p <= 0.02 else "end" if p >= 0.98 else "middle"
                marks.append(Text(p, h, text, "muted", anchor, dy=-11.0))
            if np.isnan(row.place).any():
                marks.append(Text(OFF, h, "off", "muted", "middle", dy=-11.0))
        labels = tuple((h, shortened(row.name, 16)) for row, h in zip(self.rows, height.tolist()))
        y = Axis("", 0.0, k - 0.75, labels)
        x = Axis("", -0.02, right, ())
        return Chart("Trials as lines", self.description, x, y, tuple(marks), rows=max(2 * k, 4), grid="")


def _threads(place: np.ndarray, height: np.ndarray, role: str, width: float, opacity: float) -> Segments:
    """Strokes between neighbouring axes, which leave the names below an axis free."""
    upper, lower = np.repeat(height[:-1] - NAMES, place.shape[1]), np.repeat(height[1:], place.shape[1])
    return Segments(place[:-1].ravel(), upper, place[1:].ravel(), lower, role, width, opacity)


def parallel_coordinates(
    study: Study, names: Sequence[str] | None = None, *, outcomes: Sequence[str] | None = None
) -> ParallelFigure:
    """Every trial told as a line through its parameters, log scales and levels as they are; the best stand out.

    A line leaves an axis on the right where the parameter is inactive. Of more than 200 trials the best are drawn, and
    others evenly through time. With two objectives the best are those on the front.

    Parameters
    ----------
    names : parameters to show, in this order; None is all that can vary
    outcomes : names of the objectives

    Raises
    ------
    ParameterError : no study, or no such parameter. UnavailableError : no trial was told.
    """
    owner = "plots.parallel_coordinates"
    checked_study(owner, study)
    space = study.space
    free = [name for name, parameter in space.parameters.items() if parameter.width]
    for name in names or ():
        if name not in free:
            raise ParameterError(owner, "names", f"among the parameters that can vary, {free}", name)
    told = [(t, v) for t in study.records if (v := values_of(t)) is not None and space.contains(t.params)]
    if not told:
        raise UnavailableError(f"{owner}: none of {len(study.records)} trials within the space has a value yet.")
    signs = [1.0 if direction == "minimize" else -1.0 for direction in directions(study)]
    value = np.array([v for _, v in told])
    feasible = np.array([kind_of(t) == "told" for t, _ in told])
    best, chosen = _best(study, [t.id for t, _ in told], value * signs, feasible)
    kept = _kept(best, chosen)
    points = [told[i][0].params for i in kept]
    said = outcomes or (["value"] if len(signs) == 1 else ["objective 1", "objective 2"])
    rows = [_row(name, space.parameters[name], points) for name in names or free]
    rows += [_outcome(name, value[kept, k], signs[k]) for k, name in enumerate(said)]
    where = int(np.flatnonzero(kept == chosen)[0]) if chosen >= 0 else -1
    return ParallelFigure(tuple(rows), best[kept], where, len(told), signs[0] > 0)


def _best(study: Any, ids: Sequence[int], values: np.ndarray, feasible: np.ndarray) -> tuple[np.ndarray, int]:
    """Which trials stand out, and which one is to be taken (−1: none)."""
    best = np.zeros(len(ids), dtype=bool)
    if values.shape[1] > 1:
        front, middle = {trial.id for trial in study.front}, balanced(study)
        taken = -1 if middle is None or middle.id not in ids else list(ids).index(middle.id)
        return np.array([i in front for i in ids]), taken
    if not feasible.any():
        return best, -1
    order = np.lexsort((values[:, 0], ~feasible))
    n = min(max(FEWEST_BEST, min(len(ids) // 10, MOST_BEST)), int(feasible.sum()))
    best[order[:n]] = True
    taken = study.best.id
    chosen = list(ids).index(taken) if taken in ids else -1
    if chosen >= 0:
        best[chosen] = True
    return best, chosen


def _kept(best: np.ndarray, chosen: int) -> np.ndarray:
    """Numbers of the trials that are drawn."""
    if len(best) <= MOST_LINES:
        return np.arange(len(best))
    first, rest = np.flatnonzero(best)[:MOST_LINES], np.flatnonzero(~best)
    room = max(MOST_LINES - first.size, 0)
    others = rest[np.linspace(0, rest.size - 1, room).astype(np.intp)] if room else rest[:0]
    extra = [chosen] if chosen >= 0 else []
    return np.unique(np.concatenate([first, others, np.array(extra, dtype=np.intp)]))


def _row(name: str, parameter: Any, points: Sequence[Mapping[str, Any]]) -> ParallelRow:
    place = np.full(len(points), np.nan)
    if parameter.kind == "categorical":
        k = len(parameter.choices)
        for i, point in enumerate(points):
            if name in point:
                place[i] = (parameter.index(point[name]) + 0.5) / k
        return ParallelRow(name, place, _levels(parameter.choices))
    present = [i for i, point in enumerate(points) if name in point]
    if present:
        place[present] = parameter.to_unit([points[i][name] for i in present])[:, 0]
    if hasattr(parameter, "choices"):
        return ParallelRow(name, place, _levels(parameter.choices))
    ends = [parameter.low, *([parameter.from_unit(np.array([[0.5]]))[0]] if parameter.log else []), parameter.high]
    at = np.clip(parameter.to_unit(ends)[:, 0], 0.0, 1.0)
    return ParallelRow(name, place, tuple((float(p), shown_value(v, 3)) for p, v in zip(at, ends)))


def _levels(choices: Sequence[Any]) -> tuple[tuple[float, str], ...]:
    """Names of levels, as far as there is room: all, shortened, or the first and the last."""
    k = len(choices)
    room = WIDE // k - 1
    places = [(i + 0.5) / k for i in range(k)]
    texts = [shown_value(choice) for choice in choices]
    if room < 3:
        return (places[0], shortened(texts[0], 14)), (places[-1], shortened(texts[-1], 14))
    return tuple((p, shortened(text, room) if room >= 4 else text[:room]) for p, text in zip(places, texts))


def _outcome(name: str, values: np.ndarray, sign: float) -> ParallelRow:
    """The objective's axis: by rank where bad values would press the good ones together."""
    low, high = float(values.min()), float(values.max())
    if high <= low:
        return ParallelRow(name, np.full(len(values), 0.5), ((0.5, number(low)),))
    quartiles = np.quantile(values, [0.25, 0.75])
    room = 3.0 * float(quartiles[1] - quartiles[0])
    if room > 0.0:
        low, high = (low, min(high, quartiles[1] + room)) if sign > 0 else (max(low, quartiles[0] - room), high)
    ends = [(0.0, number(float(low), 3)), (1.0, number(float(high), 3))]
    if sign > 0 and high < values.max():
        ends[1] = (1.0, f"≥ {ends[1][1]}")
    if sign < 0 and low > values.min():
        ends[0] = (0.0, f"≤ {ends[0][1]}")
    return ParallelRow(name, np.clip((values - low) / (high - low), 0.0, 1.0), tuple(ends))
