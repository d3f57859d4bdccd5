"""Priors that are no Gaussian (Laplace, Student-t, elastic net, Uniform): what they do not allow, and their modes."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np

from credo.errors import ParameterError
from credo.inference.coordinate_descent import lasso_gram
from credo.inference.newton import Curve, newton
from credo.inference.result import Result
from credo.models.glm.bounded import bounds_of, minimise_within
from credo.models.glm.laplace import DataTerm, GlmMode
from credo.models.glm.prior import GlmPrior
from credo.models.scale_mixtures import Box, ElasticNetMixture, HorseshoeMixture, LaplaceMixture, ScaleMixture

__all__ = ["mixture_mode", "refuse", "rescaled_mixture"]

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


def refuse(owner: str, inference: str, prior: GlmPrior, *, whole: bool = True) -> None:
    """`ParameterError` with the reason where a prior and an inference do not go together."""
    mixtures = [mixture for _, mixture in prior.mixed]
    if inference == "gibbs" and prior.is_gaussian and not whole:
        raise ParameterError(
            owner, "inference", "'auto' or 'nuts' for sample weights that are no whole numbers: Pólya–Gamma variables "
            "count rows", inference,
        )  # fmt: skip
    if inference == "gibbs" and (prior.is_gaussian or any(isinstance(m, Box) for m in mixtures)):
        raise ParameterError(
            owner,
            "inference",
            "'auto' or 'nuts' for a prior that is no mixture of Normals with variances to draw",
            inference,
        )
    if inference in ("auto", "gibbs"):
        return
    if any(isinstance(m, HorseshoeMixture) or (isinstance(m, ScaleMixture) and m.learned) for m in mixtures):
        raise ParameterError(
            owner, "inference", "'auto' or 'gibbs' for a prior whose scale is learned", inference,
            "Its density has a spike, or no closed form, given the coefficients alone.",
        )  # fmt: skip
    if inference == "laplace" and any(isinstance(m, (LaplaceMixture, ElasticNetMixture)) for m in mixtures):
        raise ParameterError(
            owner,
            "inference",
            "'auto', 'gibbs' or 'nuts' for a prior with a kink, where no curvature exists",
            inference,
        )


def mixture_mode(data: DataTerm, prior: GlmPrior, start: GlmMode) -> GlmMode:
    """The mode under the priors themselves: Newton where they are smooth, proximal Newton where they have kinks or
    bounds."""
    if any(isinstance(mixture, Box) or mixture.penalty is not None for _, mixture in prior.mixed):
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
        if isinstance(mixture, Box):
            continue
        kind, slope, *rest = mixture.penalty  # type: ignore[misc]
        l1[where], centre[where] = slope, mixture.mean
        ridge[where] = rest[0] if kind == "elastic_net" else 0.0

    def value(theta: np.ndarray, log_likelihood: float) -> float:
        return log_likelihood + float(prior.log_density(theta[None])[0][0])

    bounds = bounds_of(prior)
    bounded = bool(np.isfinite(bounds[0]).any())
    theta, trace, status = np.clip(start.position, *bounds), [], "max_iter"
    statistics = data.statistics(theta)
    best = value(theta, statistics.value)
    for _ in range(MAX_ITER):
        gram = statistics.curvature + precision
        pull = statistics.gradient + information - precision @ theta
        if bounded:
            step = minimise_within(gram, pull, theta, bounds) - theta
        else:
            cross = gram @ (theta - centre) + pull
            goal = lasso_gram(gram, cross, l1, ridge, square=float(np.abs(cross) @ np.abs(theta - centre)) + 1.0)
            step = goal.coef + centre - theta
        gain = float(0.5 * step @ gram @ step)
        for halving in range(MAX_HALVINGS):
            trial = np.clip(theta + 0.5**halving * step, *bounds)
            following = data.statistics(trial)
            reached = value(trial, following.value)
            if reached >= best - 64.0 * np.finfo(float).eps * (1.0 + abs(best)):
                break
        theta, statistics, best = trial, following, reached
        trace.append(best)
        if gain <= max(TOLERANCE, 8.0 * np.finfo(float).eps * abs(best)):
            status = "converged"
            break
    pull = statistics.gradient + information - precision @ theta - ridge * (theta - centre)
    gap = float(np.abs(np.clip(theta + pull, *bounds) - theta).max()) if bounded else _kkt(pull, theta - centre, l1)
    return GlmMode(theta, statistics, 1.0, Result(status, "map", tuple(trace), certificate={"kkt_residual": gap}))


def _kkt(pull: np.ndarray, away: np.ndarray, l1: np.ndarray) -> float:
    """How far the subgradient is from holding 0, at most."""
    moving = np.abs(pull - l1 * np.sign(away))
    return float(np.where((away == 0.0) & (l1 > 0.0), np.maximum(np.abs(pull) - l1, 0.0), moving).max())
