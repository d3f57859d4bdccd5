"""Functions of points to be maximised.

`FrontImprovement`  expected hypervolume improvement
`End`               how low one objective's mean is, and a little the other's: where an end of the front is believed
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.design.acquisition.equations import log_mean_exp
from credo.design.acquisition.functions import Bound
from credo.design.fronts.equations import (
    corners,
    log_expected_hypervolume_improvement,
    log_expected_hypervolume_improvement_value,
)
from credo.design.surrogates.moments import Moments

__all__ = ["End", "FrontImprovement", "padded_corners"]


@dataclass(frozen=True, eq=False)
class FrontImprovement:
    """log (1/S) Σ_s E HVI(f₁, f₂ | front s), f under the beliefs that sample s of the incumbents makes.

    With S = 1 the front is what was seen; with incumbents sampled it is the noisy improvement, and with pending trials
    sampled too, what a further trial of the batch adds.

    first, second : moments of S sets of values each; right, top (S, K) : corners of each sample's front

    Daulton, Balandat & Bakshy (2021), Parallel Bayesian optimization of multiple noisy objectives with expected
    hypervolume improvement, NeurIPS; here each sample's part is in closed form.
    """

    first: Moments
    second: Moments
    right: np.ndarray
    top: np.ndarray

    def value(self, X: np.ndarray) -> np.ndarray:
        (one, sd), (two, other) = self.first(X), self.second(X)
        sds = np.broadcast_to(sd[:, None], one.shape), np.broadcast_to(other[:, None], two.shape)
        return log_mean_exp(log_expected_hypervolume_improvement_value((one, two), sds, self.right, self.top))[0]

    def value_and_slopes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen = self.first.with_slopes(X), self.second.with_slopes(X)
        means = seen[0].mean, seen[1].mean
        sds = tuple(np.broadcast_to(each.sd[:, None], each.mean.shape) for each in seen)
        each = log_expected_hypervolume_improvement(means, (sds[0], sds[1]), self.right, self.top)
        value, share = log_mean_exp(each.value)
        slopes = [
            part.pull(share * by_mean, np.einsum("ms,ms->m", share, by_sd))
            for part, by_mean, by_sd in zip(seen, each.mean, each.sd, strict=True)
        ]
        return value, slopes[0] + slopes[1]


@dataclass(frozen=True, eq=False)
class End:
    """Σ_j w_j (width·σ_j − μ_j), in standardised units: how low one objective may be, and a little the other's.

    With a weight on the other objective what is found is not merely among the lowest in the first, of which most may be
    dominated.
    """

    bounds: tuple[Bound, Bound]
    weights: tuple[float, float]

    def value(self, X: np.ndarray) -> np.ndarray:
        return sum((weight * bound.value(X) for weight, bound in zip(self.weights, self.bounds)), np.zeros(len(X)))

    def value_and_slopes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        (one, by_one), (two, by_two) = (bound.value_and_slopes(X) for bound in self.bounds)
        first, second = self.weights
        return first * one + second * two, first * by_one + second * by_two


def padded_corners(fronts: list[np.ndarray], reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Right and top (S, K) of S fronts, the shorter ones with their last corner repeated."""
    made = [corners(front, reference) for front in fronts]
    size = max(len(right) for right, _ in made)
    right, top = (
        np.stack([np.pad(each[part], (0, size - len(each[part])), mode="edge") for each in made]) for part in (0, 1)
    )
    return right, top
