"""Whether a proposal reaches where the target is."""

from __future__ import annotations

import numpy as np

from credo.errors import ParameterError, ZeroProbabilityError
from credo.inference.direct.densities import Density, Proposal

__all__ = ["check_reach"]

# exp(−40) = 4e-18: a target lower than this has no mass to miss.
NEGLIGIBLE = 40.0


def check_reach(density: Density, q: Proposal, x: np.ndarray, log_p: np.ndarray) -> None:
    """An error where every weight is zero, or where the target has mass just beyond the support of q.

    Draws of q never show a place where q is zero; so draws pushed away from their mean are looked at.
    """
    seen = log_p[log_p > -np.inf]
    if not seen.size:
        raise ZeroProbabilityError(
            f"{density.owner}: the target is zero at all {len(x)} draws of the {q.parameter} "
            f"(the first at {density.describe(x[0])}).",
            value=x[0],
            remedy="Choose one that covers the target.",
        )
    if getattr(getattr(q.given, "support", None), "kind", "real") == "positive_definite":
        return  # beyond the cone a formula may well have a value, and no meaning
    some = x[:: max(1, len(x) // 64)][:64]
    away = np.array([1.01, 1.2, 2.0, 5.0, 20.0]).reshape(-1, *(1,) * some.ndim)
    probes = (x.mean(axis=0) + away * (some - x.mean(axis=0))).reshape(-1, *x.shape[1:])
    if np.all(x == np.round(x)):  # a count is never between two integers
        probes = np.round(probes)
    outside = probes[q.at(probes) == -np.inf]
    if not len(outside):
        return
    missed = density.quietly(outside)
    missed = np.where(np.isnan(missed), -np.inf, missed)  # nothing was promised there
    worst = int(np.argmax(missed))
    if missed[worst] > seen.max() - NEGLIGIBLE:
        raise ParameterError(
            density.owner, q.parameter,
            f"positive wherever the target is (it is 0 at {density.describe(outside[worst])}, where log p̃ = "
            f"{missed[worst]:.6g})",
            q.given, "Its draws never reach there: choose one with a larger support.",
        )  # fmt: skip
