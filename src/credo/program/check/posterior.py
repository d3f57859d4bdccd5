"""Data drawn after the fit: do they look like the data, and is each cell what the others say of it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from credo.diagnostics.binomial import binomial_quantile
from credo.diagnostics.brier import reliability
from credo.diagnostics.calibration import PIT
from credo.diagnostics.envelope import uniform_envelope
from credo.diagnostics.psis import K_RELIABLE, psis
from credo.errors import DataError
from credo.numerics.readable import number, percent
from credo.program.check.prior import kind_of_law, seen_cells, shown_sets
from credo.program.check.records import Finding, PosteriorCheck
from credo.program.check.statistics import compared, statistics_of
from credo.program.finite.states import is_finite
from credo.program.labels import checked_labels
from credo.program.model import Factor, Model
from credo.program.nodes import topological
from credo.program.posterior import ModelPosterior
from credo.program.predict import Laws, laws
from credo.program.predictive import Members

__all__ = ["check_posterior", "posterior_findings"]

# Replicates: a p-value of 1/2,000 can then be told. Cells (replicates × cells) that they may take.
REPLICATES, MOST_CELLS, LEAST = 4_000, 10_000_000, 100
# Cells that are predicted from the others, evenly taken, and draws for it: more change neither band nor verdict.
LEFT_OUT, LEFT_OUT_DRAWS = 2_000, 1_000
# Share of cells that may be too influential to be left out by weighting, beyond which the rest says little.
MOST_INFLUENTIAL = 0.1
# Probabilities of two outcomes are grouped where there are so many of them.
LEAST_GROUPED = 20

#: statistic → what may be wrong
REMEDIES = {
    "sd": "The spread is not the model's: counts may be over-dispersed (NegativeBinomial), noise uneven.",
    "minimum": "Tails are not the model's: try StudentT noise, or look at that cell.",
    "maximum": "Tails are not the model's: try StudentT noise (counts: NegativeBinomial), or look at that cell.",
    "share of zeros": "Zeros have a cause of their own: try NegativeBinomial, or a mixture with zeros.",
    "correlation of neighbours": "Rows in order depend on each other: add what changes slowly, or the row before.",
    "spread": "Groups differ by more than the model says: give each a latent effect.",
}

#: where transforms gather → what that says
WHERE = {
    "low": "lower than the others predict",
    "high": "higher than the others predict",
    "ends": "further out than the others predict: predictions are too narrow",
    "middle": "nearer than the others predict: predictions are too wide",
}


def check_posterior(
    posterior: ModelPosterior, model: Model, by: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, PosteriorCheck]:
    """Observed node → its check. by : name → labels of the cells of a node, one for each"""
    return {f.name: _checked(posterior, model, f, by, rng) for f in model.factors if f.observed}


def _checked(
    posterior: ModelPosterior, model: Model, factor: Factor, by: Mapping[str, Any], rng: np.random.Generator
) -> PosteriorCheck:
    kind = kind_of_law(factor.law)
    at, y = seen_cells(factor)
    most = min(REPLICATES, max(LEAST, MOST_CELLS // max(factor.node.size, 1)))
    found = laws(posterior, factor.name, "error", rng, {}, most)
    replicates = found.outcomes().reshape(found.n, -1)[:, at]
    functions = statistics_of(kind, y, _expected(found, at, replicates), factor.node.ndim == 1,
                              _groups(model, factor, at, by))  # fmt: skip
    stats = compared(functions, y, replicates)
    if any(node.kind == "latent" and is_finite(node) for node in topological(factor.parts)):
        pit, curve, influential, absent = None, None, 0, "its cells depend on states."
    else:
        pit, curve, influential, absent = _left_out(found, at, y, kind, rng)
    shown = np.linspace(0, found.n - 1, min(shown_sets(y.size), found.n)).astype(np.intp)
    return PosteriorCheck(
        factor.name, kind, y, replicates[shown], found.n, stats, pit, curve, influential, absent
    )  # fmt: skip


def _expected(found: Laws, at: np.ndarray, replicates: np.ndarray) -> np.ndarray:
    """What is expected of each cell."""
    law: Any = found.law
    if law.event_ndim or type(law).__name__ == "Categorical" or not found.has_law:
        return replicates.mean(axis=0)
    mean = np.asarray(Members(law, found.shape)(at).mean)
    mean = np.broadcast_to(mean, (found.n, at.size)).mean(axis=0)
    return mean if np.all(np.isfinite(mean)) else np.median(replicates, axis=0)


def _groups(model: Model, factor: Factor, at: np.ndarray, by: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """name → codes of the seen cells: data nodes with levels that run along the node's cells, axes of an array of
    outcomes, and what was given."""
    found: dict[str, np.ndarray] = {}
    for name, node in model.nodes.items():
        if node.kind == "data" and "levels" in node.static and node.shape == factor.node.shape and (
            node.dims == factor.node.dims):  # fmt: skip
            found[name] = np.asarray(node.value).ravel()[at].astype(np.intp)
    if factor.node.ndim > 1 and factor.law is not None and not factor.law.event_ndim:
        places = np.unravel_index(at, factor.node.shape)
        for axis, codes in enumerate(places):  # of an array of outcomes its rows, columns…
            found[factor.node.dims[axis] or f"axis {axis}"] = codes
    for name, labels in by.items():
        raw = checked_labels(name, labels)
        if raw.size == factor.node.size:
            found[name] = np.unique(raw.ravel()[at], return_inverse=True)[1].ravel()
        elif sum(f.observed for f in model.factors) == 1:
            raise DataError(f"check: {name} has {raw.size} labels, and {factor.name} {factor.node.size} cells.",
                            value=raw.shape)  # fmt: skip
    return {name: codes for name, codes in found.items() if np.unique(codes).size > 1}


def _left_out(
    found: Laws, at: np.ndarray, y: np.ndarray, kind: str, rng: np.random.Generator
) -> tuple[PIT | None, Any, int, str]:
    """Transforms of cells predicted from all others, by weights ∝ 1/p(y_i | draw), smoothed."""
    if not found.has_law:
        return None, None, 0, "its law is not of single numbers."
    if found.n < 100:
        return None, None, 0, "there are fewer than 100 draws."
    some = np.unique(np.linspace(0, y.size - 1, min(LEFT_OUT, y.size)).astype(np.intp))
    draws = np.linspace(0, found.n - 1, min(LEFT_OUT_DRAWS, found.n)).astype(np.intp)
    law, y = Members(found.law, found.shape)(at[some]), y[some]
    shape = (found.n, y.size)

    def each(value: Any) -> np.ndarray:
        return np.broadcast_to(value, shape)[draws]

    with np.errstate(all="ignore"):
        ll = each(law.log_prob(y))
    if not np.all(np.isfinite(ll)):
        return None, None, 0, "some draws make a cell impossible."
    smoothed = psis(-ll)
    weights, influential = np.exp(smoothed.log_weights), int(np.count_nonzero(~(smoothed.k_hat < K_RELIABLE)))
    if influential > MOST_INFLUENTIAL * y.size:
        return (
            None,
            None,
            influential,
            (f"{influential} of {y.size} cells cannot be left out by weighting (k̂ ≥ 0.7): hold rows out to judge it."),
        )
    if kind == "binary":
        p = np.sum(weights * each(law.mean), axis=0)
        curve = reliability(np.clip(p, 0.0, 1.0), y.astype(int)) if y.size >= LEAST_GROUPED else None
        return None, curve, influential, "" if curve is not None else "there are few cells."
    u = np.sum(weights * each(law.cdf(y)), axis=0)
    if kind == "count":
        below = np.sum(weights * each(law.cdf(y - 1.0)), axis=0)
        u = below + rng.random(u.shape) * (u - below)
    u = np.clip(u, 0.0, 1.0)
    return PIT(u, uniform_envelope(u, 0.99)), None, influential, ""


def posterior_findings(check: PosteriorCheck) -> Iterator[Finding]:
    """What replicates and leaving out say against the model."""

    def found(what: str, remedy: str) -> Finding:
        return Finding("posterior", check.node, what, remedy)

    name = check.node
    for s in check.statistics:
        if s.extreme:
            low, high = number(s.low, 3), number(s.high, 3)
            yield found(
                f"The {s.name} of {name} is {number(s.observed, 3)}; of {check.n_replicates:,} data sets that the "
                f"fitted model makes, 90 % have {low} to {high} (p = {number(s.p_value, 2)}).",
                REMEDIES.get(s.name, REMEDIES["spread"] if " by " in s.name else ""),
            )
    if check.pit is not None and not check.pit.envelope.inside:
        where = WHERE[check.pit.envelope.departure]
        held = percent(check.coverage)
        yield found(f"Cells of {name} lie {where} (90 % intervals hold {held}).", "The law of the outcomes is another.")
    if check.reliability is not None:
        r = check.reliability
        out = int(np.count_nonzero(~r.inside))
        if out > int(binomial_quantile(0.99, r.forecast.size, 1.0 - r.mass)):
            yield found(
                f"In {out} of {r.forecast.size} groups of cells by forecast, {name} is 1 more or less often than that "
                f"(mean gap {percent(r.error)}).",
                "Something moves the probability that the model does not know: a bend, an interaction.",
            )
