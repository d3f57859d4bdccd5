"""`Surrogate`: the belief about an objective that was tried at points of a cube, its values warped and standardised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from credo.design.surrogates.bending import learn_bent
from credo.design.surrogates.cube import Cube
from credo.design.surrogates.gaussian_process import believe, learn
from credo.design.surrogates.outcomes import Outcomes
from credo.models.gaussian_process.belief import Belief

__all__ = ["Surrogate", "fit_surrogate"]

# Trials that a belief is conditioned on, at most: a candidate costs their square. Of more, the best half, and others
# evenly through time.
MOST = 1000
# Trials that hyperparameters are learned from, at most: a step costs their cube.
LEARNED = 400
# With so many trials and more, they are learned again when there are a twentieth more.
OFTEN, GROWTH = 100, 1.05
# Lengthscales beyond are all alike: within the cube nothing changes along them.
WIDEST = 2.0


@dataclass(frozen=True, eq=False)
class Surrogate:
    """belief : about standardised values at rows of the cube; outcomes : what these are

    cube : with the bends that were learned, if any
    theta : hyperparameters, then bends; learned_from : how many trials they were learned from
    """

    belief: Belief
    outcomes: Outcomes
    cube: Cube
    theta: tuple[float, ...]
    learned_from: int

    #: sd of learned noise, of the values', above which the best value counts as uncertain
    NOISY: ClassVar[float] = 0.1

    @property
    def noise(self) -> float:
        """sd of the noise, in sds of the values."""
        return float(np.exp(self.belief.noise.theta[0]))

    @property
    def scale(self) -> np.ndarray:
        """Distances (d,) over which the belief changes alike: lengthscales, at most two widths of the cube, over their
        geometric mean; 1 in columns of categories."""
        scale, ordered = np.ones(self.cube.d), self.cube.ordered
        lengths = self.lengths
        scale[ordered] = lengths / np.exp(np.mean(np.log(lengths))) if ordered.size else lengths
        return scale

    @property
    def lengths(self) -> np.ndarray:
        """Lengthscales of the ordered columns, at most two widths of the cube."""
        return np.minimum(np.exp(self.belief.kernel.theta[: self.cube.ordered.size]), WIDEST)

    def mean_at(self, X: np.ndarray) -> np.ndarray:
        """Mean (m,) of standardised values at points X (m, d)."""
        return self.belief.latent_mean(self.cube.rows(X))[:, 0]


def fit_surrogate(
    X: np.ndarray,
    y: np.ndarray,
    cube: Cube,
    *,
    noisy: bool | None,
    warp: bool,
    theta: tuple[float, ...],
    learned_from: int,
    rng: np.random.Generator,
    warp_inputs: bool = False,
) -> Surrogate:
    """The belief given trials X (m, d), y (m,). theta : where a search for hyperparameters starts, () for afresh."""
    outcomes = Outcomes.of(y, warp=warp)
    z = outcomes.inside(y)
    if warp_inputs and cube.ordered.size:
        return _bent(cube.snap(X), z, outcomes, cube, noisy, theta, learned_from, len(y))
    rows = cube.rows(cube.snap(X))
    known, belief = np.asarray(theta) if theta else None, None
    if known is None or len(y) < OFTEN or len(y) >= GROWTH * learned_from or len(y) < learned_from:
        kept = _kept(z, LEARNED)
        belief = believe(rows[kept], z[kept], cube, noisy=noisy, theta=known)
        known, learned_from = learn(belief, warm=known is not None), len(y)
    if belief is not None and len(z) <= LEARNED:
        belief = belief.at(known)
    else:
        kept = _kept(z, MOST)
        belief = believe(rows[kept], z[kept], cube, noisy=noisy, theta=known)
    return Surrogate(belief, outcomes, cube, tuple(known.tolist()), learned_from)


def _bent(
    X: np.ndarray, z: np.ndarray, outcomes: Outcomes, cube: Cube, noisy: bool | None, theta: tuple[float, ...],
    learned_from: int, n: int,
) -> Surrogate:  # fmt: skip
    """The same with bends of the ordered columns learned beside the hyperparameters, which `theta` ends with."""
    count, rows = 2 * cube.ordered.size, cube.rows(X)
    known, bends = np.asarray(theta)[:-count], np.asarray(theta)[-count:]
    kept = _kept(z, LEARNED)
    belief = believe(rows[kept], z[kept], cube, noisy=noisy, theta=known)
    fresh = known.size != belief.theta.size
    if fresh or n < OFTEN or n >= GROWTH * learned_from or n < learned_from:
        known, bends = learn_bent(belief, np.zeros(count) if fresh else bends, warm=not fresh)
        learned_from = n
    cube = replace(cube, bends=tuple(bends.tolist()))
    kept = _kept(z, MOST)
    belief = believe(cube.rows(X)[kept], z[kept], cube, noisy=noisy, theta=known)
    return Surrogate(belief, outcomes, cube, (*known.tolist(), *cube.bends), learned_from)


def _kept(z: np.ndarray, most: int) -> np.ndarray:
    """Numbers (≤ most,) of trials: all, or the best half of `most` and others evenly through time."""
    if len(z) <= most:
        return np.arange(len(z))
    order = np.argsort(z, kind="stable")
    rest = np.sort(order[most // 2 :])
    others = rest[np.linspace(0, len(rest) - 1, most - most // 2).astype(np.intp)]
    return np.sort(np.concatenate([order[: most // 2], others]))
