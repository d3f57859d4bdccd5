"""From scaled columns back to the user's units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from credo.inference.result import Result
from credo.inference.weighted import WeightedDraws
from credo.models.glm.equations import Design
from credo.models.glm.laplace import GlmMode
from credo.models.glm.posterior import GlmPosterior
from credo.models.glm.prior import GlmPrior

__all__ = ["draws_to_raw", "raw_posterior"]


def raw_posterior(
    design: Design,
    prior: GlmPrior,
    mode: GlmMode,
    draws: WeightedDraws | None,
    result: Result,
    names: tuple[str, ...],
) -> GlmPosterior:
    """In the columns' own units."""
    flat = design.to_raw(mode.position)
    head = design.n_weights
    rows = design.n_predictors
    evidence = None if draws is None or prior.is_flat or np.isnan(draws.log_normaliser) else draws.log_normaliser
    return GlmPosterior(
        None if draws is None else draws_to_raw(draws, design),
        flat[:head].reshape(rows, -1),
        design.intercept,
        names,
        result,
        evidence,
        design.likelihood,
        flat[head:],
    )


def draws_to_raw(draws: WeightedDraws, design: Design) -> WeightedDraws:
    """The same map on points and moments: it is linear."""
    jacobian = design.to_raw(np.eye(draws.mean.size)).T
    return replace(
        draws,
        points=design.to_raw(draws.points),
        mean=design.to_raw(draws.mean),
        covariance=jacobian @ draws.covariance @ jacobian.T,
    )
