"""Did the chains of an MCMC run agree, did they move, and is the inference behind them right?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.diagnostics.binomial import binomial_quantile
from credo.diagnostics.mcmc import autocorrelation as chain_autocorrelation
from credo.diagnostics.mcmc import bfmi, rhat
from credo.diagnostics.sbc import Calibration
from credo.errors import DataError, ParameterError
from credo.numerics.readable import percent
from credo.plots.beliefs import smoothed
from credo.plots.chart import Axis, Band, Chart, Dots, Line, Mark, Segments, Text, axis, spread_out
from credo.plots.checks import AutocorrelationFigure

__all__ = [
    "Trace",
    "trace",
    "Ranks",
    "ranks",
    "chain_lags",
    "EnergyFigure",
    "energy",
    "PairFigure",
    "pair",
    "CalibrationFigure",
    "calibration",
]

# As many columns as a screen has for the plot; of longer chains a regular sample is drawn.
MOST_DRAWS = 500
# Bins of ranks: Vehtari et al. (2021) use 20.
BINS = 20
ROLES = ("primary", "secondary", "tertiary", "muted")


def _chains(owner: str, draws: Any, name: str, index: tuple[int, ...] | int = ()) -> np.ndarray:
    """(chains, draws) of one number: from `Draws` by name and index, or the array itself."""
    values = getattr(draws, "values", None)
    if values is not None and not callable(values):
        if name not in values:
            raise ParameterError(owner, "name", f"one of {', '.join(values)}", name)
        index = (index,) if isinstance(index, int) else tuple(index)
        draws = np.asarray(values[name])[(slice(None), slice(None), *index)]
    table = np.asarray(draws, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 4 or not np.all(np.isfinite(table)):
        raise DataError(
            f"{owner} shows one number: draws of shape (chains, draws), got {table.shape}.",
            value=table.shape,
            remedy="State the entry, such as name='w', index=0.",
        )
    return table


def _label(name: str, index: tuple[int, ...] | int) -> str:
    index = (index,) if isinstance(index, int) else tuple(index)
    return name + (f"[{','.join(map(str, index))}]" if index else "")


@dataclass(frozen=True)
class Trace:
    """Draws in their order: step (m,), draws (chains, m)."""

    name: str
    step: np.ndarray
    draws: np.ndarray
    rhat: float

    def chart(self) -> Chart:
        marks = tuple(Line(self.step, c, ROLES[min(i, 3)], 0.8) for i, c in enumerate(self.draws))
        said = (
            f"{len(self.draws)} chains. R̂ {self.rhat:.3f}: {'they agree' if self.rhat < 1.01 else 'they do not agree'}."
        )
        return Chart(
            f"Chains of {self.name}", said, axis("draw", self.step, pad=0.0), axis(self.name, self.draws), marks
        )


def trace(draws: Any, name: str = "parameter", index: tuple[int, ...] | int = ()) -> Trace:
    """Chains of one number, draw by draw: they should look alike and go nowhere.

    draws : `Draws`, or (chains, draws) ; name, index : which number

    >>> trace(np.random.default_rng(0).normal(size=(4, 100)), "w").rhat < 1.05
    True
    """
    table = _chains("trace", draws, name, index)
    step = max(1, table.shape[1] // MOST_DRAWS)
    label = _label(name, index)
    return Trace(label, np.arange(0.0, table.shape[1], step), table[:, ::step], float(rhat(table[..., None])[0]))


@dataclass(frozen=True)
class Ranks:
    """Ranks of each chain's draws among all: edges (b + 1,), share (chains, b), limits of a uniform share."""

    name: str
    edges: np.ndarray
    share: np.ndarray
    lower: float
    upper: float

    def chart(self) -> Chart:
        out = np.flatnonzero(((self.share < self.lower) | (self.share > self.upper)).any(axis=1)) + 1
        said = f"Chains out of the band of independent draws: {', '.join(map(str, out)) if out.size else 'none'}."
        x = np.repeat(self.edges, 2)[1:-1]
        marks: list[Mark] = [Band(self.edges[[0, -1]], np.full(2, self.lower), np.full(2, self.upper), "muted", 0.2)]
        marks += [Line(x, np.repeat(row, 2), ROLES[min(i, 3)], 1.3) for i, row in enumerate(self.share)]
        xs, ys = (
            axis("rank among all draws", self.edges, pad=0.0, as_percent=True),
            axis("share of the chain", self.share, low=0.0, as_percent=True),
        )
        return Chart(f"Ranks of {self.name}", said, xs, ys, tuple(marks))


def ranks(draws: Any, name: str = "parameter", index: tuple[int, ...] | int = ()) -> Ranks:
    """Ranks of each chain's draws among all chains': level for every chain if they sample one law.

    The band holds all bins of all chains of independent draws with probability 95 % (Bonferroni over binomials);
    correlated draws leave it more often.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter and Bürkner, Bayesian Analysis 16 (2021).

    >>> ranks(np.random.default_rng(0).normal(size=(4, 200)), "w").share.sum(axis=1).round(9).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    table = _chains("ranks", draws, name, index)
    chains, n = table.shape
    order = np.argsort(np.argsort(table.ravel(), kind="stable"), kind="stable").reshape(table.shape) / table.size
    edges = np.linspace(0.0, 1.0, BINS + 1)
    counts = np.stack([np.histogram(row, edges)[0] for row in order])
    tail = 0.025 / (chains * BINS)
    lower, upper = (float(binomial_quantile(q, n, 1.0 / BINS)) / n for q in (tail, 1.0 - tail))
    return Ranks(_label(name, index), edges, counts / n, lower, upper)


def chain_lags(
    draws: Any, name: str = "parameter", index: tuple[int, ...] | int = (), max_lag: int = 40
) -> AutocorrelationFigure:
    """Autocorrelation of the draws, mean over chains, lag by lag: how many draws make one independent one.

    >>> chain_lags(np.random.default_rng(0).normal(size=(4, 500)), "w").correlation.size
    40
    """
    table = _chains("chain_lags", draws, name, index)
    lags = min(max_lag, table.shape[1] - 2)
    found = chain_autocorrelation(table, lags).mean(axis=0)[1:]
    return AutocorrelationFigure(f"Autocorrelation of {_label(name, index)}", np.arange(1.0, lags + 1), found, None)


@dataclass(frozen=True)
class EnergyFigure:
    """Energies against their steps: x (m,), energy and step densities (m,), bfmi (chains,)."""

    x: np.ndarray
    energy: np.ndarray
    step: np.ndarray
    bfmi: np.ndarray

    def chart(self) -> Chart:
        least = float(self.bfmi.min())
        verdict = "the tails are explored" if least >= 0.3 else "the tails are explored slowly: reparameterise"
        top = float(max(self.energy.max(), self.step.max()))
        a, b = int(np.argmax(self.energy)), int(np.argmax(self.step))
        marks = (
            Band(self.x, 0.0 * self.x, self.energy, "primary"), Line(self.x, self.energy),
            Line(self.x, self.step, "secondary"),
            Text(float(self.x[a]), float(self.energy[a]), "energy", "primary", "end", dx=-10.0, dy=8.0),
            Text(float(self.x[b]), float(self.step[b]), "its steps", "secondary", dx=12.0, dy=10.0),
        )  # fmt: skip
        y = Axis("", 0.0, 1.15 * top, ())
        return Chart(
            "Energy and its steps",
            f"Least BFMI {least:.2f}: {verdict}.",
            axis("energy, centred", self.x, pad=0.0),
            y,
            marks,
            grid="",
        )


def energy(draws: Any) -> EnergyFigure:
    """Marginal energy of a Hamiltonian run against the energy of its steps: alike where momenta reach all energies.

    draws : `Draws` with `sample_stats["energy"]`, or energies (chains, draws)

    References
    ----------
    Betancourt (2017), A conceptual introduction to Hamiltonian Monte Carlo, §4.

    >>> energy(np.random.default_rng(0).normal(size=(4, 500))).bfmi.shape
    (4,)
    """
    stats = getattr(draws, "sample_stats", None)
    if stats is not None and "energy" not in stats:
        raise DataError("These draws have no energy: it was not a Hamiltonian run.", value=sorted(stats))
    table = _chains("energy", draws if stats is None else np.asarray(stats["energy"]), "energy")
    level, steps = (table - table.mean()).ravel(), np.diff(table, axis=1).ravel()
    (xa, a), (xb, b) = smoothed(level), smoothed(steps - steps.mean())
    x = np.linspace(min(xa[0], xb[0]), max(xa[-1], xb[-1]), xa.size)
    return EnergyFigure(x, np.interp(x, xa, a, 0.0, 0.0), np.interp(x, xb, b, 0.0, 0.0), np.atleast_1d(bfmi(table)))


@dataclass(frozen=True)
class PairFigure:
    """Draws of two numbers, and where the sampler diverged: (m,) each."""

    names: tuple[str, str]
    x: np.ndarray
    y: np.ndarray
    divergent: np.ndarray

    def chart(self) -> Chart:
        r, bad = float(np.corrcoef(self.x, self.y)[0, 1]), self.divergent
        said = f"Correlation {r:.2f}; {percent(float(bad.mean()), 2)} of the draws shown diverged."
        marks: list[Mark] = [Dots(self.x[~bad], self.y[~bad], "primary", 2.0, 0.4)]
        if bad.any():
            marks.append(Dots(self.x[bad], self.y[bad], "secondary", 3.5, hollow=True))
        return Chart(
            f"{self.names[0]} and {self.names[1]}",
            said,
            axis(self.names[0], self.x),
            axis(self.names[1], self.y),
            tuple(marks),
        )


def pair(draws: Any, first: Any, second: Any) -> PairFigure:
    """Draws of two numbers against each other, divergent ones hollow.

    draws : `Draws` ; first, second : name, or (name, index)

    >>> from credo.inference.draws import Draws
    >>> from credo.inference.result import Result
    >>> x = np.random.default_rng(0).normal(size=(4, 100, 2))
    >>> pair(Draws({"w": x}, Result("converged", "nuts")), ("w", 0), ("w", 1)).names
    ('w[0]', 'w[1]')
    """
    wanted = [(each, ()) if isinstance(each, str) else (each[0], each[1]) for each in (first, second)]
    x, y = (_chains("pair", draws, name, index).ravel() for name, index in wanted)
    divergent = np.asarray(draws.sample_stats.get("divergent", np.zeros(x.size)), dtype=bool).ravel()
    step = max(1, x.size // 2000)
    # Divergences are few, and are what the picture is for: all are kept.
    kept = np.union1d(np.arange(0, x.size, step), np.flatnonzero(divergent))
    names = (_label(*wanted[0]), _label(*wanted[1]))
    return PairFigure(names, x[kept], y[kept], divergent[kept])


#: names that find room beside their lines; the description has all
MOST_NAMES = 5
#: where the ranks of the truth gather → what that says of the posterior
WRONG = {
    "low": "puts {} too high",
    "high": "puts {} too low",
    "ends": "is too narrow about {}",
    "middle": "is too wide about {}",
}


@dataclass(frozen=True)
class CalibrationFigure:
    """Ranks of the truth, by quantity: their empirical cdf minus the uniform one, with the band they share.

    points, lower, upper : (m,) of the band ; gaps : label → (m,) ; wrong : label → where its ranks gather
    """

    points: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    gaps: dict[str, np.ndarray]
    wrong: dict[str, str]
    simulations: int
    alarm: float

    def chart(self) -> Chart:
        marks: list[Mark] = [
            Band(self.points, self.lower, self.upper, "muted", 0.2),
            Segments(np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1), "muted", 1.0, dashed=True),
        ]
        marks += [Line(self.points, gap, "primary", 1.2) for label, gap in self.gaps.items() if label not in self.wrong]
        marks += [Line(self.points, self.gaps[label], "secondary", 2.0) for label in self.wrong]
        x = axis("rank of the truth among the draws", low=0.0, high=1.0, as_percent=True)
        shown = (self.lower, self.upper, *self.gaps.values())
        # Room above and below for the names.
        y = axis("more (+) or fewer ranks than uniform", *shown, pad=0.12, as_percent=True, n=4)
        return Chart("Is the inference right on average?", self._said(), x, y, (*marks, *self._names()))

    def _said(self) -> str:
        many = f"{len(self.gaps)} quantities" if len(self.gaps) > 1 else next(iter(self.gaps))
        said = f"Ranks of {many} in {self.simulations:,} simulations"
        if not self.wrong:
            return f"{said} stay in the band, which a right inference leaves with probability {percent(self.alarm)}."
        faults = []
        for where, words in WRONG.items():
            if labels := [label for label, each in self.wrong.items() if each == where]:
                faults.append(words.format(", ".join(labels)))
        return f"{said}: {len(self.wrong)} outside the band. On the whole the posterior {'; '.join(faults)}."

    def _names(self) -> list[Text]:
        """Those that fail, if few, each beside its line about where it strays furthest, apart from the others."""
        labels = list(self.wrong) if len(self.wrong) <= MOST_NAMES else []
        furthest = [float(self.points[np.argmax(np.abs(self.gaps[label]))]) for label in labels]
        places = np.clip(spread_out(furthest, 0.9 / MOST_NAMES), 0.05, 0.95)
        heights = [float(np.interp(at, self.points, self.gaps[label])) for label, at in zip(labels, places)]
        return [
            Text(float(at), height, label, "secondary", "middle", dy=10.0 if height > 0 else -10.0)
            for label, at, height in zip(labels, places, heights)
        ]


def calibration(found: Calibration) -> CalibrationFigure:
    """Draw what `simulation_based_calibration` found: ranks of the truth are uniform if the inference is right.

    A line above zero at the left and below it at the right is a posterior too narrow, the reverse one too wide; a line
    above zero throughout is a posterior too high.

    References
    ----------
    Säilynoja, Bürkner and Vehtari (2022), Statistics and Computing 32:32, figure 5.

    >>> from credo.diagnostics.sbc import rank_calibration
    >>> ranks = np.random.default_rng(0).integers(0, 20, 300)
    >>> calibration(rank_calibration({"w": ranks}, 19, 0.01, rng=0)).chart().description
    'Ranks of w in 300 simulations stay in the band, which a right inference leaves with probability 1 %.'
    """
    bands = list(found.envelopes.values())
    sizes = {band.n for band in bands}
    if len(sizes) != 1:
        raise DataError(f"calibration draws quantities of as many simulations each, got {sorted(sizes)}.", value=sizes)
    first, ends = bands[0], lambda v: np.concatenate([[0.0], v, [0.0]])
    return CalibrationFigure(
        np.concatenate([[0.0], first.points, [1.0]]),
        ends(first.lower - first.points),
        ends(first.upper - first.points),
        {label: ends(band.ecdf - band.points) for label, band in found.envelopes.items()},
        {label: band.departure for label, band in found.envelopes.items() if not band.inside},
        sizes.pop(),
        found.alarm,
    )
