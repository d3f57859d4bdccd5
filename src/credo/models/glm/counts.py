"""What regressions of counts share: the check of outcomes, and their deviance explained."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from credo.distributions.likelihoods import PoissonLog
from credo.errors import DataWarning, warn
from credo.models.glm.base import GlmRegressor, deviance_explained

__all__ = ["CountRegressor"]


class CountRegressor(GlmRegressor):
    """Whole numbers with a log link, and their deviance."""

    def _checked_outcomes(self, y: np.ndarray) -> np.ndarray:
        return counts(type(self).__name__, y)

    def _deviance(self, y: np.ndarray, mean: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """D², the share of the deviance of a constant mean that the predicted means explain: at most 1."""
        y = np.asarray(y, dtype=np.float64)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, y)
        return deviance_explained(self._deviance, y, self.predict(X, offset), weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def counts(owner: str, y: np.ndarray) -> np.ndarray:
    """Outcomes ≥ 0 as float64; a warning where they are not whole numbers."""
    whole = np.floor(np.asarray(y, dtype=np.float64))
    PoissonLog().check(np.where(np.isfinite(whole), whole, y))
    y = np.asarray(y, dtype=np.float64)
    broken = np.flatnonzero(whole != y)
    if broken.size:
        warn(
            f"{owner}: y is not whole in row {broken[0]} ({y[broken[0]]:g}; {broken.size} such rows), so it is "
            "fitted as a quasi-likelihood. Rates belong in offset=np.log(exposure), with y the counts.",
            DataWarning,
        )
    return y
