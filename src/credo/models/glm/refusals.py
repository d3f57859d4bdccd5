"""Combinations of data, likelihood and prior that have no answer, refused with the reason."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from credo.blocks.reduction import reduce
from credo.blocks.source import Block
from credo.distributions.likelihoods import Likelihood
from credo.errors import NotIdentifiedError, ParameterError
from credo.models.glm.equations import Design
from credo.models.glm.laplace import DataTerm
from credo.models.glm.overview import Overview
from credo.models.glm.prior import GlmPrior
from credo.models.glm.separation import SATURATED, describe_separation
from credo.models.glm.specification import GlmSpecification

__all__ = ["require_counts", "require_one_offset", "require_smooth", "without_maximum"]

# Beyond e^±50 a scale or shape of real outcomes is one that nothing but rounding holds: residuals of 1e-11 of y.
RUN_AWAY = 50.0


def require_counts(
    specification: GlmSpecification, prior: GlmPrior, overview: Overview, likelihood: Likelihood
) -> None:
    """Counts that are all 0 push a flat intercept to −∞."""
    block = prior.blocks[0]
    if likelihood.kind == "count" and overview.all_zero and block.has_intercept and block.intercept is None:
        raise NotIdentifiedError(
            f"{specification.owner}: y is all zero, so the rate's likelihood is highest at 0 and the intercept has no "
            "mode under a flat prior.",
            value=0.0,
            remedy="State a proper intercept prior, such as prior_intercept=cr.Normal(0, 5).",
        )


def require_smooth(specification: GlmSpecification, likelihood: Likelihood) -> None:
    """Newton's method, and all that starts from a mode, need a curvature."""
    if not likelihood.smooth:
        raise ParameterError(
            specification.owner, "likelihood", "smooth: a log density with corners has no curvature at its mode",
            likelihood, "Use cr.LinearRegression(noise=cr.noise.Laplace()), which is sampled by Gibbs.",
        )  # fmt: skip


def require_one_offset(specification: GlmSpecification, design: Design, overview: Overview) -> None:
    if design.is_softmax and overview.has_offset:
        raise ParameterError(
            specification.owner, "offset", f"None for {design.n_predictors} classes: one number a row is added to the "
            "log-odds of two", "an offset",
        )  # fmt: skip


def without_maximum(
    specification: GlmSpecification, data: DataTerm, prior: GlmPrior, names: tuple[str, ...]
) -> Callable[[np.ndarray], str | None]:
    """Is there no maximum? Asked when a scale runs away, and under a flat prior when a linear predictor saturates."""
    design = data.design
    kind = design.likelihood.kind

    def stop(theta: np.ndarray) -> str | None:
        rest = theta[design.n_weights :]
        if kind == "real" and np.abs(rest).max(initial=0.0) > RUN_AWAY:
            return (
                f"{specification.owner}: every y is fitted exactly, so the likelihood rises for ever with "
                f"{', '.join(design.likelihood.auxiliary)}. State it, or a proper prior for it. Is y computed from X?"
            )
        if not prior.is_flat or np.abs(theta[: design.n_weights]).max(initial=0.0) == 0.0:
            return None
        if design.classes is None and kind != "count":
            return None
        weights = theta[: design.n_weights].reshape(design.n_predictors, -1)
        low, high = reduce(
            data.source, lambda block: _extremes(block, weights), lambda a, b: (min(a[0], b[0]), max(a[1], b[1]))
        )
        beyond = -low if kind == "count" else max(-low, high)
        return describe_separation(data.source, design, names) if beyond > SATURATED else None

    return stop


def _extremes(block: Block, weights: np.ndarray) -> tuple[float, float]:
    eta = block.X @ weights.T
    return float(eta.min()), float(eta.max())
