"""What a model expects along one column, the others as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.models.effects.average import checked_names, is_number, levels_of, summarised
from credo.models.effects.columns import columns_of

__all__ = ["ConditionalEffect", "conditional_effect"]

# Points along a number, between the quantiles that leave 1 % out: a wild value would take all of the picture.
POINTS = 41
ENDS = (0.005, 0.995)


@dataclass(frozen=True, eq=False)
class ConditionalEffect:
    """The expected outcome along a column.

    column ; values (G,) of it ; mass : of the intervals ; n_rows : rows averaged over
    mean, sd, lower, upper : (G,), or (G, k) probabilities of the k `classes`
    draws (S, G) or (S, G, k), weights (S,) : the joint posterior of the curve
    """

    column: str
    values: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    mass: float
    n_rows: int
    draws: np.ndarray
    weights: np.ndarray
    classes: np.ndarray | None = None

    def contrast(self, a: Any, b: Any) -> tuple[Any, Any, Any]:
        """Mean and interval ends of the curve at value b minus that at value a; both among `values`."""
        at = []
        for value in (a, b):
            where = np.flatnonzero(self.values == value)
            if where.size == 0:
                raise ParameterError("ConditionalEffect", "value", f"one of {self.values.tolist()}", value)
            at.append(int(where[0]))
        mean, _, lower, upper = summarised(self.draws[:, at[1]] - self.draws[:, at[0]], self.weights, self.mass)
        return mean, lower, upper


def conditional_effect(model: Any, X: Any, column: str, grid: Any = None, *, mass: float = 0.9) -> ConditionalEffect:
    """The expected outcome along one column, averaged over the rows of X with that column replaced.

        f(v; θ) = (1/n) Σ_i E[y | x_i with column = v, θ]

    for every draw θ: partial dependence with its uncertainty. Give one row as X for the effect in that row.

    Parameters
    ----------
    model, X, mass : as for `average_effects`
    column : name of the column (x0, x1, … of an array)
    grid : values of the column, numbers or levels; by default 41 between its 0.5 % and 99.5 % quantiles, or all levels

    Raises
    ------
    ParameterError : an unknown column; a grid that does not fit it, or none where one row or a constant column gives
        none.

    References
    ----------
    Friedman (2001), Annals of Statistics 29, §8.2.

    Examples
    --------
    >>> import credo as cr
    >>> rng = np.random.default_rng(0); X = rng.normal(size=(60, 2)); y = 2.0 * X[:, 0] + rng.normal(size=60)
    >>> curve = conditional_effect(cr.LinearRegression().fit(X, y), X, "x0", [-1.0, 0.0, 1.0])
    >>> curve.mean.shape, bool(curve.lower[2] > curve.upper[0])
    ((3,), True)
    """
    if not 0.0 < mass < 1.0:
        raise ParameterError("conditional_effect", "mass", "between 0 and 1 (exclusive)", mass)
    source = columns_of("conditional_effect", model, X)
    (name,) = checked_names("conditional_effect", source, [column])
    values = np.asarray(_grid(source.values(name)) if grid is None else _checked_grid(source.values(name), grid))
    laws = [source.law(name, value) for value in values.tolist()]
    draws = np.stack([law.averages() for law in laws], axis=1)
    mean, sd, lower, upper = summarised(draws, laws[0].weights, mass)
    return ConditionalEffect(
        name, values, mean, sd, lower, upper, mass, source.n_rows, draws, laws[0].weights, laws[0].classes
    )


def _grid(values: np.ndarray) -> Any:
    if not is_number(values):
        return sorted(levels_of(values), key=str)
    present = values[np.isfinite(values.astype(np.float64))]
    levels = np.unique(present)
    if levels.size < 2:
        raise ParameterError("conditional_effect", "grid", "given, since the column is constant in these rows", None)
    if levels.size <= POINTS and np.all(levels == np.round(levels)):
        return levels
    low, high = np.quantile(present, ENDS)
    return np.linspace(low, high, POINTS) if high > low else np.linspace(levels[0], levels[-1], POINTS)


def _checked_grid(values: np.ndarray, grid: Any) -> Any:
    found = np.atleast_1d(np.asarray(grid))
    if found.ndim != 1 or found.size == 0 or is_number(found) != is_number(values):
        kind = "numbers" if is_number(values) else f"levels such as {levels_of(values)[:3]}"
        raise ParameterError("conditional_effect", "grid", kind, grid)
    if is_number(found) and not np.all(np.isfinite(found)):
        raise ParameterError("conditional_effect", "grid", "finite", grid)
    if not is_number(found) and (strange := [level for level in found.tolist() if level not in levels_of(values)]):
        raise ParameterError("conditional_effect", "grid", f"levels such as {levels_of(values)[:3]}", strange[0])
    return found
