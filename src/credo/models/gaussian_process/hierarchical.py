"""Hyperparameters integrated over: draws of θ given y, f and the mean's coefficients being integrated exactly at each.

    p(θ | y) ∝ p(y | θ) p(θ),   θ in logs; where no prior is stated p(θ) is uniform between the bounds

By a Student-t about the mode with importance weights, certified by their k̂; or by NUTS or slice sampling.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from credo.distributions.support import Support
from credo.errors import ConvergenceWarning, NotIdentifiedError, NotPositiveDefiniteError, NumericalError
from credo.inference.draws import Draws, ImportanceDraws
from credo.inference.laplace import importance_draws
from credo.inference.map import maximise
from credo.inference.mcmc import NUTS, Slice, sample
from credo.inference.target import Target
from credo.models.gaussian_process.belief import Belief
from credo.models.gaussian_process.fitting import Units, in_users_units, log_evidence
from credo.numerics.cholesky import cholesky, log_determinant, solve_lower

__all__ = ["Integrated", "integrate", "log_target", "named_values"]

# Predictions average over this many θ, evenly spaced along the chains: the error of a mean over them is an eighth of
# the spread between them, and each costs a factorisation.
PREDICTIVE = 64
# Chains start about the mode, apart by a factor e^½: R̂ needs chains that do not agree from the start.
SCATTER = 0.5
# Degrees of freedom of the proposal: tails that dominate most posteriors, at an efficiency of 0.9 for a Normal one.
TAIL = 6.0


def log_target(belief: Belief) -> Target:
    """The target of θ (h,), its value and gradient from one factorisation."""
    low, high = belief.bounds.T
    sizes = {name: np.shape(value) for name, value in named_values(belief, Units.trivial()).items()}
    ends = np.cumsum([0, *(int(np.prod(size)) for size in sizes.values())])
    supports = {name: Support("real", low[a:b], high[a:b]) if sizes[name] else Support("real", low[a], high[a])
                for name, a, b in zip(sizes, ends, ends[1:])}  # fmt: skip

    def log_density(theta: np.ndarray) -> float:
        try:
            there = belief.at(theta)
            return there.evidence(False).value + there.log_prior()[0]
        except NumericalError:  # a covariance beyond repair: no density there
            return -np.inf

    def value_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            there = belief.at(theta)
            score, (prior, slope) = there.evidence(), there.log_prior()
        except NumericalError:
            return -np.inf, np.zeros(theta.size)
        return score.value + prior, score.theta + slope

    return Target(log_density, sizes, value_and_gradient=value_and_gradient, supports=supports)


class Integrated(NamedTuple):
    """posterior : of the hyperparameters by name, in natural values; theta (K, h) to predict at, equally weighted;
    log_prior, log_evidence (chains, draws) of unweighted draws, and those draws, name → (chains, draws, …)"""

    posterior: Draws | ImportanceDraws
    theta: np.ndarray
    log_prior: np.ndarray
    log_evidence: np.ndarray
    values: dict[str, np.ndarray]


def integrate(
    belief: Belief, how: str, *, chains: int, draws: int, warmup: int, units: Units, rng: np.random.Generator
) -> Integrated:
    """Belief about θ by "laplace" (chains · draws weighted draws), "nuts" or "slice", from where `belief` stands."""
    mode, target = belief.theta, log_target(belief)
    if how == "laplace":
        found: Any = _weighted(target, mode, max(100, chains * draws), rng)
        drawn = _joined(found.values, 1)
        resampled = drawn[found._resampled][None]
        scale = log_evidence(belief, units) - belief.evidence(False).value
        posterior: Any = ImportanceDraws(
            _named(belief, drawn, units), found.weights, found.result, found.log_evidence + scale - _log_box(belief)
        )  # fmt: skip
    else:
        found = _sampled(belief, target, how, chains=chains, draws=draws, warmup=warmup, rng=rng)
        resampled = _joined(found.values, 2)
        posterior = Draws(_named(belief, resampled, units), found.result, found.sample_stats)
    flat = resampled.reshape(-1, mode.size)
    prior = np.array([belief.at(row).log_prior()[0] for row in flat]).reshape(resampled.shape[:2])
    if how == "laplace":
        density = np.array([target.evaluate(row).log_density for row in flat]).reshape(prior.shape)
        values = {name: value[found._resampled][None] for name, value in posterior.values.items()}
    else:
        density, values = found.sample_stats["log_density"], dict(posterior.values)
    kept = flat[np.unique(np.linspace(0, len(flat) - 1, PREDICTIVE).round().astype(int))]
    return Integrated(posterior, kept, prior, density - prior, values)


def _weighted(target: Target, mode: np.ndarray, draws: int, rng: np.random.Generator) -> ImportanceDraws:
    """Weighted draws of the Student-t with Laplace's mode and curvature.

    Evidence levels off where a lengthscale makes the function white or constant, so that a posterior of lengthscales
    has tails that a Normal has not.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # an improper mode has no factor, below
        top = maximise(target, initial=mode, n_starts=1, rng=rng, jacobian=True)
    try:
        lower = cholesky(top.hessian, "Hessian of the log posterior of the hyperparameters").lower
    except NotPositiveDefiniteError as error:
        raise NotIdentifiedError(
            f"The hyperparameters have no proper mode: {error}", value=top.free, remedy="Give them priors, or use NUTS."
        ) from None
    k = mode.size
    each, spread = rng.standard_normal((draws, k)), rng.chisquare(TAIL, (draws, 1)) / TAIL
    noise = each / np.sqrt(spread)
    log_q = gammaln(0.5 * (TAIL + k)) - gammaln(0.5 * TAIL) - 0.5 * k * np.log(TAIL * np.pi)
    log_q = log_q + 0.5 * log_determinant(lower)
    log_q = log_q - 0.5 * (TAIL + k) * np.log1p(np.square(noise).sum(axis=1) / TAIL)
    z = top.free + solve_lower(lower, noise.T, transpose=True).T
    return ImportanceDraws(**importance_draws(target, z, log_q, "laplace", top.result.objective))


def _log_box(belief: Belief) -> float:
    """log of the volume of the bounds of what has no prior, over which it is uniform."""
    flat = [
        np.full(hyper.value.size, hyper.prior is None) for hyper in belief.kernel.hyperparameters if not hyper.fixed
    ]
    # The first entry of a noise's θ, its level, has a slope exactly 0 where it has no prior; the others all have one.
    level = [belief.noise.log_prior()[1][:1] == 0.0, np.zeros(max(belief.noise.theta.size - 1, 0), dtype=bool)]
    free = np.concatenate([*flat, *level])[: belief.theta.size]
    return float(np.sum(np.log(np.diff(belief.bounds, axis=1)[free, 0])))


def _sampled(belief: Belief, target: Target, how: str, **settings: Any) -> Draws:
    mode, bounds = belief.theta, belief.bounds
    inside = 1e-3 * (bounds[:, 1] - bounds[:, 0])

    def start(stream: np.random.Generator) -> np.ndarray:
        scattered = mode + SCATTER * stream.standard_normal(mode.size)
        return np.clip(scattered, bounds[:, 0] + inside, bounds[:, 1] - inside)

    kernel: Any = NUTS() if how == "nuts" else Slice()
    return sample(target, kernel, initial=start, threads=1, progress=False, **settings)


def _joined(values: Mapping[str, np.ndarray], axes: int) -> np.ndarray:
    """θ (…, h) of values by name, with `axes` axes of draws."""
    return np.concatenate([v.reshape(*v.shape[:axes], -1) for v in values.values()], axis=-1)


def _named(belief: Belief, theta: np.ndarray, units: Units) -> dict[str, np.ndarray]:
    """Natural values by name of draws θ (…, h)."""
    named = [named_values(belief.at(row), units) for row in theta.reshape(-1, theta.shape[-1])]
    return {
        name: np.array([row[name] for row in named]).reshape(*theta.shape[:-1], *named[0][name].shape)
        for name in named[0]
    }


def named_values(belief: Belief, units: Units) -> dict[str, np.ndarray]:
    """Hyperparameters that are not fixed, by name, natural and in the user's units, in the order of θ; "log noise" are
    the coefficients of a log sd."""
    kernel = in_users_units(belief.kernel, units.shared)
    named = {
        hyper.name: hyper.value if hyper.value.size > 1 else hyper.value[0]
        for hyper in kernel.hyperparameters
        if not hyper.fixed
    }
    theta = belief.noise.theta
    if theta.size:
        named["noise"] = np.exp(theta[0]) * units.shared
    if theta.size > 1:
        named["log noise"] = theta[1:]
    return {name: np.asarray(value) for name, value in named.items()}
