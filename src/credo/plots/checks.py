"""Predictions against outcomes: calibration, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from credo.diagnostics.brier import Reliability
from credo.diagnostics.calibration import PIT, Coverage
from credo.diagnostics.envelope import uniform_envelope
from credo.errors import DataError
from credo.numerics.readable import number, percent
from credo.plots.chart import Band, Chart, Dots, Line, Mark, Segments, axis

__all__ = [
    "ReliabilityFigure", "reliability", "PITFigure", "pit", "CoverageFigure", "coverage",
    "ResidualsFigure", "residuals", "QuantilesFigure", "normal_quantiles", "AutocorrelationFigure", "autocorrelation",
]  # fmt: skip

# Points that still show as points; of more a regular sample is drawn.
MOST_POINTS = 1000
# Groups of the running mean: each of 20 rows or more is known to a fifth of the scatter.
GROUPS, LEAST_GROUP = 12, 8


@dataclass(frozen=True)
class ReliabilityFigure:
    """A reliability curve, drawn: forecast against frequency with the band of calibrated forecasts."""

    curve: Reliability

    def chart(self) -> Chart:
        r = self.curve
        out = int(np.count_nonzero(~r.inside))
        said = (
            f"{r.forecast.size} groups of rows by forecast; in {r.forecast.size - out} the frequency lies where "
            f"calibrated forecasts put it with probability {percent(r.mass)}. Mean gap {percent(r.error, 2)}."
        )
        marks: list[Mark] = [
            Segments(np.zeros(1), np.zeros(1), np.ones(1), np.ones(1), "muted", 1.0, dashed=True),
            Segments(r.forecast, r.lower, r.forecast, r.upper, "primary", 7.0, 0.25),
            Line(r.forecast, r.frequency, "primary", 1.0),
            Dots(r.forecast[r.inside], r.frequency[r.inside], "primary", 4.0),
        ]
        if out:
            marks.append(Dots(r.forecast[~r.inside], r.frequency[~r.inside], "secondary", 5.0, hollow=True))
        x, y = (axis(label, low=0.0, high=1.0, as_percent=True) for label in ("forecast", "observed frequency"))
        return Chart("Do forecasts come true?", said, x, y, tuple(marks))


def reliability(curve: Reliability) -> ReliabilityFigure:
    """Draw what `cr.diagnostics.reliability` found; hollow marks lie outside the band of calibrated forecasts.

    >>> from credo.diagnostics import reliability as of
    >>> reliability(of([0.1, 0.1, 0.9, 0.9], [0, 0, 1, 1], n_bins=2)).chart().title
    'Do forecasts come true?'
    """
    return ReliabilityFigure(curve)


@dataclass(frozen=True)
class PITFigure:
    """Empirical cdf of the transforms minus the uniform cdf, with its simultaneous band."""

    transforms: PIT

    @property
    def departure(self) -> str:
        """A departure in words, by the gap's mean and its slope about the middle; "" if there is none."""
        e = self.transforms.envelope
        if e.inside:
            return ""
        gap = e.ecdf - e.points
        mean, tilt = float(gap.mean()), float(np.mean(gap * np.sign(0.5 - e.points)))
        if abs(mean) > abs(tilt):
            return f"Outcomes are {'lower' if mean > 0 else 'higher'} than predicted on the whole."
        return f"The distributions are too {'narrow' if tilt > 0 else 'wide'} on the whole."

    def chart(self) -> Chart:
        e = self.transforms.envelope
        z = np.concatenate([[0.0], e.points, [1.0]])
        lower, upper, line = (
            np.concatenate([[0.0], v - e.points, [0.0]]) for v in (e.lower, e.upper, e.ecdf)
        )  # fmt: skip
        said = (
            f"The transforms of {e.n:,} outcomes {'stay within' if e.inside else 'leave'} the band that uniform "
            f"ones stay in with probability {percent(e.mass)}. {self.departure}"
        ).strip()
        marks = (
            Band(z, lower, upper, "muted", 0.2),
            Segments(np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1), "muted", 1.0, dashed=True),
            Line(z, line, "primary" if e.inside else "secondary"),
        )
        x = axis("predicted probability of an outcome as low", low=0.0, high=1.0, as_percent=True)
        y = axis("more (+) or fewer outcomes than predicted", lower, upper, line, as_percent=True, n=4)
        return Chart("Are the distributions right?", said, x, y, marks)


def pit(transforms: PIT) -> PITFigure:
    """Draw what `cr.diagnostics.pit` found.

    >>> import credo as cr
    >>> y = cr.Normal(0, 1).quantile((np.arange(200) + 0.5) / 200)
    >>> figure = pit(cr.diagnostics.pit(cr.Normal(np.zeros(200), 1.0), y))
    >>> figure.chart().description
    'The transforms of 200 outcomes stay within the band that uniform ones stay in with probability 95 %.'
    """
    return PITFigure(transforms)


@dataclass(frozen=True)
class CoverageFigure:
    """Coverage of intervals by level: what was promised against what was held."""

    found: Coverage

    def chart(self) -> Chart:
        c = self.found
        each = [f"{percent(a)}: {percent(b)}" for a, b in zip(c.nominal, c.observed)]
        said = f"Share of {c.n:,} outcomes inside their intervals, by level: {', '.join(each)}."
        low = max(0.0, float(min(c.lower.min(), c.nominal.min())) - 0.08)
        marks = (
            Segments(np.array([low]), np.array([low]), np.ones(1), np.ones(1), "muted", 1.0, dashed=True),
            Segments(c.nominal, c.lower, c.nominal, c.upper, "primary", 2.0),
            Dots(c.nominal, c.observed, "primary", 4.5),
        )
        x, y = (axis(label, low=low, high=1.0, as_percent=True) for label in ("level promised", "outcomes inside"))
        return Chart("Do intervals hold what they promise?", said, x, y, marks)


def coverage(found: Coverage) -> CoverageFigure:
    """Draw what `cr.diagnostics.coverage` found, with 95 % limits of the true coverage.

    >>> import credo as cr
    >>> y = cr.Normal(0, 1).quantile((np.arange(100) + 0.5) / 100)
    >>> coverage(cr.diagnostics.coverage(cr.Normal(np.zeros(100), 1.0), y)).found.observed.tolist()
    [0.5, 0.8, 0.9, 0.95]
    """
    return CoverageFigure(found)


@dataclass(frozen=True)
class ResidualsFigure:
    """Residuals against fitted values (or a column) with their running mean.

    x, residual : points shown ; at, mean, error : of groups of equal count, with standard errors
    """

    label: str
    x: np.ndarray
    residual: np.ndarray
    at: np.ndarray
    mean: np.ndarray
    error: np.ndarray

    def chart(self) -> Chart:
        z = np.abs(self.mean) / np.where(self.error > 0, self.error, np.inf)
        far = number(float(z.max()), 2)
        said = f"The running mean of the residuals strays from zero by at most {far} standard errors."
        x, y = axis(self.label, self.x), axis("outcome minus prediction", self.residual)
        marks = (
            Dots(self.x, self.residual, "muted", 1.8, 0.4),
            Segments(np.array([x.low]), np.zeros(1), np.array([x.high]), np.zeros(1), "muted", 1.0, dashed=True),
            Band(self.at, self.mean - 2.0 * self.error, self.mean + 2.0 * self.error, "primary", 0.2),
            Line(self.at, self.mean),
        )
        return Chart(f"What is left, along {self.label}", said, x, y, marks)


def residuals(fitted: Any, residual: Any, label: str = "the fitted value") -> ResidualsFigure:
    """Residuals against fitted values or a column: a bend of the line is a misfit, a funnel is uneven noise.

    fitted, residual : (n,) ; label : what the first are

    >>> figure = residuals(np.linspace(-1, 1, 60), np.linspace(-1, 1, 60) ** 2 - 0.3)
    >>> bool(figure.mean[0] > 0 > figure.mean[len(figure.mean) // 2])
    True
    """
    x, e = np.asarray(fitted, dtype=np.float64), np.asarray(residual, dtype=np.float64)
    if x.shape != e.shape or x.ndim != 1 or x.size < 2 or not np.all(np.isfinite(x) & np.isfinite(e)):
        raise DataError("residuals needs two or more finite pairs.", value=(x.shape, e.shape))
    order = np.argsort(x, kind="stable")
    groups = np.array_split(order, max(2, min(GROUPS, x.size // LEAST_GROUP)))
    at, mean = np.array([x[g].mean() for g in groups]), np.array([e[g].mean() for g in groups])
    error = np.array([e[g].std(ddof=1) / np.sqrt(g.size) if g.size > 1 else np.nan for g in groups])
    step = max(1, -(-x.size // MOST_POINTS))
    return ResidualsFigure(label, x[::step], e[::step], at, mean, error)


@dataclass(frozen=True)
class QuantilesFigure:
    """Normal scores of predicted probabilities against those expected: a straight line if the predictive is right.

    expected, found : (m,) ; lower, upper : simultaneous band of mass 95 %
    """

    expected: np.ndarray
    found: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def chart(self) -> Chart:
        out = int(np.count_nonzero((self.found < self.lower) | (self.found > self.upper)))
        said = f"{out} of {self.found.size} quantiles lie outside the band of a right predictive."
        ends = np.array([min(self.expected[0], self.found[0]), max(self.expected[-1], self.found[-1])])
        x, y = axis("expected, in sd of the predictive", self.expected), axis("found", self.found, self.expected)
        marks = (
            Band(self.expected, np.maximum(self.lower, y.low), np.minimum(self.upper, y.high), "muted", 0.2),
            Segments(ends[:1], ends[:1], ends[1:], ends[1:], "muted", 1.0, dashed=True),
            Dots(self.expected, self.found, "primary", 2.5),
        )
        return Chart("Are the tails right?", said, x, y, marks)


def normal_quantiles(transforms: Any) -> QuantilesFigure:
    """Quantiles of Φ⁻¹(F(y)): points that rise above the line at the right, and fall below it at the left, are tails
    heavier than predicted.

    transforms : (n,) F(y), the values of `cr.diagnostics.pit`

    >>> figure = normal_quantiles((np.arange(200) + 0.5) / 200)
    >>> np.allclose(figure.expected, figure.found, atol=0.05)
    True
    """
    u = np.sort(np.asarray(transforms, dtype=np.float64))
    envelope = uniform_envelope(u)
    # Further out than this is one outcome in 10^15: the transform's own rounding.
    u = np.clip(u, 1e-15, 1.0 - 1e-15)
    n = u.size
    shown = np.unique(np.round(np.linspace(0, n - 1, min(n, 200))).astype(int))
    p = (shown + 0.5) / n
    # The band of the ecdf at u bounds the quantile at p: invert it.
    low = np.interp(p, np.concatenate([[0.0], envelope.upper, [1.0]]), np.concatenate([[0.0], envelope.points, [1.0]]))
    high = np.interp(p, np.concatenate([[0.0], envelope.lower, [1.0]]), np.concatenate([[0.0], envelope.points, [1.0]]))
    lower, upper = (ndtri(np.clip(v, 1e-15, 1.0 - 1e-15)) for v in (low, high))
    return QuantilesFigure(ndtri(p), ndtri(u[shown]), lower, upper)


@dataclass(frozen=True)
class AutocorrelationFigure:
    """Correlation of a series with itself, lag by lag.

    lags, correlation : (m,) ; limit : what independent values stay within, each with probability 95 %, or None
    """

    title: str
    lags: np.ndarray
    correlation: np.ndarray
    limit: float | None

    def chart(self) -> Chart:
        zero = np.zeros(self.lags.size)
        at = int(np.argmax(np.abs(self.correlation)))
        said = f"Largest at lag {self.lags[at]:g}: {self.correlation[at]:.2f}."
        x = axis("rows apart" if self.limit is not None else "draws apart", low=0.0, high=float(self.lags[-1]) + 0.7)
        # Draws are compared with perfect correlation, rows with none.
        ends = (1.0, 0.0) if self.limit is None else (self.limit, -self.limit)
        y = axis("correlation", self.correlation, *ends, n=4)
        marks: list[Mark] = []
        if self.limit is not None:
            wide = np.array([x.low, x.high])
            marks.append(Band(wide, np.full(2, -self.limit), np.full(2, self.limit), "muted", 0.2))
        marks += [
            Segments(np.array([x.low]), np.zeros(1), np.array([x.high]), np.zeros(1), "muted", 1.0),
            Segments(self.lags, zero, self.lags, self.correlation, "primary", 2.0),
            Dots(self.lags, self.correlation, "primary", 3.5),
        ]
        return Chart(self.title, said, x, y, tuple(marks))


def autocorrelation(
    series: Any, max_lag: int | None = None, title: str = "Do neighbouring rows leave alike?"
) -> AutocorrelationFigure:
    """Autocorrelation of residuals in the order of the rows, with the band of independent ones, ± 1.96/√n.

    series : (n,) ; max_lag : by default 10 log₁₀ n, as is customary

    >>> autocorrelation(np.tile([1.0, -1.0], 50)).correlation[0].round(2).item()
    -0.99
    """
    e = np.asarray(series, dtype=np.float64)
    if e.ndim != 1 or e.size < 4 or not np.all(np.isfinite(e)) or np.ptp(e) == 0.0:
        raise DataError("autocorrelation needs a series (n,) of four or more finite values that differ.", value=e.shape)
    e = e - e.mean()
    m = min(e.size - 2, round(10 * np.log10(e.size)) if max_lag is None else int(max_lag))
    found = np.array([e[k:] @ e[:-k] for k in range(1, m + 1)]) / (e @ e)
    return AutocorrelationFigure(title, np.arange(1.0, m + 1), found, 1.96 / np.sqrt(e.size))
