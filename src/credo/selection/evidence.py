"""The evidence of a model, and whether evidences may be compared.

p(y | X, h) is a number one may compare only if whatever is improper is the same in every model: a flat intercept or a
scale-free noise multiplies all evidences by one arbitrary constant, which cancels; a constant in one model alone does
not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.special

from credo.errors import CredoError, DataError, ModelWarning, UnavailableError, warn
from credo.selection.predictions import core_of

__all__ = ["evidence_of", "evidence_weights"]


def evidence_of(model: Any) -> float | None:
    """log p(y | X) of a fitted model, None where it has none (a flat prior, a point estimate, no Bayesian model)."""
    try:
        value = getattr(core_of(model), "log_evidence_", None)
    except CredoError:
        return None
    return None if value is None or not np.isfinite(value) else float(value)


def evidence_weights(
    models: Mapping[str, Any], prior: Mapping[str, float], known: Mapping[str, float | None] | None = None
) -> dict[str, float]:
    """P(h | D) ∝ P(D | h) P(h) over fitted models; `known` are their log evidences where they have been read off.

    Raises
    ------
    UnavailableError : a model has no evidence.
    DataError : evidences of different outcomes, or with different improper parts.
    """
    values = dict(known) if known is not None else {name: evidence_of(model) for name, model in models.items()}
    lacking = [name for name, value in values.items() if value is None]
    if lacking:
        raise UnavailableError(
            f"No evidence for {', '.join(lacking)}: a flat prior or a point estimate (or no Bayesian model).",
            remedy="Give it a proper prior and an inference that integrates, or use by='stacking'.",
        )
    _require_same_outcomes(models)
    _require_same_measure(models)
    with np.errstate(divide="ignore"):
        log_weights = np.array([values[name] + np.log(prior[name]) for name in models])
    weights = np.exp(log_weights - scipy.special.logsumexp(log_weights))
    return dict(zip(models, (weights / weights.sum()).tolist(), strict=True))


def improper_parts(model: Any) -> frozenset[str]:
    """Which nuisance parameters have an improper prior: "intercept", "noise"; read off the constructor's arguments."""
    core = core_of(model)
    own = getattr(core, "improper_parts", None)
    if own is not None:
        return frozenset(own)
    settings = core.get_params(deep=False) if hasattr(core, "get_params") else {}
    parts = set()
    if settings.get("fit_intercept") and _is_flat(settings.get("prior_intercept")):
        parts.add("intercept")
    conjugate = type(settings.get("prior")).__name__ == "NormalInverseGamma"
    noise = settings.get("noise", "none")
    scale_free = noise is None or (
        getattr(noise, "scale", 0) is None and getattr(noise, "variance_prior", None) is None
    )
    if "noise" in settings and scale_free and not conjugate:
        parts.add("noise")
    return frozenset(parts)


def _is_flat(prior: Any) -> bool:
    return prior is None or type(prior).__name__ == "Flat"


def _require_same_measure(models: Mapping[str, Any]) -> None:
    parts = {name: improper_parts(model) for name, model in models.items()}
    if len(set(parts.values())) > 1:
        listed = "; ".join(f"{name}: {', '.join(sorted(p)) or 'nothing'}" for name, p in parts.items())
        raise DataError(
            f"These evidences are on different scales, since what has an improper prior differs ({listed}).",
            value=parts,
            remedy="Give intercepts and noise the same kind of prior in every model, or use by='stacking'.",
        )
    kinds = {name: getattr(core_of(model), "inference", None) == "evidence" for name, model in models.items()}
    if len(set(kinds.values())) > 1:
        maximised = ", ".join(name for name, yes in kinds.items() if yes)
        warn(
            f"The evidence of {maximised} is maximised over its hyperparameters, not integrated, which favours it.",
            ModelWarning,
        )


def _require_same_outcomes(models: Mapping[str, Any]) -> None:
    """As far as the models remember them: row count and moments of y, or the classes."""
    seen = {name: _outcomes(core_of(model)) for name, model in models.items()}
    for kind in ("moments", "classes"):
        known = {name: record[kind] for name, record in seen.items() if kind in record}
        for name, record in known.items():
            first, reference = next(iter(known.items()))
            if not _agree(record, reference):
                raise DataError(
                    f"{first} and {name} were fitted to different outcomes: their evidences cannot be compared.",
                    value=(reference, record),
                    remedy="Fit all models to the same y.",
                )


def _agree(a: list[Any], b: list[Any]) -> bool:
    """Equal labels, or moments equal up to rounding."""
    if len(a) != len(b):
        return False
    return a == b or (all(isinstance(x, float) for x in a + b) and np.allclose(a, b, rtol=1e-9))


def _outcomes(core: Any) -> dict[str, Any]:
    record: dict[str, Any] = {}
    statistics = getattr(core, "statistics_", None)
    if statistics is not None and hasattr(statistics, "n_targets") and statistics.weight == statistics.count:
        p = statistics.n_columns
        record["moments"] = [statistics.count, *statistics.mean[p:].tolist(), *statistics.spread[p:].tolist()]
    if hasattr(core, "classes_"):
        record["classes"] = list(np.asarray(core.classes_).tolist())
    return record
