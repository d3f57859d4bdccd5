"""`StudentTMixture`: clusters with heavy tails, so that outliers neither widen a component nor become one.

x | k, u ~ N(μ_k, S_k/u), u ~ Gamma(ν_k/2, ν_k/2). E: u's mean τ = (ν + d)/(ν + δ) and E log u, δ the squared distance.
M: μ and S from rows weighted r τ; ν from ψ(ν/2) − log(ν/2) = 1 + Σ r (E log u − τ)/Σ r.

Peel and McLachlan (2000), Robust mixture modelling using the t distribution, Statistics and Computing 10.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from credo.blocks.source import Block
from credo.errors import ParameterError
from credo.inference.em import EMFit, EMModel
from credo.models.mixture.components import Components, log_student
from credo.models.mixture.coordinates import Coordinates
from credo.models.mixture.expectation import CHUNK, Gaussians, log_weights, normalise, squared_distances
from credo.models.mixture.factors import floored
from credo.models.mixture.gaussian import GaussianModel, rounding_of
from credo.models.mixture.gaussian_base import GaussianBase, coordinates_for, ridge_for
from credo.models.mixture.missing import Masked, add_completed, conditionals, distances, patterns
from credo.models.mixture.moments import Moments, effective
from credo.models.mixture.overview import Overview
from credo.saving.registry import register

__all__ = ["StudentTMixture"]

# Below, the density is so peaked that the likelihood may have no maximum; above, a Normal to five digits.
DF_RANGE = (0.5, 1e4)

# Quantiles of the columns to which rows are pulled back before clusters are sought, to start from.
TRIM = (0.01, 0.99)


@dataclass(frozen=True, eq=False)
class StudentParams:
    """weights (k,), mean (k, d), df (k,), and scale matrices `covariance` with U Uᵀ = covariance⁻¹, by `kind`."""

    kind: str
    weights: np.ndarray
    mean: np.ndarray
    df: np.ndarray
    covariance: np.ndarray
    factor: np.ndarray

    @cached_property
    def gaussians(self) -> Gaussians:
        """Log density at distance 0, as the constant of a `Gaussians`."""
        d = self.mean.shape[1]
        if self.kind == "diag":
            log_scale = np.log(self.factor).sum(axis=1)
        else:
            log_scale = np.linalg.slogdet(self.factor)[1]
        constant = gammaln(0.5 * (self.df + d)) - gammaln(0.5 * self.df) - 0.5 * d * np.log(self.df * np.pi)
        return Gaussians(self.kind, log_weights(self.weights) + constant + log_scale, self.mean, self.factor)


@dataclass(frozen=True, eq=False)
class StudentStatistics:
    """moments : weighted r τ; count : Σ r (k,); tails : Σ r (E log u − τ) (k,)."""

    moments: Moments
    count: np.ndarray
    tails: np.ndarray

    def merge(self, other: StudentStatistics) -> StudentStatistics:
        return StudentStatistics(self.moments.merge(other.moments), self.count + other.count, self.tails + other.tails)

    def scaled(self, factor: float) -> StudentStatistics:
        return StudentStatistics(self.moments.scaled(factor), self.count * factor, self.tails * factor)


@dataclass(frozen=True, eq=False)
class StudentModel(EMModel):
    """df : degrees of freedom held fixed, or None to learn one a component; has_missing : whether rows hold NaN."""

    covariance_type: str
    kind: str
    coordinates: Coordinates
    ridge: np.ndarray
    df: float | None
    has_missing: bool = False

    def accumulate(self, block: Block, params: StudentParams) -> StudentStatistics:
        columns, g = self.coordinates.columns(block.X), params.gaussians
        if self.has_missing:
            return self._observed(columns, block.weights, params, g)
        step = max(256, CHUNK // (3 * len(columns) + 4 * len(g.mean)))
        total: StudentStatistics | None = None
        for i in range(0, columns.shape[1], step):
            weights = None if block.weights is None else block.weights[i : i + step]
            part = self._chunk(columns[:, i : i + step], weights, params, g)
            total = part if total is None else total.merge(part)
        assert total is not None
        return total

    def _chunk(
        self, z: np.ndarray, weights: np.ndarray | None, params: StudentParams, g: Gaussians
    ) -> StudentStatistics:
        d, squares = len(z), squared_distances(z, g)
        r = g.log_constant[:, None] - 0.5 * (params.df[:, None] + d) * np.log1p(squares / params.df[:, None])
        log_likelihood = normalise(r, weights) + self.coordinates.gain(z, weights, False)
        u, tails = _latent_scales(r, squares, params.df, d)
        count = r.sum(axis=1)
        return StudentStatistics(self._moments(z, u, g, log_likelihood, count), count, tails)

    def _observed(
        self, z: np.ndarray, weights: np.ndarray | None, params: StudentParams, g: Gaussians
    ) -> StudentStatistics:
        """With missing cells: those observed are a Student-t with the same ν, and given u the others are Normal around
        their regression with covariance C/u, of which u times is C."""
        squares, log_scale, n_observed = distances(z, g)
        r = log_weights(params.weights)[:, None] + log_scale + log_student(squares, params.df[:, None], n_observed)
        log_likelihood = normalise(r, weights) + self.coordinates.gain(z, weights, True)
        u, tails = _latent_scales(r, squares, params.df, n_observed)
        count = r.sum(axis=1)
        if self.kind == "diag":
            moments = Masked.of(z).gathered(r, u, g, log_likelihood)
        else:
            k, d = g.mean.shape
            first, second = np.zeros((k, d)), np.zeros((k, d, d))
            for pattern in patterns(z):
                given = conditionals(g, pattern.observed, pattern.missing)
                deviation = z[np.ix_(pattern.observed, pattern.rows)] - g.mean[:, pattern.observed, None]
                n = r[:, pattern.rows].sum(axis=1)
                add_completed(first, second, deviation, u[:, pattern.rows], n, pattern, given)
            second = second.sum(axis=0) if self.kind == "tied" else second
            moments = Moments(self.kind, u.sum(axis=1), first, second, g.mean, log_likelihood)
        return StudentStatistics(replace(moments, penalty=self._penalty(count, g)), count, tails)

    def _moments(self, z: np.ndarray, u: np.ndarray, g: Gaussians, log_likelihood: float, count: np.ndarray) -> Moments:
        first, second = [], []
        for k in range(len(u)):
            deviation = z - g.mean[k][:, None]
            first.append(deviation @ u[k])
            second.append(np.square(deviation) @ u[k] if self.kind == "diag" else (deviation * u[k]) @ deviation.T)
        products = np.stack(second)
        products = products.sum(axis=0) if self.kind == "tied" else products
        first_moments, penalty = np.stack(first), self._penalty(count, g)
        return Moments(self.kind, u.sum(axis=1), first_moments, products, g.mean, log_likelihood, penalty)

    def _penalty(self, count: np.ndarray, g: Gaussians) -> float:
        return 0.5 * float(count @ self._ridge_cost(g))

    def _ridge_cost(self, g: Gaussians) -> np.ndarray:
        axes = (-1,) if self.kind == "diag" else (-2, -1)
        return np.broadcast_to(np.sum(g.precision * self.ridge, axis=axes), g.log_constant.shape)

    def finalize(self, statistics: StudentStatistics) -> StudentParams:
        moments, count = statistics.moments, statistics.count
        scatter = moments.scatter
        if self.covariance_type == "spherical":
            scatter = scatter.mean(axis=1, keepdims=True) + np.zeros_like(scatter)
        rows = count.sum() if self.kind == "tied" else effective(count).reshape((-1,) + (1,) * (scatter.ndim - 1))
        df = np.full(len(count), self.df) if self.df is not None else best_df(statistics.tails / effective(count))
        return StudentParams(
            self.kind, count / count.sum(), moments.mean, df, *floored(self.kind, scatter / rows + self.ridge)
        )

    def bound(self, statistics: StudentStatistics, params: StudentParams) -> float:
        return statistics.moments.log_likelihood

    def slack(self, statistics: StudentStatistics, params: StudentParams) -> float:
        """As for the Gaussian mixture."""
        g = params.gaussians
        gain = statistics.moments.penalty - self._penalty(statistics.count, g)
        return max(gain, 0.0) + float(statistics.count @ rounding_of(g, params.covariance))


def _latent_scales(
    r: np.ndarray, squares: np.ndarray, df: np.ndarray, n: np.ndarray | int
) -> tuple[np.ndarray, np.ndarray]:
    """r τ (k, rows), and Σ r (E log u − τ) (k,), of rows with n observed cells."""
    shape, rate = 0.5 * (df[:, None] + n), 0.5 * (df[:, None] + squares)
    tau = shape / rate
    return r * tau, (r * (digamma(shape) - np.log(rate) - tau)).sum(axis=1)


def best_df(tails: np.ndarray) -> np.ndarray:
    """ν (k,) with log(ν/2) − ψ(ν/2) = −1 − tails, within `DF_RANGE`, by bisection of log ν (the left side falls).

    >>> best_df(np.array([-1.2703628])).round(3).tolist()
    [4.0]
    """
    low, high = (np.full(tails.shape, np.log(end)) for end in DF_RANGE)
    for _ in range(60):  # to the last bits of log ν
        middle = 0.5 * (low + high)
        half = 0.5 * np.exp(middle)
        rising = np.log(half) - digamma(half) + 1.0 + tails > 0.0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.exp(0.5 * (low + high))


@register
class StudentTMixture(GaussianBase):
    """Mixture of multivariate Student-t's, by EM.

    Parameters
    ----------
    n_components, covariance_type, tol, reg_covar, max_iter, n_init, init_params, random_state, warm_start, verbose,
    verbose_interval : as `GaussianMixture`; the covariance type is that of the scale matrices
    df : degrees of freedom ν > 0 of all components, or None to learn one each (within 0.5 to 1e4)

    Attributes
    ----------
    weights_ (k,), means_ (k, d) : weights and locations
    covariances_, precisions_, precisions_cholesky_ : scale matrices (a covariance is ν/(ν − 2) times that), inverses
    df_ : (k,)
    lower_bound_, lower_bounds_, converged_, n_iter_, result_ : as `GaussianMixture`

    Raises
    ------
    ParameterError, DataError

    Notes
    -----
    Cells that are NaN are missing (at random): the likelihood is that of the observed cells.

    References
    ----------
    Peel and McLachlan (2000), Statistics and Computing 10; with missing cells, Liu (1995), Missing data imputation
    using the multivariate t distribution, Journal of Multivariate Analysis 53.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, 100), rng.normal(9, 1, 100), [60.0, -50.0]])[:, None]
    >>> model = cr.StudentTMixture(2, random_state=0).fit(X)
    >>> np.sort(model.means_[:, 0]).round().tolist()
    [0.0, 9.0]
    """

    acceleration = None

    def __init__(
        self,
        n_components: int = 1,
        *,
        df: float | None = None,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: Any = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.df = df
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def _check(self) -> None:
        super()._check()
        if self.df is not None and not (np.ndim(self.df) == 0 and 0.0 < self.df < np.inf):
            raise ParameterError("StudentTMixture", "df", "a number > 0 or None", self.df)

    def _model(self, seen: Overview) -> StudentModel:
        coordinates = coordinates_for(self.covariance_type, seen)
        ridge = ridge_for(self.covariance_type, self.reg_covar, coordinates)
        df = None if self.df is None else float(self.df)
        return StudentModel(self.covariance_type, self._kind, coordinates, ridge, df, seen.has_missing)

    def _start(self, model: StudentModel, seen: Overview, rng: np.random.Generator) -> StudentParams:
        normal = GaussianModel(self.covariance_type, model.coordinates, model.ridge)
        # outliers would be clusters of their own to k-means
        low, high = np.nanquantile(seen.rows, TRIM, axis=0)
        trimmed = replace(seen, rows=np.clip(seen.rows, low, high))
        found = self._best_start(normal, trimmed, rng, int(self.n_components))
        df = np.full(len(found.weights), 10.0 if model.df is None else model.df)  # tails neither light nor heavy
        return StudentParams(model.kind, found.weights, found.mean, df, found.covariance, found.factor)

    def _resume(self, model: StudentModel, seen: Overview) -> StudentParams:
        covariance = np.asarray(self.covariances_, dtype=np.float64)
        if self.covariance_type == "spherical":
            covariance = np.broadcast_to(covariance[:, None], self.means_.shape)
        covariance = model.coordinates.spread(covariance, diagonal=model.kind == "diag")
        mean, weights = model.coordinates.points(self.means_), np.asarray(self.weights_, dtype=np.float64)
        return StudentParams(model.kind, weights, mean, self.df_, *floored(model.kind, covariance))

    def _settle(self, model: StudentModel, fit: EMFit, seen: Overview) -> None:
        params, dtype = fit.params, seen.rows.dtype
        spread = self._spread(model.coordinates, params.covariance, params.factor)
        self.weights_ = params.weights.astype(dtype)
        self.means_ = model.coordinates.points_back(params.mean).astype(dtype)
        self.covariances_ = spread.covariances.astype(dtype)
        self.precisions_cholesky_ = spread.precisions_cholesky.astype(dtype)
        self.precisions_ = spread.precisions.astype(dtype)
        self.df_ = params.df
        own = model.coordinates.spread_back(params.covariance, diagonal=model.kind == "diag")
        self._warn_of_collapse(params.weights, params.covariance, own)

    def _components(self) -> Components:
        return replace(super()._components(), df=np.asarray(self.df_))

    def _n_parameters(self) -> int:
        return super()._n_parameters() + (len(self.weights_) if self.df is None else 0)
