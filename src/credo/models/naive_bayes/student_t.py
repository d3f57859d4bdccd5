"""Columns with heavy tails: Student-t given the class, its place and scale integrated over a few weighted points.

x | c ~ t_ν(μ, σ),  μ | σ² ~ N(m₀, σ²/κ₀),  σ² ~ InverseGamma(a₀, b₀);  ν is fixed
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp, ndtri

from credo.models.generative.family import Belief, Family, Moments
from credo.models.generative.memberships import Memberships
from credo.models.naive_bayes.values import ClassValues, each_column
from credo.saving.registry import register

__all__ = ["StudentTFamily"]

# Points that stand for the posterior of (μ, log σ): more change no predictive density by 1 %.
_POINTS = 32
# EM for the mode stops where the scale moves by less than this share.
_TOLERANCE = 1e-12
# The prior of μ is worth a tenth of a row; that of σ² two rows, as for Normal columns.
_KAPPA, _SHAPE = 0.1, 1.0


@register
@dataclass(frozen=True, eq=False)
class StudentTFamily(Family):
    """Student-t with `df` degrees of freedom; the prior is scaled by the column's median and quartiles."""

    df: float = 4.0

    name = "student_t"

    def accumulate(self, cells: np.ndarray, rows: Memberships) -> ClassValues:
        return ClassValues.accumulate(cells, rows)

    def finalize(self, statistics: ClassValues, class_weight: np.ndarray) -> StudentTBelief:
        columns = tuple(
            _column(values, weights, self.df)
            for values, weights in zip(statistics.values, statistics.weights, strict=True)
        )
        return StudentTBelief(columns, len(class_weight))


@register
@dataclass(frozen=True, eq=False)
class StudentTColumn:
    """mean, scale (k,): the mode; points_mean, points_scale, log_weight (S, k): the posterior; penalty: log prior."""

    df: float
    mean: np.ndarray
    scale: np.ndarray
    points_mean: np.ndarray
    points_scale: np.ndarray
    log_weight: np.ndarray
    penalty: float

    def log_plug(self, x: np.ndarray) -> np.ndarray:
        return _log_t(x[:, None], self.df, self.mean, self.scale)

    def _at_points(self, x: np.ndarray) -> np.ndarray:
        """(n, S, k)."""
        return _log_t(x[:, None, None], self.df, self.points_mean, self.points_scale)

    def log_predictive(self, x: np.ndarray) -> np.ndarray:
        value: Any = logsumexp(self._at_points(x) + self.log_weight, axis=1)
        return value

    def mean_now(self, x: np.ndarray) -> np.ndarray:
        return np.sum(np.exp(self.log_weight) * self._at_points(x), axis=1)

    def variance_now(self, x: np.ndarray) -> np.ndarray:
        deviation = self._at_points(x) - self.mean_now(x)[:, None]
        return np.sum(np.exp(self.log_weight) * np.square(deviation), axis=1)

    def _seen(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log densities at the points, and the points' weights once x was seen there."""
        at = self._at_points(x)
        weight = at + self.log_weight
        return at, np.exp(weight - logsumexp(weight, axis=1, keepdims=True))

    def mean_seen(self, x: np.ndarray) -> np.ndarray:
        at, weight = self._seen(x)
        return np.sum(weight * at, axis=1)

    def variance_seen(self, x: np.ndarray) -> np.ndarray:
        at, weight = self._seen(x)
        return np.sum(weight * np.square(at - np.sum(weight * at, axis=1, keepdims=True)), axis=1)

    def draw(self, rng: np.random.Generator) -> StudentTColumn:
        k = len(self.mean)
        edges = np.cumsum(np.exp(self.log_weight), axis=0)
        at = np.minimum((rng.random(k) * edges[-1] > edges).sum(axis=0), len(edges) - 1)
        mean, scale = self.points_mean[at, np.arange(k)], self.points_scale[at, np.arange(k)]
        return StudentTColumn(self.df, mean, scale, mean[None], scale[None], np.zeros((1, k)), 0.0)


@register
@dataclass(frozen=True, eq=False)
class StudentTBelief(Belief):
    columns: tuple[StudentTColumn, ...]
    n_classes: int

    def _sum(self, cells: np.ndarray, method: str) -> np.ndarray:
        return each_column(cells, self.columns, method, self.n_classes)

    def log_plug(self, cells: np.ndarray) -> np.ndarray:
        return self._sum(cells, "log_plug")

    def log_predictive(self, cells: np.ndarray) -> np.ndarray:
        return self._sum(cells, "log_predictive")

    def log_penalty(self) -> float:
        return float(sum(column.penalty for column in self.columns))

    def moments(self, cells: np.ndarray) -> Moments:
        return Moments(*(self._sum(cells, m) for m in ("mean_now", "variance_now", "mean_seen", "variance_seen")))

    def draw(self, rng: np.random.Generator) -> StudentTBelief:
        return StudentTBelief(tuple(column.draw(rng) for column in self.columns), self.n_classes)

    def sample(self, codes: np.ndarray, rng: np.random.Generator, *, integrated: bool) -> np.ndarray:
        out = np.empty((len(codes), len(self.columns)))
        for j, column in enumerate(self.columns):
            mean, scale = column.mean[codes], column.scale[codes]
            if integrated:
                edges = np.cumsum(np.exp(column.log_weight), axis=0)[:, codes]
                at = np.minimum((rng.random(len(codes)) * edges[-1] > edges).sum(axis=0), len(edges) - 1)
                mean, scale = column.points_mean[at, codes], column.points_scale[at, codes]
            out[:, j] = mean + scale * rng.standard_t(column.df, len(codes))
        return out


def _log_t(x: Any, df: float, mean: Any, scale: Any) -> Any:
    constant = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * np.log(df * np.pi)
    return constant - np.log(scale) - 0.5 * (df + 1.0) * np.log1p(np.square((x - mean) / scale) / df)


def _column(x: np.ndarray, weight: np.ndarray, df: float) -> StudentTColumn:
    """Mode by EM and posterior points of one column, all classes at once; weight (u, k)."""
    k = weight.shape[1]
    centre, square = _robust(x, weight.sum(axis=1))
    n = weight.sum(axis=0)
    mean, variance = np.full(k, centre), np.full(k, square)
    for _ in range(500):
        tau = weight * (df + 1.0) / (df + np.square(x[:, None] - mean) / variance)
        mean = (_KAPPA * centre + x @ tau) / (_KAPPA + tau.sum(axis=0))
        spread = np.sum(tau * np.square(x[:, None] - mean), axis=0) + _KAPPA * np.square(mean - centre)
        before, variance = variance, (_SHAPE * square + 0.5 * spread) / (_SHAPE + 1.5 + 0.5 * n)
        if np.max(np.abs(variance / before - 1.0), initial=0.0) < _TOLERANCE:
            break
    scale = np.sqrt(variance)
    # Expected information at the mode, prior included: a start that the weights of the points correct.
    sd_mean = scale / np.sqrt(_KAPPA + n * (df + 1.0) / (df + 3.0))
    sd_log = 1.0 / np.sqrt(4.0 * _SHAPE + 2.0 * n * df / (df + 3.0))
    z = _normal_points()
    points_mean, log_scale = mean + 1.3 * sd_mean * z[:, :1], np.log(scale) + 1.3 * sd_log * z[:, 1:]
    points_scale = np.exp(log_scale)
    value = np.stack([_log_posterior(x, weight, df, m, s, centre, square) for m, s in zip(points_mean, points_scale)])
    value += 0.5 * np.sum(np.square(z), axis=1, keepdims=True)
    log_weight = value - logsumexp(value, axis=0)
    return StudentTColumn(
        df,
        mean,
        scale,
        points_mean,
        points_scale,
        log_weight,
        float(_log_mode_prior(mean, variance, centre, square).sum()),
    )


def _log_mode_prior(mean: Any, variance: Any, centre: float, square: float) -> Any:
    """What EM's M-step adds to the likelihood: the density in (μ, σ²)."""
    own = _SHAPE * square + 0.5 * _KAPPA * np.square(mean - centre)
    return -(_SHAPE + 1.5) * np.log(variance) - own / variance


def _log_posterior(x: Any, weight: Any, df: float, mean: Any, scale: Any, centre: float, square: float) -> Any:
    """Density in (μ, log σ) (k,), up to a constant."""
    prior = _log_mode_prior(mean, np.square(scale), centre, square) + 2.0 * np.log(scale)
    return prior + np.sum(weight * _log_t(x[:, None], df, mean, scale), axis=0)


def _robust(x: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Median and squared scale (quartiles as of a Normal) of a column; 0 and 1 where it has no cells."""
    if weight.sum() <= 0.0:
        return 0.0, 1.0
    share = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    low, centre, high = np.interp([0.25, 0.5, 0.75], share, x)
    scale = (high - low) / 1.349 or float(np.sqrt(np.average(np.square(x - centre), weights=weight)))
    return float(centre), float(scale**2) or max(1.0, abs(centre)) ** 2 * 1e-9


def _normal_points() -> np.ndarray:
    """(S, 2) standard normals on a Kronecker lattice, symmetric about 0."""
    half = np.arange(1, _POINTS // 2 + 1)[:, None] - 0.5
    z = ndtri((half * np.array([0.7548776662466927, 0.5698402909980532])) % 1.0)
    return np.concatenate([z, -z])
