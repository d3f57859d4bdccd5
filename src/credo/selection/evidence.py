"""The evidence of models, and weights from it, if they may be compared (`credo.models.evidence`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.special
from sklearn.pipeline import Pipeline

from credo.errors import CredoError, DataError, ModelWarning, UnavailableError, warn
from credo.models.evidence import Evidence

__all__ = ["evidence_of", "evidence_weights"]


def evidence_of(model: Any) -> Evidence | None:
    """The record of a fitted model; None of one that has none, such as other people's."""
    if isinstance(model, Pipeline):
        return evidence_of(model[-1])
    try:
        found = getattr(model, "evidence_", None)
    except CredoError:
        return None
    return found if isinstance(found, Evidence) else None


def evidence_weights(
    models: Mapping[str, Any], prior: Mapping[str, float], known: Mapping[str, Evidence | None] | None = None
) -> dict[str, float]:
    """P(h | D) ∝ P(D | h) P(h) over fitted models; `known` are their evidences where they have been read off.

    Raises
    ------
    UnavailableError : a model has no evidence, or none that says of what it is.
    DataError : evidences of different outcomes, or on different scales.
    """
    found = dict(known) if known is not None else {name: evidence_of(model) for name, model in models.items()}
    records = {name: record for name, record in found.items() if record is not None and record.log_value is not None}
    if lacking := [name for name in models if name not in records]:
        reasons = "; ".join(_reason(name, models[name], found[name]) for name in lacking)
        raise UnavailableError(
            f"No evidence for {', '.join(lacking)} ({reasons}).",
            remedy="Give it a proper prior and an inference that integrates, or use by='stacking'.",
        )
    _require_comparable(records)
    if doubts := "; ".join(f"{name}: {record.doubt}" for name, record in records.items() if record.doubt):
        warn(
            f"An evidence may be off by nats, and the weights with it ({doubts}). Use by='stacking', which weighs "
            "models by held-out predictions; or state a tighter prior.",
            ModelWarning,
        )
    with np.errstate(divide="ignore"):
        log_weights = np.array([records[name].log_value + np.log(prior[name]) for name in models])
    weights = np.exp(log_weights - scipy.special.logsumexp(log_weights))
    return dict(zip(models, (weights / weights.sum()).tolist(), strict=True))


def _reason(name: str, model: Any, record: Evidence | None) -> str:
    if record is not None and record.missing:
        return f"{name}: {record.missing}"
    if record is None and hasattr(model, "log_evidence_"):
        return f"{name} has a log_evidence_ but no evidence_, the record that says of which outcomes and on what scale"
    return f"{name}: {type(model).__name__} computes none"


def _require_comparable(records: Mapping[str, Evidence]) -> None:
    first, reference = next(iter(records.items()))
    for name, record in records.items():
        if why := reference.obstacle(record):
            raise DataError(
                f"The evidences of {first} and {name} cannot be compared: {why}.",
                value=(reference, record),
                remedy="Fit all models to the same y, with the same kind of prior on intercepts and noise; or use "
                "by='stacking'.",
            )
    if len({record.maximised for record in records.values()}) > 1:
        maximised = ", ".join(name for name, record in records.items() if record.maximised)
        warn(
            f"The evidence of {maximised} is maximised over its hyperparameters, not integrated, which favours it.",
            ModelWarning,
        )
