"""Data drawn before any were seen: are they possible, and could the data be among them?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from credo.errors import UnavailableError
from credo.numerics.readable import number, percent
from credo.program.check.records import Finding, PriorCheck
from credo.program.check.statistics import compared, statistics_of
from credo.program.faults import fault_of
from credo.program.forward import law_at, sample_forward
from credo.program.model import Factor, Model
from credo.program.nodes import Node

__all__ = ["check_no_potential", "check_prior", "kind_of_law", "prior_findings", "seen_cells", "shown_sets"]

# Data sets drawn; their 5 % quantile is then known to 1.5 %. Of very many cells fewer, that they take so many together.
DATA_SETS, LEAST, MOST_CELLS = 500, 100, 10_000_000
# Kept for pictures, and the cells these may take.
SHOWN, FEWEST, MOST_SHOWN = 200, 30, 4_000_000
# Two orders of magnitude beyond the range of the data no one would have expected.
ABSURD = 100.0
# Shares of the draws from which on a finding is made.
FAR_SHARE, FLAT_SHARE, SURE_SHARE = 0.1, 0.5, 0.5
LEVELS = np.concatenate([[0.005], np.arange(0.025, 0.99, 0.025), [0.995]])


def check_prior(model: Model, rng: np.random.Generator) -> dict[str, PriorCheck]:
    """Observed node → its check.

    Raises
    ------
    UnavailableError : a flat prior, or one that a potential changes: they have no draws
    """
    check_no_potential(model)
    with np.errstate(all="ignore"):
        cells = max((f.node.size for f in model.factors if f.observed), default=1)
        drawn = _drawn(model, min(DATA_SETS, max(LEAST, MOST_CELLS // cells)), rng)
        return {f.name: _checked(model, f, drawn) for f in model.factors if f.observed}


def shown_sets(cells: int) -> int:
    """How many data sets of so many cells are kept for pictures."""
    return min(SHOWN, max(FEWEST, MOST_SHOWN // cells))


def _drawn(model: Model, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """n data sets; those that NumPy cannot draw, as of a rate beyond 1e19, are not finite."""
    try:
        return sample_forward(model, n, rng)
    except (ValueError, OverflowError):
        pass
    parts: list[dict[str, np.ndarray]] = []
    lost = 0
    for stream in rng.spawn(n):
        try:
            parts.append(sample_forward(model, 1, stream))
        except (ValueError, OverflowError):
            lost += 1
    if not parts:
        raise UnavailableError("no data can be drawn from it: its values are beyond what a number can hold.")
    found = {name: np.concatenate([part[name] for part in parts]).astype(np.float64) for name in parts[0]}
    return {name: np.concatenate([x, np.full((lost, *x.shape[1:]), np.nan)]) for name, x in found.items()}


def _checked(model: Model, factor: Factor, drawn: dict[str, np.ndarray]) -> PriorCheck:
    law: Any = factor.law
    kind = kind_of_law(law)
    at, y = seen_cells(factor)
    cells = np.asarray(drawn[factor.name], dtype=np.float64)
    cells = cells.reshape(len(cells), -1)[:, at]
    finite = np.isfinite(cells)
    whole = cells[finite.all(axis=1)]
    usable = whole if len(whole) else np.where(finite, cells, 0.0)
    centre, width = float(np.median(y)), float(np.ptp(y)) or abs(float(np.median(y))) or 1.0
    each = np.quantile(usable, LEVELS, axis=1)
    lower, middle, upper = np.quantile(each, [0.05, 0.5, 0.95], axis=1)
    low, high = np.quantile(cells[finite], [0.05, 0.95]) if finite.any() else (np.nan, np.nan)
    told = compared(statistics_of(kind, y), y, usable) if len(whole) else ()
    return PriorCheck(
        factor.name, kind, y, usable[: shown_sets(y.size)], told, LEVELS, np.quantile(y, LEVELS), lower, middle, upper,
        (float(low), float(high)), float(np.mean(np.abs(cells - centre) > ABSURD * width)), float(np.mean(~finite)),
        float(np.mean(np.ptp(usable, axis=1) == 0.0)) if np.ptp(y) > 0 and len(whole) else 0.0,
        _sure(model, factor, drawn), "" if finite.all() else fault_of(model),
    )  # fmt: skip


def _sure(model: Model, factor: Factor, drawn: dict[str, np.ndarray]) -> float:
    """Share of the cells' probabilities, over draws, below 1 % or above 99 %; NaN where they do not depend on any."""
    p = None if factor.law is None else factor.law.parameters.get("p")
    if type(factor.law).__name__ not in ("Bernoulli", "Binomial") or not isinstance(p, Node):
        return float("nan")
    nodes = {node.number: node for node in model.nodes.values() if str(node.name) in drawn and not node.is_operation}
    values = {number: drawn[str(node.name)] for number, node in nodes.items()}
    n = len(next(iter(values.values())))
    law: Any = law_at(factor.law, values, nodes, n, factor.node.ndim)  # type: ignore[arg-type]
    return float(np.mean((law.p < 0.01) | (law.p > 0.99)))


def check_no_potential(model: Model) -> None:
    """Raise `UnavailableError` where one changes the prior; a constant that makes a restricted law sum to 1 does
    not."""
    if any(factor.law is None and not factor.node.static.get("normaliser", False) for factor in model.factors):
        raise UnavailableError("a potential changes the prior, which then cannot be drawn from.")


def seen_cells(factor: Factor) -> tuple[np.ndarray, np.ndarray]:
    """Places in C order of the cells that were seen, and their values."""
    y = np.asarray(factor.data, dtype=np.float64).ravel()
    at = np.arange(y.size) if factor.missing is None else np.setdiff1d(np.arange(y.size), factor.missing)
    return at, y[at]


def kind_of_law(law: Any) -> str:
    """ "real", "count", "binary" or "class"."""
    name = type(law).__name__
    if name in ("Categorical", "Bernoulli"):
        return "class" if name == "Categorical" else "binary"
    return "count" if law.support.kind == "integer" or name in ("Multinomial", "DirichletMultinomial") else "real"


def prior_findings(check: PriorCheck) -> Iterator[Finding]:
    """What is absurd about data drawn from the prior."""

    def found(what: str, remedy: str) -> Finding:
        return Finding("prior", check.node, f"Before data, {what}", remedy)

    name = check.node
    if check.infinite > 0.0:
        yield found(f"{percent(check.infinite)} of the values of {name} drawn are infinite or no numbers.",
                    check.fault or "Give narrower priors, above all to what is exponentiated.")  # fmt: skip
    if check.far > FAR_SHARE:
        low, high = (number(v, 3) for v in check.bulk)
        yield found(
            f"{percent(check.far)} of the values of {name} drawn lie more than {ABSURD:.0f} times the data's range "
            f"away from the data (90 % of them in {low} to {high}).",
            "Give priors on the scale of the data, or scale the columns.",
        )
    if check.flat > FLAT_SHARE:
        yield found(f"{percent(check.flat)} of the data sets drawn have one and the same value of {name} in all "
                    "cells.", "The priors allow hardly anything but the extremes: narrow them.")  # fmt: skip
    if check.sure > SURE_SHARE:
        yield found(
            f"{percent(check.sure)} of the probabilities of {name} are below 1 % or above 99 %.",
            "On the scale of log-odds a Normal of sd 10 is such a prior: sds of 1 to 2.5 leave the answer open.",
        )
    for s in check.statistics:
        if s.extreme:
            yield found(f"the {s.name} of {name} was hardly possible: {number(s.observed, 3)}, where 90 % of the data "
                        f"sets drawn have {number(s.low, 3)} to {number(s.high, 3)}.",
                        "Prior and data disagree: one of them is on another scale, or wrong.")  # fmt: skip
