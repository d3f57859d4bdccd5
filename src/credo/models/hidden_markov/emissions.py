"""What a state gives: the log densities of rows, and the M-step from shares of rows in states. The equations are those
of mixtures; only the shares come from forward–backward."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.distributions.normal import LOG_2PI
from credo.models.mixture.categorical import CategoricalModel
from credo.models.mixture.expectation import CHUNK, Gaussians
from credo.models.mixture.gaussian import GaussianModel, GaussianParams
from credo.models.mixture.linear import LinearModel
from credo.models.mixture.missing import Masked, add_completed, conditionals, distances, patterns
from credo.models.mixture.moments import Moments

__all__ = ["CategoricalEmission", "Emission", "GaussianEmission", "LinearEmission"]


class Emission:
    """The law of a row in each state, as EM over hidden chains sees it. Statistics merge like any of EM's."""

    def working(self, X: np.ndarray) -> np.ndarray:
        """Rows (n, d) as the next two want them."""
        return X

    def log_density(self, working: np.ndarray, params: Any) -> np.ndarray:
        """log p(x | state) (n, K), contiguous; parts that no state changes may be left to `bound`."""
        raise NotImplementedError

    def gather(self, working: np.ndarray, shares: np.ndarray, params: Any) -> Any:
        """Statistics of rows with weighted shares r (n, K)."""
        raise NotImplementedError

    def finalize(self, statistics: Any) -> Any:
        """The parameters that maximise the expected log density (+ log prior)."""
        raise NotImplementedError

    def bound(self, params: Any) -> float:
        """Log prior, and what `log_density` left out."""
        raise NotImplementedError

    def slack(self, statistics: Any, params: Any) -> float:
        return 0.0

    def pack(self, params: Any) -> np.ndarray:
        raise NotImplementedError

    def unpack(self, vector: np.ndarray, size: int) -> Any:
        raise NotImplementedError


# -- Normals -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GaussianEmission(Emission):
    """Normals in the working coordinates of `model`; their weights are 1, the chain having the states' own."""

    model: GaussianModel

    def working(self, X: np.ndarray) -> np.ndarray:
        """Columns z (d, n)."""
        return self.model.coordinates.columns(X)

    def log_density(self, working: np.ndarray, params: GaussianParams) -> np.ndarray:
        columns, g = working, params.gaussians
        if self.model.has_missing or not g.is_tame:
            squares, log_scale, observed = distances(columns, g)
            out = np.ascontiguousarray((log_scale - 0.5 * (squares + observed * LOG_2PI)).T)
        else:
            out = _quadratic(columns, g)
        if not self.model.has_missing:
            out += self.model.coordinates.log_det
        else:
            out += (np.log(self.model.coordinates.forward) @ ~np.isnan(columns))[:, None]
        return out

    def gather(self, working: np.ndarray, shares: np.ndarray, params: GaussianParams) -> Moments:
        columns, g = working, params.gaussians
        if self.model.has_missing:
            moments = _moments_observed(columns, np.ascontiguousarray(shares.T), g)
        elif g.is_tame:
            moments = _moments_quadratic(columns, shares, g)
        else:
            moments = _moments_direct(columns, np.ascontiguousarray(shares.T), g)
        return replace(moments, penalty=self._ridge_cost(moments.weight, g))

    def _ridge_cost(self, weight: np.ndarray, g: Gaussians) -> float:
        """½ Σ_k N_k tr(Λ_k R)."""
        axes = (-1,) if g.kind == "diag" else (-2, -1)
        return 0.5 * float(np.sum(weight * np.sum(g.precision * self.model.ridge, axis=axes)))

    def finalize(self, statistics: Moments) -> GaussianParams:
        return _unweighted(self.model.finalize(statistics))

    def bound(self, params: GaussianParams) -> float:
        none = np.empty(0)
        return self.model.bound(Moments(params.kind, none, none, none, none), params)

    def slack(self, statistics: Moments, params: GaussianParams) -> float:
        return self.model.slack(statistics, params)

    def pack(self, params: GaussianParams) -> np.ndarray:
        return self.model.pack(params)

    def unpack(self, vector: np.ndarray, size: int) -> GaussianParams:
        return _unweighted(self.model.unpack(vector))


def _unweighted(params: GaussianParams) -> GaussianParams:
    return replace(params, weights=np.ones_like(params.weights))


def _chunks(columns: np.ndarray, width: int) -> list[slice]:
    n = columns.shape[1]
    step = min(n, max(256, CHUNK // width))
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def _features(z: np.ndarray, kind: str) -> np.ndarray:
    """[1, z, products of z] (F, n), in the order of `Gaussians.natural`."""
    d = len(z)
    parts = [np.ones((1, z.shape[1])), z]
    if kind == "diag":
        parts.append(np.square(z))
    elif kind == "full":
        parts.extend(z[i] * z[i:] for i in range(d))
    return np.concatenate(parts)


def _quadratic(columns: np.ndarray, g: Gaussians) -> np.ndarray:
    """Θ φ, one matrix product for all states; for "tied" with the product that all states share."""
    theta = np.ascontiguousarray(g.natural.T)
    out = np.empty((columns.shape[1], theta.shape[1]))
    for rows in _chunks(columns, sum(theta.shape)):
        z = columns[:, rows]
        np.matmul(_features(z, g.kind).T, theta, out=out[rows])
        if g.kind == "tied":
            out[rows] -= 0.5 * np.square(g.factor.T @ z).sum(axis=0)[:, None]
    return out


def _moments_quadratic(columns: np.ndarray, shares: np.ndarray, g: Gaussians) -> Moments:
    k, d = g.mean.shape
    gathered, common = np.zeros((k, g.natural.shape[1])), np.zeros((d, d))
    for rows in _chunks(columns, sum(gathered.shape)):
        z = columns[:, rows]
        gathered += shares[rows].T @ _features(z, g.kind).T
        if g.kind == "tied":
            common += (z * shares[rows].sum(axis=1)) @ z.T
    weight, first, second = gathered[:, 0], gathered[:, 1 : 1 + d], gathered[:, 1 + d :]
    if g.kind == "tied":
        second = common
    elif g.kind == "full":
        i, j = np.triu_indices(d)
        rest, second = second, np.empty((k, d, d))
        second[:, i, j] = second[:, j, i] = rest
    return Moments(g.kind, weight, first, second, np.zeros((k, d)))


def _moments_direct(columns: np.ndarray, r: np.ndarray, g: Gaussians) -> Moments:
    """About the states' own means, where the quadratic form would cancel."""
    k, d = g.mean.shape
    first, second = np.empty((k, d)), np.zeros({"full": (k, d, d), "tied": (d, d), "diag": (k, d)}[g.kind])
    for j in range(k):
        deviation = columns - g.mean[j][:, None]
        first[j] = deviation @ r[j]
        if g.kind == "diag":
            second[j] = np.square(deviation) @ r[j]
        else:
            target = second if g.kind == "tied" else second[j]
            target += (deviation * r[j]) @ deviation.T
    return Moments(g.kind, r.sum(axis=1), first, second, g.mean)


def _moments_observed(columns: np.ndarray, r: np.ndarray, g: Gaussians) -> Moments:
    """With missing cells at their conditional means, and their conditional covariances added."""
    if g.kind == "diag":
        return Masked.of(columns).gathered(r, r, g, 0.0)
    k, d = g.mean.shape
    first, second = np.zeros((k, d)), np.zeros((k, d, d))
    for pattern in patterns(columns):
        given = conditionals(g, pattern.observed, pattern.missing)
        deviation = columns[np.ix_(pattern.observed, pattern.rows)] - g.mean[:, pattern.observed, None]
        mine = r[:, pattern.rows]
        add_completed(first, second, deviation, mine, mine.sum(axis=1), pattern, given)
    return Moments(g.kind, r.sum(axis=1), first, second.sum(axis=0) if g.kind == "tied" else second, g.mean)


# -- counts and categories ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LinearEmission(Emission):
    """Laws whose log densities are linear in features of a row: ℓ_k(x) = Θ_k · φ(x). Parameters: the model's values."""

    model: LinearModel

    def log_density(self, working: np.ndarray, params: np.ndarray) -> np.ndarray:
        theta = np.ascontiguousarray(self.model.natural(params).T)
        out = np.empty((len(working), theta.shape[1]))
        for rows in _chunks(working.T, sum(theta.shape)):
            np.matmul(self.model.features(working[rows]), theta, out=out[rows])
        return out

    def gather(self, working: np.ndarray, shares: np.ndarray, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gathered = np.zeros_like(self.model.natural(params))
        for rows in _chunks(working.T, sum(gathered.shape)):
            gathered += shares[rows].T @ self.model.features(working[rows])
        return shares.sum(axis=0), gathered

    def finalize(self, statistics: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        return self.model.values(*statistics)

    def bound(self, params: np.ndarray) -> float:
        none = np.empty(0)
        return self.model.bound((none, none, 0.0), (none, params))

    def pack(self, params: np.ndarray) -> np.ndarray:
        return np.log(params).ravel()

    def unpack(self, vector: np.ndarray, size: int) -> np.ndarray:
        return np.exp(vector.reshape(size, -1))


@dataclass(frozen=True, eq=False)
class CategoricalEmission(LinearEmission):
    """The same for categories, looked up rather than multiplied out: a row costs K d, however many there are."""

    model: CategoricalModel

    def working(self, X: np.ndarray) -> np.ndarray:
        """Places of codes among the categories of all columns (n, d); the one after the last where missing."""
        starts, missing = np.cumsum((0, *self.model.sizes[:-1])), np.isnan(X)
        return np.where(missing, sum(self.model.sizes), np.where(missing, 0.0, X) + starts).astype(np.intp)

    def log_density(self, working: np.ndarray, params: np.ndarray) -> np.ndarray:
        table = np.concatenate([self.model.natural(params).T, np.zeros((1, len(params)))])
        out = table[working[:, 0]]
        for places in working.T[1:]:
            out += table[places]
        return out

    def gather(self, working: np.ndarray, shares: np.ndarray, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = params.shape[1]
        gathered = np.zeros((len(params), size + 1))
        for into, share in zip(gathered, shares.T, strict=True):
            for places in working.T:
                into += np.bincount(places, share, size + 1)
        return shares.sum(axis=0), gathered[:, :size]

    def unpack(self, vector: np.ndarray, size: int) -> np.ndarray:
        return self.model.unpack_values(vector.reshape(size, -1))
