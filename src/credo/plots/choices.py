"""Which model, which action, how many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.decisions.losses import as_loss
from credo.decisions.rejection import CoverageRisk
from credo.diagnostics.labels import class_table, label_codes
from credo.errors import DataError, ParameterError
from credo.numerics.readable import aligned, number, percent, shortened, typeset
from credo.plots.chart import Band, Chart, Dots, Line, Mark, Segments, Text, axis, categories, logarithmic, spread_out

__all__ = [
    "ComparisonFigure", "comparison", "ExpectedLossFigure", "expected_loss", "NetBenefit", "net_benefit",
    "RejectionFigure", "rejection", "LearningCurve", "learning_curve",
]  # fmt: skip

GRID = 201


@dataclass(frozen=True)
class ComparisonFigure:
    """Models by what they lose to the best on rows held out.

    names : (k,) best first ; difference ≤ 0, error : (k,), mean per row and its paired standard error, 0 for the best
    chosen : name of the simplest within one standard error ; score : what is measured
    """

    names: tuple[str, ...]
    difference: np.ndarray
    error: np.ndarray
    chosen: str
    score: str = "log"

    def chart(self) -> Chart:
        at = np.arange(len(self.names))[::-1].astype(float)
        mine = np.array([name == self.chosen for name in self.names])
        known = np.isfinite(self.difference) & np.isfinite(self.error)
        shown = known & ~self._far(known)
        x = axis(
            f"{'nats' if self.score == 'log' else f'{self.score} score'} per row against the best, ± 1 standard error",
            (self.difference - self.error)[shown], (self.difference + self.error)[shown], 0.0, n=4,
        )  # fmt: skip
        marks: list[Mark] = [Segments(np.zeros(1), np.array([-0.6]), np.zeros(1), at[:1] + 0.6, "muted", 1.0)]
        for rows, role, hollow in ((shown & ~mine, "muted", True), (shown & mine, "primary", False)):
            if rows.any():
                d, e = self.difference[rows], self.error[rows]
                marks += [Segments(d - e, at[rows], d + e, at[rows], role), Dots(d, at[rows], role, 4.5, hollow=hollow)]
        marks += [Text(x.low, float(y), "◂ off the scale", "muted", dx=3.0) for y in at[known & ~shown]]
        roles = ["ink" if m else "muted" for m in mine]
        cells = [self._cell(i) for i in range(len(self.names))]
        room = 12.0 + 7.2 * max(map(len, cells))
        marks += [Text(x.high, y, cells[i], roles[i], "end", dx=room) for i, y in enumerate(at.tolist())]
        labels = categories([("▸ " if m else "") + shortened(name, 22) for name, m in zip(self.names, mine)])
        said = f"Best: {self.names[0]}. Chosen: {self.chosen}. " + " ".join(
            f"{name} {cell}." for name, cell in list(zip(self.names, cells))[1:]
        )
        return Chart(
            "Models on rows held out", said, x, labels, tuple(marks), margin=room + 6.0, rows=len(self.names), grid="x"
        )

    def _far(self, known: np.ndarray) -> np.ndarray:
        """Models that lose five times what the others do: to show them would hide how those differ."""
        far, lost = np.zeros(known.size, dtype=bool), np.where(known, self.error - self.difference, 0.0)
        for i in np.argsort(-lost, kind="stable")[: max(0, known.size - 2)]:
            rest = lost[~far].copy()
            rest[np.argmax(rest)] = 0.0
            if not lost[i] > 5.0 * rest.max() > 0.0:
                break
            far[i] = True
        return far

    def _cell(self, i: int) -> str:
        if i == 0:
            return "best"
        if not (np.isfinite(self.difference[i]) and np.isfinite(self.error[i])):
            return "-"
        d, e = aligned([float(self.difference[i]), float(self.error[i])], float(self.error[i]))
        return f"{typeset(d)} ± {e}"


def comparison(result: Any) -> ComparisonFigure:
    """Differences of held-out score with standard errors.

    result : a `Comparison`, or its record as JSON data (`TableModel.comparison`)

    >>> from credo.selection import candidates, compare
    >>> X = np.random.default_rng(0).normal(size=(60, 2)); y = X[:, 0] + 0.1 * np.sin(9.0 * X[:, 1])
    >>> comparison(compare(candidates("regression", 2), X, y)).chosen
    'linear'
    """
    if isinstance(result, dict):
        rows, chosen, scores = result["models"], result["chosen"], result["scores"]
    else:
        rows, chosen, scores = [vars(row) for row in result.rows], result.chosen, result.scores
    difference, error = (
        np.array([np.nan if row[key] is None else row[key] for row in rows], dtype=np.float64)
        for key in ("difference", "difference_error")
    )  # fmt: skip
    return ComparisonFigure(tuple(row["name"] for row in rows), difference, error, chosen, scores[0])


@dataclass(frozen=True)
class ExpectedLossFigure:
    """Expected loss of every action for one row.

    actions, loss : (m,) ; best, least : the action of least loss, and that loss ; mean, at_mean : of the plain mean
    """

    actions: np.ndarray
    loss: np.ndarray
    best: float
    least: float
    mean: float
    at_mean: float
    name: str
    action: str = "action"

    def chart(self) -> Chart:
        x, y = axis(self.action, self.actions, pad=0.0), axis("expected loss", self.loss, low=0.0)
        best, mean = (typeset(number(v)) for v in (self.best, self.mean))
        extra = self.at_mean / self.least - 1.0 if self.least > 0 else 0.0
        least = number(self.least, 3)
        said = (
            f"{best} is expected to cost {least}, the least of all; the mean, {mean}, costs {percent(extra, 2)} more."
        )
        marks: list[Mark] = [
            Line(self.actions, self.loss),
            Segments(
                np.array([self.best]),
                np.zeros(1),
                np.array([self.best]),
                np.array([self.least]),
                "primary",
                1.0,
                dashed=True,
            ),
            Dots(np.array([self.best]), np.array([self.least]), "primary", 5.0),
            Text(self.best, self.least, f"best: {best}", "primary", "middle", dy=16.0),
        ]
        if abs(self.mean - self.best) > 0.02 * np.ptp(self.actions):
            left = self.mean < self.best
            marks.append(Dots(np.array([self.mean]), np.array([self.at_mean]), "secondary", 5.0, hollow=True))
            marks.append(
                Text(
                    self.mean,
                    self.at_mean,
                    f"mean: {mean}",
                    "secondary",
                    "end" if left else "start",
                    dx=-9.0 if left else 9.0,
                    dy=-4.0,
                )
            )
        return Chart(f"What each {self.action.split(' ')[0]} is expected to cost", said, x, y, tuple(marks))


def expected_loss(
    predictive: Any, loss: Any, *, row: int = 0, actions: Any = None, action: str = "action"
) -> ExpectedLossFigure:
    """Expected loss against action for one row of a predictive of numbers.

    Parameters
    ----------
    predictive : of numbers ; row : which of its rows
    loss : a loss of `cr.losses`, or a function of (action, y)
    actions : (m,) to show; by default the 1 % to 99 % range of outcomes
    action : what an action is called

    Examples
    --------
    >>> import credo as cr
    >>> curve = expected_loss(cr.Normal(np.array([100.0]), 10.0), cr.losses.Linear(over=1, under=9))
    >>> round(curve.best, 1), curve.at_mean > curve.least
    (112.8, True)
    """
    loss = as_loss(loss)
    shape = np.shape(predictive.mean)
    if len(shape) != 1 or not 0 <= row < shape[0]:
        raise ParameterError("expected_loss", "row", f"one of the {shape[0] if shape else 0} rows", row)
    ends = np.asarray(
        predictive.quantile(np.array([0.01, 0.99]).reshape(2, *([1] if hasattr(predictive, "support") else [])))
    )
    grid = (
        np.linspace(ends[0, row], ends[1, row], GRID)
        if actions is None
        else np.sort(np.asarray(actions, dtype=np.float64))
    )

    def cost(values: np.ndarray) -> np.ndarray:
        table = np.broadcast_to(np.asarray(values, dtype=np.float64)[:, None], (len(values), shape[0]))
        return np.asarray(loss.expected(predictive, table))[:, row]

    best, mean = float(loss.act(predictive)[row]), float(np.asarray(predictive.mean)[row])
    least, at_mean = cost(np.array([best, mean]))
    return ExpectedLossFigure(grid, cost(grid), best, float(least), mean, float(at_mean), type(loss).__name__, action)


@dataclass(frozen=True)
class NetBenefit:
    """Net benefit of acting on a forecast, by the probability from which one acts.

    threshold, model, everyone : (m,) ; label : the class that is acted on
    """

    label: str
    threshold: np.ndarray
    model: np.ndarray
    everyone: np.ndarray

    def chart(self) -> Chart:
        gain = self.model - np.maximum(self.everyone, 0.0)
        useful = self.threshold[gain > 1e-12]
        said = (
            "Acting by the model beats acting always and never for thresholds "
            f"from {percent(useful[0], 2)} to {percent(useful[-1], 2)}."
            if useful.size
            else "Acting by the model beats acting always or never at no threshold."
        )
        low = -0.12 * max(float(self.model.max()), 1e-3)
        x = axis("act from this probability on", low=0.0, high=1.0, as_percent=True)
        y = axis("net benefit per row", self.model, low=low)
        shown = self.everyone >= low
        marks: list[Mark] = [
            Segments(np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1), "muted", 1.5, dashed=True),
            Line(self.threshold[shown], self.everyone[shown], "secondary", 1.5),
            Line(self.threshold, np.maximum(self.model, low), "primary", 2.5),
        ]
        at = int(np.searchsorted(self.threshold, 0.5))
        marks.append(Text(1.0, 0.0, "never", "muted", "end", dy=-10.0))
        marks.append(Text(float(self.threshold[at]), float(self.model[at]), "model", "primary", dx=4.0, dy=11.0))
        last = int(np.flatnonzero(shown)[-1]) if shown.any() else 0
        marks.append(
            Text(float(self.threshold[last]), float(self.everyone[last]), "always", "secondary", "end", dx=-8.0, dy=2.0)
        )
        return Chart(f"Is it worth acting on forecasts of {shortened(self.label, 20)}?", said, x, y, tuple(marks))


def net_benefit(predictive: Any, y: Any, label: Any = None, classes: Any = None) -> NetBenefit:
    """The decision curve: hits minus false alarms, a false alarm weighed at the odds t/(1 − t) of the threshold t.

        net benefit = hits/n − t/(1 − t) · false alarms/n

    Parameters
    ----------
    predictive, y, classes : class probabilities and labels, as in `cr.diagnostics.brier`
    label : the class that is acted on; by default the last

    References
    ----------
    Vickers and Elkin, Medical Decision Making 26 (2006) 565-574.

    Examples
    --------
    >>> curve = net_benefit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    >>> curve.model[49].round(3).item(), curve.everyone[49].round(3).item()
    (0.5, 0.0)
    """
    table, classes = class_table(predictive, classes)
    codes = label_codes(classes, y, "net_benefit")
    if codes.shape != table.shape[:1] or codes.size == 0:
        raise DataError(f"net_benefit: {codes.size} labels for {len(table)} rows of probabilities.", value=codes.shape)
    chosen = len(classes) - 1 if label is None else int(label_codes(classes, [label], "net_benefit.label")[0])
    p, hit = table[:, chosen], codes == chosen
    threshold = np.linspace(0.01, 0.99, 99)
    odds = threshold / (1.0 - threshold)
    acted = p[:, None] >= threshold
    model = (acted & hit[:, None]).mean(axis=0) - odds * (acted & ~hit[:, None]).mean(axis=0)
    everyone = hit.mean() - odds * (1.0 - hit.mean())
    return NetBenefit(str(classes[chosen]), threshold, model, everyone)


@dataclass(frozen=True)
class RejectionFigure:
    """Risk on the rows kept, when the doubtful ones are handed on."""

    curve: CoverageRisk
    loss: str = "mean loss"

    def chart(self) -> Chart:
        c = self.curve
        at = int(np.argmin(np.abs(c.coverage - 0.8)))
        said = (
            f"{self.loss.capitalize()}: {number(float(c.risk[-1]), 3)} on all rows, "
            f"{number(float(c.risk[at]), 3)} on the {percent(float(c.coverage[at]), 2)} least doubtful."
        )
        x = axis("share of rows kept", low=0.0, high=1.0, as_percent=True)
        y = axis(f"{self.loss} on the rows kept", c.risk, c.expected, low=0.0)
        names, ends = ("realised", "expected"), [float(c.risk[-1]), float(c.expected[-1])]
        gap = 0.075 * (y.high - y.low)
        marks: list[Mark] = [
            Line(c.coverage, c.risk),
            Line(c.coverage, c.expected, "secondary", 1.5, dashed=True),
            *(
                Text(1.0, h, name, role, dx=6.0)
                for h, name, role in zip(spread_out(ends, gap), names, ("primary", "secondary"))
            ),
        ]
        return Chart("What handing on the doubtful rows saves", said, x, y, tuple(marks), margin=64.0)


def rejection(curve: CoverageRisk, loss: str = "mean loss") -> RejectionFigure:
    """Draw what `cr.coverage_risk` found; `loss` is what it is called.

    >>> import credo as cr
    >>> from credo.prediction.classes import ClassPredictive
    >>> p = ClassPredictive([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]], ["a", "b"])
    >>> rejection(cr.coverage_risk(p, ["a", "a", "a"], cr.losses.ZeroOne()), "mistakes").chart().y.label
    'mistakes on the rows kept'
    """
    return RejectionFigure(curve, loss)


@dataclass(frozen=True)
class LearningCurve:
    """Scores by number of rows, a line for each model: sizes (m,), scores and errors name → (m,)."""

    sizes: np.ndarray
    scores: dict[str, np.ndarray]
    errors: dict[str, np.ndarray]
    score: str

    def chart(self) -> Chart:
        logs = np.log10(self.sizes)
        ends = [(s - self.errors[n], s + self.errors[n]) for n, s in self.scores.items()]
        y = axis(self.score, *(v for pair in ends for v in pair))
        roles = ("primary", "secondary", "tertiary", "muted")
        marks: list[Mark] = []
        for i, (name, s) in enumerate(self.scores.items()):
            role = roles[min(i, 3)]
            marks += [
                Band(logs, s - self.errors[name], s + self.errors[name], role),
                Line(logs, s, role),
                Dots(logs, s, role),
            ]
        heights = spread_out([float(s[-1]) for s in self.scores.values()], 0.075 * (y.high - y.low))
        names = [shortened(name, 16) for name in self.scores]
        marks += [
            Text(float(logs[-1]), h, n, roles[min(i, 3)], dx=10.0) for i, (h, n) in enumerate(zip(heights, names))
        ]
        said = "; ".join(
            f"{n}: {number(float(s[0]), 3)} at {int(self.sizes[0]):,} rows, "
            f"{number(float(s[-1]), 3)} at {int(self.sizes[-1]):,}"
            for n, s in self.scores.items()
        )
        margin = 18.0 + 7.0 * max(map(len, names))
        return Chart(
            "What more rows bring", f"{said}.", logarithmic("rows", self.sizes), y, tuple(marks), margin=margin
        )


def learning_curve(sizes: Sequence[int], scores: Any, score: str = "log score per row") -> LearningCurve:
    """Mean scores with standard errors against the number of rows.

    Parameters
    ----------
    sizes : (m,) increasing numbers of rows
    scores : name → (m, repeats) scores of fits to that many rows (or one such array)
    score : what they are

    Examples
    --------
    >>> curve = learning_curve([10, 100], {"line": [[-2.0, -1.8], [-1.2, -1.1]]})
    >>> curve.scores["line"].round(2).tolist()
    [-1.9, -1.15]
    """
    sizes_ = np.asarray(sizes, dtype=np.float64)
    named = scores if isinstance(scores, dict) else {"model": scores}
    tables = {str(name): np.asarray(value, dtype=np.float64) for name, value in named.items()}
    if sizes_.ndim != 1 or np.any(sizes_ <= 0) or np.any(np.diff(sizes_) <= 0) or not tables:
        raise ParameterError("learning_curve", "sizes", "increasing numbers of rows", sizes)
    for name, table in tables.items():
        if table.ndim != 2 or len(table) != sizes_.size or not np.all(np.isfinite(table)):
            raise DataError(
                f"learning_curve: scores of {name!r} are not ({sizes_.size}, repeats) finite numbers.", value=table
            )
    error = {
        name: t.std(axis=1, ddof=1) / np.sqrt(t.shape[1]) if t.shape[1] > 1 else np.zeros(len(t))
        for name, t in tables.items()
    }
    return LearningCurve(sizes_, {name: t.mean(axis=1) for name, t in tables.items()}, error, score)
