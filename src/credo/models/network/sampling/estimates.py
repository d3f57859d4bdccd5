"""`MarginalEstimates`: probabilities of states, and how far off they may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["LEAST_ESS", "MarginalEstimates", "with_unseen"]

# Draws that count: as of every other sampler here, errors of a probability are then below 0.025.
LEAST_ESS = 400.0


@dataclass(frozen=True, eq=False)
class MarginalEstimates:
    """Estimated marginals.

    marginals : {node: {state: p}}, nodes with evidence included
    standard_errors : {node: (states,)}, 0 where p is known
    log_probability, log_probability_error : log P(evidence) and its standard error; NaN where not estimated
    method : "exact", "cut-set conditioning", "forward", "likelihood weighting" or "gibbs"
    ess : draws that count, after weights or autocorrelation (the least of all states); ∞ where exact
    n_samples : draws made, or terms summed
    rhat : the largest R̂ of all states, of chains; else NaN
    """

    marginals: Mapping[str, Mapping[Any, float]]
    standard_errors: Mapping[str, np.ndarray]
    log_probability: float
    log_probability_error: float
    method: str
    ess: float
    n_samples: int
    rhat: float = float("nan")

    @property
    def exact(self) -> bool:
        """Whether these are sums, not samples."""
        return self.ess == np.inf

    def interval(self, node: str, z: float = 1.96) -> np.ndarray:
        """(states, 2): p ± z standard errors, within [0, 1]."""
        p, error = np.array(list(self.marginals[node].values())), self.standard_errors[node]
        return np.clip(np.stack([p - z * error, p + z * error], axis=1), 0.0, 1.0)

    def __repr__(self) -> str:
        how = "exact" if self.exact else f"ess {self.ess:.0f}"
        return f"<MarginalEstimates of {len(self.marginals)} nodes by {self.method}, {how}>"


def with_unseen(error: np.ndarray, ess: float) -> np.ndarray:
    """Standard errors with room for what no draw met: the sd of Beta(1, n + 1), after 0 of n, is near 1/(n + 2).

    >>> with_unseen(np.array([0.0, 0.05]), 98.0).round(4).tolist()
    [0.01, 0.051]
    """
    return np.hypot(error, 1.0 / (ess + 2.0))
