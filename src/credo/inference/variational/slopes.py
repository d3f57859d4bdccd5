"""Whether a gradient is that of its log density: differences along random directions, at draws of a Normal.

A wrong gradient is not seen by weights: q is then the best answer to another question, its tails may still cover p, and
k̂ calls it good. Two evaluations a direction see it.
"""

from __future__ import annotations

import numpy as np

from credo.errors import NumericalError
from credo.inference.target import Target
from credo.inference.variational.gaussian import NormalMap

__all__ = ["check_gradient"]

#: draws looked at, each along a direction of its own
DIRECTIONS = 8
#: steps, in sds of q: the squares are about the relative errors of differences; odd multiples, so that the rounding of
#: a density in single precision does not agree with itself
STEPS = 1e-3 * np.array([1.0, 2.3, 5.1, 11.7])
#: relative error of a slope that is a mistake and not arithmetic
WRONG = 0.01
#: times the spread over steps: what kinks and noise may do to a difference
DOUBTFUL = 10.0


def check_gradient(target: Target, family: NormalMap, parameters: np.ndarray) -> None:
    """`NumericalError` where the slopes differ from differences of the log density along more than half of them.

    Kinks, noise and zero density make single differences worthless: those whose value changes with the step are passed
    over. Draws are the same every time, and take none of the caller's.
    """
    noise = np.random.default_rng(0).standard_normal((2, DIRECTIONS, family.n_noise))
    at = family.draw(parameters, noise[0])
    along = family.draw(parameters, noise[0] + noise[1]) - at
    with np.errstate(all="ignore"):
        gradient = np.asarray(target.evaluate_rows(at, gradient=True)[1])
        ahead, back = (np.array([target.evaluate_rows(at + h * along)[0] for h in s * STEPS]) for s in (1.0, -1.0))
        slopes = (ahead - back) / (2.0 * STEPS[:, None])
        slope, near, spread = np.einsum("ij,ij->i", gradient, along), slopes[0], np.ptp(slopes, axis=0)
        size = np.maximum(np.maximum(np.abs(slope), np.abs(near)), 1.0)  # 1 nat a sd: less does not matter
        told = np.all(ahead != back, axis=0) & (spread < WRONG * size)
        wrong = np.flatnonzero(told & (np.abs(slope - near) > WRONG * size + DOUBTFUL * spread))
    if 2 * wrong.size > DIRECTIONS:
        i = wrong[0]
        raise NumericalError(
            f"stochastic_vi: the gradient is not that of the log density: at {target.describe(at[i])} it rises by "
            f"{near[i]:.4g} a sd of q in some direction, and by {slope[i]:.4g} by the gradient.",
            value=at[i],
            remedy="Check it, variable by variable, against finite differences of the log density.",
        )
