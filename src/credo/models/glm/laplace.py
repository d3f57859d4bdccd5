"""Posterior of a generalised linear model: Newton to the mode, a Gaussian there, importance weights to correct it.

The prior's scale τ, where it is learned, is weighed like the ratio of `LinearRegression`: near the mode the likelihood
is a quadratic, whose evidence over τ is a closed form in rotated coordinates. Its posterior is compressed to a few
Gauss nodes; the Gaussians at those nodes are the proposal, and importance weights correct nodes and shapes together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg

from credo.errors import NotIdentifiedError
from credo.inference.exact.linear_gaussian import Likelihood as QuadraticLikelihood
from credo.inference.exact.linear_gaussian import half_normal, learned_scale
from credo.inference.exact.spectrum import Spectrum, Whitening
from credo.inference.newton import Curve, newton
from credo.inference.result import Result
from credo.inference.weighted import SplitProposal, WeightedDraws, importance_sample
from credo.models.glm.equations import GlmStatistics
from credo.numerics.cholesky import cholesky

__all__ = ["GlmPrior", "GlmFit", "fit_mode", "fit_posterior"]

# The scale of the prior is settled when one more round moves log τ by less than this (1 % of τ moves a coefficient by
# far less than its posterior sd).
SCALE_TOLERANCE = 0.01
MAX_ROUNDS = 20
LOG_2PI = float(np.log(2.0 * np.pi))
# log SNR from e⁻¹⁸, where 1e-8 of the hyperprior is left, to e²·³ = 10 half-Normal scales; steps of .085 make the
# trapezoid rule exact to rounding for what is as smooth in log τ as a Gaussian's scale.
GRID = (-18.0, 2.3, 240)


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
        return np.tile(mean, self.k), np.kron(np.eye(self.k), precision)

    def log_density_constant(self, tau: float) -> float:
        """log of the prior's normalising constant over its proper directions."""
        total = 0.0
        if self.whitening is not None:
            p = self.centre.size
            total -= self.whitening.log_determinant + p * np.log(tau) + 0.5 * p * np.log(2.0 * np.pi)
        if self.intercept is not None:
            total -= np.log(self.intercept[1]) + 0.5 * np.log(2.0 * np.pi)
        return self.k * total

    def log_density(self, theta: np.ndarray, *, gradient: bool = False) -> tuple[np.ndarray, np.ndarray | None]:
        """log p(Θ) at points (S, kD), with τ integrated out where it is learned, and its gradient (S, kD).

        τ enters through q = ‖T⁻¹(w − offset)‖² alone: log ∫ N(u; 0, τ² I) p(τ) dτ is a sum over a fine grid of log τ.
        """
        value, slope = np.zeros(len(theta)), np.zeros_like(theta) if gradient else None
        if self.intercept is not None:
            mean, precision = self._intercept_form
            shift = theta - mean
            pull = shift @ precision
            value += self.k * (-np.log(self.intercept[1]) - 0.5 * LOG_2PI) - 0.5 * (pull * shift).sum(axis=1)
            if slope is not None:
                slope -= pull
        if self.whitening is None:
            return value, slope
        mean, precision = self._unit_form
        shift = theta - mean
        pull = shift @ precision
        quadratic = np.maximum((pull * shift).sum(axis=1), 0.0)
        count = self.k * self.centre.size
        value += self.k * (-self.whitening.log_determinant) - 0.5 * count * LOG_2PI
        if not self.learned:
            return value - 0.5 * quadratic, None if slope is None else slope - pull
        log_tau, log_weight, inverse = self._scale_grid
        terms = log_weight - count * log_tau - 0.5 * quadratic[:, None] * inverse
        top = terms.max(axis=1, keepdims=True)
        share = np.exp(terms - top)
        total = share.sum(axis=1)
        value += top[:, 0] + np.log(total)
        if slope is not None:
            slope -= ((share @ inverse) / total)[:, None] * pull
        return value, slope

    @cached_property
    def _unit_form(self) -> tuple[np.ndarray, np.ndarray]:
        return replace(self, intercept=None).mean_and_precision(1.0)

    @cached_property
    def _intercept_form(self) -> tuple[np.ndarray, np.ndarray]:
        return replace(self, whitening=None).mean_and_precision(1.0)

    @cached_property
    def _scale_grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log τ on a grid, the log of its prior mass there, and 1/τ²."""
        log_x = np.linspace(*GRID)
        log_tau = log_x - 0.5 * np.log(self.gain)
        return log_tau, half_normal(log_x) + np.log(log_x[1] - log_x[0]), np.exp(-2.0 * log_tau)

    def expected_log_scale(self, theta: np.ndarray) -> np.ndarray:
        """E[log τ | Θ] at points (S, kD), (S,)."""
        mean, precision = self._unit_form
        shift = theta - mean
        log_tau, log_weight, inverse = self._scale_grid
        quadratic = ((shift @ precision) * shift).sum(axis=1)
        terms = log_weight - self.k * self.centre.size * log_tau - 0.5 * quadratic[:, None] * inverse
        share = np.exp(terms - terms.max(axis=1, keepdims=True))
        return (share @ log_tau) / share.sum(axis=1)

    def gauge(self, curvature: np.ndarray) -> np.ndarray:
        """Softmax is unchanged when all classes move together: where the prior is flat that direction is held at 0."""
        if self.k == 1:
            return np.zeros_like(curvature)
        d = self.width
        scale = np.diag(curvature).reshape(self.k, d).mean(axis=0)
        together = np.full((self.k, self.k), 1.0 / self.k)
        return np.kron(together, np.diag(self._free * np.where(scale > 0, scale, 1.0)))

    @property
    def _free(self) -> np.ndarray:
        """(D,) 1 where the prior is flat, 0 elsewhere."""
        lead = int(self.has_intercept)
        free = np.full(self.width, float(self.whitening is None))
        free[:lead] = float(self.intercept is None)
        return free

    def gauge_log_density(self, theta: np.ndarray, gauge: np.ndarray) -> np.ndarray:
        """Log density of the pinned directions, normalised: it integrates out of the evidence. (S,)."""
        if self.k == 1:
            return np.zeros(len(theta))
        pinned = np.diag(gauge)[: self.width] * self.k
        pinned = pinned[pinned > 0.0]
        normaliser = 0.5 * float(np.log(pinned / (2.0 * np.pi)).sum())
        return normaliser - 0.5 * ((theta @ gauge) * theta).sum(axis=1)


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
            value = float(statistics.value - 0.5 * shift @ pull + constant - 0.5 * theta @ gauge @ theta)
            return Curve(value, statistics.gradient - pull - gauge @ theta, statistics.curvature + precision + gauge)

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
        taus, weights = scale_posterior(quadratic(statistics, mode, prior), prior)
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
) -> WeightedDraws:
    """Weighted points of the posterior, τ integrated out; their normaliser is the evidence.

    evaluate_points : (S, kD) → log-likelihoods (S,)
    """
    taus, weights = np.ones(1), np.ones(1)
    if prior.learned:
        taus, weights = scale_posterior(quadratic(fit.statistics, fit.mode, prior), prior)
    gauge = prior.gauge(fit.statistics.curvature)
    curvature = fit.statistics.curvature + gauge
    information = curvature @ fit.mode + fit.statistics.gradient
    means, lowers = [], []
    for tau in taus:
        mean, precision = prior.mean_and_precision(tau)
        lower = cholesky(curvature + precision, "the posterior precision").lower
        means.append(scipy.linalg.cho_solve((lower, True), information + precision @ mean))
        lowers.append(lower)
    proposal = SplitProposal.gaussian(weights, np.stack(means), np.stack(lowers))

    def log_target(points: np.ndarray) -> np.ndarray:
        value = evaluate_points(points) + prior.log_density(points)[0]
        return value + prior.gauge_log_density(points, gauge)

    return importance_sample(proposal, log_target, n_points)


def scale_posterior(likelihood: QuadraticLikelihood, prior: GlmPrior) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of τ and their posterior weights, as the quadratic sees them."""
    belief = learned_scale(likelihood, None, maximise=False, gain=prior.gain, log_hyperprior=half_normal)
    assert belief.nodes is not None
    assert belief.log_evidence is not None
    # a node that a thousand points would not visit cannot be checked by them
    keep = belief.weights[:, 0] > 1e-4
    weights = belief.weights[keep, 0]
    return np.sqrt(belief.nodes[keep, 0]), weights / weights.sum()
