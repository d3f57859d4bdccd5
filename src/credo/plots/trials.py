"""What pictures ask of a study: its trials by kind, and what its objective is believed to be.

`kinds_of_trials`  told, infeasible, failed, pruned
`ObjectiveBelief`  the Gaussian process given all told trials, in the objective's own units
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from credo.errors import ParameterError, UnavailableError
from credo.numerics.readable import count

if TYPE_CHECKING:
    from credo.design.spaces import Space
    from credo.design.surrogates.surrogate import Surrogate
    from credo.studies import Study, Trial

__all__ = ["ObjectiveBelief", "checked_study", "directions", "kind_of", "objective_belief", "values_of"]

# Fewer values do not bear a belief that is worth a picture.
FEWEST = 4
# Learned noise within this factor of the least that a surrogate allows is none that the values show.
AT_FLOOR = 1.5
# Draws of hyperparameters that an interval averages over. All of some 200 cost three times as much, and held the truth
# as often: 87.3 and 87.2 % of 1,200 intervals of 90 %, where those at the likeliest held it in 78.4 %.
MEMBERS = 64


def checked_study(owner: str, study: Any, objectives: int | None = None) -> None:
    """That it is a study, with one or two objectives where that matters."""
    if not all(hasattr(study, name) for name in ("records", "space", "direction", "seed")):
        raise ParameterError(owner, "study", "a Study", study)
    if objectives is not None and len(directions(study)) != objectives:
        wanted = "one objective" if objectives == 1 else f"{objectives} objectives"
        raise ParameterError(owner, "study", f"of {wanted}", study.direction)


def directions(study: Study) -> tuple[str, ...]:
    """ "minimize" or "maximize" of every objective."""
    return (study.direction,) if isinstance(study.direction, str) else tuple(study.direction)


def values_of(trial: Trial) -> tuple[float, ...] | None:
    """The values told, one an objective; None of a trial that has none."""
    if trial.state != "told":
        return None
    if trial.values is not None:
        return tuple(trial.values)
    return None if trial.value is None else (trial.value,)


def kind_of(trial: Trial) -> str:
    """ "told", "infeasible", "failed", "pruned", "stale" or "pending"."""
    return "infeasible" if trial.state == "told" and not trial.is_feasible else trial.state


@dataclass(frozen=True, eq=False)
class ObjectiveBelief:
    """What is believed of one objective of a study, given all its trials that were told.

    space : as narrowed so far ; trials : told, within the space ; values (n,) ; sign : 1 where lower is better, else −1
    surrogate : the Gaussian process, of values × sign ; limits : those of the constraints told ; rng_seed : of draws

    `interval` is read by people, and integrates over hyperparameters: at the likeliest alone it is too narrow while
    trials are few. `moments` and `draws`, by which trials are compared, are at the likeliest.
    """

    space: Space
    trials: tuple[Trial, ...]
    values: np.ndarray
    sign: float
    surrogate: Surrogate
    limits: tuple[Surrogate, ...]
    rng_seed: int

    @property
    def points(self) -> list[Mapping[str, Any]]:
        """Those of the trials."""
        return [trial.params for trial in self.trials]

    @cached_property
    def _moments(self) -> Any:
        from credo.design.surrogates.moments import Moments

        return Moments(self.surrogate.belief, self.surrogate.cube)

    @cached_property
    def _hyperparameters(self) -> tuple[np.ndarray, np.ndarray]:
        """Few of equal weight for the many they are drawn as: a picture's points are hundreds."""
        from credo.design.acquisition.averaged import likely_hyperparameters
        from credo.inference.direct.resampling import resample
        from credo.numerics.threads import single_blas_thread

        rng = np.random.default_rng(np.random.SeedSequence(self.rng_seed, spawn_key=(3,)))
        with single_blas_thread():
            thetas, weights = likely_hyperparameters(self.surrogate.belief, rng)
        kept, counts = np.unique(resample(weights, MEMBERS, rng), return_counts=True)
        return thetas[kept], counts / MEMBERS

    def moments(self, points: Sequence[Mapping[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
        """Mean and sd (m,) of the objective, without noise, in its own units, at the likeliest hyperparameters."""
        mean, sd = self._moments(self.space.encode(points).X)
        mean, sd = self.surrogate.outcomes.moments(mean[:, 0], sd)
        return self.sign * mean, sd

    def interval(self, points: Sequence[Mapping[str, Any]], mass: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Median, lower and upper end (m,) of the objective's interval, hyperparameters integrated out.

        Cost for n ≤ 300 trials 256 n³ the first time; then 64 n³ a call, and 64 n² a point.
        """
        from credo.design.acquisition.averaged import moments_over
        from credo.numerics.threads import single_blas_thread

        with single_blas_thread():
            mean, sd = moments_over(self.surrogate, self.space.encode(points).X, *self._hyperparameters)
        z = float(ndtri(0.5 + 0.5 * mass))
        low, middle, high = (self.sign * self.surrogate.outcomes.outside(mean + k * sd) for k in (-z, 0.0, z))
        return middle, np.minimum(low, high), np.maximum(low, high)

    @property
    def noise_sd(self) -> float:
        """sd of a trial's value about the objective at the middle of the values, in their own units."""
        outcomes, s = self.surrogate.outcomes, self.surrogate.noise
        ends = outcomes.outside(np.array([-s, s]))
        return 0.5 * float(ends[1] - ends[0])

    @property
    def is_noisy(self) -> bool:
        """Whether the noise is more than a model's fault in the fit of an exact function."""
        return self.surrogate.noise > self.surrogate.NOISY

    def draws(self, points: Sequence[Mapping[str, Any]], n: int = 256) -> np.ndarray:
        """Values (m, n) × sign, lower better, of n functions drawn from the belief at m points together; ∞ where a
        draw of the constraints is not met. Cost (trials + m) m²."""
        X = self.space.encode(points).X
        rng = np.random.default_rng(self.rng_seed)
        values = self.surrogate.outcomes.outside(_drawn(self.surrogate, X, n, rng))
        for limit in self.limits:
            broken = limit.outcomes.outside(_drawn(limit, X, n, rng)) > 0.0
            values = np.where(broken, np.inf, values)
        return values


def _drawn(surrogate: Surrogate, X: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    from credo.numerics.cholesky import cholesky

    mean, covariance = surrogate.belief.latent(surrogate.cube.rows(X), joint=True)
    root = cholesky(covariance + 1e-8 * np.eye(len(X)), "The covariance of the objective").lower
    return mean + root @ rng.standard_normal((len(X), n))


def objective_belief(study: Study, objective: int = 0, owner: str = "plots") -> ObjectiveBelief:
    """Fit the belief: the model that a study's sampler would have, whatever its sampler was.

    Raises
    ------
    UnavailableError : fewer than 4 trials within the space were told, or nothing of it can vary.

    Cost of one `ask`.
    """
    from credo.design.surrogates import cube_of
    from credo.numerics.threads import single_blas_thread
    from credo.studies.samplers.gp import kinds_of

    space = study.space
    told = [(trial, values) for trial in study.records if (values := values_of(trial)) is not None]
    kept = [(trial, values[objective]) for trial, values in told if space.contains(trial.params)]
    if len(kept) < FEWEST:
        raise UnavailableError(
            f"{owner}: {count(len(kept), 'trial')} with a value; fewer than {FEWEST} bear no belief."
        )
    if not space.width:
        raise UnavailableError(f"{owner}: the space has no parameter that can vary.")
    sign = 1.0 if directions(study)[objective] == "minimize" else -1.0
    trials, values = tuple(trial for trial, _ in kept), np.array([value for _, value in kept])
    X = space.encode([trial.params for trial in trials]).X
    rng = np.random.default_rng(np.random.SeedSequence(study.seed, spawn_key=(0, objective)))
    cube = cube_of(kinds_of(space), X.shape[1])
    told_limits = np.array([trial.constraints or () for trial in trials]).reshape(len(trials), -1)
    outcomes = [sign * values, *told_limits.T]
    with single_blas_thread():
        fits = [_fitted(X, y, cube, study.noisy, k == 0, rng) for k, y in enumerate(outcomes)]
    return ObjectiveBelief(space, trials, values, sign, fits[0], tuple(fits[1:]), study.seed)


def _fitted(X: np.ndarray, y: np.ndarray, cube: Any, noisy: bool | None, warp: bool, rng: Any) -> Surrogate:
    """The surrogate; where the least noise that it may have was learned, values are taken to be exact."""
    from credo.design.surrogates.surrogate import fit_surrogate

    found = fit_surrogate(X, y, cube, noisy=noisy, warp=warp, theta=(), learned_from=0, rng=rng)
    if noisy is None and found.noise < AT_FLOOR * float(np.exp(found.belief.noise.bounds[0, 0])):
        return fit_surrogate(X, y, cube, noisy=False, warp=warp, theta=(), learned_from=0, rng=rng)
    return found
