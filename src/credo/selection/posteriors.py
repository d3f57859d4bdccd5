"""Comparing and averaging what is believed under several declared models of the same data.

Posteriors of a `Model` hold their data, so that nothing is fitted again: they are compared by leave-one-out densities
from their draws, and weighed by their evidences or by stacking these densities.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.diagnostics.information import LeaveOneOut, psis_loo
from credo.errors import DataError, ParameterError, UnavailableError
from credo.prediction.mixture import mix
from credo.prediction.predictive import Predictive
from credo.selection.comparison import Comparison, ComparisonRow
from credo.selection.paired import mean_and_error
from credo.selection.stacking import stacking_weights

if TYPE_CHECKING:
    from credo.program.posterior import ModelPosterior

__all__ = ["PosteriorAverage", "average_posteriors", "compare_posteriors", "posteriors_in"]


def posteriors_in(models: Any) -> dict[str, ModelPosterior] | None:
    """name → posterior, if all that is to be compared are posteriors of models, or regressions by formula; None if none
    is."""
    program = sys.modules.get("credo.program.posterior")  # not imported for comparing tables: then nobody holds one
    if program is None or not isinstance(models, (Mapping, list, tuple)):
        return None
    named = dict(models) if isinstance(models, Mapping) else {f"model{i + 1}": m for i, m in enumerate(models)}
    named = {name: getattr(model, "posterior", model) for name, model in named.items()}  # of a `Regression`
    are = [isinstance(model, program.ModelPosterior) for model in named.values()]
    if not any(are):
        return None
    if not all(are) or len(are) < 2:
        raise ParameterError("compare", "models", "estimators, or two and more posteriors of a Model", list(named))
    return named


def compare_posteriors(posteriors: Mapping[str, ModelPosterior], node: str | None = None) -> Comparison:
    """Ranked by the mean leave-one-out log density of the cells of the observed node.

    Warns where k̂ ≥ 0.7 makes a row's density unreliable. complexity : Σ of the effective numbers of parameters; of two
    models in which these differ by less than half a parameter, or their own error, the better one's: estimates that
    differ by noise make neither model the simpler.
    """
    found = {name: _left_out(name, posterior, node) for name, posterior in posteriors.items()}
    sizes = {name: loo.pointwise.size for name, loo in found.items()}
    if len(set(sizes.values())) > 1:
        raise DataError(f"compare: the posteriors saw different numbers of cells: {sizes}.", value=sizes)
    best = max(found, key=lambda name: float(found[name].pointwise.mean()))

    complexity = _complexities(sorted(found, key=lambda name: -float(found[name].pointwise.mean())), found)

    def row(name: str) -> ComparisonRow:
        loo, posterior = found[name].warn(), posteriors[name]
        score, error = mean_and_error(loo.pointwise)
        difference = (0.0, 0.0) if name == best else mean_and_error(loo.pointwise - found[best].pointwise)
        evidence = posterior.log_evidence if np.isfinite(posterior.log_evidence) else None
        return ComparisonRow(name, score, error, *difference, evidence, complexity[name],
                             float(sum(posterior.result.seconds)))  # fmt: skip

    rows = sorted((row(name) for name in found), key=lambda each: (-each.score, each.complexity))
    n = next(iter(sizes.values()))
    return Comparison(tuple(rows), {}, {}, "leave-one-out from draws (psis)", ("log",), n, n,
                      {name: loo.pointwise for name, loo in found.items()}, dict(posteriors))  # fmt: skip


def _complexities(names: Sequence[str], found: Mapping[str, LeaveOneOut]) -> dict[str, float]:
    """Of models from the best on: each its own, or that of a better one that cannot be told from it."""
    told: dict[str, float] = {}
    for name in names:
        own = found[name].penalty
        told[name] = float("nan") if own is None else float(np.sum(own))
        for better in tuple(told)[:-1]:
            other = found[better].penalty
            if own is None or other is None:
                continue
            apart, error = mean_and_error(own - other)
            if own.size * abs(apart) < max(0.5, own.size * error):
                told[name] = told[better]
                break
    return told


def _left_out(name: str, posterior: ModelPosterior, node: str | None) -> LeaveOneOut:
    try:
        each = posterior.log_likelihood(node)
    except ParameterError as error:
        raise ParameterError("compare", "node", f"an observed node of {name!r}", error.value) from None
    flat = each.reshape(len(each), -1)
    return psis_loo(flat[:, ~np.isnan(flat).any(axis=0)])


@dataclass(frozen=True, eq=False)
class PosteriorAverage:
    """Posteriors weighed: `weights_` by name; `predict` mixes their predictives.

    by : "evidence" or "stacking"
    """

    posteriors: dict[str, ModelPosterior]
    weights_: dict[str, float]
    by: str

    def predict(self, node: str | None = None, **arguments: Any) -> Predictive:
        """The mixture of `ModelPosterior.predict` under each model, at the same new data (those a model knows)."""
        parts = []
        for posterior in self.posteriors.values():
            model = posterior.model
            data = [] if model is None else [k for k, v in model.nodes.items() if v.kind == "data"]
            known = {k: v for k, v in arguments.items() if k in data or k in ("new_levels", "random_state")}
            parts.append(posterior.predict(node, **known))
        unknown = [k for k in arguments if k not in ("new_levels", "random_state") and not any(
            p.model is not None and k in p.model.nodes for p in self.posteriors.values())]  # fmt: skip
        if unknown:
            raise ParameterError("predict", unknown[0], "a data node of one of the models", arguments[unknown[0]])
        return mix(np.array(list(self.weights_.values())), parts)


def average_posteriors(
    posteriors: Mapping[str, ModelPosterior], by: str, prior: Any = None, node: str | None = None
) -> PosteriorAverage:
    """P(h | D) ∝ prior × evidence, or the weights of greatest leave-one-out density."""
    if by == "stacking":
        comparison = compare_posteriors(posteriors, node)
        table = np.column_stack([comparison.pointwise[name] for name in posteriors])
        weights = stacking_weights(table).weights
    elif by == "evidence":
        lacking = [name for name, p in posteriors.items() if not np.isfinite(p.log_evidence)]
        if lacking:
            raise UnavailableError(
                f"average: {', '.join(lacking)} has no evidence (a flat prior, or a rung that does not give it).",
                remedy='Give proper priors, or use by="stacking".',
            )
        log_w = np.array([p.log_evidence for p in posteriors.values()])
        log_w = log_w + np.log([1.0 if prior is None else float(prior[name]) for name in posteriors])
        weights = np.exp(log_w - log_w.max())
        weights = weights / weights.sum()
    else:
        raise ParameterError("average", "by", "'evidence' or 'stacking'", by)
    return PosteriorAverage(dict(posteriors), dict(zip(posteriors, weights.tolist())), by)
