"""Acquisition functions over the cube: what each point is worth, and the slopes of that, all maximised.

`Improvement`   log expected improvement, over one incumbent or samples of it (noise, pending trials)
`Bound`         the lower confidence bound
`Path`          one function drawn from the belief (Thompson sampling)
`Feasible`      another, times the probability that constraints are met
`Weighted`      another, times a weight over the cube: where someone thinks the best is
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from credo.design.acquisition import equations
from credo.design.surrogates.moments import Moments
from credo.errors import ParameterError

__all__ = ["Acquisition", "Bound", "Feasible", "Improvement", "LogWeight", "Path", "Weighted"]

#: log weights (m,) of points X (m, d), and their slopes (m, d)
LogWeight = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Acquisition(Protocol):
    """A function of points to be maximised."""

    def value(self, X: np.ndarray) -> np.ndarray:
        """(m,) at points X (m, d)."""
        ...

    def value_and_slopes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m,) and (m, d)."""
        ...


@dataclass(frozen=True, eq=False)
class Improvement:
    """log (1/S) Σ_s E max(b_s − f, 0), f under the belief that sample s of the incumbents makes.

    With S = 1 and b the best value it is logEI; with incumbents sampled it is noisy logEI (Letham et al. 2019, Bayesian
    Analysis 14), and with pending trials sampled too, what a further trial of the batch adds.

    moments : of S sets of values; best (S,)
    """

    moments: Moments
    best: np.ndarray

    def value(self, X: np.ndarray) -> np.ndarray:
        mean, sd = self.moments(X)
        each = equations.log_h((self.best - mean) / sd[:, None])
        return (each[:, 0] if self.best.size == 1 else equations.log_mean_exp(each)[0]) + np.log(sd)

    def value_and_slopes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, sd, pull = self.moments.with_slopes(X)
        each = equations.log_expected_improvement(mean, sd[:, None], self.best)
        if self.best.size == 1:
            return each.value[:, 0], pull(each.mean, each.sd[:, 0])
        value, share = equations.log_mean_exp(each.value)
        return value, pull(share * each.mean, np.einsum("ms,ms->m", share, each.sd))


@dataclass(frozen=True, eq=False)
class Bound:
    """width · σ − μ: optimism in the face of uncertainty. With several sets of values, their average mean."""

    moments: Moments
    width: float

    def value(self, X: np.ndarray) -> np.ndarray:
        mean, sd = self.moments(X)
        return equations.confidence_bound(mean.mean(axis=1), sd, self.width).value

    def value_and_slopes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, sd, pull = self.moments.with_slopes(X)
        value, by_mean, by_sd = equations.confidence_bound(mean.mean(axis=1), sd, self.width)
        return value, pull(np.repeat(by_mean[:, None] / mean.shape[1], mean.shape[1], axis=1), by_sd)


@dataclass(frozen=True, eq=False)
class Path:
    """−f(x) of one path f, callable on rows, with `slope` (as `GaussianProcessRegressor.sample_paths` gives)."""

    path: Any

    def value(self, X: np.ndarray) -> np.ndarray:
        return -self.path(X)[0]

    def value_and_slopes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.value(X), -self.path.slope(X)[0]


@dataclass(frozen=True, eq=False)
class Feasible:
    """objective(x) + Σ_k log P(c_k(x) ≤ 0), for an `objective` in logs; None asks for feasibility alone.

    constraints : moments and a threshold of each, in the standardised values that they are of
    """

    objective: Acquisition | None
    constraints: tuple[tuple[Moments, float], ...]

    def value(self, X: np.ndarray) -> np.ndarray:
        total = np.zeros(len(X)) if self.objective is None else self.objective.value(X)
        for moments, threshold in self.constraints:
            mean, sd = moments(X)
            total = total + equations.log_feasibility(mean[:, 0] - threshold, sd).value
        return total

    def value_and_slopes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        total, slopes = np.zeros(len(X)), np.zeros(X.shape)
        if self.objective is not None:
            total, slopes = self.objective.value_and_slopes(X)
        for moments, threshold in self.constraints:
            mean, sd, pull = moments.with_slopes(X)
            value, by_mean, by_sd = equations.log_feasibility(mean[:, 0] - threshold, sd)
            total, slopes = total + value, slopes + pull(by_mean[:, None], by_sd)
        return total, slopes


@dataclass(frozen=True, eq=False)
class Weighted:
    """objective(x) + log w(x): an improvement, in logs, is multiplied by the weight.

    Hvarfner, Stoll, Souza, Lindauer, Hutter & Nardi (2022), πBO: Augmenting acquisition functions with user beliefs for
    Bayesian optimization, ICLR. There w is a density to a power that falls as 1/trials, so that the data win.
    """

    objective: Acquisition
    log_weight: LogWeight

    def value(self, X: np.ndarray) -> np.ndarray:
        return self.objective.value(X) + self._weight(X)[0]

    def value_and_slopes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, slopes = self.objective.value_and_slopes(X)
        weight, by_point = self._weight(X)
        return value + weight, slopes + by_point

    def _weight(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weight, slopes = (np.asarray(part, dtype=np.float64) for part in self.log_weight(X))
        if weight.shape != (len(X),) or slopes.shape != X.shape:
            shapes = f"log weights ({len(X)},) and slopes {X.shape} of {len(X)} points"
            raise ParameterError("propose", "prior", shapes, (weight.shape, slopes.shape))
        return weight, slopes
