"""What the values of one column look like: a summary as data, as a page, and as lines for a terminal."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from credo.models.density import Histogram, KernelDensity
from credo.numerics.readable import aligned, count, number, percent, typeset
from credo.plots.densities import DensityFigure, HistogramFigure, density, histogram
from credo.reports.markup import Markup, element
from credo.reports.shell import pictured, section, shell

__all__ = ["DensityReport", "density_html", "density_report"]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
# Modes that are listed, highest first.
MOST_MODES = 8
RULES = {
    "given": "as given",
    "isj": "improved Sheather–Jones, which assumes no family",
    "silverman": "Silverman's rule, right for a normal density",
    "scott": "Scott's rule, right for a normal density",
    "cv": "likelihood cross-validation",
}


@dataclass(frozen=True)
class DensityReport:
    """A column in numbers and pictures.

    quantiles : level → value ; modes : (value, density), highest first ; n_modes : of all
    bandwidth, rule : and how it was chosen ; bins, bin_rule : number of bins and what asked for them
    region (k, 2) : the smallest intervals that hold `mass`
    """

    data: str
    column: str
    rows: int
    missing: int
    mean: float
    sd: float
    quantiles: dict[float, float]
    modes: tuple[tuple[float, float], ...]
    n_modes: int
    bandwidth: float
    rule: str
    bins: int
    bin_rule: str
    region: np.ndarray
    mass: float
    curve: DensityFigure
    bars: HistogramFigure
    command: str | None = None

    def to_json(self) -> dict[str, Any]:
        """All but the pictures."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("curve", "bars")}
        modes = [{"value": value, "density": f} for value, f in self.modes]
        return {**own, "modes": modes, "bars": asdict(self.bars.bins)}

    @property
    def sentences(self) -> list[str]:
        """What was found, in words."""
        missing = f", {self.missing:,} more are missing" if self.missing else ""
        modes = ", ".join(number(value) for value, _ in self.modes)
        more = f" and {self.n_modes - len(self.modes)} lower ones" if self.n_modes > len(self.modes) else ""
        region = " and ".join(" to ".join(aligned([*ends], float(np.ptp(ends)))) for ends in self.region[:MOST_MODES])
        unit = count(self.bins, "bin")
        return [
            f"{count(self.rows, 'value')} of {self.column!r}{missing}.",
            f"{count(self.n_modes, 'mode')}: {modes}{more}.",
            f"The densest {percent(self.mass)}: {region}.",
            f"Bandwidth {number(self.bandwidth)}: {RULES[self.rule]}.",
            f"Histogram of {unit} ({self.bin_rule}).",
        ]

    @property
    def table(self) -> list[tuple[str, str]]:
        """(name, value) of mean, sd and quantiles."""
        quantiles = [(f"{percent(q)} quantile", number(value)) for q, value in self.quantiles.items()]
        return [("mean", number(self.mean)), ("sd", number(self.sd)), *quantiles]


def density_report(
    values: np.ndarray,
    *,
    column: str,
    data: str = "",
    missing: int = 0,
    bandwidth: Any = "auto",
    bins: Any = "knuth",
    support: tuple[float | None, float | None] = (None, None),
    mass: float = 0.9,
    command: str | None = None,
) -> DensityReport:
    """The report of a column.

    Parameters
    ----------
    values (n,) : without the missing ones
    bandwidth, support : of `KernelDensity`; bins : of `Histogram`; mass : of intervals

    Examples
    --------
    >>> found = density_report(np.linspace(0.0, 1.0, 101), column="x")
    >>> found.rows, round(found.mean, 2), found.rule
    (101, 0.5, 'isj')
    """
    rows = np.asarray(values, dtype=np.float64)[:, None]
    smooth = KernelDensity(bandwidth=bandwidth, support=[support]).fit(rows)
    stepped = Histogram(bins).fit(rows)
    modes = smooth.modes()
    region = smooth.highest_density(mass).intervals
    assert region is not None
    listed = tuple(zip(modes.points[:MOST_MODES, 0].tolist(), modes.density[:MOST_MODES].tolist()))
    moved = rows[:, 0] - rows[0, 0]
    return DensityReport(
        data, column, rows.shape[0], missing, float(rows[0, 0] + moved.mean()), float(moved.std(ddof=1)),
        dict(zip(LEVELS, np.quantile(rows[:, 0], LEVELS).tolist())), listed, len(modes),
        float(smooth.bandwidth_), smooth.bandwidth_rule_, stepped.edges_[0].size - 1,
        bins if isinstance(bins, str) else "as given", region, mass,
        density(smooth, column, mass), histogram(stepped, column, mass), command,
    )  # fmt: skip


def density_html(report: DensityReport) -> str:
    """The page: no script, no network, its own pictures."""
    title = f"{report.column}: its density"
    how = element("pre", report.command or "credo.reports.density_report", tabindex="0")
    parts = [
        section("shape", "Its shape", _list(report.sentences[1:4]), pictured(report.curve, "c1")),
        section("counts", "As it was counted", _list([*report.sentences[:1], *report.sentences[4:]]),
                pictured(report.bars, "c2")),
        section("reproduce", "How to make this again", how),
    ]  # fmt: skip
    return shell(title, parts, lead=report.data, facts=report.table)


def _list(sentences: list[str]) -> Markup:
    return element("ul", *(element("li", typeset(sentence)) for sentence in sentences))
