"""Which coefficients have a posterior without a mean, by the powers of its tails.

Far out along a direction that the rows say nothing of, the posterior falls as the prior does. Let the prior of one
coefficient given the scales be as |w|^−(t + 1) there (t = 1 for a Cauchy or horseshoe, ∞ for a Normal or Laplace), and
let the direction move one coefficient alone:

    ∫ |w| |w|^−(t + 1) dw < ∞    only if    t > 1

A direction that moves s ≥ 2 coefficients meets s such tails, and L of them in a space of dimension d ≥ 1 without such a
single one meet at least d + 1: d + 1 < (t + 1)(d + 1) for any t > 0, so these means exist (power counting: Weinberg
1960, Physical Review 118). A scale that is learned, half-Cauchy a priori, falls as τ^−(2 + r) given r directions that
the rows do tell, and E τ < ∞ needs r ≥ 1. For the intercept of logit models see also Ghosh, Li and Mitra (2018),
Bayesian Analysis 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from credo.errors import ConvergenceWarning, warn
from credo.inference.draws import Draws
from credo.inference.result import Result
from credo.models.scale_mixtures import Box, ScaleMixture

__all__ = ["doubting_means", "untold_without_mean", "without_means"]


def untold_without_mean(mixture: ScaleMixture | Box, told: np.ndarray) -> np.ndarray:
    """(P,) which coefficients have no posterior mean; told (P,): whether the rows say anything of each."""
    if not isinstance(mixture, ScaleMixture):
        return np.zeros(told.shape, dtype=bool)
    return ~told & ((np.asarray(mixture.tail) <= 1.0) | (mixture.learned and not told.any()))


def without_means(result: Result, lost: np.ndarray, names: Sequence[str]) -> Result:
    """The report with what is wrong with the means of `lost` (P,), which nothing certifies; unchanged if none is."""
    if not lost.any():
        return result
    chosen = [name for name, is_lost in zip(names, lost, strict=True) if is_lost]
    shown = ", ".join(chosen[:6]) + (", ..." if len(chosen) > 6 else "")
    why = (
        f"The posterior of {shown} has no mean: the rows say nothing of it, and its prior's tails are too heavy for "
        "one. The draws' means, of predictions where the column takes other values too, are no numbers to use; "
        "medians and intervals are right. Drop the column, or state a prior with a mean, such as cr.Normal(0, 10)."
    )
    return replace(result, status="not_certified", advice=(*result.advice, why))


def doubting_means(owner: str, draws: Draws, mixture: ScaleMixture, told: np.ndarray, names: Sequence[str]) -> Draws:
    """Draws whose report says, and a warning too, which coefficients have no mean."""
    result = without_means(draws.result, untold_without_mean(mixture, told), names)
    if result is not draws.result:
        warn(f"{owner}: {result.advice[-1]}", ConvergenceWarning)
    return replace(draws, result=result)
