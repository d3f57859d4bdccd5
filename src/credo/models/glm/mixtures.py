"""Priors that are no Gaussian: modes under Laplace, Student-t and elastic-net priors, and Gibbs sampling by variances.

Given a variance for every coefficient the prior is Normal (`models/scale_mixtures`), and what is left is a posterior
near its Gaussian: one Hamiltonian trajectory, whitened by each chain's own precision, moves Θ; then the variances are
drawn given Θ.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from credo.errors import ParameterError
from credo.inference.coordinate_descent import lasso_gram
from credo.inference.gibbs_chains import CHAINS, run_chains
from credo.inference.newton import Curve, newton
from credo.inference.result import Result
from credo.inference.weighted import WeightedDraws
from credo.models.glm.laplace import DataTerm, GlmMode
from credo.models.glm.prior import GlmPrior
from credo.models.glm.sampling import equally_weighted
from credo.models.scale_mixtures import Box, ElasticNetMixture, HorseshoeMixture, LaplaceMixture, ScaleMixture

__all__ = ["gibbs_posterior", "mixture_mode", "refuse", "rescaled_mixture"]

# Length of a trajectory in whitened time: π/2 carries a Gaussian to an independent draw; random between half and one
# and a half of it, so that no period resonates.
LENGTH = 0.5 * np.pi
# Leapfrog steps of it: the energy then errs by some 0.1 at a dozen dimensions, and nine of ten moves are taken.
STEPS = 4
MAX_ITER = 200
# As for Newton's method: the gain a step promises, in nats, below which it is the last.
TOLERANCE = 1e-13
MAX_HALVINGS = 30


def rescaled_mixture(mixture: ScaleMixture | Box, unit: np.ndarray) -> ScaleMixture | Box:
    """Of coefficients on columns divided by `unit` (P,), which are `unit` times as large."""
    if isinstance(mixture, Box):
        return Box(mixture.low * unit, mixture.high * unit)
    more = {"normal_sd": mixture.normal_sd * unit} if isinstance(mixture, ElasticNetMixture) else {}
    return dataclasses.replace(mixture, mean=mixture.mean * unit, scale=mixture.scale * unit, **more)


def refuse(owner: str, inference: str, prior: GlmPrior) -> None:
    """`ParameterError` with the reason where a prior and an inference do not go together."""
    mixtures = [mixture for _, mixture in prior.mixed]
    if inference == "gibbs" and (prior.is_gaussian or any(isinstance(m, Box) for m in mixtures)):
        raise ParameterError(
            owner, "inference", "'auto', 'laplace' or 'nuts' for a prior that is not a mixture of Normals", inference
        )
    if inference == "laplace" and any(isinstance(m, (LaplaceMixture, ElasticNetMixture)) for m in mixtures):
        raise ParameterError(
            owner, "inference", "'auto', 'gibbs', 'nuts' or 'map' for a prior with a kink, where no curvature exists",
            inference,
        )  # fmt: skip
    if inference in ("auto", "gibbs"):
        return
    if any(isinstance(m, HorseshoeMixture) or (isinstance(m, ScaleMixture) and m.learned) for m in mixtures):
        raise ParameterError(
            owner, "inference", "'auto' or 'gibbs' for a prior whose scale is learned", inference,
            "Its density has a spike, or no closed form, given the coefficients alone.",
        )  # fmt: skip


# -- modes ---------------------------------------------------------------------------------------------------------


def mixture_mode(data: DataTerm, prior: GlmPrior, start: GlmMode) -> GlmMode:
    """The mode under the priors themselves: Newton where they are smooth, proximal Newton where they have kinks."""
    if any(getattr(mixture, "penalty", None) is not None for _, mixture in prior.mixed):
        return _proximal_mode(data, prior, start)
    precision = prior.exact_form[1]

    def objective(theta: np.ndarray) -> Curve:
        statistics = data.statistics(theta)
        value, slope = prior.log_density(theta[None], gradient=True)
        assert slope is not None
        curvature = statistics.curvature + precision
        for where, mixture in prior.mixed:
            curvature[where, where] -= np.diag(_second(mixture, theta[where]))
        return Curve(statistics.value + float(value[0]), statistics.gradient + slope[0], curvature)

    fitted = newton(objective, start.position)
    return _settled(data, prior, fitted.position, fitted.result)


def _settled(data: DataTerm, prior: GlmPrior, position: np.ndarray, result: Result) -> GlmMode:
    """With what the priors differ by from their stand-ins moved into the statistics: a Gaussian is made of both."""
    statistics = data.statistics(position)
    gradient, curvature = statistics.gradient.copy(), statistics.curvature.copy()
    stand_in, precision = prior.stated_form[0] - prior.exact_form[0], prior.stated_form[1] - prior.exact_form[1]
    for where, mixture in prior.mixed:
        if isinstance(mixture, Box):
            continue
        curvature[where, where] -= np.diag(_second(mixture, position[where])) + precision[where, where]
        gradient[where] += mixture.gradient(position[where]) - (stand_in - precision @ position)[where]
    return GlmMode(position, replace(statistics, gradient=gradient, curvature=curvature), 1.0, result)


def _second(mixture: ScaleMixture | Box, w: np.ndarray) -> np.ndarray:
    """Second derivatives (P,) of a separable log density, by central differences of its slopes."""
    if isinstance(mixture, Box):
        return np.zeros(w.size)
    step = 1e-5 * mixture.scale  # error 1e-10 of a curvature of 1/scale²: it sets the speed, not the mode
    return (mixture.gradient(w + step) - mixture.gradient(w - step)) / (2.0 * step)


def _proximal_mode(data: DataTerm, prior: GlmPrior, start: GlmMode) -> GlmMode:
    """Each step minimises the likelihood's quadratic plus the penalties, and is halved until the posterior gains.

    Reference: Lee, Sun and Saunders (2014), Proximal Newton-type methods, SIAM J. Optim. 24.
    """
    information, precision = prior.exact_form
    l1, ridge, centre = (np.zeros(prior.size) for _ in range(3))
    for where, mixture in prior.mixed:
        assert isinstance(mixture, ScaleMixture)
        kind, slope, *rest = mixture.penalty  # type: ignore[misc]
        l1[where], centre[where] = slope, mixture.mean
        ridge[where] = rest[0] if kind == "elastic_net" else 0.0

    def value(theta: np.ndarray, log_likelihood: float) -> float:
        return log_likelihood + float(prior.log_density(theta[None])[0][0])

    theta, trace, status = start.position, [], "max_iter"
    statistics = data.statistics(theta)
    best = value(theta, statistics.value)
    for _ in range(MAX_ITER):
        gram = statistics.curvature + precision
        pull = statistics.gradient + information - precision @ theta
        cross = gram @ (theta - centre) + pull
        goal = lasso_gram(gram, cross, l1, ridge, square=float(np.abs(cross) @ np.abs(theta - centre)) + 1.0)
        step = goal.coef + centre - theta
        gain = float(0.5 * step @ gram @ step)
        for halving in range(MAX_HALVINGS):
            trial = theta + 0.5**halving * step
            following = data.statistics(trial)
            reached = value(trial, following.value)
            if reached >= best - 64.0 * np.finfo(float).eps * (1.0 + abs(best)):
                break
        theta, statistics, best = trial, following, reached
        trace.append(best)
        if gain <= max(TOLERANCE, 8.0 * np.finfo(float).eps * abs(best)):
            status = "converged"
            break
    gap = _kkt(statistics.gradient + information - precision @ theta - ridge * (theta - centre), theta - centre, l1)
    return GlmMode(theta, statistics, 1.0, Result(status, "map", tuple(trace), certificate={"kkt_residual": gap}))


def _kkt(pull: np.ndarray, away: np.ndarray, l1: np.ndarray) -> float:
    """How far the subgradient is from holding 0, at most."""
    moving = np.abs(pull - l1 * np.sign(away))
    return float(np.where((away == 0.0) & (l1 > 0.0), np.maximum(np.abs(pull) - l1, 0.0), moving).max())


# -- Gibbs ---------------------------------------------------------------------------------------------------------


@dataclass
class _Chains:
    theta: np.ndarray
    states: list[dict[str, np.ndarray]]
    step: float


def gibbs_posterior(
    data: DataTerm, prior: GlmPrior, mode: GlmMode, labels: list[str], owner: str
) -> tuple[WeightedDraws, Result]:
    """Draws of Θ with equal weights, and the chains' report. The seed is fixed: a fit is a function of its data."""
    rng = np.random.default_rng(0)
    lower = mode.precision_lower(prior)
    z = rng.standard_normal((CHAINS, mode.position.size))
    theta = mode.position + scipy.linalg.solve_triangular(lower, z.T, lower=True, trans=1).T
    base = mode.statistics.curvature + prior.exact_form[1] + prior.gauge(mode.statistics.curvature)

    def sweep(chains: _Chains, rng: np.random.Generator) -> _Chains:
        variance = np.full(theta.shape, np.inf)
        centre = np.zeros(prior.size)
        states = []
        for (where, mixture), state in zip(prior.mixed, chains.states, strict=True):
            assert isinstance(mixture, ScaleMixture)
            variance[:, where], state = mixture.draw_variances(chains.theta[:, where], state, rng)
            centre[where] = mixture.mean
            states.append(state)
        return _Chains(_trajectory(data, prior, base, chains, variance, centre, rng), states, chains.step)

    start = _Chains(theta, [mixture.initial(CHAINS) for _, mixture in prior.mixed], LENGTH / STEPS)  # type: ignore[union-attr]
    draws = run_chains(
        sweep, start, lambda chains: {name: chains.theta[:, i] for i, name in enumerate(labels)}, rng, owner=owner
    )
    positions = np.stack([draws.values[name] for name in labels], axis=-1)
    result = draws.result
    ess = float(result.certificate.get("ess_bulk", np.nan))
    return equally_weighted(positions, rng, ess), result


def _trajectory(
    data: DataTerm,
    prior: GlmPrior,
    base: np.ndarray,
    chains: _Chains,
    variance: np.ndarray,
    centre: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """One trajectory of every chain under N(centre, variance) priors, whitened by its own precision; Metropolis."""
    information, precision = prior.exact_form
    inverse = 1.0 / variance
    masses = base + inverse[:, :, None] * np.eye(prior.size)
    size = np.sqrt(np.diagonal(masses, axis1=1, axis2=2))
    lower = np.linalg.cholesky(masses / size[:, :, None] / size[:, None, :]) * size[:, :, None]
    whiten = np.linalg.inv(lower)  # (c, K, K), of triangles: K³/3 each, and products after

    def evaluate(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = data.gradients(theta)
        away = theta - centre
        pull = theta @ precision
        value = value + theta @ information - 0.5 * (pull * theta).sum(axis=1) - 0.5 * (inverse * away**2).sum(axis=1)
        return value, np.einsum("cij,cj->ci", whiten, gradient + information - pull - inverse * away)

    position = chains.theta
    value, force = evaluate(position)
    momentum = rng.standard_normal(position.shape)
    energy = value - 0.5 * np.square(momentum).sum(axis=1)
    step = chains.step * (0.5 + rng.random())
    moved = position
    with np.errstate(all="ignore"):  # a chain that diverges is rejected
        for _ in range(STEPS):
            momentum = momentum + 0.5 * step * force
            moved = moved + step * np.einsum("cij,ci->cj", whiten, momentum)
            value, force = evaluate(moved)
            momentum = momentum + 0.5 * step * force
        change = value - 0.5 * np.square(momentum).sum(axis=1) - energy
    taken = np.log(rng.random(len(position))) < np.where(np.isfinite(change), change, -np.inf)
    return np.where(taken[:, None], moved, position)
