"""What a point is worth to a front of two objectives: expected hypervolume improvement, in logs, with its slopes.

Notation (both objectives are minimised; they are believed independent)
    μ₁, σ₁, μ₂, σ₂   means and sds of the belief about (y₁, y₂)
    a₁ < … < a_k     first objectives of the front below the reference r, whose second objectives b₁ > … > b_k fall
    corners          (c_i, t_i), i = 0 … k: right c = (a₁ … a_k, r₁), top t = (r₂, b₁ … b_k). What is not dominated
                     yet is the union of the boxes below them
    ψ(c)             E max(c − Y, 0) = σ h((c − μ)/σ), one objective's expected improvement

The strip between a_i and c_i = a_{i+1} is improved up to t_i. With independent beliefs its expectation is a product:

    EHVI = Σ_i [ψ₁(c_i) − ψ₁(c_{i−1})] ψ₂(t_i) = Σ_i ψ₁(c_i) [ψ₂(t_i) − ψ₂(t_{i+1})],   ψ₁(c_{−1}) = ψ₂(t_{k+1}) = 0

The first form gives the slopes in the second objective, the second those in the first: log EHVI has as its slope an
average of the slopes of log ψ over corners, and no term of it is negative. Differences of ψ cancel, but the whole box
below a corner is not dominated, so that EHVI ≥ max_i ψ₁(c_i) ψ₂(t_i): what rounding takes from a strip is small beside
the sum, and scaled by that maximum all is well in logs, however far from improving.

Emmerich, Yang, Deutz, Wang & Fonseca (2016), A multicriteria generalization of Bayesian global optimization, in
Advances in Stochastic and Deterministic Global Optimization; Ament et al. (2023) for logs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo.design.acquisition.equations import log_h, log_h_and_slopes

__all__ = [
    "FrontSlopes",
    "corners",
    "hypervolume_improvement",
    "log_expected_hypervolume_improvement",
    "log_expected_hypervolume_improvement_value",
]


class FrontSlopes(NamedTuple):
    """A value with its slopes in the means and sds of both objectives, arrays of one shape."""

    value: np.ndarray
    mean: tuple[np.ndarray, np.ndarray]
    sd: tuple[np.ndarray, np.ndarray]


def corners(front: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Right c and top t (k + 1,) of the corners that a front (n, 2), without dominated outcomes, leaves below r (2,).

    >>> right, top = corners(np.array([[1.0, 3.0], [2.0, 1.0], [0.5, 9.0]]), np.array([4.0, 4.0]))
    >>> right.tolist(), top.tolist()
    ([1.0, 2.0, 4.0], [4.0, 3.0, 1.0])
    """
    inside = np.unique(front[np.all(front < reference, axis=1)], axis=0)
    return np.append(inside[:, 0], reference[0]), np.concatenate([reference[1:], inside[:, 1]])


def hypervolume_improvement(first: np.ndarray, second: np.ndarray, right: np.ndarray, top: np.ndarray) -> np.ndarray:
    """What outcomes (first, second), arrays of one shape, add to the hypervolume. Corners (..., K) broadcast with them.

    >>> right, top = corners(np.array([[1.0, 3.0], [2.0, 1.0]]), np.array([4.0, 4.0]))
    >>> hypervolume_improvement(np.array(0.0), np.array(2.0), right, top).tolist()
    3.0
    """
    width, height = (np.maximum(c - y[..., None], 0.0) for c, y in ((right, first), (top, second)))
    return np.sum(np.diff(width, axis=-1, prepend=0.0) * height, axis=-1)


def log_expected_hypervolume_improvement(
    mean: tuple[np.ndarray, np.ndarray], sd: tuple[np.ndarray, np.ndarray], right: np.ndarray, top: np.ndarray
) -> FrontSlopes:
    """log EHVI of beliefs of one shape S, with corners (..., K) that broadcast with (*S, K). Cost K for each.

    Corners that are repeated count once, so that fronts of different sizes may be padded to one.

    >>> right, top = corners(np.array([[1.0, 3.0], [2.0, 1.0]]), np.array([4.0, 4.0]))
    >>> m, s = (np.array([0.0]), np.array([2.0])), (np.array([1e-6]), np.array([1e-6]))
    >>> np.exp(log_expected_hypervolume_improvement(m, s, right, top).value).round(6).tolist()
    [3.0]
    """
    parts = [log_h_and_slopes(z) for z in _standardised(mean, sd, right, top)]
    log = [part[0] + np.log(s)[..., None] for part, s in zip(parts, sd, strict=True)]
    highest, mass, strip = _strips(log)
    with np.errstate(under="ignore"):
        slab = (
            _rises(log[1][..., ::-1])[..., ::-1] * mass
        )  # of the second form: weights of the first objective's slopes
    total = strip.sum(axis=-1)
    weights = (slab / slab.sum(axis=-1, keepdims=True), strip / total[..., None])
    by_mean, by_sd = (
        tuple(np.einsum("...k,...k->...", w, part[i]) / s for w, part, s in zip(weights, parts, sd, strict=True))
        for i in (1, 2)
    )
    return FrontSlopes(highest + np.log(total), tuple(-slope for slope in by_mean), by_sd)  # type: ignore[arg-type]


def log_expected_hypervolume_improvement_value(
    mean: tuple[np.ndarray, np.ndarray], sd: tuple[np.ndarray, np.ndarray], right: np.ndarray, top: np.ndarray
) -> np.ndarray:
    """The value alone, for half the cost."""
    log = [log_h(z) + np.log(s)[..., None] for z, s in zip(_standardised(mean, sd, right, top), sd, strict=True)]
    highest, _, strip = _strips(log)
    return highest + np.log(strip.sum(axis=-1))


def _standardised(
    mean: tuple[np.ndarray, np.ndarray], sd: tuple[np.ndarray, np.ndarray], right: np.ndarray, top: np.ndarray
) -> list[np.ndarray]:
    return [(c - m[..., None]) / s[..., None] for c, m, s in zip((right, top), mean, sd, strict=True)]


def _strips(log: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The log of the best corner's box; the boxes of all, and the strips of the first form, divided by that."""
    both = log[0] + log[1]
    highest = both.max(axis=-1, keepdims=True)
    with np.errstate(under="ignore"):
        mass = np.exp(both - highest)
        return highest[..., 0], mass, _rises(log[0]) * mass


def _rises(log: np.ndarray) -> np.ndarray:
    """1 − e^(lᵢ₋₁ − lᵢ) along the last axis, which does not fall: the share of each entry above the one before."""
    shares = np.ones_like(log)
    shares[..., 1:] = -np.expm1(np.minimum(log[..., :-1] - log[..., 1:], 0.0))
    return shares
