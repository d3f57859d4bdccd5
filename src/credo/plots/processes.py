"""A Gaussian process along one column: a band, paths through it, and what the lengthscale does to both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.numerics.readable import count, number, percent, shortened, typeset
from credo.plots.chart import Axis, Band, Chart, Dots, Line, Mark, Text, axis, spread_out
from credo.plots.hyperparameters import Hyperparameters
from credo.plots.panels import stacked
from credo.plots.readings import Reading, column_names, reading

__all__ = ["FunctionBand", "LengthscalesFigure", "function_band", "lengthscales"]

# Places along the column: pixels of the picture, about.
GRID = 201
# How far beyond the rows the picture goes, relative to their range: there the belief returns to the prior.
BEYOND = 0.15
# More rows than this are shown small and faint.
MANY = 150
# Rows further from the band than this many of its heights would press it flat.
FAR = 1.0
# How far beyond the band paths may widen the picture, in heights of the band.
STRAY = 0.1
# Columns whose values are named on the axis.
NAMED = 2


@dataclass(frozen=True)
class FunctionBand:
    """What is believed of a function along a column.

    x, mean (m,) ; lower, upper (m,) : the function's interval of `mass`
    outcome_lower, outcome_upper (m,) : that of a new outcome, or None
    paths (k, m) : draws of the whole function ; rows (n, 2) : x and outcome seen, or None
    kind : "real"; "count", the function is a rate; "class", a probability
    prior : the same before any row was seen, or None
    """

    column: str
    outcome: str
    x: np.ndarray
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    mass: float
    paths: np.ndarray
    outcome_lower: np.ndarray | None = None
    outcome_upper: np.ndarray | None = None
    rows: np.ndarray | None = None
    kind: str = "real"
    prior: FunctionBand | None = None

    def chart(self) -> Chart:
        title = f"Belief about {shortened(self.outcome, 28)} along {shortened(self.column.split(' (')[0], 16)}"
        if self.prior is None:
            return self.panel(title, self._axis())
        y = _joined(self._axis(), self.prior._axis())
        seen = 0 if self.rows is None else len(self.rows)
        panels = [self.prior.panel("before any row was seen", y), self.panel(f"after {count(seen, 'row')}", y)]
        narrowed = float(np.median((self.upper - self.lower) / (self.prior.upper - self.prior.lower)))
        said = f"{self.description} Before any row was seen the interval was {number(1.0 / narrowed, 2)} times as wide."
        return stacked(title, said, panels, lines=8)

    @property
    def description(self) -> str:
        width = self.upper - self.lower
        best, worst = int(np.argmin(width)), int(np.argmax(width))
        show = (lambda v: percent(float(v), 2)) if self.kind == "class" else (lambda v: number(float(v), 3))
        ends = [f"{show(self.mean[i])} at {number(float(self.x[i]), 3)}" for i in (0, -1)]
        at_best, at_worst = (number(float(self.x[i]), 3) for i in (best, worst))
        said = (
            f"The {self.outcome} goes from {ends[0]} to {ends[1]}. It is known best at {at_best}, where "
            f"{percent(self.mass)} of belief spans {show(width[best])}, and least at {at_worst}, where it spans "
            f"{show(width[worst])}."
        )
        if len(self.paths):
            said += f" Thin: {count(len(self.paths), 'draw')} of the whole function."
        left_out = 0 if self.rows is None else int(np.sum(~self._near(self.rows[:, 1])))
        if left_out:
            said += f" {count(left_out, 'row')} far off {'is' if left_out == 1 else 'are'} not shown."
        return typeset(said)

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        lower = self.lower if self.outcome_lower is None else self.outcome_lower
        upper = self.upper if self.outcome_upper is None else self.outcome_upper
        return lower, upper

    def _near(self, y: np.ndarray) -> np.ndarray:
        low, high = float(np.min(self._ends()[0])), float(np.max(self._ends()[1]))
        return (y >= low - FAR * (high - low)) & (y <= high + FAR * (high - low))

    def _axis(self) -> Axis:
        if self.kind == "class":
            return axis(self.outcome, low=-0.04, high=1.04, as_percent=True)
        seen = np.empty(0) if self.rows is None else self.rows[:, 1]
        low, high = float(np.min(self._ends()[0])), float(np.max(self._ends()[1]))
        room = STRAY * (high - low)  # a path may leave the picture
        values = [*self._ends(), seen[self._near(seen)], np.clip(self.paths, low - room, high + room)]
        return axis(self.outcome, *values, low=-0.02 * float(np.max(self._ends()[1])) if self.kind == "count" else None)

    def panel(self, title: str, y: Axis) -> Chart:
        """The band alone, on a vertical axis that panels may share."""
        marks: list[Mark] = []
        ends = [(float(self.upper[-1]), "function", "secondary")]
        if self.outcome_lower is not None and self.outcome_upper is not None:
            marks.append(Band(self.x, self.outcome_lower, self.outcome_upper, opacity=0.22))
            ends.append((float(self.outcome_upper[-1]), "outcome", "primary"))
        marks.append(Band(self.x, self.lower, self.upper, "secondary", 0.3))
        marks += [Line(self.x, path, "tertiary", 0.9) for path in self.paths]
        marks.append(Line(self.x, self.mean, width=2.4))
        if self.rows is not None:
            seen, few = self.rows[self._near(self.rows[:, 1])], len(self.rows) <= MANY
            style: tuple[str, float, float] = ("ink", 2.8, 1.0) if few else ("ink", 1.5, 0.35)
            marks.append(Dots(seen[:, 0], seen[:, 1], *style))
        if self.kind == "class":
            ends = [(float(self.mean[-1]), "mean", "primary")]
        heights = spread_out([min(max(end, y.low), y.high) for end, *_ in ends], 0.085 * (y.high - y.low))
        marks += [
            Text(float(self.x[-1]), h, name, role, dx=5.0) for h, (_, name, role) in zip(heights, ends, strict=True)
        ]
        margin = 60.0 if self.kind != "class" else 44.0
        return Chart(title, self.description, axis(self.column, self.x, pad=0.0), y, tuple(marks), margin=margin)


def function_band(
    model: Any,
    X: Any = None,
    *,
    column: int | str = 0,
    at: Any = None,
    outcome: str = "y",
    output: Any = None,
    mass: float = 0.9,
    paths: int = 5,
    prior: bool = False,
    rows: Any = None,
    noise_scale: Any = None,
) -> FunctionBand:
    """What a Gaussian process believes of its function along one column, with rows seen and paths drawn.

    The inner band holds the function with probability `mass` at each x, the outer one a new outcome. Of classes the
    function is a probability, of counts a rate.

    Parameters
    ----------
    model : a fitted Gaussian process: regressor, classifier, or one of counts
    X : (m,) values of the column, or (m, d) rows; None takes 201 places over the rows seen, and 15 % beyond
    column : its number or name ; at : (d,) where the other columns are held; None is each column's median
    outcome : its name ; output : which target, or which class
    paths : how many draws of the function, always the same ones
    prior : adds the same before any row was seen; a flat mean then stands where the rows put it
    rows : (x, y) to be drawn instead of those seen, of which copies are one dot at their mean
    noise_scale : sd of the noise at X, needed for an outer band where `fit` was given one for each row

    Raises
    ------
    ParameterError : no Gaussian process, no such column or output. DataError : X of another shape, or not finite.

    Cost of predicting m rows, and m³ for paths.

    Examples
    --------
    >>> import credo as cr
    >>> x = np.array([[-2.0], [0.0], [1.0]])
    >>> model = cr.GaussianProcessRegressor(cr.kernels.RBF(1.0), noise=0, optimizer=None).fit(x, np.sin(x[:, 0]))
    >>> figure = function_band(model, prior=True)
    >>> at = np.argmin(np.abs(figure.x - 0.0))
    >>> width = figure.upper - figure.lower
    >>> bool(width[at] < 0.1 * width.max()), figure.paths.shape
    (True, (5, 201))
    """
    owner = "plots.function_band"
    _checked(owner, mass, paths)
    read = reading(owner, model, output)
    place = _Place.of(owner, model, read, X, column, at)
    name = outcome if read.kind == "real" else f"rate of {outcome}"
    if read.kind == "class":
        name = f"probability of {read.label}"
    elif read.label is not None:
        name = f"{outcome}, {read.label}"
    found = _band(read, place, name, mass, paths, False)
    around = read.outcomes(place.X, mass, noise_scale)
    if around is not None and np.any(around[1] - around[0] > 1.001 * (found.upper - found.lower)):
        found = replace(found, outcome_lower=around[0], outcome_upper=around[1])
    x, y = (read.X[:, place.index], read.y) if rows is None else _pair(owner, rows)
    shown = (x >= found.x[0]) & (x <= found.x[-1])
    before = _band(read, place, name, mass, paths, True) if prior else None
    return replace(found, rows=np.column_stack([x[shown], y[shown]]), prior=before)


def _checked(owner: str, mass: float, paths: int) -> None:
    if not 0.0 < mass < 1.0:
        raise ParameterError(owner, "mass", "between 0 and 1", mass)
    if not isinstance(paths, (int, np.integer)) or isinstance(paths, bool) or paths < 0:
        raise ParameterError(owner, "paths", "an integer ≥ 0", paths)


def _pair(owner: str, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    x, y = (np.asarray(each, dtype=np.float64).ravel() for each in rows)
    if x.size != y.size or not np.all(np.isfinite([x, y])):
        raise DataError(f"{owner}: rows are pairs of finite x and y, got {x.size} and {y.size} of them.", value=rows)
    return x, y


def _band(read: Reading, place: _Place, name: str, mass: float, paths: int, prior: bool) -> FunctionBand:
    known = read.known(place.X, mass, prior)
    drawn = read.paths(place.X, paths, prior)
    x = place.X[:, place.index]
    return FunctionBand(place.label, name, x, known.mean, known.lower, known.upper, mass, drawn, kind=read.kind)


@dataclass(frozen=True, eq=False)
class _Place:
    """Rows X (m, d) along the column `index`, and what the axis says."""

    X: np.ndarray
    index: int
    label: str

    @classmethod
    def of(cls, owner: str, model: Any, read: Reading, X: Any, column: Any, at: Any) -> _Place:
        names, d = column_names(model), read.X.shape[1]
        index = column_index(owner, "column", names, column)
        held = held_row(owner, read.X, at)
        label = held_label(names[index], names, held, (index,))
        if X is None:
            seen = read.X[:, index]
            room = BEYOND * float(np.ptp(seen)) or 0.5 * abs(float(seen[0])) or 1.0
            X = np.linspace(float(seen.min()) - room, float(seen.max()) + room, GRID)
        X = np.asarray(X, dtype=np.float64)
        if X.ndim == 1 or (X.ndim == 2 and X.shape[1] == 1 < d):
            values = X.ravel()
            X = np.tile(held, (values.size, 1))
            X[:, index] = values
        elif X.ndim == 2 and np.any(np.ptp(np.delete(X, index, axis=1), axis=0) > 0):
            label = names[index]  # the other columns move too
        elif X.ndim == 2 and len(X):
            label = held_label(names[index], names, X[0], (index,))
        if X.ndim != 2 or X.shape[1] != d or len(X) < 2 or not np.all(np.isfinite(X)):
            raise DataError(f"{owner}: X must be two or more finite rows of {d} columns.", value=X.shape)
        return cls(X[np.argsort(X[:, index], kind="stable")], index, label)


def column_index(owner: str, parameter: str, names: Sequence[str], column: Any) -> int:
    """The number of a column given by number or name."""
    if isinstance(column, str) and column in names:
        return list(names).index(column)
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < len(names):
        return int(column)
    raise ParameterError(owner, parameter, f"a number below {len(names)} or one of {', '.join(names)}", column)


def held_row(owner: str, X: np.ndarray, at: Any) -> np.ndarray:
    """Where columns that are not shown are held: medians that occur, so that codes of levels stay codes."""
    if at is None:
        return np.quantile(X, 0.5, axis=0, method="inverted_cdf")
    held = np.asarray(at, dtype=np.float64).ravel()
    if held.size != X.shape[1] or not np.all(np.isfinite(held)):
        raise DataError(f"{owner}: `at` must be {X.shape[1]} finite values, one a column.", value=at)
    return held


def held_label(label: str, names: Sequence[str], held: np.ndarray, shown: tuple[int, ...]) -> str:
    """The axis's label, and where the other columns are held."""
    others = [j for j in range(len(names)) if j not in shown]
    if not others:
        return label
    said = ", ".join(f"{shortened(names[j], 14)} = {number(float(held[j]), 3)}" for j in others[:NAMED])
    more = len(others) - NAMED
    return typeset(f"{shortened(label, 24)} ({said}{f' and {more} more held' if more > 0 else ''})")


def _joined(*axes: Axis) -> Axis:
    low, high = min(each.low for each in axes), max(each.high for each in axes)
    return axis(axes[0].label, low=low, high=high) if axes[0].label[:14] != "probability of" else axes[0]


@dataclass(frozen=True)
class LengthscalesFigure:
    """The same rows under several values of a hyperparameter.

    name ; values (k,), log_evidence (k,) ; factors (k,) of what was learned ; panels : a `FunctionBand` each
    """

    name: str
    values: np.ndarray
    factors: np.ndarray
    log_evidence: np.ndarray
    panels: tuple[FunctionBand, ...]

    def chart(self) -> Chart:
        y = _joined(*(panel._axis() for panel in self.panels))
        short = self.name.rsplit(".", 1)[-1]
        titles = [
            typeset(f"{short} {number(v, 3)} ({_factor(f)}): log evidence {number(e, 4)}")
            for v, f, e in zip(self.values.tolist(), self.factors.tolist(), self.log_evidence.tolist(), strict=True)
        ]
        best = int(np.argmax(self.log_evidence))
        said = "; ".join(titles) + f". The evidence is highest at {number(float(self.values[best]), 3)}."
        charts = [panel.panel(title, y) for panel, title in zip(self.panels, titles, strict=True)]
        return stacked(f"Belief by {short}", said, charts, lines=8)


def _factor(factor: float) -> str:
    if abs(factor - 1.0) < 1e-9:
        return "learned"
    return f"× {number(factor, 3)}" if factor > 1.0 else f"÷ {number(1.0 / factor, 3)}"


def lengthscales(
    model: Any,
    hyperparameter: str | None = None,
    *,
    factors: Sequence[float] = (0.25, 1.0, 4.0),
    X: Any = None,
    column: int | str = 0,
    at: Any = None,
    outcome: str = "y",
    output: Any = None,
    mass: float = 0.9,
    paths: int = 3,
    rows: Any = None,
    noise_scale: Any = None,
) -> LengthscalesFigure:
    """A lengthscale too short, as learned and too long: the band, paths and evidence at each, the rest held.

    The rows are conditioned on anew at each value; the model stays as it is.

    Parameters
    ----------
    hyperparameter : its name, or the end of it, as in `posterior_` or `result_.advice`; None is the lengthscale of the
        column. Any other that is positive can be named, the period or the noise.
    factors : what the learned value is multiplied by
    column, at, output, mass, paths, rows, noise_scale : as of `function_band`

    Raises
    ------
    ParameterError : no such hyperparameter (the message lists those there are), or several to choose from.

    Examples
    --------
    >>> import credo as cr
    >>> rng = np.random.default_rng(0); x = np.linspace(0, 6, 30)[:, None]
    >>> model = cr.GaussianProcessRegressor().fit(x, np.sin(x[:, 0]) + 0.1 * rng.normal(size=30))
    >>> figure = lengthscales(model)
    >>> int(np.argmax(figure.log_evidence)), bool(np.isclose(figure.log_evidence[1], model.log_evidence_))
    (1, True)
    """
    owner = "plots.lengthscales"
    multiples = np.asarray(factors, dtype=np.float64).ravel()
    if not multiples.size or not np.all(np.isfinite(multiples) & (multiples > 0.0)):
        raise ParameterError(owner, "factors", "one or more numbers > 0", factors)
    read = reading(owner, model, output)
    names = column_names(model)
    place = column_index(owner, "column", names, column)
    hyper = Hyperparameters.of(owner, model)
    chosen = hyper.lengthscale(place) if hyperparameter is None else hyper.index("hyperparameter", hyperparameter)
    panels, evidence, values = [], [], float(hyper.values[chosen]) * multiples
    if X is None:  # the same places in all panels
        X = _Place.of(owner, model, read, None, place, at).X
    for value in values.tolist():
        there = hyper.model_at(hyper.moved({chosen: value}))
        panels.append(
            function_band(
                there, X, column=place, at=at, outcome=outcome, output=output, mass=mass, paths=paths, rows=rows,
                noise_scale=noise_scale,
            )
        )  # fmt: skip
        evidence.append(there.log_evidence_)
    return LengthscalesFigure(hyper.names[chosen], values, multiples, np.array(evidence), tuple(panels))
