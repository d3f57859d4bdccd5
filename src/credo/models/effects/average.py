"""Average marginal effects: how much the expected outcome moves with each column, averaged over rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError, UnavailableError
from credo.models.effects.columns import Columns, columns_of
from credo.numerics.readable import aligned, number, percent, share
from credo.numerics.weighted import weighted_quantile
from credo.prediction.law_draws import LawDraws

__all__ = ["AverageEffects", "Effect", "average_effects"]

# Of a column's sd: the error of a central difference is a hundred-millionth of the third derivative's share, and
# rounding leaves eleven digits.
STEP = 1e-4
# Levels beside the reference that a table of effects holds.
MOST_LEVELS = 30


@dataclass(frozen=True)
class Effect:
    """Belief about one average effect.

    column ; change : "+1", the slope in units of the column, or "level − reference" (for two numbers "high − low")
    outcome : the class whose probability moves, None for a number
    mean, sd ; lower, upper : ends of the interval ; prob_positive : P(effect > 0)
    """

    column: str
    change: str
    outcome: Any
    mean: float
    sd: float
    lower: float
    upper: float
    prob_positive: float


@dataclass(frozen=True, eq=False)
class AverageEffects(Sequence[Effect]):
    """Average marginal effects, a row each; prints as a table, and `effects["age"]` are those of a column.

    rows ; mass : of the intervals ; n_rows : rows averaged over
    draws (S, rows), weights (S,) : the joint posterior of the effects, for questions of one's own
    skipped : column → why it has none
    target : what the effects are on
    """

    rows: tuple[Effect, ...]
    mass: float
    n_rows: int
    draws: np.ndarray
    weights: np.ndarray
    skipped: dict[str, str]
    target: str = "y"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Effect]:
        return iter(self.rows)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return self.rows[key]
        found = [row for row in self.rows if row.column == key]
        if not found:
            known = list(dict.fromkeys(row.column for row in self.rows))
            raise ParameterError("AverageEffects", "column", f"one of {known}", key, self.skipped.get(key))
        return found[0] if len(found) == 1 else tuple(found)

    def __str__(self) -> str:
        outcomes = len({row.outcome for row in self.rows}) > 1
        head = ["column", "change", *(["outcome"] if outcomes else []), "effect", "sd"]
        lines = [[*head, f"{percent(self.mass)} interval", "P(> 0)"]]
        for row in self.rows:
            mean, sd, lower, upper = aligned([row.mean, row.sd, row.lower, row.upper], row.sd)
            names = [row.column, row.change, *([str(row.outcome)] if outcomes else [])]
            lines.append([*names, mean, sd, f"{lower} … {upper}", share(row.prob_positive)])
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        left = 3 if outcomes else 2
        table = [
            "  ".join(c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip()
            for line in lines
        ]
        one = next((row.outcome for row in self.rows if row.outcome is not None), None)
        of = f"expected {self.target}" if one is None else f"P({self.target} = {'…' if outcomes else one})"
        return "\n".join([*table, "", f"Changes in {of}, averaged over {self.n_rows:,} rows."])


def average_effects(model: Any, X: Any, columns: Sequence[str] | None = None, *, mass: float = 0.9) -> AverageEffects:
    """How much the expected outcome moves with each column, averaged over rows, with its uncertainty.

        number, x         (1/n) Σ_i ∂E[y | x_i, θ]/∂x, by central differences
        levels            (1/n) Σ_i E[y | x_i with the level, θ] − E[y | x_i with the reference, θ]

    for every draw θ of the posterior: the effects are on the scale of the outcome (counts, money, probabilities)
    whatever the link, and their intervals are the posterior's. They say how the *model* moves; whether the world would
    is a question of how the rows came about.

    Parameters
    ----------
    model : a fitted regression or classifier of Credo, alone, behind a feature map, at the end of a pipeline; or a
        `TableModel`
    X : rows to average over: an array, a data frame, or a table for a `TableModel`; of more than 1,000, as many spread
        evenly
    columns : names of the columns (x0, x1, … of an array); by default all
    mass : what the central intervals hold

    Returns
    -------
    AverageEffects : a row for a number, and one for each level beside the most frequent one; of several classes, for
        each of them.

    Raises
    ------
    ParameterError, UnavailableError : an unknown column; a model without draws from a posterior (a MAP fit).

    Notes
    -----
    A column of exactly two numbers is a contrast of the two. Cost: two predictions of the rows at every draw for a
    number, one a level.

    References
    ----------
    Gelman and Pardoe (2007), Sociological Methodology 37; Arel-Bundock, Greifer and Heiss (2024), Journal of
    Statistical Software 111.

    Examples
    --------
    >>> import credo as cr
    >>> rng = np.random.default_rng(0); X = rng.normal(size=(200, 2))
    >>> y = rng.random(200) < 1 / (1 + np.exp(-X[:, 0]))
    >>> effects = average_effects(cr.LogisticRegression().fit(X, y), X)
    >>> bool(0.1 < effects["x0"].lower < effects["x0"].upper < 0.3), effects["x1"].change
    (True, '+1')
    """
    if not 0.0 < mass < 1.0:
        raise ParameterError("average_effects", "mass", "between 0 and 1 (exclusive)", mass)
    source = columns_of("average_effects", model, X)
    labels, draws, weights, skipped = [], [], np.ones(1), {}
    for name in checked_names("average_effects", source, columns):
        changes = _changes(source, name)
        if isinstance(changes, str):
            skipped[name] = changes
            continue
        for change, effect, law in changes:
            weights = law.weights
            for outcome, values in _shown_classes(law.classes, effect):
                labels.append((name, change, outcome))
                draws.append(values)
    if not draws:
        why = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
        raise UnavailableError(f"No column has an effect to average ({why}).")
    table = np.stack(draws, axis=1)
    return AverageEffects(
        _rows(labels, table, weights, mass), mass, source.n_rows, table, weights, skipped, source.target
    )


def checked_names(owner: str, source: Columns, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns asked for, all by default."""
    if columns is None:
        return source.names
    wanted = (columns,) if isinstance(columns, str) else tuple(columns)
    odd = [name for name in wanted if name not in source.names]
    if odd:
        raise ParameterError(owner, "columns", f"some of {list(source.names)}", odd[0])
    return wanted


def is_number(values: np.ndarray) -> bool:
    return values.dtype.kind in "fiu"


def levels_of(values: np.ndarray) -> list[Any]:
    """Distinct present values, the most frequent first."""
    present = values[~_missing(values)]
    found, counts = np.unique(present.astype(str) if present.dtype.kind == "O" else present, return_counts=True)
    typed = {str(value): value for value in present.tolist()}
    ranked = found[np.argsort(-counts, kind="stable")].tolist()
    return [typed[str(level)] for level in ranked]


def _missing(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "O":
        return np.array([value is None or value != value for value in values.tolist()], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def _changes(source: Columns, name: str) -> str | Iterator[tuple[str, np.ndarray, LawDraws]]:
    """(what changes, draws of the average effect (S,) or (S, k), a law they are of); or why there are none."""
    values = source.values(name)
    levels = levels_of(values) if not is_number(values) else np.unique(values[~_missing(values)]).tolist()
    if len(levels) < 2:
        return "it is constant in these rows"
    if not is_number(values):
        if len(levels) > MOST_LEVELS + 1:
            return f"it has {len(levels)} levels"
        return _contrasts(source, name, levels[0], levels[1:])
    if len(levels) == 2:
        return _contrasts(source, name, levels[0], levels[1:])
    return _slope(source, name, np.asarray(values, dtype=np.float64))


def _contrasts(source: Columns, name: str, reference: Any, others: list[Any]) -> Iterator[Any]:
    base = source.law(name, reference).averages()
    for level in others:
        draws = source.law(name, level)
        yield f"{_text(level)} − {_text(reference)}", draws.averages() - base, draws


def _slope(source: Columns, name: str, values: np.ndarray) -> Iterator[Any]:
    step = STEP * float(np.nanstd(values))
    above, below = source.law(name, values + step), source.law(name, values - step)
    yield "+1", (above.averages() - below.averages()) / (2.0 * step), above


def _text(level: Any) -> str:
    if isinstance(level, bool):
        return str(level).lower()
    return number(level) if isinstance(level, (int, float)) else str(level)


def _shown_classes(classes: Any, effect: np.ndarray) -> list[tuple[Any, np.ndarray]]:
    """Of two classes the second says all."""
    if classes is None:
        return [(None, effect)]
    labels = np.asarray(classes).tolist()
    first = 1 if len(labels) == 2 else 0
    return [(label, effect[:, first + i]) for i, label in enumerate(labels[first:])]


def _rows(labels: list[Any], draws: np.ndarray, weights: np.ndarray, mass: float) -> tuple[Effect, ...]:
    mean, sd, lower, upper = summarised(draws, weights, mass)
    positive = weights @ (draws > 0.0)
    columns = zip(labels, mean, sd, lower, upper, positive, strict=True)
    return tuple(Effect(*label, *(float(value) for value in rest)) for label, *rest in columns)


def summarised(draws: np.ndarray, weights: np.ndarray, mass: float) -> tuple[np.ndarray, ...]:
    """Mean, sd and ends of the central interval of weighted draws (S, ...)."""
    mean = np.tensordot(weights, draws, 1)
    sd = np.sqrt(np.tensordot(weights, np.square(draws - mean), 1))
    lower, upper = weighted_quantile(draws, weights, np.array([(1.0 - mass) / 2.0, (1.0 + mass) / 2.0]))
    return mean, sd, lower, upper
