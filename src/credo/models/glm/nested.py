"""Nested Laplace: a Gaussian of the weights at every value of the prior's scale τ and of one auxiliary parameter ψ.

Few rows leave τ and ψ (log shape, log dispersion) wide, and how wide the weights are hangs on both: no one Gaussian is
near such a funnel, and importance weights of points that never reach its mouth cannot tell. Given (ψ, τ) the weights
*are* near a Gaussian, so their mode and curvature are found anew at nodes that walk outwards until nothing is left,

    log p̂(ψ, τ) = log p(y, w* | ψ, τ) + log p(ψ, τ) − ½ log|Q|        w* the mode given (ψ, τ), Q the curvature there

ψ is then drawn from the cells between nodes and w from the cell's mixture over τ; importance weights correct all of it.

Reference: Rue, Martino and Chopin (2009), J. R. Statist. Soc. B 71; their grid, with weights as a certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.special

from credo.inference.exact.linear_gaussian import half_normal
from credo.inference.newton import newton
from credo.inference.weighted import SplitProposal, WeightedDraws, importance_sample, unit_points, weigh
from credo.models.glm.equations import GlmStatistics
from credo.models.glm.laplace import DataTerm, GlmMode, log_target, objective
from credo.models.glm.prior import GlmPrior
from credo.numerics.cholesky import cholesky

__all__ = ["accepts_nesting", "nested_posterior"]

# Steps of log τ, divided by the root of the number of coefficients, and at most: log weights of a point half-way
# between two Gaussians of P coefficients then vary by less than 1.
SCALE_STEP, LARGEST_STEP = 1.6, 0.7
# Width of a cell of ψ in its sds, and at most. A precision of n rows that is proportional to e^ψ, as of the residuals
# of a Gamma, leaves ψ an sd of √(2/n): log weights vary by some .3 within a cell.
CELL, LARGEST_CELL = 0.8, 0.7
# Nodes end that many nats below the best: a thousandth of it, which tails and weights make up for.
REACH = 7.0
# Nodes of either side at most: e^±25 in ψ.
FARTHEST = 100
# A mode is found when a step gains less: a hundredth of an sd, in what only proposes points.
TOLERANCE = 1e-4
# Share of the points spread evenly over the cells, so that a tail that the Gaussians undervalue is seen at all.
EVEN = 0.1


@dataclass(frozen=True)
class _Gaussian:
    """At τ: mode (K,), lower factor of the precision there (K, K), and log p̂."""

    tau: float
    mean: np.ndarray
    lower: np.ndarray
    log_weight: float


@dataclass(frozen=True)
class _Cell:
    """Of ψ: its centre, the Gaussians over τ, and log p̂(ψ)."""

    centre: float
    gaussians: list[_Gaussian]
    log_weight: float

    @property
    def best(self) -> tuple[float, np.ndarray]:
        """τ and mode of the heaviest."""
        found = max(self.gaussians, key=lambda each: each.log_weight)
        return found.tau, found.mean


def accepts_nesting(data: DataTerm, prior: GlmPrior) -> bool:
    """Whether τ and one ψ are all that makes the posterior given the rows other than nearly Gaussian."""
    held = data.design.n_auxiliary == 1
    return prior.is_gaussian and data.design.likelihood.log_concave and (held or prior.learned)


def nested_posterior(data: DataTerm, prior: GlmPrior, start: GlmMode, n_points: int) -> WeightedDraws:
    """Weighted points of the posterior from Gaussians at all (ψ, τ); their normaliser is the evidence.

    Cost: some ten cells of ψ by ten nodes of τ (a hundred cells where the weights can fit every row), Newton's few
    steps at each; then n_points evaluations.
    """
    target = log_target(data.values, start, prior)
    if data.design.n_auxiliary != 1:
        found = _over_scales(data.statistics, prior, start.position, start.tau)
        return importance_sample(_mixture(found, start.position.size), target, n_points)
    width = min(CELL * _sd_of_last(start.precision_lower(prior)), LARGEST_CELL)
    return _weigh_cells(_cells(data, prior, start, width), width, target, n_points)


def _sd_of_last(lower: np.ndarray) -> float:
    """Marginal sd of the last coordinate: its row of the factor of the precision has nothing below it."""
    return 1.0 / float(lower[-1, -1])


def _cells(data: DataTerm, prior: GlmPrior, start: GlmMode, width: float) -> list[_Cell]:
    """Of ψ, outwards from where it starts."""

    def cell(psi: float, near: _Cell | None) -> _Cell:
        tau, theta = (start.tau, start.position) if near is None else near.best
        theta = np.append(theta[:-1], psi)
        found = _over_scales(data.frozen(theta), prior, theta, tau)
        return _Cell(psi, found, float(np.logaddexp.reduce([g.log_weight for g in found])))

    return _walk(cell, float(start.position[-1]), width)


def _over_scales(evaluate: Callable, prior: GlmPrior, theta: np.ndarray, tau: float) -> list[_Gaussian]:
    """The Gaussians at nodes of τ, or the one where it is stated."""
    seen: dict[bytes, GlmStatistics] = {}  # of the rows alone: what one τ ends with, the next begins with

    def node(log_tau: float, near: _Gaussian | None) -> _Gaussian:
        tau = float(np.exp(log_tau))
        fitted = newton(objective(evaluate, prior, tau, seen), theta if near is None else near.mean, tol=TOLERANCE)
        lower = cholesky(fitted.curve.curvature, "the posterior precision").lower
        value = fitted.curve.value - float(np.log(np.diag(lower)).sum())
        if prior.learned:
            value += float(half_normal(np.array(log_tau + 0.5 * np.log(prior.gain))))
        return _Gaussian(tau, fitted.position, lower, value)

    if not prior.learned:
        return [node(0.0, None)]
    return _walk(node, float(np.log(tau)), min(SCALE_STEP / prior.n_learned**0.5, LARGEST_STEP))


def _walk(node: Callable, centre: float, step: float) -> list:
    """Nodes from `centre` outwards, each begun from its neighbour, until they fall `REACH` below the best."""
    first = node(centre, None)
    found, best = [first], first.log_weight
    for sign in (1.0, -1.0):
        side, near = [], first
        for k in range(1, FARTHEST):
            near = node(centre + sign * k * step, near)
            side.append(near)
            best = max(best, near.log_weight)
            if near.log_weight < best - REACH:
                break
        found = found + side if sign > 0 else side[::-1] + found
    return found


def _mixture(gaussians: list[_Gaussian], size: int) -> SplitProposal:
    """Of the first `size` coordinates; ψ, where it is held, is the last and independent of the others."""
    log_weight = np.array([g.log_weight for g in gaussians])
    weights = np.exp(log_weight - scipy.special.logsumexp(log_weight))
    means, lowers = np.stack([g.mean for g in gaussians]), np.stack([g.lower for g in gaussians])
    return SplitProposal.gaussian(weights, means[:, :size], lowers[:, :size, :size])


def _weigh_cells(
    cells: list[_Cell], width: float, target: Callable[[np.ndarray], np.ndarray], n_points: int
) -> WeightedDraws:
    """Points spread over the cells by their share, ψ evenly within each, the rest from its mixture over τ."""
    size = cells[0].gaussians[0].mean.size
    log_weight = np.array([cell.log_weight for cell in cells])
    share = np.exp(log_weight - scipy.special.logsumexp(log_weight))
    share = (1.0 - EVEN) * share + EVEN / len(cells)
    uniform = unit_points(n_points, size + 1)  # weights, τ, ψ
    ends = np.cumsum(share)
    which = np.minimum(np.searchsorted(ends, uniform[:, -1]), len(cells) - 1)
    inside = np.clip((uniform[:, -1] - ends[which]) / share[which], -1.0, 0.0) + 0.5
    points, log_proposal = np.empty((n_points, size)), np.empty(n_points)
    points[:, -1] = np.array([cell.centre for cell in cells])[which] + width * inside
    for k in np.unique(which):
        mine, cell = which == k, cells[k]
        given = _mixture(cell.gaussians, size - 1).stretched(
            lambda w, psi=cell.centre: target(np.column_stack([w, np.full(len(w), psi)])), int(mine.sum())
        )
        points[mine, :-1] = given.spread(uniform[mine, :-1])
        log_proposal[mine] = given.log_density(points[mine, :-1]) + np.log(share[k] / width)
    everything = [g for cell in cells for g in cell.gaussians]
    return weigh(points, target(points) - log_proposal, lambda: _mixture(everything, size).covariance())
