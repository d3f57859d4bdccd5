"""The coefficients of any fitted model as one table: mean, sd, interval, probability of the sign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from credo.errors import UnavailableError
from credo.numerics.readable import aligned, percent, share

__all__ = ["Coefficient", "CoefficientTable", "coefficients"]

#: the columns of a posterior's `summary` that a coefficient has
COLUMNS = ("mean", "sd", "lower", "upper", "prob_positive")


@dataclass(frozen=True)
class Coefficient:
    """Belief about one coefficient.

    name : of the feature, or "intercept"
    outcome : the class whose log-odds it moves, or the target; None where there is one
    mean, sd ; lower, upper : ends of the interval ; prob_positive : P(coefficient > 0)
    """

    name: str
    outcome: str | None
    mean: float
    sd: float
    lower: float
    upper: float
    prob_positive: float


class CoefficientTable(tuple[Coefficient, ...]):
    """Coefficients in order; prints as a table, and `table["x0"]` are those of a name.

    mass : of the intervals ; auxiliary : what else the likelihood learned (dispersion, shape, cut-points), alike
    """

    mass: float = 0.9
    auxiliary: tuple[Coefficient, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        found = [row for row in (*self, *self.auxiliary) if row.name == key]
        if not found:
            raise KeyError(key)
        return found[0] if len(found) == 1 else tuple(found)

    def __str__(self) -> str:
        outcomes = len({row.outcome for row in self}) > 1
        head = [*(["outcome"] if outcomes else []), "name", "mean", "sd", f"{percent(self.mass)} interval", "P(> 0)"]
        lines = [head]
        for row in (*self, *self.auxiliary):
            mean, sd, lower, upper = aligned([row.mean, row.sd, row.lower, row.upper], row.sd)
            names = [str(row.outcome), row.name] if outcomes else [row.name]
            lines.append([*names, mean, sd, f"{lower} … {upper}", share(row.prob_positive)])
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        left = 2 if outcomes else 1
        return "\n".join(
            "  ".join(c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip()
            for line in lines
        )


def coefficients(
    model: Any, mass: float = 0.9, *, features: Sequence[str] | None = None, outcomes: Sequence[str] = ()
) -> CoefficientTable:
    """Belief about every coefficient of a fitted model.

    Parameters
    ----------
    model : an estimator with a `posterior_`, alone, behind a feature map or at the end of a pipeline; a `TableModel`
    mass : what the central intervals hold
    features : names of the columns the model was fitted to; by default its own
    outcomes : names of the classes (of two, the coefficients are the second's) or targets; by default the model's

    Raises
    ------
    UnavailableError : a model without coefficients, or with a point estimate of them.

    Examples
    --------
    >>> import credo as cr
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]]); y = np.array([0.1, 0.9, 2.1, 2.9])
    >>> table = coefficients(cr.LinearRegression(prior=cr.Flat()).fit(X, y))
    >>> [row.name for row in table], round(table["x0"].mean, 2), bool(table["x0"].prob_positive > 0.99)
    (['intercept', 'x0'], 0.96, True)
    """
    if hasattr(model, "encoder"):  # a table's model knows the names
        return model.coefficients(mass)
    names = None if features is None else list(features)
    while not hasattr(model, "posterior_"):
        if isinstance(model, Pipeline):
            names = _names_out(model[:-1], names)
            model = model[-1]
        elif hasattr(model, "estimator_"):
            names = _names_out(model.features_, names)
            model = model.estimator_
        else:
            raise UnavailableError(
                f"{type(model).__name__} has no coefficients.",
                remedy="cr.average_effects(model, X) says how each column moves any model's prediction.",
            )
    return _table(model, mass, names, outcomes)


def _names_out(features: Any, names: list[str] | None) -> list[str] | None:
    """The names behind a transformer, or None where it makes none."""
    try:
        return list(map(str, features.get_feature_names_out(names)))
    except (AttributeError, ValueError):
        return None


def _table(model: Any, mass: float, names: list[str] | None, outcomes: Sequence[str]) -> CoefficientTable:
    summary = model.posterior_.summary(mass)
    own = list(summary)
    lead = 1 if own[:1] == ["intercept"] else 0
    mean = model.posterior_.mean
    named = isinstance(mean, Mapping)  # draws of several variables, each with its own name
    end = len(own) if named else lead + np.shape(mean)[-1]
    if names is not None and not named:  # an estimator fitted to arrays knows none
        own[lead : lead + len(names)] = names
    labels = outcomes or list(map(str, getattr(model, "classes_", ())))
    rows: list[Coefficient] = []
    others: list[Coefficient] = []
    for place, (name, belief) in enumerate(zip(own, summary.values(), strict=True)):
        each = [np.atleast_1d(belief[column]) for column in COLUMNS]
        n = each[0].size
        if place < end:
            marks = [(name, mark) for mark in _marks(n, labels)]
        else:
            marks = [(name if n == 1 else f"{name}[{i}]", None) for i in range(n)]
        found = [Coefficient(*marks[i], *(float(column[i]) for column in each)) for i in range(n)]
        (rows if place < end else others).extend(found)
    table = CoefficientTable(rows)
    table.mass, table.auxiliary = mass, tuple(others)
    return table


def _marks(n: int, labels: Sequence[str]) -> list[str | None]:
    """What tells n coefficients of one name apart."""
    if n == 1:
        return [labels[-1] if len(labels) == 2 else None]
    return list(labels) if len(labels) == n else [str(i + 1) for i in range(n)]
