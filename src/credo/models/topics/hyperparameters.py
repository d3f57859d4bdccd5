"""Concentrations of the Dirichlet priors from expectations of log shares: the part of an M-step that LDA adds."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from credo.distributions.dirichlet import ascend
from credo.errors import NumericalError

__all__ = ["symmetric_concentration", "topic_concentrations"]

OWNER = "LatentDirichletAllocation"
# Documents (or topics) that differ less than a Dirichlet of this concentration lets them are alike: there is nothing to
# learn from them, and the maximum may be at infinity.
LARGEST = 1e3


def topic_concentrations(mean_log: np.ndarray, start: np.ndarray) -> np.ndarray:
    """α (K,) that maximises E log Dir(θ | α), `mean_log` (K,) the mean of E log θ_k over documents; `start` if α would
    pass `LARGEST`, or with one topic, where α says nothing."""
    if mean_log.size == 1:
        return start
    gamma_log, psi = scipy.special.gammaln, scipy.special.digamma

    def value(a: np.ndarray) -> float:
        return float(gamma_log(a.sum()) - gamma_log(a).sum() + a @ mean_log)

    def derivatives(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        curvature = scipy.special.polygamma(1, np.append(a, a.sum()))
        return psi(a.sum()) - psi(a) + mean_log, curvature[:-1], float(curvature[-1])

    return _climb(start, value, derivatives)


def symmetric_concentration(total_log: float, topics: int, words: int, start: float) -> float:
    """η that maximises Σ_z E log Dir(φ_z | η, ..., η), `total_log` the sum of E log φ over topics and words; `start` if
    η would pass `LARGEST`, or with one word."""
    if words == 1:
        return start
    gamma_log, psi = scipy.special.gammaln, scipy.special.digamma

    def value(a: np.ndarray) -> float:
        return float(gamma_log(words * a[0]) - words * gamma_log(a[0]) + a[0] * total_log / topics)

    def derivatives(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        gradient = words * (psi(words * a) - psi(a)) + total_log / topics
        curvature = scipy.special.polygamma(1, np.append(a, words * a))
        return gradient, words * curvature[:1], float(words**2 * curvature[1])

    return float(_climb(np.array([start]), value, derivatives)[0])


def _climb(start: np.ndarray, value: Any, derivatives: Any) -> np.ndarray:
    """Where Newton's climb ends, or where it began if it left."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found = ascend(OWNER, start, value, derivatives, None, 1.0, LARGEST)
    except NumericalError:
        return start
    return found if np.all(np.isfinite(found)) else start
