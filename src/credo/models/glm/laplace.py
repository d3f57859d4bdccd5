"""Posterior of a generalised linear model: Newton to the mode, a Gaussian there, importance weights to correct it.

The prior's scale τ, where it is learned, is weighed like the ratio of `LinearRegression`: near the mode the likelihood
is a quadratic, whose evidence over τ is a closed form in rotated coordinates. Its posterior is compressed to a few
Gauss nodes; the Gaussians at those nodes are the proposal, and importance weights correct nodes and shapes together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import scipy.linalg

from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.errors import NotIdentifiedError, NotPositiveDefiniteError
from credo.inference.exact.linear_gaussian import Likelihood as QuadraticLikelihood
from credo.inference.exact.linear_gaussian import half_normal, learned_scale
from credo.inference.exact.spectrum import Spectrum, Whitening
from credo.inference.newton import Curve, newton
from credo.inference.result import Result
from credo.inference.weighted import SplitProposal, WeightedDraws, importance_sample
from credo.models.glm.equations import Design, GlmStatistics, accumulate, log_likelihoods, values_and_gradients
from credo.models.glm.prior import GlmPrior
from credo.numerics.cholesky import cholesky

__all__ = ["DataTerm", "GlmMode", "fit_mode", "fit_posterior", "log_target", "objective"]

# The scale of the prior is settled when one more round moves log τ by less than this (1 % of τ moves a coefficient by
# far less than its posterior sd).
SCALE_TOLERANCE = 0.01
MAX_ROUNDS = 20
# Eigenvalue of a metric, relative to the largest, that a sampler's steps are not shortened below.
SMALLEST = 1e-8
# Rows that one thread passes over sooner than others are started.
FEW_ROWS = 4096
S = TypeVar("S")


@dataclass(frozen=True)
class DataTerm:
    """What the rows say of Θ, log p(y | Θ), and the likelihood's own prior of ψ: each method is one pass."""

    source: Source
    design: Design

    def _total(self, accumulate: Callable[[Block], S], merge: Callable[[S, S], S]) -> S:
        rows = self.source.n_rows
        return reduce(self.source, accumulate, merge, 1 if rows is not None and rows <= FEW_ROWS else None)

    def statistics(self, theta: np.ndarray) -> GlmStatistics:
        """Value, gradient and curvature at Θ (K,)."""
        total = self._total(lambda block: accumulate(block, theta, self.design), GlmStatistics.merge)
        tail = self.design.n_weights
        if tail == theta.size:
            return total
        value, slope, curvature = self.design.likelihood.auxiliary_log_prior(theta[tail:])
        gradient, matrix = total.gradient.copy(), total.curvature.copy()
        gradient[tail:] += slope
        matrix[tail:, tail:] -= curvature
        return GlmStatistics(total.value + float(value), gradient, matrix)

    def frozen(self, start: np.ndarray) -> Callable[[np.ndarray], GlmStatistics]:
        """`statistics` with ψ kept where it starts, a Gaussian of sd 1 standing in for what the rows say of it."""
        tail = slice(self.design.n_weights, None)

        def evaluate(theta: np.ndarray) -> GlmStatistics:
            at = theta.copy()
            at[tail] = start[tail]
            found = self.statistics(at)
            gradient, curvature = found.gradient, found.curvature
            gradient[tail] = start[tail] - theta[tail]
            curvature[tail] = 0.0
            curvature[:, tail] = 0.0
            curvature[tail, tail] = np.eye(theta[tail].size)
            return GlmStatistics(found.value, gradient, curvature)

        return evaluate

    def values(self, points: np.ndarray) -> np.ndarray:
        """(S,) at points (S, K)."""
        total = self._total(lambda block: log_likelihoods(block, points, self.design), np.add)
        return total + self._auxiliary(points)[0]

    def gradients(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (S,) and gradients (S, K)."""
        value, gradient = self._total(
            lambda block: values_and_gradients(block, points, self.design),
            lambda a, b: (a[0] + b[0], a[1] + b[1]),
        )
        more, slope = self._auxiliary(points)
        gradient[:, self.design.n_weights :] += slope
        return value + more, gradient

    def _auxiliary(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        psi = points[:, self.design.n_weights :]
        if not psi.shape[1]:
            return np.zeros(len(points)), psi
        return self.design.likelihood.auxiliary_log_prior(psi)[:2]


@dataclass(frozen=True)
class GlmMode:
    """Θ at the mode (K,), the evidence's statistics there, the scale τ, and the report."""

    position: np.ndarray
    statistics: GlmStatistics
    tau: float
    result: Result

    def precision_lower(self, prior: GlmPrior) -> np.ndarray:
        """Cholesky factor of the posterior precision (K, K), softmax's free directions pinned.

        Where that is not positive (τ is not the one of the mode), with its eigenvalues made so: a metric to sample in.
        """
        precision = prior.information_and_precision(self.tau)[1] + prior.gauge(self.statistics.curvature)
        precision = precision + self.statistics.curvature
        try:
            return cholesky(precision, "the posterior precision").lower
        except NotPositiveDefiniteError:
            values, vectors = np.linalg.eigh(precision)
            values = np.maximum(np.abs(values), SMALLEST * np.abs(values).max())
            return cholesky((vectors * values) @ vectors.T, "the posterior precision").lower


def fit_mode(
    evaluate: Callable[[np.ndarray], GlmStatistics],
    prior: GlmPrior,
    start: np.ndarray,
    stop: Callable[[np.ndarray], str | None] | None = None,
) -> GlmMode:
    """Posterior mode; where τ is learned, alternating with the maximum of the quadratic's evidence over τ."""
    tau, position = 1.0, start
    trace: list[float] = []
    seconds: list[float] = []
    seen: dict[bytes, GlmStatistics] = {}
    for round_ in range(MAX_ROUNDS if prior.learned else 1):
        fitted = newton(
            objective(evaluate, prior, tau, seen), position, stop=(lambda theta, _: stop(theta)) if stop else None
        )
        position = fitted.position
        if fitted.result.status == "not_identified":
            raise NotIdentifiedError(fitted.result.advice[0])
        trace += fitted.result.objective
        seconds += fitted.result.seconds
        statistics = seen.get(position.tobytes()) or evaluate(position)
        result = replace(fitted.result, objective=tuple(trace), seconds=tuple(seconds))
        if not prior.learned or not result.ok:
            break
        taus, weights = scale_posterior(quadratic(statistics, position, prior), prior)
        following = float(np.exp(weights @ np.log(taus)))
        moved = abs(np.log(following / tau))
        tau = following
        if moved < SCALE_TOLERANCE and round_:
            break
    return GlmMode(position, statistics, tau, result)


def objective(
    evaluate: Callable[[np.ndarray], GlmStatistics], prior: GlmPrior, tau: float, seen: dict[bytes, GlmStatistics]
) -> Callable[[np.ndarray], Curve]:
    """log posterior given τ; the statistics of the two latest positions stay in `seen`."""
    precision = prior.information_and_precision(tau)[1]
    constant = prior.log_constant(tau)

    def curve(theta: np.ndarray) -> Curve:
        key = theta.tobytes()
        statistics = seen.pop(key, None) or evaluate(theta)
        while len(seen) > 1:
            seen.pop(next(iter(seen)))
        seen[key] = statistics
        shift = theta - prior.mode
        pull = precision @ shift
        gauge = prior.gauge(statistics.curvature)
        value = float(statistics.value - 0.5 * shift @ pull + constant - 0.5 * theta @ gauge @ theta)
        return Curve(value, statistics.gradient - pull - gauge @ theta, statistics.curvature + precision + gauge)

    return curve


def quadratic(statistics: GlmStatistics, mode: np.ndarray, prior: GlmPrior) -> QuadraticLikelihood:
    """The evidence's quadratic about the mode in the whitened, rotated coordinates of the coefficients that τ scales.

    Everything else (intercepts, ψ, coefficients of a stated prior) is integrated out.
    """
    information, precision = prior.stated_form
    curvature = statistics.curvature + prior.gauge(statistics.curvature)
    information = information + curvature @ mode + statistics.gradient
    curvature = curvature + precision
    scaled, whitening = _scaled_coefficients(prior)
    reduced, target = curvature[np.ix_(scaled, scaled)], information[scaled]
    if not np.all(scaled):
        factor = cholesky(curvature[np.ix_(~scaled, ~scaled)], "the curvature of intercepts and auxiliaries").lower
        cross = scipy.linalg.solve_triangular(factor, curvature[np.ix_(~scaled, scaled)], lower=True)
        reduced = reduced - cross.T @ cross
        target = target - cross.T @ scipy.linalg.solve_triangular(factor, information[~scaled], lower=True)
    in_u = whitening.apply(whitening.apply(reduced).T).T
    pull = whitening.apply((target - reduced @ whitening.offset)[None])[0]
    values, rotation = np.linalg.eigh(0.5 * (in_u + in_u.T))
    values, rotation = values[::-1], rotation[:, ::-1]
    kept = values > values[0] * values.size * np.finfo(float).eps if values.size else values > 0
    singular = np.sqrt(np.where(kept, values, 0.0))
    z = np.where(kept, (rotation.T @ pull) / np.where(kept, singular, 1.0), 0.0)
    spectrum = Spectrum(whitening, singular, rotation, z[:, None], np.zeros(1))
    one = np.full(1, np.finfo(float).tiny)
    # Constants of the evidence do not matter to the weights of τ: the count, and what was integrated out.
    return QuadraticLikelihood(spectrum, 0.0, 1.0, 0.0, False, np.zeros(whitening.offset.size), np.zeros(1), one)


def _scaled_coefficients(prior: GlmPrior) -> tuple[np.ndarray, Whitening]:
    """(K,) which entries of Θ are scaled by τ, and the whitening of those."""
    scaled, parts = [], []
    for block in prior.blocks:
        mine = np.full(block.width, block.learned)
        mine[: int(block.has_intercept)] = False
        scaled.append(mine)
        if block.learned and block.whitening is not None:
            parts.append(block.whitening)
    offset = np.concatenate([part.offset for part in parts])
    if all(part.scale.ndim == 1 for part in parts):
        scale = np.concatenate([part.scale for part in parts])
    else:
        scale = np.asarray(
            scipy.linalg.block_diag(*(p.scale if p.scale.ndim == 2 else np.diag(p.scale) for p in parts))
        )
    return np.concatenate([*scaled, np.zeros(prior.n_auxiliary, dtype=bool)]), Whitening(offset, scale)


def fit_posterior(
    values: Callable[[np.ndarray], np.ndarray], mode: GlmMode, prior: GlmPrior, n_points: int
) -> WeightedDraws:
    """Weighted points of the posterior, τ integrated out; their normaliser is the evidence.

    values : points (S, K) → what the rows say of them (S,)
    """
    return importance_sample(gaussians(mode, prior), log_target(values, mode, prior), n_points)


def log_target(
    values: Callable[[np.ndarray], np.ndarray], mode: GlmMode, prior: GlmPrior
) -> Callable[[np.ndarray], np.ndarray]:
    """log p(y, Θ) at points (S, K), τ integrated out and softmax's free directions pinned."""
    gauge = prior.gauge(mode.statistics.curvature)

    def log_joint(points: np.ndarray) -> np.ndarray:
        value = values(points) + prior.log_density(points)[0]
        return value + prior.gauge_log_density(points, gauge)

    return log_joint


def gaussians(mode: GlmMode, prior: GlmPrior) -> SplitProposal:
    """The Gaussian at the mode, a mixture of those at the nodes of τ where it is learned."""
    taus, weights = np.ones(1), np.ones(1)
    if prior.learned:
        taus, weights = scale_posterior(quadratic(mode.statistics, mode.position, prior), prior)
    gauge = prior.gauge(mode.statistics.curvature)
    curvature = mode.statistics.curvature + gauge
    information = curvature @ mode.position + mode.statistics.gradient
    means, lowers = [], []
    for tau in taus:
        of_prior, precision = prior.information_and_precision(tau)
        lower = cholesky(curvature + precision, "the posterior precision").lower
        means.append(scipy.linalg.cho_solve((lower, True), information + of_prior))
        lowers.append(lower)
    return SplitProposal.gaussian(weights, np.stack(means), np.stack(lowers))


def scale_posterior(likelihood: QuadraticLikelihood, prior: GlmPrior) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of τ and their posterior weights, as the quadratic sees them."""
    belief = learned_scale(likelihood, None, maximise=False, gain=prior.gain, log_hyperprior=half_normal)
    assert belief.nodes is not None
    assert belief.log_evidence is not None
    # a node that a thousand points would not visit cannot be checked by them
    keep = belief.weights[:, 0] > 1e-4
    weights = belief.weights[keep, 0]
    return np.sqrt(belief.nodes[keep, 0]), weights / weights.sum()
