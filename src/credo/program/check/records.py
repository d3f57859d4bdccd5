"""`ModelCheck`: what was found about a model, as data; it prints as sentences, `cr.plots.model_check` draws it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credo.diagnostics.brier import Reliability
from credo.diagnostics.calibration import PIT
from credo.diagnostics.sbc import Calibration
from credo.numerics.readable import count, number, percent, typeset
from credo.program.check.statistics import Statistic

if TYPE_CHECKING:
    from credo.program.posterior import ModelPosterior

__all__ = ["Finding", "ModelCheck", "PosteriorCheck", "PriorCheck", "Simulations"]

# Quantities that a sentence names.
MOST_NAMED = 6


@dataclass(frozen=True)
class Finding:
    """Something that speaks against the model or its inference.

    part : "prior", "inference" or "posterior" ; node ; what : a sentence ; remedy : what to try
    """

    part: str
    node: str
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}".strip()


@dataclass(frozen=True, eq=False)
class PriorCheck:
    """Data sets drawn before any were seen, beside the data.

    y : (cells,) the data that were seen ; replicates : (≤ 200, cells) drawn
    levels : (m,) of quantiles ; quantiles : (m,) of the data ; lower, middle, upper : (m,) 5 %, 50 % and 95 % over
        data sets drawn, of theirs
    bulk : (low, high) of 90 % of all cells drawn ; far : share of cells drawn that lie 100 data ranges away or more
    infinite : share that is not finite ; flat : share of data sets drawn with one value only ; sure : share of cells
        whose probability was below 1 % or above 99 %, NaN where the node is not of probabilities ; fault : the
        expression that is NaN or infinite, in words
    """

    node: str
    kind: str
    y: np.ndarray
    replicates: np.ndarray
    statistics: tuple[Statistic, ...]
    levels: np.ndarray
    quantiles: np.ndarray
    lower: np.ndarray
    middle: np.ndarray
    upper: np.ndarray
    bulk: tuple[float, float]
    far: float
    infinite: float
    flat: float
    sure: float = float("nan")
    fault: str = ""

    before: ClassVar[bool] = True

    def __str__(self) -> str:
        if self.kind in ("class", "binary"):
            return f"{self.node}: {'; '.join(map(str, self.statistics))}."
        if self.infinite == 1.0:
            return f"{self.node}: no value drawn is a finite number."
        low, high = (number(v, 3) for v in self.bulk)
        return (f"{self.node}: 90 % of the values drawn lie in {low} to {high}; the data in "
                f"{number(self.y.min(), 3)} to {number(self.y.max(), 3)}.")  # fmt: skip


@dataclass(frozen=True, eq=False)
class PosteriorCheck:
    """Data sets drawn after the fit, beside the data, and each cell predicted from the others.

    y : (cells,) ; replicates : (≤ 200, cells) ; statistics : over all replicates, `n_replicates` of them
    pit : transforms of the cells, each predicted from all others (leave-one-out); None with the reason in `absent`
    reliability : of two outcomes, forecasts from all others against frequencies ; influential : cells that cannot be
        left out by weighting (k̂ ≥ 0.7)
    """

    node: str
    kind: str
    y: np.ndarray
    replicates: np.ndarray
    n_replicates: int
    statistics: tuple[Statistic, ...]
    pit: PIT | None = None
    reliability: Reliability | None = None
    influential: int = 0
    absent: str = ""

    before: ClassVar[bool] = False

    @property
    def coverage(self) -> float:
        """Share of the cells inside their central 90 % interval from all other cells."""
        return float("nan") if self.pit is None else float(np.mean(np.abs(self.pit.values - 0.5) <= 0.45))

    def __str__(self) -> str:
        bad = [s.name for s in self.statistics if s.extreme]
        good = [s.name for s in self.statistics if not s.extreme]
        said = [f"{', '.join(good)} as in the replicates"] if good else []
        said += [f"NOT {', '.join(bad)}"] if bad else []
        if self.reliability is not None:
            said.append(f"forecasts from the other cells miss frequencies by {percent(self.reliability.error)}")
        elif self.pit is not None:
            word = "are" if self.pit.envelope.inside else "are NOT"
            held = percent(self.coverage)
            said.append(f"cells {word} distributed as the others predict (90 % intervals hold {held})")
        elif self.absent:
            said.append(f"not predicted from the others: {self.absent}")
        return f"{self.node}: {'; '.join(said).rstrip('.')}."


@dataclass(frozen=True, eq=False)
class Simulations:
    """Fits to data drawn from the prior.

    calibration : ranks of the truth among `n_draws` draws, and their envelopes
    n : simulations asked for ; failed : error → how often ; uncertified : fits whose certificate failed
    correlated : fits with fewer effective draws than ranks need
    """

    calibration: Calibration
    n: int
    failed: dict[str, int]
    uncertified: int
    correlated: int
    inference: str

    def __str__(self) -> str:
        found = self.calibration
        ranks = (
            f"{self.n - sum(self.failed.values()):,} fits ({self.inference}) to data drawn from the prior: ranks of "
        )
        ranks += count(len(found.ranks), "quantity", "quantities")
        if found.ok:
            return f"{ranks} are uniform, as of a right inference."
        bad = found.failed
        more = ", …" if len(bad) > MOST_NAMED else ""
        return f"{ranks}, of which NOT uniform: {', '.join(bad[:MOST_NAMED])}{more}."


@dataclass(frozen=True, eq=False)
class ModelCheck:
    """What checking a model found; it prints as sentences.

    findings : what speaks against it ; ok : nothing does
    prior, posterior : observed node → its check ; simulations : None where none were asked for
    absent : part → why it was left out ; fitted : the posterior that was checked, None without

    Examples
    --------
    >>> import credo as cr
    >>> from credo.program.check import check_model
    >>> m = cr.Model()
    >>> rate = m.latent("rate", cr.Gamma(shape=2, rate=0.5))
    >>> y = m.observed("y", cr.Poisson(rate), [2, 3, 1, 4, 2, 0, 3, 2])
    >>> found = check_model(m, random_state=0)
    >>> found.ok, found.posterior["y"].statistics[0].observed
    (True, 2.125)
    >>> print(found.prior["y"])
    y: 90 % of the values drawn lie in 0 to 10; the data in 0 to 4.
    """

    findings: tuple[Finding, ...]
    prior: dict[str, PriorCheck] = field(default_factory=dict)
    posterior: dict[str, PosteriorCheck] = field(default_factory=dict)
    simulations: Simulations | None = None
    absent: dict[str, str] = field(default_factory=dict)
    fitted: ModelPosterior | None = None

    @property
    def ok(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        return typeset("\n".join(self._lines()))

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield self.verdict
        for name, parts in self.parts():
            yield from (f"  {name:<9}  {part}" for part in parts)
        yield from (f"- {finding}" for finding in self.findings)

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.ok:
            return "Nothing speaks against the model."
        return f"{count(len(self.findings), 'finding')} about the model:"

    def parts(self) -> Iterator[tuple[str, list[str]]]:
        """(part, its sentences)."""
        fits = [] if self.simulations is None else [str(self.simulations)]
        told = {"prior": [str(c) for c in self.prior.values()], "inference": fits,
                "posterior": [str(c) for c in self.posterior.values()]}  # fmt: skip
        for name, sentences in told.items():
            if name in self.absent:
                yield name, [*sentences, f"not checked: {self.absent[name]}"]
            elif sentences:
                yield name, sentences
