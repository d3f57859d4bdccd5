"""The usual surrogate: a Gaussian process with priors under which few trials do not mislead it.

On the unit cube and standardised values, with d parameters:

    k       Matérn 5/2, a lengthscale ℓ_j each; × exp(−Σ [levels differ]/ℓ_g) over categorical parameters
    ℓ_j     LogNormal(√2 + ½ log d, √3), which grows as distances between points do
    noise   variance LogNormal(−4, 1) in the source; here as wide as exp(−3 ± 2), see `NOISE`
    mean    a constant, integrated out

Hyperparameters are where the posterior density *of ℓ and the variance themselves* is highest, as in the source. Credo's
search is over their logs, whose density has another factor ℓ; LogNormal(μ − σ², σ) has its mode in logs where
LogNormal(μ, σ) has it in ℓ.

Hvarfner, Hellsten & Nardi (2024), Vanilla Bayesian optimization performs great in high dimensions, ICML.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.ascent import ascend
from credo.design.surrogates.cube import Cube
from credo.design.surrogates.evidence import evidence_of
from credo.distributions import LogNormal
from credo.errors import NumericalError
from credo.kernels import Categorical, Kernel, Matern
from credo.models.gaussian_process.belief import Belief
from credo.models.gaussian_process.mean import mean_of
from credo.models.gaussian_process.noise import Learned
from credo.models.gaussian_process.observations import Observations
from credo.models.gaussian_process.solvers.exact import Exact

__all__ = ["Posterior", "believe", "learn", "normal_prior", "posterior_of", "starts_of"]

LOCATION, SPREAD = float(np.sqrt(2.0)), float(np.sqrt(3.0))
# Wider than the source's LogNormal(−4, 1) = (−5, 1) in logs: with that, noise above .6 sds of the objective was
# explained by tiny lengthscales, and the best point told was the luckiest. On quadratics with noise of .2 and .5 of the
# objective's sd the regret of what is recommended after 60 trials fell from .029 to .011 and .150 to .024 (ten seeds).
NOISE = LogNormal(-3.0, 2.0)
# Where a second search begins: rough, and mostly noise.
SECOND_LENGTHSCALE, SECOND_NOISE = 0.5, 0.7
# Where the user says that there is none: what a smooth kernel misses of an objective may still be as much as noise.
NO_NOISE = LogNormal(-12.0, 2.0)
# sd of noise, in sds of the values: 1e-2 is a variance of 1e-4, below which the covariance's condition costs more than
# a better fit gains. Where the user says that there is no noise, what matters at the end are differences of values near
# the best: with 1e-3 a search of Hartmann's function stopped at a tenth of a percent of the values' sd.
FLOOR_NOISY, FLOOR_EXACT = 1e-2, 1e-4
CEILING = 3.0
# Lengthscales of a thousandth of the cube are white noise, of 10⁴ a constant.
LIMITS = (1e-3, 1e4)
# A hundred trials have a log density of some 30 nats: a step that gains a thousandth of one is the last.
TOLERANCE = 3e-5
COLD, WARM = 60, 15
# sd of what the trials leave open of the log of a hyperparameter that matters: the unit of steps, of which the first
# takes at most two. A search that ten more steps like its last would not take past the other's place ends.
TYPICAL, FIRST, RACE = 0.3, 2.0, 10.0

Posterior = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Scatter(Learned):
    """A learned sd of noise with a floor of its own."""

    floor: float = FLOOR_NOISY

    @property
    def bounds(self) -> np.ndarray:
        return np.log([[self.floor, CEILING]])


def kernel_of(cube: Cube) -> Kernel:
    """The prior covariance on rows of the cube, at the mode of its prior."""
    ordered, groups = cube.ordered.size, len(cube.groups)
    mode = LOCATION - SPREAD**2 + 0.5 * np.log(ordered + groups)

    def options(count: int, first: int) -> dict[str, Any]:
        return {
            "lengthscale": np.full(count, np.exp(mode)), "active_dims": tuple(range(first, first + count)),
            "priors": {"lengthscale": LogNormal(np.full(count, mode), SPREAD)}, "limits": {"lengthscale": LIMITS},
        }  # fmt: skip

    if not groups:
        return Matern(nu=2.5, **options(ordered, 0))
    levels = Categorical(**options(groups, ordered))
    return Matern(nu=2.5, **options(ordered, 0)) * levels if ordered else levels


def believe(rows: np.ndarray, z: np.ndarray, cube: Cube, *, noisy: bool | None, theta: np.ndarray | None) -> Belief:
    """The belief about standardised values z (n,) at rows (n, k), at given hyperparameters or the prior's mode."""
    prior, floor = (NO_NOISE, FLOOR_EXACT) if noisy is False else (NOISE, FLOOR_NOISY)
    noise = Scatter(float(np.exp(0.5 * prior.mu)), 1.0, 1.0, prior, True, floor=floor)
    ones = np.ones(len(rows))
    mean = mean_of("constant", None, rows, ones, 1.0)
    solver: Any = Exact()
    belief = Belief(kernel_of(cube), noise, mean, Observations.of(rows, z[:, None], ones, ones), solver)
    if theta is None or theta.size != belief.theta.size:
        return belief
    return belief.at(np.clip(theta, *belief.bounds.T))


def learn(belief: Belief, *, warm: bool, of_logs: bool = False) -> np.ndarray:
    """θ (h,) where `posterior_of` is highest: searched from the belief's own.

    NumericalError : the belief cannot be conditioned, even with jitter, where the search starts.
    """
    objective = posterior_of(belief, of_logs=of_logs)
    starts = starts_of(belief)

    def at_all(parts: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = [_or_wall(objective, TYPICAL * part) for part in parts]
        return np.array([value for value, _ in found]), TYPICAL * np.array([slope for _, slope in found])

    low, high = belief.bounds.T / TYPICAL
    points, values = ascend(at_all, np.array(starts) / TYPICAL, low, high, max_iter=WARM if warm else COLD,
                            tol=TOLERANCE, race=RACE, first=FIRST)  # fmt: skip
    best = int(np.argmax(values))
    if values[best] == -np.inf:
        objective(belief.theta)  # says what is wrong
    return TYPICAL * points[best]


def starts_of(belief: Belief) -> list[np.ndarray]:
    """Where searches for θ begin: the belief's own, and where there may be noise, rough and noisy."""
    starts = [belief.theta]
    if isinstance(belief.noise, Scatter) and belief.noise.floor == FLOOR_NOISY:
        noisy = np.full(belief.theta.size, np.log(SECOND_LENGTHSCALE))
        noisy[-1] = np.log(SECOND_NOISE)
        starts.append(np.clip(noisy, *belief.bounds.T))
    return starts


def posterior_of(belief: Belief, *, of_logs: bool = False) -> Posterior:
    """θ (h,) → log p(z | θ) + log p(θ), up to a constant, and its slope (h,).

    of_logs : whether the density is that of θ, logs, to be integrated; else lengthscales have that of ℓ themselves,
        whose highest point is the one to plug in
    """
    evidence = evidence_of(belief)
    centre, spread = normal_prior(belief)
    if of_logs:
        centre = centre + np.append(np.full(centre.size - 1, SPREAD**2), 0.0)

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = evidence(theta)
        gap = (theta - centre) / spread
        return value - 0.5 * float(gap @ gap), slope - gap / spread

    return objective


def _or_wall(objective: Posterior, theta: np.ndarray) -> tuple[float, np.ndarray]:
    try:
        with np.errstate(all="ignore"):
            value, slope = objective(theta)
    except NumericalError:
        return -np.inf, np.zeros(theta.size)
    return (value, slope) if np.isfinite(value) and np.isfinite(slope).all() else (-np.inf, np.zeros(theta.size))


def normal_prior(belief: Belief) -> tuple[np.ndarray, np.ndarray]:
    """Means and sds (h,) of θ: logs of LogNormals, in closed form what `Belief.log_prior` finds by differences."""
    priors = [hyper.prior for hyper in belief.kernel.hyperparameters]
    noise: Any = belief.noise
    centre = np.concatenate([*(np.atleast_1d(prior.mu) for prior in priors), [0.5 * noise.prior.mu]])
    sizes = [np.full(np.size(prior.mu), prior.sigma) for prior in priors]
    return centre, np.concatenate([*sizes, [0.5 * noise.prior.sigma]])
