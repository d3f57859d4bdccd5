"""Fits without the held-out rows, and what they predict of them.

Estimators do it themselves (`held_out`): a linear regression finishes each fit from the statistics of the other blocks,
so that each row is read once however many rounds there are. Other people's models and pipelines are fitted again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from credo.models.reading import fit_model, refitted, rows_of
from credo.selection.predictions import predictive_of
from credo.selection.splits import Splits

__all__ = ["fit_model", "for_ranking", "held_out_predictives", "rows_of"]


def held_out_predictives(
    model: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None, splits: Splits
) -> Iterator[tuple[np.ndarray, Any]]:
    """(rows scored, `Predictive` of them from a fit to the other side) for each round.

    `model` has been fitted to all rows, and is left as it is. Rows whose class the other side lacks are left out.
    """
    if hasattr(model, "held_out"):
        return model.held_out(X, y, sample_weight, splits)

    def fit(X: Any, y: np.ndarray, w: Any) -> Any:
        return fit_model(for_ranking(model), X, y, w)

    return refitted(model, fit, predictive_of, X, y, sample_weight, splits)


def for_ranking(model: Any) -> Any:
    """An unfitted clone at the settings that suffice to rank it."""
    if hasattr(model, "for_ranking"):
        return model.for_ranking()
    fresh: Any = clone(model)
    if isinstance(model, Pipeline) and hasattr(model[-1], "for_ranking"):
        fresh.set_params(**{model.steps[-1][0]: model[-1].for_ranking()})  # type: ignore[union-attr]
    return fresh
