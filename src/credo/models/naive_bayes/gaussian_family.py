"""Columns that are Normal given the class, or whose logarithms are: moments, and the Normal–inverse-Gamma belief.

c, j: class and column; n_cj, x̄_cj, S_cj: weight, mean and scatter of the cells of column j in class c
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.special

from credo.distributions.normal import LOG_2PI
from credo.errors import DataError
from credo.models.generative.family import Belief, Family, Moments
from credo.models.generative.memberships import Memberships
from credo.saving.registry import register

__all__ = ["ClassMoments", "GaussianFamily", "GaussianBelief"]

# The product form of the log density loses about eps · (distance of the class from the centre / its sd)² in absolute
# terms: below this the loss is under 1e-10 nats.
_PRODUCT_FORM = 4e5
# Σ(x − m)² is Σx² − nm² where the latter is at most this many times the former: 12 digits are left. Else in two steps.
_FAR = 1e3
# The default prior of a variance is worth this many rows at least: the least whole number that leaves a class of one
# row with a predictive that has a mean (3 degrees of freedom).
_PRIOR_ROWS = 2.0
# More rows are tried in steps of √2, up to two thousand: the variances of all classes are then one.
_STEPS = 21


@register
@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Weight, mean and scatter about the mean (k, d) of every column in every class; missing cells left out.

    Each block is centred on its own class means and merged by Chan's formula: N(10⁸, 1) has variance 1.
    """

    weight: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def accumulate(cls, X: np.ndarray, rows: Memberships) -> Self:
        """Of rows X (n, d). Passes over a block that stays in cache: three where all cells are there and no class is
        far from 0 in units of its sd, else five to seven."""
        return cls._about_zero(X, rows) or cls._about_a_row(X, rows)

    @classmethod
    def _about_zero(cls, X: np.ndarray, rows: Memberships) -> Self | None:
        """From sums of cells and of squares, None where these lose digits, or a cell is no number."""
        if X.dtype != np.float64:
            return None
        weight = np.repeat(rows.class_weight()[:, None], X.shape[1], axis=1)
        with np.errstate(over="ignore", invalid="ignore"):  # then they are no numbers, and told by it
            mean = rows.sums(X) / np.where(weight > 0.0, weight, 1.0)
            squares, shifted = rows.sums(np.square(X)), weight * np.square(mean)
            return cls(weight, mean, squares - shifted) if np.all(shifted <= _FAR * (squares - shifted)) else None

    @classmethod
    def _about_a_row(cls, X: np.ndarray, rows: Memberships) -> Self:
        origin = X[0].astype(np.float64)
        origin[~np.isfinite(origin)] = 0.0
        z = X - origin
        seen = None
        if has_gaps(X, z.sum()):
            seen = ~np.isnan(z)
            z[~seen] = 0.0
            weight = rows.sums(seen.astype(np.float64))
        else:
            weight = np.repeat(rows.class_weight()[:, None], X.shape[1], axis=1)
        centre = rows.sums(z) / np.where(weight > 0.0, weight, 1.0)
        about = rows.sums(np.square(z))
        shifted = weight * np.square(centre)
        if np.all(shifted <= _FAR * (about - shifted)):
            scatter = about - shifted
        else:
            scatter = rows.centred_squares(z, centre, seen)
        return cls(weight, np.where(weight > 0.0, centre + origin, 0.0), scatter)

    def merge(self, other: Self) -> Self:
        weight = self.weight + other.weight
        share = other.weight / np.where(weight > 0.0, weight, 1.0)
        delta = other.mean - self.mean
        scatter = self.scatter + other.scatter + np.square(delta) * (self.weight * share)
        return type(self)(weight, np.where(self.weight > 0.0, self.mean + delta * share, other.mean), scatter)

    def pooled(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(mean, variance within classes, total variance) (d,) of each column; 0, 0, 0 where no cell was seen."""
        total = self.weight.sum(axis=0)
        safe = np.where(total > 0.0, total, 1.0)
        mean = (self.weight * self.mean).sum(axis=0) / safe
        within = self.scatter.sum(axis=0) / safe
        return mean, within, within + (self.weight * np.square(self.mean - mean)).sum(axis=0) / safe


@register
@dataclass(frozen=True, eq=False)
class GaussianFamily(Family):
    """Normal given the class, with the point estimate of maximum likelihood.

    var_smoothing : share of the largest total variance that is added to every variance
    prior : a scalar `NormalInverseGamma`, or None for the default: centred on the column's mean, a variance worth two
        rows of the variance within classes, class means as spread as the whole column
    shared : one variance for all classes
    log : the logarithm of the cells is Normal
    """

    var_smoothing: float = 1e-9
    prior: Any = None
    shared: bool = False
    log: bool = False

    name = "gaussian"

    def accumulate(self, cells: np.ndarray, rows: Memberships) -> ClassMoments:
        return ClassMoments.accumulate(_logarithms(cells) if self.log else cells, rows)

    def finalize(self, statistics: ClassMoments, class_weight: np.ndarray) -> GaussianBelief:
        weight, mean, scatter = statistics.weight, statistics.mean, statistics.scatter
        centre, within, total = statistics.pooled()
        epsilon = self.var_smoothing * float(total.max(initial=0.0))
        # A class without spread in a column tells by the value alone, to 1e-15 of the column's sd or of its mean. Where
        # no class has any, 1e-50 keeps squares over variances in range.
        least = np.where(total > 0.0, 1e-30 * total, 1e-100)
        floor = np.maximum(np.maximum(epsilon, least), np.square(np.finfo(float).eps * centre))
        if self.shared:
            variance = np.repeat((within + epsilon)[None], len(weight), axis=0)
        else:
            variance = scatter / np.where(weight > 0.0, weight, 1.0) + epsilon
            # a class without cells in a column has the column's own law
            variance = np.where(weight > 0.0, variance, total + epsilon)
        mean = np.where(weight > 0.0, mean, centre)
        # ε is the variance of noise that every cell is taken to carry, for the posterior as for the point estimate
        noisy = ClassMoments(weight, statistics.mean, scatter + weight * epsilon)
        m, V, a, b = self._posterior(noisy, centre, within + epsilon, total + epsilon, floor)
        return GaussianBelief(mean, np.maximum(variance, floor), m, V, a, b, weight, epsilon, self.shared, self.log)

    def _posterior(
        self, statistics: ClassMoments, centre: np.ndarray, within: np.ndarray, total: np.ndarray, floor: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Normal–inverse-Gamma (m, V, a, b), each (k, d): μ | σ² ~ N(m, V σ²), σ² ~ IG(a, b)."""
        prior, weight = self.prior, statistics.weight
        if prior is None:
            within = np.maximum(np.where(within > 0.0, within, total), floor)
            m, own = centre, within / np.maximum(total, within)
            rows = _PRIOR_ROWS if self.shared else _prior_rows(weight, statistics.scatter, within)
            a, b = 0.5 * rows, 0.5 * rows * within
        else:
            m, own, a, b = prior.mean, 1.0 / prior.covariance, prior.shape, prior.scale
        shift = np.where(weight > 0.0, statistics.mean - m, 0.0)
        scatter = statistics.scatter + own * weight / (own + weight) * np.square(shift)
        rows = weight
        if self.shared:
            scatter = np.repeat(scatter.sum(axis=0)[None], len(weight), axis=0)
            rows = np.repeat(weight.sum(axis=0)[None], len(weight), axis=0)
        return m + weight / (own + weight) * shift, 1.0 / (own + weight), a + 0.5 * rows, b + 0.5 * scatter


def _prior_rows(weight: np.ndarray, scatter: np.ndarray, within: np.ndarray) -> float:
    """How many rows of the variance within all classes the variance of a class is worth, at least `_PRIOR_ROWS`: the r
    of largest Π p(S_cj | σ²_cj ~ IG(r/2, r s²_cj/2)), s² the variance within the *other* classes. O(k d) for each r.

    Against two rows always (simulated, 2 to 6 classes of 7 to 30 rows): up to .09 nats a row gained where variances are
    equal, .006 ± .002 lost at most where they differ by 30 %. Reference: Smyth (2004), Linear models and empirical
    Bayes methods, Statistical Applications in Genetics 3.
    """
    freedom = np.maximum(weight - 1.0, 0.0)
    kept = freedom > 0.0
    if not kept.any():
        return _PRIOR_ROWS
    others = (scatter.sum(axis=0) - scatter + within) / (freedom.sum(axis=0) - freedom + 1.0)
    half, ratio = 0.5 * freedom[kept], (scatter / np.maximum(others, np.finfo(float).tiny))[kept]
    rows = _PRIOR_ROWS * np.sqrt(2.0) ** np.arange(_STEPS)
    a = 0.5 * rows
    value = half.size * (a * np.log(a) - scipy.special.gammaln(a))
    for i, own in enumerate(a):
        value[i] += np.sum(scipy.special.gammaln(own + half) - (own + half) * np.log(own + 0.5 * ratio))
    return float(rows[np.argmax(value)])


class _Plug(NamedTuple):
    """log N(x) = Σ constant + square (z − centre)² = offset + z · slope + z² · square, z = x − origin if shifted."""

    origin: np.ndarray
    shifted: bool
    centre: np.ndarray
    constant: np.ndarray
    slope: np.ndarray
    square: np.ndarray
    offset: np.ndarray
    near: bool


@register
@dataclass(frozen=True, eq=False)
class GaussianBelief(Belief):
    """Point estimates mean, variance; posterior m, V, a, b; weight of the cells; all (k, d)."""

    mean: np.ndarray
    variance: np.ndarray
    m: np.ndarray
    V: np.ndarray
    a: np.ndarray
    b: np.ndarray
    weight: np.ndarray
    epsilon: float = 0.0
    shared: bool = False
    log: bool = False

    def _cells(self, cells: np.ndarray) -> tuple[np.ndarray, Any]:
        """Cells on the scale where they are Normal, and log |dz/dx| (n, 1), or 0."""
        if not self.log:
            return cells, 0.0
        z = _logarithms(cells)
        return z, -np.nansum(z, axis=1, keepdims=True)

    def log_plug(self, cells: np.ndarray) -> np.ndarray:
        """Σ_j −½ [log 2π σ² + (x − μ)²/σ²] (n, k). By matrix products where classes are not too far apart."""
        z, jacobian = self._cells(cells)
        plug = self._plug
        z = z - plug.origin if plug.shifted else z
        value = self._by_products(z) if plug.near else None
        if value is None:
            value = self._class_by_class(z)
        return value + jacobian if self.log else value

    def _by_products(self, z: np.ndarray) -> np.ndarray | None:
        """None where a cell is missing, or so large that its square is not."""
        plug = self._plug
        with np.errstate(over="ignore", invalid="ignore"):
            value = z @ plug.slope
            value += np.square(z) @ plug.square
        value += plug.offset
        return value if np.isfinite(value.sum()) else None

    def _class_by_class(self, z: np.ndarray) -> np.ndarray:
        plug, missing = self._plug, has_gaps(z, z.sum())
        value = np.empty((len(z), len(plug.centre)))
        with np.errstate(over="ignore"):  # a cell beyond 1e154: impossible in every class, and said so
            for c, centre in enumerate(plug.centre):
                square = np.square(z - centre)
                if missing:
                    value[:, c] = np.nansum(plug.constant[c] + plug.square[:, c] * square, axis=1)
                else:
                    value[:, c] = square @ plug.square[:, c]
        return value if missing else value + plug.constant.sum(axis=1)

    @cached_property
    def _plug(self) -> _Plug:
        origin, precision = self.mean.mean(axis=0), 1.0 / self.variance
        # Without a shift the cells need not be copied.
        shifted = bool(np.max((np.square(self.mean) * precision).sum(axis=1)) > _PRODUCT_FORM)
        centre = self.mean - origin if shifted else self.mean
        constant = -0.5 * (np.log(self.variance) + LOG_2PI)
        distance = np.square(centre) * precision
        return _Plug(
            origin,
            shifted,
            centre,
            constant,
            # contiguous small factors: the product is then four times as fast
            np.ascontiguousarray((centre * precision).T),
            np.ascontiguousarray(-0.5 * precision.T),
            (constant - 0.5 * distance).sum(axis=1),
            bool(np.max(distance.sum(axis=1)) <= _PRODUCT_FORM),
        )

    def log_em(self, cells: np.ndarray) -> np.ndarray:
        """With −½ ε/σ² for every observed cell: S/n + ε maximises the sum of these, so that EM's objective rises."""
        observed = ~np.isnan(cells)
        return self.log_plug(cells) - observed @ (0.5 * self.epsilon / self.variance).T

    def _each(self, cells: np.ndarray, term: Any) -> np.ndarray:
        """Σ_j term(class, δ) (n, k) over observed cells, δ = x − m_c."""
        z, jacobian = self._cells(cells)
        missing = has_gaps(z, z.sum())
        value = np.empty((len(z), len(self.m)))
        for c in range(len(self.m)):
            terms = term(c, z - self.m[c])
            value[:, c] = np.nansum(terms, axis=1) if missing else terms.sum(axis=1)
        return value + jacobian

    def log_predictive(self, cells: np.ndarray) -> np.ndarray:
        """Σ_j log t(x; 2a, m, (b/a)(1 + V)) (n, k): the parameters integrated out."""
        half = self.a + 0.5
        spread = 2.0 * self.b * (1.0 + self.V)
        constant = scipy.special.gammaln(half) - scipy.special.gammaln(self.a) - 0.5 * np.log(np.pi * spread)
        return self._each(cells, lambda c, d: constant[c] - half[c] * np.log1p(np.square(d) / spread[c]))

    def moments(self, cells: np.ndarray) -> Moments:
        """Exact: with τ = 1/σ² ~ Gamma(a, b), log N(x) = ½ log τ − ½ (√τ δ + √V z)² − ½ log 2π, z standard Normal."""

        def updated(c: int, d: np.ndarray) -> tuple[Any, ...]:
            """δ, V, a, b after x itself was seen in class c."""
            ratio = 1.0 / (1.0 + self.V[c])
            return d * ratio, self.V[c] * ratio, self.a[c] + 0.5, self.b[c] + 0.5 * np.square(d) * ratio

        def own(c: int, d: np.ndarray) -> tuple[Any, ...]:
            return d, self.V[c], self.a[c], self.b[c]

        return Moments(
            self._each(cells, lambda c, d: _mean(*own(c, d))),
            self._each(cells, lambda c, d: _variance(*own(c, d))),
            self._each(cells, lambda c, d: _mean(*updated(c, d))),
            self._each(cells, lambda c, d: _variance(*updated(c, d))),
        )

    def draw(self, rng: np.random.Generator) -> GaussianBelief:
        shape = self.a[:1] if self.shared else self.a
        variance = self.b / rng.gamma(shape)
        mean = self.m + np.sqrt(self.V * variance) * rng.standard_normal(self.m.shape)
        return replace(self, mean=mean, variance=np.broadcast_to(variance, mean.shape))

    def sample(self, codes: np.ndarray, rng: np.random.Generator, *, integrated: bool) -> np.ndarray:
        z = rng.standard_normal((len(codes), self.mean.shape[1]))
        if integrated:
            variance = self.b[codes] / rng.gamma(self.a[codes]) * (1.0 + self.V[codes])
            x = self.m[codes] + np.sqrt(variance) * z
        else:
            x = self.mean[codes] + np.sqrt(self.variance[codes]) * z
        return np.exp(x) if self.log else x


def _mean(d: Any, V: Any, a: Any, b: Any) -> Any:
    """E log N(x | μ, σ²)."""
    return 0.5 * (scipy.special.digamma(a) - np.log(b) - LOG_2PI - a / b * np.square(d) - V)


def _variance(d: Any, V: Any, a: Any, b: Any) -> Any:
    """Var log N(x | μ, σ²)."""
    half = 0.5 * np.square(d) / b  # in units of b, whose square may not be a number
    return 0.25 * scipy.special.polygamma(1, a) + np.square(half) * a - half + 2.0 * half * V * a + 0.5 * V**2


def has_gaps(cells: np.ndarray, total: Any) -> bool:
    """Whether cells are missing, told by a sum over them at no further cost where there are none.

    Raises
    ------
    DataError : infinite cells.
    """
    if np.isfinite(total):
        return False
    infinite = np.argwhere(np.isinf(cells))
    if len(infinite):
        raise DataError(
            f"Input X contains infinity or a value too large for {cells.dtype!r}: row {infinite[0][0]} of its block.",
            value=float(cells[tuple(infinite[0])]),
            rows=infinite[:20, 0].tolist(),
            remedy="Remove such rows, or give them as NaN to have them integrated out.",
        )
    return bool(np.isnan(cells).any())


def _logarithms(cells: np.ndarray) -> np.ndarray:
    bad = np.argwhere(cells <= 0.0)
    if len(bad):
        row, column = bad[0]
        raise DataError(
            f"A log-normal column holds {cells[row, column]} in row {row} of its block; its cells must be > 0.",
            value=float(cells[row, column]),
            rows=bad[:20, 0].tolist(),
            remedy="Choose the family 'gaussian' for it.",
        )
    return np.log(cells)
