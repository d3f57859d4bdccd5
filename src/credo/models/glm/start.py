"""Where Newton begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.blocks.reduction import reduce
from credo.blocks.source import Block
from credo.inference.newton import ascent
from credo.models.glm.equations import Design
from credo.models.glm.laplace import DataTerm
from credo.models.glm.prior import GlmPrior

__all__ = ["starting_point"]


def starting_point(data: DataTerm, prior: GlmPrior, outcomes: np.ndarray) -> np.ndarray:
    """Θ (K,): classes at 0, where the curvature is largest; numbers by one weighted least-squares fit of η.

    Each row's own η₀ = argmax log p(y | η) (or near it) is fitted with the curvature there as weight: the classical
    start of iteratively re-weighted least squares, which counts of a million need, since from 0 Newton would overshoot
    by a million and come back by ones. `outcomes` (n,) start the auxiliary parameters.
    """
    design = data.design
    theta = np.zeros(design.size)
    if design.n_auxiliary:
        theta[design.n_weights :] = design.likelihood.initial_auxiliary(outcomes)
    if design.classes is not None:
        return theta
    span = design.spans[0]
    psi = theta[design.n_weights :]
    information, curvature = reduce(
        data.source, lambda block: _working(block, psi, design), lambda a, b: (a[0] + b[0], a[1] + b[1])
    )
    of_prior, precision = prior.information_and_precision(1.0)
    theta[span] = ascent(curvature + precision[span, span], information + of_prior[span])
    return theta


def _working(block: Block, psi: np.ndarray, design: Design) -> tuple[np.ndarray, np.ndarray]:
    """Σ φ ω (η₀ − offset) and Σ φφᵀ ω, with ω the curvature of log p at η₀."""
    phi = block.X
    likelihood = design.likelihood
    eta = likelihood.initial_eta(block.y)
    known: dict[str, Any] = {"psi": psi} if psi.size else {}
    weight = np.maximum(-likelihood.value_and_derivatives(block.y, eta, **known)[2], 0.0)
    if block.weights is not None:
        weight = weight * block.weights
    target = eta if block.offset is None else eta - block.offset
    weighted = phi * weight[:, None]
    return weighted.T @ target, weighted.T @ phi
