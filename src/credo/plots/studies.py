"""A study's trials in their order, and which parameters matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import UnavailableError
from credo.numerics.readable import count, number, percent, shortened, typeset
from credo.plots.chart import (
    Axis,
    Bars,
    Chart,
    Dots,
    Line,
    Mark,
    Segments,
    Text,
    axis,
    categories,
    logarithmic,
    spread_out,
)  # fmt: skip
from credo.plots.trials import ObjectiveBelief, checked_study, kind_of, values_of

if TYPE_CHECKING:
    from credo.design.importance import Importance
    from credo.studies import Study

__all__ = [
    "HistoryFigure",
    "ImportancesFigure",
    "fenced",
    "history",
    "importances",
    "share_of_variance",
    "trials_dots",
    "whole_axis",
]

# More trials than this are shown small and faint.
MANY = 150
# Values that span more than this factor, all positive, are shown by their logarithm.
DECADES = 100.0
# The worst tenth of values is shown as far as it is no further beyond the others than so many times their range.
FENCE = 1.0
# Rows of a chart of importances.
MOST_PARAMETERS, MOST_PAIRS = 12, 3


def share_of_variance(share: float) -> str:
    """>>> share_of_variance(0.9999), share_of_variance(0.0123), share_of_variance(0.0001)
    ('100 %', '1.2 %', '< 1 %')
    """
    return "< 1 %" if share < 0.01 else f"{100.0 * share:.0f} %" if share >= 0.1 else percent(share, 2)


def explained(found: Importance) -> str:
    """What the shares rest on."""
    model = "A Gaussian process" if found.method == "process" else "A forest"
    share = percent(max(found.explained, 0.0))
    return f"{model} given the others foretells {share} of the variance of trials."


def whole_axis(label: str, n: int) -> Axis:
    """An axis of numbers 0 … n − 1, with ticks at whole ones only."""
    if n <= 8:
        return Axis(label, -0.6, n - 0.4, tuple((float(i), str(i)) for i in range(n)))
    return axis(label, low=-0.01 * n, high=1.01 * (n - 1))


def trials_dots(x: np.ndarray, y: np.ndarray, role: str = "ink", hollow: bool = False) -> Dots:
    """Trials as dots, smaller and fainter where there are many."""
    style = (2.8, 0.8) if len(x) <= MANY else (1.6, 0.35)
    return Dots(x, y, role, style[0] + (0.6 if hollow else 0.0), style[1], hollow)


def fenced(values: np.ndarray, direction: str) -> tuple[float, float]:
    """Ends of an axis that leave out bad values far beyond the others.

    >>> fenced(np.array([*range(20), 1000.0]), "minimize")
    (0.0, 36.0)
    """
    sign = 1.0 if direction == "minimize" else -1.0
    cost = sign * values
    low, most = float(cost.min()), float(np.quantile(cost, 0.9))
    high = min(float(cost.max()), most + FENCE * (most - low)) if most > low else float(cost.max())
    first, last = sorted((sign * low, sign * high))
    return first, last


@dataclass(frozen=True)
class HistoryFigure:
    """Trials in the order of asking.

    number, value (n,) : NaN where none was told ; kind (n,) : "told", "infeasible", "failed", "pruned"
    best (n,) : the best feasible value told until then, NaN before any
    believed (n,) : of a noisy study, the best posterior mean among the trials until then, given all; or None
    direction : "minimize" or "maximize"
    """

    number: np.ndarray
    value: np.ndarray
    kind: np.ndarray
    best: np.ndarray
    direction: str
    believed: np.ndarray | None = None
    outcome: str = "value"

    @property
    def is_logarithmic(self) -> bool:
        seen = self.value[np.isfinite(self.value)]
        return bool(seen.size > 1 and seen.min() > 0.0 and seen.max() > DECADES * seen.min())

    def _shown(self) -> tuple[float, float]:
        """Least and largest value in the picture."""
        seen = self.value[np.isfinite(self.value)]
        return (float(seen.min()), float(seen.max())) if self.is_logarithmic else fenced(seen, self.direction)

    @property
    def description(self) -> str:
        counts = {kind: int(np.sum(self.kind == kind)) for kind in ("told", "infeasible", "failed", "pruned")}
        said = ", ".join(f"{n:,} {kind}" for kind, n in counts.items() if n)
        said = f"{count(len(self.number), 'trial')}: {said}."
        known = np.flatnonzero(np.isfinite(self.best))
        if known.size:
            last = int(np.flatnonzero(self.best == self.best[-1])[0])
            said += f" The best value, {number(float(self.best[-1]))}, came with trial {int(self.number[last])}."
        low, high = self._shown() if np.isfinite(self.value).any() else (0.0, 0.0)
        far = int(np.sum((self.value < low) | (self.value > high)))
        if far:
            said += f" {count(far, 'value')} beyond the picture {'is' if far == 1 else 'are'} not shown."
        if np.any(self.kind == "infeasible"):
            said += " Hollow: constraints not met."
        if self.believed is not None:
            said += " The dashed line is the best mean of the belief, which luck does not lower."
        return typeset(said if self.direction == "minimize" else said.replace("does not lower", "does not raise"))

    def chart(self) -> Chart:
        x = whole_axis("trial", int(self.number.max()) + 1 if self.number.size else 1)
        title, wanted = "Values by trial", "lower" if self.direction == "minimize" else "higher"
        if not np.isfinite(self.value).any():
            y = Axis("", 0.0, 1.0, ())
            return Chart(title, self.description, x, y, tuple(self._lanes(0.3, 0.7)), margin=64.0, rows=2)
        log = self.is_logarithmic
        scale: Any = np.log10 if log else np.asarray
        low, high = self._shown()
        label = f"{self.outcome}, {wanted} is better"
        y = logarithmic(label, [low, high]) if log else axis(label, low, high)
        unit = y.high - y.low
        lanes = [kind for kind in ("failed", "pruned") if np.any(self.kind == kind)]
        floor = y.low - 0.08 * unit * len(lanes)
        marks: list[Mark] = self._lanes(floor + 0.04 * unit, floor + 0.12 * unit)
        shown = np.isfinite(self.value) & (self.value >= low) & (self.value <= high)
        for kind in ("infeasible", "told"):
            here = shown & (self.kind == kind)
            if here.any():
                style = ("muted", True) if kind == "infeasible" else ("ink", False)
                marks.append(trials_dots(self.number[here], scale(self.value[here]), *style))
        ends = []
        for line, name, role in ((self.best, "best so far", "primary"), (self.believed, "best mean", "secondary")):
            if line is None or not np.isfinite(line).any():
                continue
            at, height = _stairs(self.number, scale(np.where(line > 0, line, np.nan)) if log else line)
            marks.append(Line(at, np.clip(height, y.low, y.high), role, 2.2, dashed=role == "secondary"))
            ends.append((float(np.clip(height[-1], y.low, y.high)), name, role))
        heights = spread_out([end for end, *_ in ends], 0.085 * unit)
        marks += [Text(x.high, h, name, role, dx=5.0) for h, (_, name, role) in zip(heights, ends)]
        return Chart(title, self.description, x, Axis(y.label, floor, y.high, y.ticks), tuple(marks), margin=80.0)

    def _lanes(self, first: float, second: float) -> list[Mark]:
        """Strokes below the values for trials that have none."""
        marks: list[Mark] = []
        end = whole_axis("", int(self.number.max()) + 1 if self.number.size else 1).high
        heights, reach = iter((first, second)), 0.3 * (second - first)
        for kind, role in (("failed", "secondary"), ("pruned", "muted")):
            at = self.number[self.kind == kind]
            if at.size:
                y = np.full(at.size, next(heights))
                marks.append(Segments(at, y - reach, at, y + reach, role, 2.0 if at.size <= MANY else 1.0))
                marks.append(Text(end, float(y[0]), kind, role, dx=5.0))
        return marks


def _stairs(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A line that keeps its height until the next point; what is not known yet is left out."""
    known = np.isfinite(y)
    x, y = x[known], y[known]
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def history(study: Study, *, belief: ObjectiveBelief | None = None, outcome: str = "value") -> HistoryFigure:
    """Every trial of a study in its order: values, the best so far, what failed and what was pruned.

    Parameters
    ----------
    study : with one objective
    belief : of its objective (`plots.trials.objective_belief`): adds the best mean among the trials so far
    outcome : the objective's name

    Raises
    ------
    ParameterError : no study, or one of two objectives. UnavailableError : no trial is finished.

    Examples
    --------
    >>> import credo as cr
    >>> study = cr.Study(cr.Space(x=cr.Real(0, 4)), sampler="sobol", random_state=0)
    >>> for value in (3.0, 1.0, 2.0):
    ...     _ = study.tell(study.ask(), value)
    >>> history(study).best.tolist()
    [3.0, 1.0, 1.0]
    """
    checked_study("plots.history", study, objectives=1)
    trials = [trial for trial in study.records if trial.is_finished]
    if not trials:
        raise UnavailableError(f"plots.history: none of {len(study.records)} trials is finished.")
    told = [values_of(trial) for trial in trials]
    value = np.array([np.nan if values is None else values[0] for values in told])
    kind = np.array([kind_of(trial) for trial in trials])
    sign = 1.0 if study.direction == "minimize" else -1.0
    believed = None
    if belief is not None:
        mean = dict(zip((t.id for t in belief.trials), belief.moments([t.params for t in belief.trials])[0]))
        means = np.array([mean.get(t.id, np.nan) if k == "told" else np.nan for t, k in zip(trials, kind)])
        believed = sign * np.fmin.accumulate(sign * means)
    best = sign * np.fmin.accumulate(np.where(kind == "told", sign * value, np.nan))
    at = np.array([float(trial.id) for trial in trials])
    return HistoryFigure(at, value, kind, best, str(study.direction), believed, outcome)


@dataclass(frozen=True)
class ImportancesFigure:
    """Shares of the objective's variance, as `credo.design.importance.importance` gives them."""

    found: Importance
    outcome: str = ""

    @property
    def rows(self) -> list[tuple[str, float, float, float]]:
        """(name, share alone, sd, share with all it takes part in); of pairs the last two are equal."""
        found = self.found
        columns = (found.names, found.share.tolist(), found.sd.tolist(), found.total.tolist())
        pairs = [p for p in found.pairs[:MOST_PAIRS] if p.share >= 0.01]
        return [
            *list(zip(*columns))[:MOST_PARAMETERS],
            *((" × ".join(shortened(n, 10) for n in p.names), p.share, p.sd, p.share) for p in pairs),
        ]

    def chart(self) -> Chart:
        rows = self.rows
        at = np.arange(len(rows))[::-1].astype(np.float64)
        share, sd, total = (np.array([row[k] for row in rows]) for k in (1, 2, 3))
        nothing = np.zeros(len(rows))
        marks: list[Mark] = [
            Bars(nothing, total, at - 0.3, at + 0.3, "primary", 0.25),
            Bars(nothing, share, at - 0.3, at + 0.3, "primary", 0.9),
            Segments(np.maximum(share - sd, 0.0), at, np.minimum(share + sd, 1.0), at, "ink", 1.4),
        ]
        x = axis("share of the variance", low=0.0, high=1.0, as_percent=True, n=4)
        cells = [share_of_variance(s) for s in share.tolist()]
        marks += [Text(1.0, y, cell, "ink", "start", dx=6.0) for y, cell in zip(at.tolist(), cells)]
        labels = categories([shortened(name, 22) for name, *_ in rows])
        title = "Which parameters matter" + (f" for {shortened(self.outcome, 24)}" if self.outcome else "")
        return Chart(title, self.description, x, labels, tuple(marks), margin=52.0, rows=len(rows), grid="x")

    @property
    def description(self) -> str:
        found = self.found
        said = "; ".join(f"{name} {share_of_variance(share)}" for name, share, *_ in self.rows[:3])
        hidden = len(found.names) - MOST_PARAMETERS
        more = f" {count(hidden, 'parameter')} of smaller shares not shown." if hidden > 0 else ""
        told = f"Share of {self.outcome or 'the objective'}'s variance over the space: {said}."
        return typeset(
            f"{told} Dark: what a parameter does alone, ± 1 sd between trees; pale: all it takes part in.{more} "
            f"{explained(found)}"
        )


def importances(
    study: Study, *, objective: int = 0, outcome: str = "", found: Importance | None = None
) -> ImportancesFigure:
    """Which parameters matter, and which pairs of them; see `credo.design.importance`.

    Parameters
    ----------
    objective : which of two ; outcome : its name, for the title
    found : computed before; None computes it from the trials told, with far values pulled in

    Raises
    ------
    UnavailableError : too few trials, or values that do not vary.
    """
    if found is None:
        from credo.design.importance import importance

        checked_study("plots.importances", study)
        kept = [
            (t.params, v[objective]) for t in study.records if (v := values_of(t)) and study.space.contains(t.params)
        ]
        rng = np.random.default_rng(np.random.SeedSequence(study.seed, spawn_key=(1, objective)))
        found = importance(study.space, [p for p, _ in kept], [v for _, v in kept], rng, tame=True)
    return ImportancesFigure(found, outcome)
