"""Posterior of a generalised linear model: Newton to the mode, a Gaussian there, importance weights to check and correct it.

The prior's scale τ, where it is learned, is weighed like the ratio of `LinearRegression`: near the mode the likelihood is a
quadratic, whose evidence over τ is a closed form in rotated coordinates. Its posterior is compressed to a few Gauss nodes;
the Gaussians at those nodes are the proposal, and importance weights correct nodes and shapes together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from credo.errors import NotIdentifiedError
from credo.inference.exact.linear_gaussian import Likelihood as QuadraticLikelihood
from credo.inference.exact.linear_gaussian import half_normal, learned_scale, log_evidence_known
from credo.inference.exact.spectrum import Spectrum, Whitening
from credo.inference.newton import Curve, newton
from credo.inference.result import Result
from credo.inference.weighted import SplitProposal, WeightedDraws, importance_sample
from credo.models.glm.equations import GlmStatistics
from credo.numerics.cholesky import cholesky

__all__ = ["GlmPrior", "GlmFit", "fit_mode", "fit_posterior"]

# The scale of the prior is settled when one more round moves log τ by less than this (1 % of τ moves a coefficient by far less
# than its posterior sd).
SCALE_TOLERANCE = 0.01
MAX_ROUNDS = 20


@dataclass(frozen=True)
class GlmPrior:
    """Prior on the flat Θ (kD,), D = intercept + P columns about `centre`.

    whitening : of the P coefficients of one predictor; None where they are flat
    learned : whether the scale τ multiplying it is to be learned
    intercept : (mean, sd) at x = 0, or None for flat
    gain : the hyperprior on τ is √(gain) τ ~ half-Normal(1)
    """

    whitening: Whitening | None
    learned: bool
    intercept: tuple[float, float] | None
    has_intercept: bool
    centre: np.ndarray
    k: int
    gain: float = 1.0

    @property
    def width(self) -> int:
        return self.centre.size + self.has_intercept

    def mean_and_precision(self, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """Prior mean (kD,) and precision (kD, kD), flat directions having precision 0."""
        p, lead, d = self.centre.size, int(self.has_intercept), self.width
        mean, precision = np.zeros(d), np.zeros((d, d))
        if self.whitening is not None:
            mean[lead:] = self.whitening.offset
            root = self.whitening.solve(np.eye(p))
            precision[lead:, lead:] = root.T @ root / tau**2
        if self.intercept is not None:
            # b = a − centre·w ~ N(m, s²), a the level at the centre: one more quadratic form in (a, w)
            location, sd = self.intercept
            form = np.concatenate([[1.0], -self.centre]) / sd
            shift = location / sd
            total = precision + np.outer(form, form)
            mean = np.linalg.lstsq(total, precision @ mean + form * shift, rcond=None)[0]
            precision = total
        return np.tile(mean, self.k), scipy.linalg.block_diag(*[precision] * self.k)

    def log_density_constant(self, tau: float) -> float:
        """log of the prior's normalising constant over its proper directions."""
        total = 0.0
        if self.whitening is not None:
            p = self.centre.size
            total -= self.whitening.log_determinant + p * np.log(tau) + 0.5 * p * np.log(2.0 * np.pi)
        if self.intercept is not None:
            total -= np.log(self.intercept[1]) + 0.5 * np.log(2.0 * np.pi)
        return self.k * total

    def gauge(self, curvature: np.ndarray) -> np.ndarray:
        """Softmax is unchanged when all classes move together: where the prior is flat that direction is pinned to 0."""
        if self.k == 1:
            return np.zeros_like(curvature)
        d = self.width
        free = np.zeros(d)
        free[: int(self.has_intercept and self.intercept is None)] = 1.0
        if self.whitening is None:
            free[int(self.has_intercept) :] = 1.0
        scale = np.diag(curvature).reshape(self.k, d).mean(axis=0)
        together = np.full((self.k, self.k), 1.0 / self.k)
        return np.kron(together, np.diag(free * np.where(scale > 0, scale, 1.0)))


@dataclass(frozen=True)
class GlmFit:
    """mode (kD,), likelihood statistics there, the scale τ, prior precision, and the report."""

    mode: np.ndarray
    statistics: GlmStatistics
    tau: float
    result: Result


def fit_mode(
    evaluate: Callable[[np.ndarray], GlmStatistics],
    prior: GlmPrior,
    start: np.ndarray,
    stop: Callable[[np.ndarray], str | None] | None = None,
) -> GlmFit:
    """Posterior mode; where τ is learned, alternating with the maximum of the quadratic's evidence over τ."""
    tau, mode = 1.0, start
    latest: list[GlmStatistics] = []
    trace: list[float] = []
    seconds: list[float] = []

    for round_ in range(MAX_ROUNDS if prior.learned else 1):
        mean, precision = prior.mean_and_precision(tau)
        constant = prior.log_density_constant(tau)

        def objective(
            theta: np.ndarray, mean: np.ndarray = mean, precision: np.ndarray = precision, constant: float = constant
        ) -> Curve:
            statistics = evaluate(theta)
            latest[:] = [statistics]
            shift = theta - mean
            pull = precision @ shift
            gauge = prior.gauge(statistics.curvature)
            value = statistics.value - 0.5 * shift @ pull + constant - 0.5 * theta @ gauge @ theta
            return Curve(
                value, statistics.gradient - pull - gauge @ theta, statistics.curvature + precision + gauge
            )

        fitted = newton(objective, mode, stop=(lambda theta, _: stop(theta)) if stop else None)
        mode = fitted.position
        if fitted.result.status == "not_identified":
            raise NotIdentifiedError(fitted.result.advice[0])
        trace += fitted.result.objective
        seconds += fitted.result.seconds
        statistics = evaluate(mode) if not np.isclose(latest[0].value, fitted.curve.value) else latest[0]
        result = replace(fitted.result, objective=tuple(trace), seconds=tuple(seconds))
        if not prior.learned:
            break
        taus, weights, _ = scale_posterior(quadratic(statistics, mode, prior), prior)
        following = float(np.exp(weights @ np.log(taus)))
        moved = abs(np.log(following / tau))
        tau = following
        if moved < SCALE_TOLERANCE and round_:
            break
    return GlmFit(mode, statistics, tau, result)


def quadratic(statistics: GlmStatistics, mode: np.ndarray, prior: GlmPrior) -> QuadraticLikelihood:
    """The likelihood's quadratic about the mode in whitened, rotated coordinates, flat intercepts integrated out."""
    assert prior.whitening is not None
    k, d, lead = prior.k, prior.width, int(prior.has_intercept)
    curvature = statistics.curvature + prior.gauge(statistics.curvature)
    information = curvature @ mode + statistics.gradient
    if prior.intercept is not None:
        mean, precision = replace(prior, whitening=None).mean_and_precision(1.0)
        curvature, information = curvature + precision, information + precision @ mean
    is_intercept = np.tile(np.arange(d) < lead, k)
    w = np.ix_(~is_intercept, ~is_intercept)
    reduced, target, weight = curvature[w], information[~is_intercept], 1.0
    if lead:
        factor = cholesky(curvature[np.ix_(is_intercept, is_intercept)], "the intercepts' curvature").lower
        cross = scipy.linalg.solve_triangular(factor, curvature[np.ix_(is_intercept, ~is_intercept)], lower=True)
        reduced = reduced - cross.T @ cross
        target = target - cross.T @ scipy.linalg.solve_triangular(factor, information[is_intercept], lower=True)
        weight = float(np.exp(2.0 * np.log(np.diag(factor)).sum() / k))
    whitening = prior.whitening
    scale = np.tile(whitening.scale, k) if whitening.scale.ndim == 1 else np.kron(np.eye(k), whitening.scale)
    every = Whitening(np.tile(whitening.offset, k), scale)
    in_u = every.apply(every.apply(reduced).T).T
    pull = every.apply((target - reduced @ every.offset)[None])[0]
    values, rotation = np.linalg.eigh(0.5 * (in_u + in_u.T))
    values, rotation = values[::-1], rotation[:, ::-1]
    kept = values > values[0] * values.size * np.finfo(float).eps if values.size else values > 0
    singular = np.sqrt(np.where(kept, values, 0.0))
    z = np.where(kept, (rotation.T @ pull) / np.where(kept, singular, 1.0), 0.0)
    spectrum = Spectrum(every, singular, rotation, z[:, None], np.zeros(1))
    one = np.full(1, np.finfo(float).tiny)
    return QuadraticLikelihood(spectrum, 0.0, weight, 0.0, bool(lead), np.zeros(every.offset.size), np.zeros(1), one)


def fit_posterior(
    evaluate_points: Callable[[np.ndarray], np.ndarray], fit: GlmFit, prior: GlmPrior, n_points: int
) -> tuple[WeightedDraws, np.ndarray, np.ndarray]:
    """Weighted points of the posterior, and the nodes of τ with their posterior weights."""
    taus, weights, integral = np.ones(1), np.ones(1), None
    if prior.learned:
        likelihood = quadratic(fit.statistics, fit.mode, prior)
        taus, weights, log_integral = scale_posterior(likelihood, prior)
        integral = (log_integral, log_evidence_known(likelihood, np.square(taus)[:, None])[:, 0])
    gauge = prior.gauge(fit.statistics.curvature)
    curvature = fit.statistics.curvature + gauge
    information = curvature @ fit.mode + fit.statistics.gradient
    means, lowers, priors, normalisers = [], [], [], []
    for tau in taus:
        mean, precision = prior.mean_and_precision(tau)
        lower = cholesky(curvature + precision, "the posterior precision").lower
        center = scipy.linalg.cho_solve((lower, True), information + precision @ mean)
        # log ∫ exp(quadratic) · prior: what the quadratic believes the component weighs
        shift, pull = center - fit.mode, center - mean
        log_peak = (
            fit.statistics.gradient @ shift
            - 0.5 * shift @ curvature @ shift
            - 0.5 * pull @ precision @ pull
            + prior.log_density_constant(tau)
        )
        normalisers.append(log_peak - np.log(np.diag(lower)).sum() + 0.5 * center.size * np.log(2.0 * np.pi))
        means.append(center)
        lowers.append(lower)
        priors.append((mean, precision, prior.log_density_constant(tau)))
    proposal = SplitProposal.gaussian(weights, np.stack(means), np.stack(lowers))
    normaliser = np.array(normalisers)

    def log_target(points: np.ndarray, component: np.ndarray) -> np.ndarray:
        total = evaluate_points(points) - fit.statistics.value
        total -= 0.5 * np.einsum("sd,sd->s", points @ gauge, points)
        for j, (mean, precision, constant) in enumerate(priors):
            mine = component == j
            shift = points[mine] - mean
            total[mine] += constant - 0.5 * np.einsum("sd,sd->s", shift @ precision, shift) - normaliser[j]
        return total

    draws = importance_sample(proposal, log_target, n_points)
    # The weights correct normalised components: put back what the quadratic believes the whole weighs. Its integral over
    # τ is known in rotated coordinates, up to the constant by which its components there differ from those here.
    whole = float(normaliser[0]) if integral is None else integral[0] + float(np.mean(normaliser - integral[1]))
    return replace(draws, log_normaliser=draws.log_normaliser + fit.statistics.value + whole), taus, weights


def scale_posterior(likelihood: QuadraticLikelihood, prior: GlmPrior) -> tuple[np.ndarray, np.ndarray, float]:
    """Nodes of τ, their posterior weights, and log ∫ prior · evidence."""
    belief = learned_scale(likelihood, None, maximise=False, gain=prior.gain, log_hyperprior=half_normal)
    assert belief.nodes is not None and belief.log_evidence is not None
    # a node that a thousand points would not visit cannot be checked by them
    keep = belief.weights[:, 0] > 1e-4
    weights = belief.weights[keep, 0]
    return np.sqrt(belief.nodes[keep, 0]), weights / weights.sum(), belief.log_evidence
