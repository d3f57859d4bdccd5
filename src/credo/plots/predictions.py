"""What is predicted along one column, and which part of the doubt more data would remove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from credo.diagnostics.views import kind
from credo.errors import DataError, ParameterError
from credo.numerics.readable import number, percent, shortened
from credo.plots.chart import Band, Bars, Chart, Dots, Line, Mark, Segments, Text, axis, categories, spread_out

__all__ = [
    "PredictiveBand",
    "predictive_band",
    "ClassProbabilities",
    "class_probabilities",
    "UncertaintyShare",
    "uncertainty_share",
]

# Bins of the strip that shows where the rows are.
BINS = 24
# Share of the plot's height that the strip takes.
STRIP = 0.12
# Of the classes that are shown: as many as can be told apart.
ROLES = ("primary", "secondary", "tertiary")


@dataclass(frozen=True)
class PredictiveBand:
    """Predictions along a column.

    x : (m,), numbers; or names of levels
    mean, lower, upper : (m,) of a new outcome, interval of `mass`
    mean_lower, mean_upper : (m,) of its expectation: the epistemic part alone, in the same mass
    rows : (n, 2) of observed x and y, or None ; counts : rows at each level, of names
    """

    column: str
    outcome: str
    x: np.ndarray
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    mean_lower: np.ndarray
    mean_upper: np.ndarray
    mass: float
    rows: np.ndarray | None = None

    @property
    def is_categorical(self) -> bool:
        return np.asarray(self.x).dtype.kind in "OUS"

    def chart(self) -> Chart:
        if self.is_categorical:
            along = "is " + ", ".join(f"{number(float(m))} for {x}" for m, x in zip(self.mean, self.x))
        else:
            first, last = (f"{number(float(self.mean[i]))} at {number(float(self.x[i]))}" for i in (0, -1))
            along = f"goes from {first} to {last}"
        outcome, mean = (
            number(0.5 * float(np.median(high - low)), 3)
            for high, low in ((self.upper, self.lower), (self.mean_upper, self.mean_lower))
        )
        said = (
            f"The predicted {self.outcome} {along}. {percent(self.mass)} of new outcomes are expected within "
            f"± {outcome} of it; the mean is known to ± {mean}."
        )
        title = f"{shortened(self.outcome, 24)} along {shortened(self.column, 24)}"
        return self._levels(title, said) if self.is_categorical else self._curve(title, said)

    def _curve(self, title: str, said: str) -> Chart:
        x, y = axis(self.column, self.x, pad=0.0), axis(self.outcome, self.lower, self.upper)
        marks: list[Mark] = []
        if self.rows is not None:
            seen = self.rows[(self.rows[:, 1] >= y.low) & (self.rows[:, 1] <= y.high)]
            marks.append(Dots(seen[:, 0], seen[:, 1], "muted", 1.8, 0.35))
        marks += [
            Band(self.x, self.lower, self.upper, opacity=0.16),
            Band(self.x, self.mean_lower, self.mean_upper, "secondary", opacity=0.45),
            Line(self.x, self.mean),
        ]
        ends = [float(self.mean_upper[-1]), float(self.upper[-1])]
        gap = 0.075 * (y.high - y.low)
        labels = zip(spread_out(ends, gap), ("its mean", "outcome"), ("secondary", "primary"))
        marks += [Text(x.high, height, name, role, dx=5.0) for height, name, role in labels]
        return Chart(title, said, x, y, tuple(marks), margin=66.0)

    def _levels(self, title: str, said: str) -> Chart:
        at = np.arange(len(self.x))[::-1].astype(float)
        marks = (
            Segments(self.lower, at, self.upper, at, "primary", 7.0, 0.25),
            Segments(self.mean_lower, at, self.mean_upper, at, "secondary", 4.0, 0.8),
            Dots(self.mean, at, "primary", 3.5),
        )
        labels = categories([shortened(str(v), 24) for v in self.x])
        return Chart(title, said, axis(self.outcome, self.lower, self.upper), labels, marks, rows=len(at), grid="x")


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, str) else number(float(value))


def predictive_band(
    x: Any, predictive: Any, *, column: str = "x", outcome: str = "y", mass: float = 0.9, rows: Any = None
) -> PredictiveBand:
    """The interval of new outcomes along x, and within it the interval of their mean.

    The inner band is mean ± z √epistemic with z of `mass`: what the parameters leave open. What lies between the two is
    noise, which more rows will not remove.

    Parameters
    ----------
    x : (m,) values in order, or names of levels
    predictive : of numbers, at those m rows
    column, outcome : names
    rows : (x, y) of observed rows, to be drawn as dots

    Raises
    ------
    DataError : lengths that differ. UnavailableError : a point estimate, which has no epistemic part.

    Examples
    --------
    >>> import credo as cr
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = cr.LinearRegression().fit(X, X[:, 0] + 0.1 * np.cos(9 * X[:, 0]))
    >>> band = predictive_band(X[:, 0], model.predict_distribution(X))
    >>> bool(np.all(band.mean_upper < band.upper))
    True
    """
    x = np.asarray(x)
    if kind(predictive) not in ("real", "count") or x.shape != predictive.shape or x.size == 0:
        raise DataError(
            f"predictive_band: {x.size} places for a predictive of shape {np.shape(predictive)}.", value=x.shape
        )
    lower, upper = predictive.interval(mass)
    mean = np.asarray(predictive.mean)
    half = float(ndtri(0.5 * (1.0 + mass))) * np.sqrt(predictive.epistemic)
    seen = None if rows is None else np.column_stack([np.asarray(v, dtype=np.float64) for v in rows])
    return PredictiveBand(column, outcome, x, mean, lower, upper, mean - half, mean + half, mass, seen)


@dataclass(frozen=True)
class ClassProbabilities:
    """Probabilities of classes along a column: x (m,), probabilities (m, k), labels of the k classes shown."""

    column: str
    x: np.ndarray
    probabilities: np.ndarray
    labels: tuple[str, ...]
    left_out: int = 0

    @property
    def is_categorical(self) -> bool:
        return np.asarray(self.x).dtype.kind in "OUS"

    def chart(self) -> Chart:
        chart = self._levels if self.is_categorical else self._curves
        return chart(f"Probability along {shortened(self.column, 28)}", self._description())

    @property
    def _what(self) -> str:
        return f"probability of {self.labels[0]}" if len(self.labels) == 1 else "probability"

    def _description(self) -> str:
        shown = range(len(self.x)) if self.is_categorical else (0, -1)
        each = [
            f"of {label} is " + ", ".join(f"{percent(float(p[i]), 2)} at {_shown(self.x[i])}" for i in shown)
            for label, p in zip(self.labels, self.probabilities.T)
        ]
        more = f" {self.left_out} less probable classes are not shown." if self.left_out else ""
        return f"The probability {'; '.join(each)}.{more}"

    def _levels(self, title: str, said: str) -> Chart:
        at = np.arange(len(self.x))[::-1].astype(float)
        several = len(self.labels) > 1
        marks: list[Mark] = []
        for p, role, label in zip(self.probabilities.T, ROLES, self.labels):
            marks.append(Dots(p, at, role, 4.5, hollow=role != "primary"))
            if several:
                marks.append(Text(float(p[0]), float(at[0]), shortened(label, 12), role, "middle", dy=13.0))
        x, rows = axis(self._what, low=0.0, high=1.0, as_percent=True), [shortened(str(v), 24) for v in self.x]
        return Chart(
            title, said, x, categories(rows), tuple(marks), head=18.0 if several else 0.0, rows=len(at), grid="x"
        )

    def _curves(self, title: str, said: str) -> Chart:
        x, y = axis(self.column, self.x, pad=0.0), axis(self._what, low=0.0, high=1.0, as_percent=True)
        marks: list[Mark] = [Line(self.x, p, role) for p, role in zip(self.probabilities.T, ROLES)]
        if len(self.labels) == 1:
            return Chart(title, said, x, y, tuple(marks))
        heights = spread_out([float(p) for p in self.probabilities[-1]], 0.075)
        names = [shortened(label, 12) for label in self.labels]
        marks += [Text(float(self.x[-1]), h, name, role, dx=6.0) for h, name, role in zip(heights, names, ROLES)]
        return Chart(title, said, x, y, tuple(marks), margin=14.0 + 7.2 * max(map(len, names)))


def class_probabilities(
    x: Any, predictive: Any, *, column: str = "x", outcome: str | None = None
) -> ClassProbabilities:
    """Probabilities along x: of the second of two classes, or of the classes most probable somewhere (three at most).

    x : (m,) values in order, or names of levels ; predictive : of classes, at those m rows
    outcome : name of what has two classes

    >>> from credo.prediction.classes import ClassPredictive
    >>> p = ClassPredictive([[0.8, 0.2], [0.3, 0.7]], ["no", "yes"])
    >>> class_probabilities([0.0, 1.0], p, outcome="rain").labels
    ('rain = yes',)
    """
    x = np.asarray(x)
    if kind(predictive) != "class" or x.shape != predictive.shape or x.size == 0:
        raise DataError("class_probabilities needs a predictive of classes and a place for each row.", value=x.shape)
    table = predictive.probabilities
    if table.shape[1] == 2:
        chosen = np.array([1])
    else:
        chosen = np.sort(np.argsort(-table.max(axis=0), kind="stable")[: len(ROLES)])
    labels = tuple(str(predictive.classes[c]) for c in chosen)
    if len(labels) == 1 and outcome is not None:
        labels = (f"{outcome} = {labels[0]}",)
    return ClassProbabilities(column, x, table[:, chosen], labels, table.shape[1] - max(2, chosen.size))


@dataclass(frozen=True)
class UncertaintyShare:
    """Along a column, the share of the uncertainty that more data would remove, and where the rows are.

    x : (m,) numbers or names ; share : (m,) epistemic / (aleatoric + epistemic), in [0, 1]
    edges : (b + 1,) of bins, counts : (b,) rows in them; of names counts : (m,)
    measure : "variance" or "entropy"
    """

    column: str
    x: np.ndarray
    share: np.ndarray
    counts: np.ndarray
    edges: np.ndarray
    measure: str

    @property
    def is_categorical(self) -> bool:
        return np.asarray(self.x).dtype.kind in "OUS"

    def chart(self) -> Chart:
        at = int(np.argmax(self.share))
        top = max(0.05, 1.25 * float(self.share.max()))
        said = (
            f"At most {percent(float(self.share.max()), 2)} of the {self.measure}, at {_shown(self.x[at])}; "
            f"at least {percent(float(self.share.min()), 2)}, at {_shown(self.x[int(np.argmin(self.share))])}."
        )
        title = f"What more data would remove, along {shortened(self.column, 20)}"
        what = f"share of the {self.measure}"
        if self.is_categorical:
            rows = np.arange(len(self.x))[::-1].astype(float)
            wide = axis(what, low=0.0, high=min(1.0, top), as_percent=True, n=4)
            marks: tuple[Mark, ...] = (
                Segments(np.zeros(rows.size), rows, self.share, rows, "secondary", 7.0, 0.8),
                *(
                    Text(float(s), float(r), f"{int(c):,} rows", "muted", dx=8.0)
                    for s, r, c in zip(self.share, rows, self.counts)
                ),
            )
            labels = categories([shortened(str(v), 24) for v in self.x])
            return Chart(title, said, wide, labels, marks, margin=80.0, rows=len(rows), grid="x")
        y = axis(f"{what} (grey: where the rows are)", low=0.0, high=min(1.0, top), as_percent=True, n=4)
        heights = self.counts / max(1, self.counts.max()) * STRIP * y.high
        marks = (
            Bars(self.edges[:-1], self.edges[1:], np.zeros(heights.size), heights, "muted", 0.45),
            Band(self.x, np.zeros_like(self.share), self.share, "secondary", 0.2),
            Line(self.x, self.share, "secondary"),
        )
        return Chart(title, said, axis(self.column, self.x, pad=0.0), y, marks)


def uncertainty_share(x: Any, predictive: Any, observed: Any, *, column: str = "x") -> UncertaintyShare:
    """Where along x more data would help: epistemic / total uncertainty, with the density of rows.

    Parameters
    ----------
    x : (m,) values in order, or names of levels
    predictive : at those m rows: variance is split for numbers, entropy for classes
    observed : (n,) the column's values in the data

    Raises
    ------
    UnavailableError : a point estimate, which has no epistemic part.

    Examples
    --------
    >>> import credo as cr
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = cr.LinearRegression().fit(X, X[:, 0] + 0.1 * np.cos(9 * X[:, 0]))
    >>> shares = uncertainty_share(X[:, 0], model.predict_distribution(X), X[:, 0]).share
    >>> bool(shares[0] > shares[10])
    True
    """
    x, observed = np.asarray(x), np.asarray(observed)
    if x.shape != predictive.shape or x.size == 0:
        raise DataError(f"uncertainty_share: {x.size} places for {len(predictive)} rows.", value=x.shape)
    epistemic, aleatoric = np.asarray(predictive.epistemic), np.asarray(predictive.aleatoric)
    total = epistemic + aleatoric
    if not np.all(np.isfinite(total)):
        raise ParameterError("uncertainty_share", "predictive", "of finite variance", predictive, "Give more rows.")
    share = np.clip(np.where(total > 0.0, epistemic / np.where(total > 0.0, total, 1.0), 0.0), 0.0, 1.0)
    measure = "entropy" if kind(predictive) == "class" else "variance"
    if x.dtype.kind in "OUS":
        counts = np.array([np.count_nonzero(observed == level) for level in x])
        return UncertaintyShare(column, x, share, counts, np.array([]), measure)
    counts, edges = np.histogram(observed, BINS, range=(float(x.min()), float(x.max())))
    return UncertaintyShare(column, x, share, counts, edges, measure)
