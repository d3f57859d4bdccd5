"""What is believed of a study's objective along each parameter, the others held where the study recommends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from credo.errors import ParameterError
from credo.numerics.readable import number, percent, shortened, typeset
from credo.plots.chart import Axis, Band, Chart, Dots, Line, Mark, Segments, axis, categories, logarithmic
from credo.plots.studies import trials_dots
from credo.plots.trials import ObjectiveBelief, checked_study, objective_belief

if TYPE_CHECKING:
    from credo.studies import Study, Trial

__all__ = ["SliceFigure", "shown_value", "slices"]

# Places along a parameter; whole numbers up to so many are shown one by one.
GRID, ONE_BY_ONE = 101, 12
# Trials that are drawn: more are a carpet, and a page of a megabyte.
MOST_DOTS = 300
# Characters of labels below a horizontal axis before they are set below each other instead.
WIDE = 38
# Bands further than so many interquartile ranges of the trials' values beyond them are cut.
BEYOND = 0.5


@dataclass(frozen=True)
class SliceFigure:
    """The objective along one parameter.

    name ; places (m,) : its values; on a logarithmic scale where `is_logarithmic`; levels : their names where they are
        shown one by one, else None
    middle, lower, upper (m,) : median of the belief, and the interval of `mass`
    at : place of the point at which the others are held, and `held` : that point
    tried (k, 2) : places and values of the trials ; limits : ends of the vertical axis, shared by slices
    active_in : "" or where the slice is, the parameter being inactive at the recommended point
    """

    name: str
    places: np.ndarray
    middle: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    at: float
    tried: np.ndarray
    limits: tuple[float, float]
    held: Mapping[str, Any]
    mass: float = 0.9
    levels: tuple[str, ...] | None = None
    is_logarithmic: bool = False
    outcome: str = "value"
    active_in: str = ""
    lower_is_better: bool = True

    @property
    def description(self) -> str:
        best = int(np.argmin(self.middle) if self.lower_is_better else np.argmax(self.middle))
        place = self.levels[best] if self.levels is not None else number(float(self.places[best]), 3)
        spread = float(np.ptp(self.middle))
        said = f"Along {shortened(self.name, 24)} belief is best at {place}"
        ends = f"{number(float(self.lower[best]), 3)} to {number(float(self.upper[best]), 3)}"
        said += f", {percent(self.mass)} of it from {ends}; it changes by {number(spread, 2)}."
        return typeset(said + (f" {self.active_in}" if self.active_in else ""))

    def chart(self) -> Chart:
        low, high = self.limits
        y = axis(self.outcome, low, high, n=4)
        title = f"{shortened(self.outcome, 16)} along {shortened(self.name, 24)}"
        if self.levels is None:
            return self._curve(title, y)
        labels = [shortened(level, 18) for level in self.levels]
        if sum(map(len, labels)) + 3 * len(labels) > WIDE:
            return self._rows(title, y, labels)
        x = Axis(
            shortened(self.name, 30),
            -0.6,
            len(labels) - 0.4,
            tuple((float(i), label) for i, label in enumerate(labels)),
        )
        marks: list[Mark] = []
        tried = self._seen
        if len(tried):
            marks.append(trials_dots(tried[:, 0] + _jitter(len(tried)), tried[:, 1], "muted"))
        at = np.arange(len(labels), dtype=np.float64)
        marks.append(Segments(at, self._within(self.lower), at, self._within(self.upper), "primary", 3.0))
        marks.append(Dots(at, self._within(self.middle), "primary", 4.5))
        marks += self._chosen(at, self.middle)
        return Chart(title, self.description, x, y, tuple(marks))

    def _curve(self, title: str, y: Axis) -> Chart:
        places = np.log10(self.places) if self.is_logarithmic else self.places
        ends = self.places[[0, -1]]
        label = shortened(self.name, 30) + (" (logarithmic)" if self.is_logarithmic else "")
        x = (
            logarithmic(label, ends)
            if self.is_logarithmic
            else axis(label, low=float(ends[0]), high=float(ends[1]), n=4)
        )
        if self.is_logarithmic:
            x = _thinned(replace(x, low=float(places[0]), high=float(places[-1])))
        marks: list[Mark] = [Band(places, self._within(self.lower), self._within(self.upper))]
        tried = self._seen
        if len(tried):
            seen = np.log10(tried[:, 0]) if self.is_logarithmic else tried[:, 0]
            marks.append(trials_dots(seen, tried[:, 1], "muted"))
        marks.append(Line(places, self._within(self.middle), "primary", 2.2))
        at = float(np.log10(self.at)) if self.is_logarithmic else self.at
        marks += self._chosen(np.array([at]), np.interp([at], places, self.middle))
        return Chart(title, self.description, x, y, tuple(marks), margin=22.0)

    def _rows(self, title: str, x: Axis, labels: Sequence[str]) -> Chart:
        """Levels below each other, values to the right."""
        k = len(labels)
        at = np.arange(k)[::-1].astype(np.float64)
        marks: list[Mark] = []
        tried = self._seen
        if len(tried):
            marks.append(trials_dots(tried[:, 1], k - 1 - tried[:, 0] + _jitter(len(tried)), "muted"))
        marks.append(Segments(self._within(self.lower), at, self._within(self.upper), at, "primary", 3.0))
        marks.append(Dots(self._within(self.middle), at, "primary", 4.5))
        chosen = int(self.at)
        marks.append(Dots(self._within(self.middle[[chosen]]), at[[chosen]], "secondary", 5.5))
        return Chart(title, self.description, x, categories(labels), tuple(marks), rows=k, grid="x")

    def _chosen(self, at: np.ndarray, middle: np.ndarray) -> list[Mark]:
        """Where the study recommends to be."""
        if self.levels is not None:
            at, middle = at[[int(self.at)]], middle[[int(self.at)]]
        return [Dots(at, self._within(middle), "secondary", 5.5)]

    @property
    def _seen(self) -> np.ndarray:
        """Trials within the picture; those beyond would make a line of its edge."""
        return self.tried[(self.tried[:, 1] >= self.limits[0]) & (self.tried[:, 1] <= self.limits[1])]

    def _within(self, values: np.ndarray) -> np.ndarray:
        """Values beyond the picture lie at its edge."""
        return np.clip(values, *self.limits)


def _jitter(n: int) -> np.ndarray:
    """Sideways steps, the same every time, so that dots of one level do not hide each other."""
    return 0.22 * (np.modf(np.arange(n) * 0.6180339887)[0] - 0.5)


def _thinned(x: Axis) -> Axis:
    """At most five of its ticks."""
    step = -(-len(x.ticks) // 5)
    return replace(x, ticks=x.ticks[::step] if step > 1 else x.ticks)


def shown_value(value: Any, digits: int = 4) -> str:
    """A parameter's value for a reader.

    >>> shown_value(0.000123456), shown_value(7), shown_value("rbf"), shown_value(True)
    ('0.0001235', '7', 'rbf', 'True')
    """
    if isinstance(value, float):
        return number(value, digits)
    return " ".join(str(value).split())


def slices(
    study: Study,
    names: Sequence[str] | None = None,
    *,
    at: Mapping[str, Any] | None = None,
    belief: ObjectiveBelief | None = None,
    objective: int = 0,
    mass: float = 0.9,
    outcome: str = "value",
) -> list[SliceFigure]:
    """What is believed of the objective along each parameter, the others held, as a figure each on one scale.

    Parameters
    ----------
    names : parameters to show; None is all that can vary
    at : the point at which the others are held; None is the one that the study recommends (of two objectives, that
        with the best value of the one shown). A parameter that is inactive there is shown at the best trial where it
        is active.
    belief : made before; None fits it ; objective : which of two ; mass : of the interval ; outcome : its name

    Raises
    ------
    ParameterError : no such parameter, `at` outside the space. UnavailableError : fewer than 4 trials were told.

    Examples
    --------
    >>> import credo as cr
    >>> study = cr.Study(cr.Space(x=cr.Real(0, 4), c=cr.Categorical(["a", "b"])), sampler="sobol", random_state=0)
    >>> for _ in range(16):
    ...     trial = study.ask()
    ...     _ = study.tell(trial, (trial["x"] - 1) ** 2 + (trial["c"] == "b"))
    >>> along, level = slices(study)
    >>> bool(abs(along.places[np.argmin(along.middle)] - 1) < 0.3), level.levels[np.argmin(level.middle)]
    (True, 'a')
    """
    owner = "plots.slices"
    checked_study(owner, study)
    if not 0.0 < mass < 1.0:
        raise ParameterError(owner, "mass", "between 0 and 1", mass)
    belief = objective_belief(study, objective, owner) if belief is None else belief
    free = [name for name, parameter in belief.space.parameters.items() if parameter.width]
    for name in names or ():
        if name not in free:
            raise ParameterError(owner, "names", f"among the parameters that can vary, {free}", name)
    ranked = [belief.trials[i] for i in np.argsort(belief.sign * belief.values, kind="stable").tolist()]
    ranked = [trial for trial in ranked if trial.is_feasible] or ranked
    if at is None:
        best = study.best.params if isinstance(study.direction, str) and _has_best(study) else ranked[0].params
        at = best if belief.space.contains(best) else ranked[0].params
    point = belief.space.check(at)
    lines = [one for name in names or free if (one := _line(belief, name, point, ranked)) is not None]
    places = [place for line in lines for place in line.points]
    every = belief.interval(places, mass) if places else ()  # at once, which is cheaper
    ends = np.cumsum([len(line.points) for line in lines])[:-1]
    found = [
        _slice(belief, line, mass, *parts) for line, *parts in zip(lines, *(np.split(each, ends) for each in every))
    ]
    limits = _limits(belief, found)
    return [replace(one, limits=limits, outcome=outcome) for one in found]


def _has_best(study: Study) -> bool:
    return any(trial.state == "told" and trial.is_feasible for trial in study.records)


class _Line(NamedTuple):
    """Where a slice goes: the values of its parameter, and their names where they are shown one by one."""

    name: str
    point: Mapping[str, Any]
    values: list[Any]
    levels: tuple[str, ...] | None
    note: str

    @property
    def points(self) -> list[dict[str, Any]]:
        return [{**self.point, self.name: value} for value in self.values]


def _line(belief: ObjectiveBelief, name: str, point: Mapping[str, Any], ranked: Sequence[Trial]) -> _Line | None:
    """None of a parameter that no trial had active."""
    note = ""
    if name not in point:
        trial = next((trial for trial in ranked if name in trial.params), None)
        if trial is None:
            return None
        point = belief.space.check(trial.params)
        note = f"It is inactive at the recommended point: shown at trial {trial.id}, the best where it matters."
    return _Line(name, point, *_values(belief.space.parameters[name]), note)


def _slice(
    belief: ObjectiveBelief, line: _Line, mass: float, middle: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> SliceFigure:
    name, point, values, levels, note = line
    seen = [(t.params[name], v) for t, v in zip(belief.trials, belief.values.tolist()) if name in t.params]
    log = bool(getattr(belief.space.parameters[name], "log", False)) and levels is None
    if levels is None:
        places, tried, at = np.array(values, dtype=np.float64), seen, float(point[name])
    else:
        index = {_key(value): float(i) for i, value in enumerate(values)}
        places = np.arange(len(values), dtype=np.float64)
        tried, at = [(index[_key(value)], v) for value, v in seen], index[_key(point[name])]
    dots = np.array(_spread(tried, belief.sign), dtype=np.float64).reshape(-1, 2)
    return SliceFigure(
        name, places, middle, lower, upper, at, dots, (0.0, 1.0), dict(point), mass, levels, log, active_in=note,
        lower_is_better=belief.sign > 0,
    )  # fmt: skip


def _spread(tried: list[tuple[float, float]], sign: float) -> list[tuple[float, float]]:
    """Of many trials the best half of `MOST_DOTS`, and others evenly through time."""
    if len(tried) <= MOST_DOTS:
        return tried
    order = np.argsort([sign * value for _, value in tried], kind="stable")
    rest = np.sort(order[MOST_DOTS // 2 :])
    others = rest[np.linspace(0, rest.size - 1, MOST_DOTS - MOST_DOTS // 2).astype(np.intp)]
    return [tried[i] for i in np.sort(np.concatenate([order[: MOST_DOTS // 2], others])).tolist()]


def _key(value: Any) -> tuple[str, Any]:
    from credo.design.spaces.choices import identity

    return identity(value)


def _values(parameter: Any) -> tuple[list[Any], tuple[str, ...] | None]:
    """Values to show, and their names where they are shown one by one."""
    if hasattr(parameter, "choices"):
        return list(parameter.choices), tuple(shown_value(value) for value in parameter.choices)
    if parameter.kind == "integer" and parameter.count <= ONE_BY_ONE:
        listed = list(range(parameter.low, parameter.high + 1))
        return listed, tuple(str(value) for value in listed)
    values = parameter.from_unit(np.linspace(0.0, 1.0, GRID)[:, None])
    return list(dict.fromkeys(values)), None


def _limits(belief: ObjectiveBelief, found: Sequence[SliceFigure]) -> tuple[float, float]:
    """A vertical axis that holds the middles, and of bands and trials what is not far away."""
    middle = np.concatenate([one.middle for one in found]) if found else belief.values
    quartiles = np.quantile(belief.values, [0.25, 0.75])
    room = BEYOND * float(quartiles[1] - quartiles[0])
    low, high = float(middle.min()), float(middle.max())
    bands = np.concatenate([np.append(one.lower, one.upper) for one in found]) if found else belief.values
    best = float(np.min(belief.values) if belief.sign > 0 else np.max(belief.values))
    low = min(max(float(bands.min()), low - room), best)
    high = max(min(float(bands.max()), high + room), best)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
