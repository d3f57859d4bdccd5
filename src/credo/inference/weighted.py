"""A posterior as weighted points: a Gaussian, made wide and skew enough, corrected by importance weights.

The points are a lattice, not random draws, while the dimension allows: the answer has no seed, and its error falls
faster than 1/√S. Pareto smoothing says whether the Gaussian was close enough (k̂ < 0.7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

from credo.diagnostics.psis import psis
from credo.numerics.lattice import kronecker_points
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["SplitProposal", "WeightedDraws", "importance_sample"]

# Beyond this many dimensions a lattice of a few thousand points is no better than chance.
LATTICE_DIMENSION = 24
# The covariance of D coordinates from weighted points has relative error D/ESS; beyond this the Gaussian's own is
# better.
COVARIANCE_SHARE = 0.05
# How much narrower or wider than the Gaussian a half-axis may be: a narrower one risks unbounded weights, and ten times
# wider is another shape altogether, for which k̂ will say so.
STRETCH = (0.9, 10.0)


@dataclass(frozen=True)
class SplitProposal:
    """J skewed bells about mean_j with precision Q_j = L_j L_jᵀ: weights (J,), means (J, D), lower factors L (J, D, D).

    A point is mean_j + L_j⁻ᵀ ε with ε_k = z_k · stretch[0, k] below zero and z_k · stretch[1, k] above, z_k independent
    Student-t with `df`: every principal half-axis has its own width and a tail heavier than a Gaussian's, so that a
    skewed target keeps its weights bounded (Geweke 1989, §5).
    """

    weights: np.ndarray
    mean: np.ndarray
    precision_lower: np.ndarray
    stretch: np.ndarray
    df: float

    @classmethod
    def gaussian(cls, weights: np.ndarray, mean: np.ndarray, precision_lower: np.ndarray) -> SplitProposal:
        """The Gaussians N(mean_j, Q_j⁻¹) with tails added; `stretched` adds the skewness.

        df = 10 costs some 2 % of the effective points a dimension; from ten dimensions on it grows with D to cap the
        loss.
        """
        d = mean.shape[1]
        return cls(weights, mean, precision_lower, np.ones((2, d)), float(max(10, d)))

    def draw(self, z: np.ndarray, component: np.ndarray) -> np.ndarray:
        """Points (S, D) from Student-t variables z (S, D)."""
        epsilon = z * np.where(z < 0.0, self.stretch[0], self.stretch[1])
        points = np.empty_like(z)
        for j in np.unique(component):
            mine = component == j
            step = scipy.linalg.solve_triangular(self.precision_lower[j], epsilon[mine].T, lower=True, trans=1)
            points[mine] = self.mean[j] + step.T
        return points

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Log density of the whole mixture at points (S, D): weights are then smoother than component by component."""
        half = 0.5 * (self.df + 1.0)
        constant = scipy.special.gammaln(half) - scipy.special.gammaln(0.5 * self.df) - 0.5 * np.log(self.df * np.pi)
        parts = np.empty((len(self.weights), len(points)))
        for j, (weight, mean, lower) in enumerate(zip(self.weights, self.mean, self.precision_lower, strict=True)):
            epsilon = (points - mean) @ lower
            stretch = np.where(epsilon < 0.0, self.stretch[0], self.stretch[1])
            shape = constant - half * np.log1p(np.square(epsilon / stretch) / self.df) - np.log(stretch)
            parts[j] = np.log(weight) + np.log(np.diag(lower)).sum() + shape.sum(axis=1)
        return np.asarray(scipy.special.logsumexp(parts, axis=0))

    def _uniforms(self, n_points: int) -> tuple[np.ndarray, np.ndarray]:
        """Points (S, D) of the unit cube, and the component each belongs to."""
        d = self.mean.shape[1]
        if d < LATTICE_DIMENSION:
            u = kronecker_points(n_points, d + 1)
        else:  # antithetic pairs too: odd moments of a symmetric proposal are exact
            half = np.random.default_rng(0).uniform(size=(n_points // 2, d + 1))
            u = np.vstack([half, 1.0 - half])
        cumulative = np.cumsum(self.weights / self.weights.sum())
        return u[:, :d], np.minimum(np.searchsorted(cumulative, u[:, d]), cumulative.size - 1)

    def stretched(self, log_target: Callable[[np.ndarray], np.ndarray]) -> SplitProposal:
        """With half-axes as wide as the target is there: the widest Gaussian seen at ±1, ±2, ±4 and ±6 of them.

        Measured along the heaviest component, 8 D + 1 evaluations of the target, and used for all.
        """
        d, best = self.mean.shape[1], int(np.argmax(self.weights))
        reach = np.array([1.0, 2.0, 4.0, 6.0])
        axes = scipy.linalg.solve_triangular(self.precision_lower[best], np.eye(d), lower=True, trans=1).T
        steps = np.array([-1.0, 1.0])[:, None, None] * reach[:, None]
        points = self.mean[best] + (steps[..., None] * axes[None, None]).reshape(-1, d)
        value = log_target(np.vstack([self.mean[best], points]))
        fall = np.maximum(value[0] - value[1:].reshape(2, reach.size, d), 1e-3)
        width = np.max(reach[:, None] / np.sqrt(2.0 * fall), axis=1)
        return replace(self, stretch=np.clip(width, *STRETCH))

    def covariance(self) -> np.ndarray:
        """(D, D) covariance of the mixture."""
        center = self.weights @ self.mean
        total = np.zeros((self.mean.shape[1],) * 2)
        for weight, mean, lower in zip(self.weights, self.mean, self.precision_lower, strict=True):
            inverse = scipy.linalg.cho_solve((lower, True), np.eye(mean.size))
            total += weight * (inverse + np.outer(mean - center, mean - center))
        return total


@register
@dataclass(frozen=True, eq=False)
class WeightedDraws:
    """Points (S, D) with weights (S,) that sum to 1.

    mean (D,), covariance (D, D) : importance-corrected moments
    k_hat, ess : Pareto shape of the weights, effective number of points
    log_normaliser : log ∫ of the target's density, estimated
    """

    points: np.ndarray
    weights: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    k_hat: float
    ess: float
    log_normaliser: float

    def quantile(self, q: Any) -> np.ndarray:
        """Marginal quantiles, (*shape of q, D): the weighted empirical distribution, interpolated at mid-weights."""
        q = np.asarray(q, dtype=np.float64)
        result = np.empty((q.size, self.points.shape[1]))
        for d, column in enumerate(self.points.T):
            order = np.argsort(column, kind="stable")
            cumulative = np.cumsum(self.weights[order]) - 0.5 * self.weights[order]
            result[:, d] = np.interp(q.ravel(), cumulative, column[order])
        return result.reshape(*q.shape, -1)

    def thinned(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """About n points (n, D) that stand for all, and their weights: a prefix of the lattice with its mirror."""
        half = self.weights.size // 2
        keep = min(half, n // 2)
        index = np.concatenate([np.arange(keep), half + np.arange(keep)])
        return self.points[index], self.weights[index] / self.weights[index].sum()

    def tempered(self, ess: float) -> WeightedDraws:
        """With weights raised to the largest power ≤ 1 that leaves `ess` effective points: between the target and what
        the points were drawn from. For weights that fail: a few points say nothing of an interval's ends."""
        if self.ess >= ess:
            return self
        # a point of weight 0 lies outside the support, and no power brings it in
        inside = self.weights > 0.0
        log_w = np.log(self.weights, where=inside, out=np.zeros_like(self.weights)) - np.log(self.weights.max())
        low, high = 0.0, 1.0
        for _ in range(40):
            power = 0.5 * (low + high)
            w = inside * np.exp(power * log_w)
            low, high = (power, high) if w.sum() ** 2 >= ess * (w @ w) else (low, power)
        w = inside * np.exp(low * log_w)
        w /= w.sum()
        return replace(self, weights=w, mean=w @ self.points, ess=float(1.0 / (w @ w)))

    def probability_positive(self) -> np.ndarray:
        """P(coordinate > 0), (D,)."""
        return self.weights @ (self.points > 0.0)

    def sample(self, n: int, rng: Any = None) -> np.ndarray:
        """n points drawn by their weights, (n, D)."""
        rng = as_generator(rng)
        return self.points[rng.choice(self.weights.size, size=n, p=self.weights)]


def importance_sample(
    proposal: SplitProposal,
    log_target: Callable[[np.ndarray], np.ndarray],
    n_points: int,
) -> WeightedDraws:
    """Weight points of `proposal` towards `log_target(points (S, D)) -> (S,)`.

    Cost: n_points evaluations of the target, 8 D more to fit the half-axes, and J D² a point for the proposal's.
    """
    proposal = proposal.stretched(log_target)
    d = proposal.mean.shape[1]
    uniform, component = proposal._uniforms(n_points)
    points = proposal.draw(scipy.special.stdtrit(proposal.df, uniform), component)
    raw = log_target(points) - proposal.log_density(points)
    smoothed = psis(raw)
    # Smoothed weights help even where k̂ says not to trust them, down to a hundred effective points (`tempered`).
    weights = np.exp(smoothed.log_weights)
    weights /= weights.sum()
    mean = weights @ points
    ess = float(smoothed.ess)
    if d <= COVARIANCE_SHARE * ess:
        centred = points - mean
        covariance = (centred * weights[:, None]).T @ centred
    else:
        covariance = proposal.covariance()
    log_normaliser = float(scipy.special.logsumexp(raw) - np.log(raw.size))
    return WeightedDraws(points, weights, mean, covariance, float(smoothed.k_hat), ess, log_normaliser)
