"""What checking a model found: data beside data sets drawn from it, before and after they were seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from credo.errors import DataError
from credo.numerics.readable import count, number, shortened, typeset
from credo.plots.chains import calibration
from credo.plots.chart import Axis, Band, Bars, Chart, Dots, Figure, Line, Mark, Segments, Text, axis, categories
from credo.plots.checks import pit, reliability

if TYPE_CHECKING:
    from credo.program.check import ModelCheck, PosteriorCheck, PriorCheck, Statistic

__all__ = [
    "PriorQuantilesFigure", "ReplicatesFigure", "RootogramFigure", "StatisticsFigure",
    "figures_by_part", "model_check", "prior_quantiles", "replicates", "rootogram", "test_statistics",
]  # fmt: skip

# Replicates drawn as lines: enough for a spread to be seen, few enough for lines to be told apart.
LINES = 30
# Points of a density, and bins it is smoothed from.
GRID = 512
# Counts that find room as bars.
MOST_COUNTS = 40
# Beyond so many sds a statistic is drawn at the edge.
EDGE = 8.0
# Bands wider than so many ranges of the data are drawn on a scale that shortens what is far.
WIDE = 10.0


@dataclass(frozen=True)
class ReplicatesFigure:
    """Densities of the data and of replicates: x (m,) ; data (m,) ; each (k, m)."""

    node: str
    x: np.ndarray
    data: np.ndarray
    each: np.ndarray
    before: bool = False

    def chart(self) -> Chart:
        inside = np.mean((self.data >= self.each.min(axis=0)) & (self.data <= self.each.max(axis=0)))
        made = "drawn before any were seen" if self.before else "that the fitted model makes"
        said = (
            f"Density of {self.node} (thick) among {len(self.each)} data sets {made} (thin). The data lie between the "
            f"lowest and the highest of these along {100.0 * inside:.0f} % of the axis."
        )
        marks: list[Mark] = [Line(self.x, row, "muted", 0.7) for row in self.each]
        marks.append(Line(self.x, self.data, "primary", 2.4))
        top = 1.06 * float(max(self.data.max(), self.each.max()))
        title = f"{self.node}: the data among data sets {'of the prior' if self.before else 'of the model'}"
        return Chart(title, said, axis(self.node, self.x, pad=0.0), Axis("", 0.0, top, ()), tuple(marks), grid="")


def replicates(check: PosteriorCheck | PriorCheck) -> ReplicatesFigure:
    """Densities of the data and of 30 replicated data sets, over the range of the data and half of it beyond.

    check : of one observed node, `found.posterior["y"]` or `found.prior["y"]`
    """
    chosen = check.replicates[np.linspace(0, len(check.replicates) - 1, min(LINES, len(check.replicates))).astype(int)]
    y = check.y
    room = 0.25 * (float(np.ptp(y)) or abs(float(y[0])) or 1.0)
    low, high = float(y.min()) - room, float(y.max()) + room
    if check.kind == "count" or float(min(y.min(), chosen.min())) >= 0.0:
        low = max(low, 0.0)
    quartiles = np.quantile(y, [0.25, 0.75])
    spread = min(float(y.std()), float(quartiles[1] - quartiles[0]) / 1.349) or float(y.std()) or room
    width = 0.9 * spread * y.size**-0.2  # Silverman's rule
    edges = np.linspace(low, high, GRID + 1)
    x = 0.5 * (edges[1:] + edges[:-1])
    step = edges[1] - edges[0]

    def density(values: np.ndarray) -> np.ndarray:
        counts = np.histogram(values, edges)[0] / (values.size * step)
        # Mirrored at an end where the law stops, so that the curve does not fall there.
        return gaussian_filter1d(counts, width / step, mode="reflect" if low == 0.0 else "constant")

    each = np.array([density(row) for row in chosen])
    return ReplicatesFigure(check.node, x, density(y), each, check.before)


@dataclass(frozen=True)
class RootogramFigure:
    """Frequencies of counts, drawn as square roots: value (m,) ; observed ; lower, middle, upper of replicates."""

    node: str
    value: np.ndarray
    observed: np.ndarray
    lower: np.ndarray
    middle: np.ndarray
    upper: np.ndarray

    def chart(self) -> Chart:
        out = (self.observed < self.lower) | (self.observed > self.upper)
        where = ", ".join(number(v) for v in self.value[out][:8])
        said = (
            f"How often each count of {self.node} came (bars) and comes in data sets that the fitted model makes "
            f"(marks with 90 % of them), as square roots. {int(out.sum())} of {out.size} bars end outside"
            f"{f': {where}' if out.any() else ''}."
        )
        root = np.sqrt
        marks: list[Mark] = [
            Bars(self.value - 0.42, self.value + 0.42, np.zeros(out.size), root(self.observed), "primary", 0.35),
            Segments(self.value, root(self.lower), self.value, root(self.upper), "ink", 1.4),
            Dots(self.value, root(self.middle), "ink", 2.6),
        ]
        if out.any():
            marks.append(Dots(self.value[out], root(self.observed[out]), "secondary", 4.5, hollow=True))
        top = 1.08 * float(root(max(self.upper.max(), self.observed.max())))
        counts = [m * 10.0**e for e in range(9) for m in (1.0, 2.0, 5.0)]
        ticks = _apart([(0.0, "0"), *((float(np.sqrt(c)), number(c)) for c in reversed(counts))], top / 6.0, top)
        y = Axis("cells, on the scale of square roots", 0.0, top, ticks)
        x = axis(self.node, self.value - 0.6, self.value + 0.6, pad=0.0)
        return Chart(f"{self.node}: how often each count comes", said, x, y, tuple(marks))


def rootogram(check: PosteriorCheck) -> RootogramFigure:
    """Observed frequencies of counts beside those of replicates; square roots make deviations of rare and of frequent
    counts alike.

    Reference: Kleiber and Zeileis (2016), The American Statistician 70(3).

    Raises
    ------
    DataError : the outcomes are no counts, or too far apart to be drawn one by one.
    """
    if check.kind != "count":
        raise DataError(f"A rootogram is of counts, and {check.node} is {check.kind}.", value=check.kind)
    low, high = float(check.y.min()), max(float(check.y.max()), float(np.quantile(check.replicates, 0.999)))
    if high - low >= MOST_COUNTS:
        raise DataError(f"The counts of {check.node} range over {high - low + 1:.0f} values; {MOST_COUNTS} can be "
                        "drawn one by one.", value=(low, high), remedy="Use plots.replicates.")  # fmt: skip
    low = min(low, float(np.quantile(check.replicates, 0.001)))
    value = np.arange(low, high + 1.0)
    each = np.array([[np.count_nonzero(row == v) for v in value] for row in check.replicates])
    lower, middle, upper = np.quantile(each, [0.05, 0.5, 0.95], axis=0)
    return RootogramFigure(check.node, value, np.array([np.count_nonzero(check.y == v) for v in value], dtype=float),
                           lower, middle, upper)  # fmt: skip


@dataclass(frozen=True)
class StatisticsFigure:
    """Statistics of the data beside those of replicates, each in the replicates' sds."""

    node: str
    statistics: tuple[Statistic, ...]
    before: bool = False

    def chart(self) -> Chart:
        s = self.statistics
        k = len(s)
        at = np.arange(k)[::-1].astype(float)
        sd = np.array([each.sd if each.sd > 0 else 1.0 for each in s])
        mean = np.array([each.mean for each in s])
        low, high = ((np.array([getattr(e, end) for e in s]) - mean) / sd for end in ("low", "high"))
        z = np.clip([each.z for each in s], -EDGE, EDGE)
        bad = np.array([each.extreme for each in s])
        marks: list[Mark] = [
            Segments(np.zeros(1), np.array([-0.6]), np.zeros(1), np.array([k - 0.4]), "muted", 1.0, dashed=True),
            Segments(low, at, high, at, "muted", 6.0, 0.35),
        ]
        if (~bad).any():
            marks.append(Dots(z[~bad], at[~bad], "primary", 4.5))
        if bad.any():
            marks.append(Dots(z[bad], at[bad], "secondary", 5.0, hollow=True))
        x = axis("sds of the replicates from their mean", z, low, high, pad=0.06)
        for each, y, odd in zip(s, at, bad):
            marks.append(
                Text(x.high, float(y), typeset(number(each.observed, 3)), "secondary" if odd else "ink", "end", dx=52.0)
            )
            marks.append(Text(x.high, float(y), f"p {number(each.p_value, 2)}", "muted", "end", dx=124.0))
        marks.append(Text(x.high, k - 0.4, "data", "muted", "end", dx=52.0, dy=8.0))
        title = f"{self.node}: test statistics{', before data' if self.before else ''}"
        return Chart(title, self._said(), x, categories([shortened(e.name, 28) for e in s]), tuple(marks),
                     margin=130.0, head=18.0, rows=k, grid="x")  # fmt: skip

    def _said(self) -> str:
        bad = [str(each) for each in self.statistics if each.extreme]
        told = f"Beyond the replicates: {'; '.join(bad)}." if bad else "None of the data lies beyond the replicates."
        return f"{count(len(self.statistics), 'statistic')}; bars hold 90 % of the replicates. {told}"


def test_statistics(check: PosteriorCheck | PriorCheck) -> StatisticsFigure:
    """Every test statistic: mark the data, bar 90 % of the replicates, hollow what is extreme."""
    return StatisticsFigure(check.node, check.statistics, check.before)


test_statistics.__test__ = False  # type: ignore[attr-defined]  # pytest collects what begins with test_


@dataclass(frozen=True)
class PriorQuantilesFigure:
    """Quantiles of the data beside those of data sets drawn before any were seen; see `PriorCheck`."""

    check: PriorCheck

    def chart(self) -> Chart:
        c = self.check
        out = int(np.count_nonzero((c.quantiles < c.lower) | (c.quantiles > c.upper)))
        said = (
            f"Quantiles of {c.node} (thick), of nine in ten data sets drawn before any were seen (shaded), and of one "
            f"in the middle (dashed). {out} of {c.levels.size} quantiles of the data lie outside."
        )
        move, y = _shortening(c)
        marks = (
            Band(c.levels, move(c.lower), move(c.upper), "muted", 0.22),
            Line(c.levels, move(c.middle), "muted", 1.2, dashed=True),
            Line(c.levels, move(c.quantiles), "primary", 2.4),
        )
        x = axis("share of the cells that is lower", low=0.0, high=1.0, as_percent=True)
        return Chart(f"{c.node}: could the priors make these data?", said, x, y, marks)


def _shortening(c: PriorCheck) -> tuple[Callable[[Any], np.ndarray], Axis]:
    """Values → positions, and their axis: as they are, or where the band is far wider than the data on the scale of
    arsinh, which is linear among the data and logarithmic beyond."""
    centre, width = float(np.median(c.y)), float(np.ptp(c.y)) or abs(float(np.median(c.y))) or 1.0
    furthest = float(np.max(np.abs(np.concatenate([c.lower, c.upper]) - centre))) / width
    if furthest <= WIDE:
        return (lambda v: np.asarray(v)), axis(c.node, c.lower, c.upper, c.quantiles)

    def move(v: np.ndarray) -> np.ndarray:
        return np.arcsinh((np.asarray(v) - centre) / width)

    ends = move(np.array([min(c.lower.min(), c.y.min()), max(c.upper.max(), c.y.max())]))
    low, high = float(ends[0]) - 0.2, float(ends[1]) + 0.2
    powers = [10.0**k for k in range(12, -6, -1)]
    values = [centre, *(sign * p for p in powers for sign in (1.0, -1.0) if p > abs(centre) + width)]
    placed = [(float(move(np.array(v))), typeset(number(v, 3))) for v in values]
    return move, Axis(c.node, low, high, _apart([t for t in placed if t[0] > low], (high - low) / 9.0, high))


def _apart(ticks: Sequence[tuple[float, str]], gap: float, top: float) -> tuple[tuple[float, str], ...]:
    """Ticks up to `top`, those listed first preferred, none nearer to another than the gap."""
    kept: list[tuple[float, str]] = []
    for at, text in ticks:
        if at <= top and all(abs(at - other) >= gap for other, _ in kept):
            kept.append((at, text))
    return tuple(sorted(kept))


def prior_quantiles(check: PriorCheck) -> PriorQuantilesFigure:
    """Could the priors make these data? Quantiles of the data and of data sets drawn before any were seen."""
    return PriorQuantilesFigure(check)


def model_check(found: ModelCheck) -> tuple[Figure, ...]:
    """All pictures of a check, in the order of its text: priors, ranks of simulations, replicates.

    Examples
    --------
    >>> import credo as cr
    >>> from credo.program.check import check_model
    >>> m = cr.Model()
    >>> rate = m.latent("rate", cr.Gamma(shape=2, rate=0.5))
    >>> y = m.observed("y", cr.Poisson(rate), [2, 3, 1, 4, 2, 0, 3, 2])
    >>> [figure.chart().title for figure in model_check(check_model(m, random_state=0))]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['y: could the priors make these data?', 'y: how often each count comes',
     'y: test statistics', 'Are the distributions right?']
    """
    return tuple(figure for part in figures_by_part(found).values() for figure in part)


def figures_by_part(found: ModelCheck) -> dict[str, list[Figure]]:
    """Part, as in `ModelCheck.parts`, → its pictures."""
    simulations = found.simulations
    return {
        "prior": [test_statistics(before) if before.kind in ("class", "binary") else prior_quantiles(before)
                  for before in found.prior.values()],
        "inference": [] if simulations is None else [calibration(simulations.calibration)],
        "posterior": [figure for after in found.posterior.values() for figure in _of_replicates(after)],
    }  # fmt: skip


def _of_replicates(check: PosteriorCheck) -> Iterator[Figure]:
    if check.kind == "count":
        try:
            yield rootogram(check)
        except DataError:
            yield replicates(check)
    elif check.kind == "real":
        yield replicates(check)
    yield test_statistics(check)
    if check.pit is not None:
        yield pit(check.pit)
    if check.reliability is not None:
        yield reliability(check.reliability)
