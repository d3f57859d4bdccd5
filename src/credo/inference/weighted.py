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

from credo.diagnostics.psis import MIN_DRAWS, psis
from credo.numerics.lattice import halton_points
from credo.numerics.random import as_generator
from credo.numerics.weighted import weighted_quantile
from credo.saving.registry import register

__all__ = ["SplitProposal", "WeightedDraws", "importance_sample", "unit_points", "weigh"]

# Dimensions up to which there are points more even than chance: moments err by a third as much at 25, a tenth at 12.
LATTICE_DIMENSION = 25
# The covariance of D coordinates from weighted points has relative error D/ESS; beyond this the Gaussian's own is
# better.
COVARIANCE_SHARE = 0.05
# How much narrower or wider than the Gaussian a half-axis may be: a narrower one risks unbounded weights, and ten times
# wider is another shape altogether, for which k̂ will say so.
STRETCH = (0.9, 10.0)


@dataclass(frozen=True)
class SplitProposal:
    """J skewed bells about mean_j with precision Q_j = L_j L_jᵀ: weights (J,), means (J, D), lower factors L (J, D, D).

    A point is mean_j + L_j⁻ᵀ ε with ε_k = z_k · stretch[j, 0, k] below zero, z_k · stretch[j, 1, k] above, z_k
    independent Student-t with `df`: every principal half-axis has its own width and a tail heavier than a Gaussian's,
    so that a skewed target keeps its weights bounded (Geweke 1989, §5).
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
        return cls(weights, mean, precision_lower, np.ones((weights.size, 2, d)), float(max(10, d)))

    def draw(self, z: np.ndarray, component: np.ndarray) -> np.ndarray:
        """Points (S, D) from Student-t variables z (S, D)."""
        points = np.empty_like(z)
        for j in np.unique(component):
            mine = component == j
            epsilon = z[mine] * np.where(z[mine] < 0.0, *self.stretch[j])
            step = scipy.linalg.solve_triangular(self.precision_lower[j], epsilon.T, lower=True, trans=1)
            points[mine] = self.mean[j] + step.T
        return points

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Log density of the whole mixture at points (S, D): weights are then smoother than component by component."""
        half = 0.5 * (self.df + 1.0)
        constant = scipy.special.gammaln(half) - scipy.special.gammaln(0.5 * self.df) - 0.5 * np.log(self.df * np.pi)
        parts = np.empty((len(self.weights), len(points)))
        components = zip(self.weights, self.mean, self.precision_lower, self.stretch, strict=True)
        for j, (weight, mean, lower, widths) in enumerate(components):
            epsilon = (points - mean) @ lower
            stretch = np.where(epsilon < 0.0, *widths)
            shape = constant - half * np.log1p(np.square(epsilon / stretch) / self.df) - np.log(stretch)
            parts[j] = np.log(weight) + np.log(np.diag(lower)).sum() + shape.sum(axis=1)
        return np.asarray(scipy.special.logsumexp(parts, axis=0))

    def spread(self, uniform: np.ndarray) -> np.ndarray:
        """Points (S, D) from points of the unit cube (S, D + 1), the last axis of which chooses the component."""
        cumulative = np.cumsum(self.weights / self.weights.sum())
        component = np.minimum(np.searchsorted(cumulative, uniform[:, -1]), cumulative.size - 1)
        return self.draw(_student_t(self.df, uniform[:, :-1]), component)

    def stretched(self, log_target: Callable[[np.ndarray], np.ndarray], evaluations: int = 0) -> SplitProposal:
        """With half-axes as wide as the target is there: the widest Gaussian seen at ±1, ±2, ±4 and ±6 of them.

        Of each component where that takes at most that many evaluations, 8 D + 1 a component; else of the heaviest, for
        all.
        """
        d = self.mean.shape[1]
        chosen = np.arange(self.weights.size)
        if chosen.size * (8 * d + 1) > evaluations:
            chosen = chosen[[int(np.argmax(self.weights))]]
        reach = np.array([1.0, 2.0, 4.0, 6.0])
        steps = np.array([-1.0, 1.0])[:, None, None] * reach[:, None]
        points = []
        for j in chosen:
            axes = scipy.linalg.solve_triangular(self.precision_lower[j], np.eye(d), lower=True, trans=1).T
            points += [self.mean[j][None], self.mean[j] + (steps[..., None] * axes[None, None]).reshape(-1, d)]
        value = log_target(np.vstack(points)).reshape(chosen.size, -1)
        fall = np.maximum(value[:, :1] - value[:, 1:], 1e-3).reshape(chosen.size, 2, reach.size, d)
        width = np.max(reach[:, None] / np.sqrt(2.0 * fall), axis=2)
        return replace(self, stretch=np.broadcast_to(np.clip(width, *STRETCH), self.stretch.shape))

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
        return weighted_quantile(self.points, self.weights, np.asarray(q, dtype=np.float64))

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

    def variance_k(self) -> float:
        """Pareto k̂ of weights times squared deviations, the largest over coordinates.

        Up to 0.5 the estimates of variances have a variance themselves, below 0.7 they are usable: points that never
        reach where these products are large leave k̂ itself at ease, and an sd a tenth short.

        Reference: Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed importance sampling, JMLR 25.
        """
        inside = self.weights > 0.0
        log_weight, away = np.log(self.weights[inside]), self.points[inside] - self.mean
        with np.errstate(divide="ignore"):
            products = log_weight[:, None] + 2.0 * np.log(np.abs(away))
        if np.count_nonzero(inside) < MIN_DRAWS:  # weights that all but a few points have lost
            return np.inf
        apart = (each[np.isfinite(each)] for each in products.T)
        return max((float(psis(each).k_hat) for each in apart if each.size >= MIN_DRAWS), default=-np.inf)

    def variance_ess(self) -> float:
        """Effective number of points behind the variances, the smallest over coordinates.

        As many independent points of a Normal would leave an sd as unsure: 1/√(2 · that), relatively. Weights' own
        effective number says too little of it: heavy tails, and weights that are large there, have far fewer.

        Σ_i w_i²((x_i − m)² − σ²)² is the squared standard error of σ² (Owen 2013, Monte Carlo, §9.2).
        """
        square = np.square(self.points - self.mean)
        variance = self.weights @ square
        error = np.square(self.weights) @ np.square(square - variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = 2.0 * np.square(variance) / error
        return float(np.min(each[variance > 0.0], initial=np.inf))

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

    Cost: n_points evaluations of the target, up to half as many more to fit the half-axes, and J D² a point for the
    proposal's.
    """
    proposal = proposal.stretched(log_target, n_points // 2)
    points = proposal.spread(unit_points(n_points, proposal.mean.shape[1] + 1))
    return weigh(points, log_target(points) - proposal.log_density(points), proposal.covariance)


def _student_t(df: float, u: np.ndarray) -> np.ndarray:
    """Quantiles at u (S, D). Where the second half mirrors the first (`unit_points`), half of them are signs."""
    half = u.shape[0] // 2
    if u.shape[0] == 2 * half and np.array_equal(u[half:], 1.0 - u[:half]):
        z = scipy.special.stdtrit(df, u[:half])
        return np.vstack([z, -z])
    return np.asarray(scipy.special.stdtrit(df, u))


def unit_points(n: int, d: int) -> np.ndarray:
    """n points (n, d) of the unit cube, and with each its mirror image: a lattice, or chance in many dimensions.

    Odd moments of a symmetric proposal are exact.
    """
    if d <= LATTICE_DIMENSION:
        return halton_points(n, d)[:, ::-1]  # the last axis, which chooses, has the most even coordinate
    half = np.random.default_rng(0).uniform(size=(n // 2, d))
    return np.vstack([half, 1.0 - half])


def weigh(points: np.ndarray, log_ratio: np.ndarray, covariance: Callable[[], np.ndarray]) -> WeightedDraws:
    """Points (S, D) with Pareto-smoothed weights from log target − log proposal (S,).

    covariance : (D, D) of the proposal, asked for where the points are too few for their own
    """
    smoothed = psis(log_ratio)
    # Smoothed weights help even where k̂ says not to trust them, down to a hundred effective points (`tempered`).
    weights = np.exp(smoothed.log_weights)
    weights /= weights.sum()
    mean = weights @ points
    ess = float(smoothed.ess)
    if points.shape[1] <= COVARIANCE_SHARE * ess:
        centred = points - mean
        spread = (centred * weights[:, None]).T @ centred
    else:
        spread = covariance()
    log_normaliser = float(scipy.special.logsumexp(log_ratio) - np.log(log_ratio.size))
    return WeightedDraws(points, weights, mean, spread, float(smoothed.k_hat), ess, log_normaliser)
