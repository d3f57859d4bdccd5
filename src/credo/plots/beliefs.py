"""What is believed about parameters: coefficients with intervals, one posterior with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.diagnostics.views import kind, quantiles
from credo.errors import DataError, ParameterError
from credo.numerics.readable import count, number, percent, share, shortened, typeset
from credo.plots.chart import Axis, Band, Chart, Dots, Line, Segments, Text, axis, categories

__all__ = ["CoefficientForest", "forest", "PosteriorDensity", "posterior_density"]

# What fits a page; more rows are read as a table.
MOST_ROWS = 20
# Points of a density: more than pixels show.
GRID = 256


@dataclass(frozen=True)
class CoefficientForest:
    """Coefficients with their intervals, largest first.

    names : (k,) ; mean, lower, upper, prob_positive : (k,)
    mass : of the interval ; unit : what a coefficient is counted in
    left_out : how many more there are, nearer to zero
    """

    names: tuple[str, ...]
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    prob_positive: np.ndarray
    mass: float
    unit: str
    left_out: int = 0

    def chart(self) -> Chart:
        at = np.arange(len(self.names))[::-1].astype(float)
        sure = np.maximum(self.prob_positive, 1.0 - self.prob_positive) >= 0.5 * (1.0 + self.mass)
        zero = Segments(np.zeros(1), np.array([-0.6]), np.zeros(1), np.array([len(at) - 0.4]), "muted", 1.0)
        marks: list[Any] = [zero]
        for chosen, role, hollow in ((sure, "primary", False), (~sure, "muted", True)):
            if chosen.any():
                marks.append(Segments(self.lower[chosen], at[chosen], self.upper[chosen], at[chosen], role, 2.0))
                marks.append(Dots(self.mean[chosen], at[chosen], role, 4.0, hollow=hollow))
        x = axis(self.unit, self.lower, self.upper, 0.0)
        marks += [
            Text(x.high, float(y), share(float(p)), "ink" if s else "muted", "end", dx=52.0)
            for y, p, s in zip(at, self.prob_positive, sure)
        ]
        marks.append(Text(x.high, len(at) - 0.4, "P(> 0)", "muted", "end", dx=52.0, dy=8.0))
        y = categories([shortened(name, 25) for name in self.names])
        return Chart(
            f"Coefficients with {percent(self.mass)} intervals", self._description(sure), x, y, tuple(marks),
            margin=58.0, head=18.0, rows=len(self.names), grid="x",
        )  # fmt: skip

    def _description(self, sure: np.ndarray) -> str:
        told = [f"{name} {number(m)}" for name, m, s in zip(self.names, self.mean, sure) if s]
        text = f"{count(len(self.names), 'coefficient')}, {self.unit}. "
        text += f"The sign is told of {', '.join(told)}." if told else "The sign of none is told."
        return text + (f" {self.left_out} nearer to zero are not shown." if self.left_out else "")


def forest(
    coefficients: Sequence[Any],
    mass: float = 0.9,
    scale: Mapping[str, float] | None = None,
    unit: str = "",
    most: int = MOST_ROWS,
) -> CoefficientForest:
    """A forest of coefficients, the intercept left out.

    Parameters
    ----------
    coefficients : records with name, mean, lower, upper, prob_positive (and outcome), such as
        `TableModel.coefficients(mass)`; or the dict that a posterior's `summary(mass)` returns
    mass : that their intervals were asked to hold
    scale : name → number that its coefficient is multiplied by, so that columns in different units can be compared: the
        standard deviation of a column gives the effect of one such step
    unit : the axis' label, such as "kg for one sd of the column"
    most : rows at most; those told best from zero are kept, with solid marks where the sign is outside the interval

    Raises
    ------
    DataError : nothing but an intercept.

    Examples
    --------
    >>> import credo as cr
    >>> model = cr.LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9])
    >>> forest(model.posterior_.summary(0.9)).names
    ('x0',)
    """
    rows = _rows(coefficients)
    rows = [row for row in rows if row["name"] != "intercept"]
    if not rows:
        raise DataError("There is no coefficient to draw but the intercept.", value=coefficients)
    sd = np.array([row["upper"] - row["lower"] for row in rows])
    told = np.abs([row["mean"] for row in rows]) / np.where(sd > 0, sd, np.inf)
    kept = sorted(np.argsort(-told, kind="stable")[:most].tolist())
    factor = np.array([1.0 if scale is None else float(scale.get(rows[i]["name"], 1.0)) for i in kept])
    table = {key: factor * np.array([float(rows[i][key]) for i in kept]) for key in ("mean", "lower", "upper")}
    order = np.argsort(-np.abs(table["mean"]), kind="stable")
    outcomes = {row["outcome"] for row in rows}
    names = [rows[i]["name"] if len(outcomes) == 1 else f"{rows[i]['outcome']}: {rows[i]['name']}" for i in kept]
    positive = np.array([float(rows[i]["prob_positive"]) for i in kept])
    return CoefficientForest(
        tuple(names[j] for j in order), table["mean"][order], table["lower"][order], table["upper"][order],
        positive[order], mass, unit or "coefficient", len(rows) - len(kept),
    )  # fmt: skip


def _rows(coefficients: Any) -> list[dict[str, Any]]:
    if isinstance(coefficients, Mapping):
        return [{"name": name, "outcome": None, **row} for name, row in coefficients.items()]
    keys = ("name", "mean", "lower", "upper", "prob_positive")
    return [{key: getattr(c, key) for key in keys} | {"outcome": getattr(c, "outcome", None)} for c in coefficients]


@dataclass(frozen=True)
class PosteriorDensity:
    """A belief about one number: its density on a grid, its mean and its central interval."""

    name: str
    x: np.ndarray
    density: np.ndarray
    mean: float
    lower: float
    upper: float
    mass: float

    def chart(self) -> Chart:
        inside = (self.x >= self.lower) & (self.x <= self.upper)
        x = np.concatenate([[self.lower], self.x[inside], [self.upper]])
        height = np.interp(x, self.x, self.density)
        top = float(self.density.max())
        at_mean = float(np.interp(self.mean, self.x, self.density))
        low, mean, high = (typeset(number(v, 3)) for v in (self.lower, self.mean, self.upper))
        marks = (
            Band(x, np.zeros_like(x), height),
            Line(self.x, self.density),
            Segments(np.array([self.mean]), np.zeros(1), np.array([self.mean]), np.array([at_mean]), "primary", 1.5),
            Text(self.mean, 0.0, mean, dx=5.0, dy=11.0),
            Text(self.lower, float(height[0]), low, anchor="end", dx=-6.0, dy=6.0),
            Text(self.upper, float(height[-1]), high, anchor="start", dx=6.0, dy=6.0),
        )
        said = f"Mean {mean}; between {low} and {high} with probability {percent(self.mass)}."
        bottom = Axis("", 0.0, 1.18 * top, ())
        return Chart(f"Belief about {self.name}", said, axis(self.name, self.x, pad=0.0), bottom, marks, grid="")


def posterior_density(belief: Any, name: str = "parameter", mass: float = 0.9) -> PosteriorDensity:
    """The density of one number with the interval that holds `mass`.

    Parameters
    ----------
    belief : a scalar family (`cr.Normal(0, 1)`), a predictive of one row, or draws (n,)
    name : of the number

    Notes
    -----
    Draws are smoothed by a Gaussian kernel of Silverman's width, 0.9 min(sd, IQR/1.34) n^(−1/5), on a grid.

    Raises
    ------
    DataError : draws that are not finite, not (n,), or all equal.

    Examples
    --------
    >>> figure = posterior_density(np.random.default_rng(0).normal(size=4000), "slope")
    >>> abs(figure.mean) < 0.1, figure.lower < -1.5
    (True, True)
    """
    if not 0.0 < mass < 1.0:
        raise ParameterError("posterior_density", "mass", "between 0 and 1 (exclusive)", mass)
    ends = np.array([0.5 * (1.0 - mass), 0.5 * (1.0 + mass)])
    if kind(belief) == "real":
        low, high, lower, upper = (float(np.squeeze(v)) for v in quantiles(belief, np.array([5e-4, 0.9995, *ends])))
        x = np.linspace(low, high, GRID)
        density = np.exp(np.array([float(np.squeeze(belief.log_prob(v))) for v in x]))
        return PosteriorDensity(name, x, density, float(np.squeeze(belief.mean)), lower, upper, mass)
    draws = np.asarray(belief, dtype=np.float64)
    if draws.ndim != 1 or draws.size < 2 or not np.all(np.isfinite(draws)) or np.ptp(draws) == 0.0:
        raise DataError("posterior_density needs draws (n,) that are finite and differ.", value=belief)
    x, density = smoothed(draws)
    lower, upper = np.quantile(draws, ends)
    return PosteriorDensity(name, x, density, float(draws.mean()), float(lower), float(upper), mass)


def smoothed(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A kernel density on a grid, from counts on it: O(n + GRID²)."""
    iqr = float(np.subtract(*np.quantile(draws, [0.75, 0.25]))) / 1.34
    width = 0.9 * (min(draws.std(), iqr) or draws.std()) * draws.size**-0.2
    # A far outlier would take all the grid.
    low, high = np.quantile(draws, [5e-4, 0.9995]) + np.array([-2.0, 2.0]) * width
    edges = np.linspace(low, high, GRID + 1)
    x = 0.5 * (edges[1:] + edges[:-1])
    counts = np.histogram(draws, edges)[0] / draws.size
    kernel = np.exp(-0.5 * np.square((x[:, None] - x) / width)) / (width * np.sqrt(2.0 * np.pi))
    return x, kernel @ counts
