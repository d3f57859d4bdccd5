"""What is to be fitted: the record that estimators hand to `fit_glm`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.likelihoods import Likelihood

__all__ = ["GlmSpecification", "INFERENCES"]

INFERENCES = ("auto", "laplace", "gibbs", "nuts", "hmc", "map")
# Scale of the half-Normal hyperprior on the sd of the linear predictor: at 3 a typical pair of rows has odds (or
# rates) that differ by a factor of e⁴ ≈ 70, and a separated sample cannot run off far beyond that.
PREDICTOR_SD = 3.0


@dataclass(frozen=True)
class GlmSpecification:
    """What is to be fitted, in the user's units.

    owner : the estimator, for messages
    likelihood : sorted labels (None where outcomes are numbers) → `Likelihood`
    prior, prior_intercept, fit_intercept, inference : as for the estimators
    classify : whether outcomes are labels
    levels : all labels in their order; by default those found, sorted
    predictor_sd : scale of the half-Normal hyperprior on the sd of the linear predictor, under a learned prior
    names : of the columns; x0, x1, ... by default
    """

    owner: str
    likelihood: Callable[[np.ndarray | None], Likelihood]
    prior: Any = None
    prior_intercept: Any = None
    fit_intercept: bool = True
    inference: str = "auto"
    classify: bool = False
    levels: np.ndarray | None = None
    predictor_sd: float = PREDICTOR_SD
    names: tuple[str, ...] | None = None
