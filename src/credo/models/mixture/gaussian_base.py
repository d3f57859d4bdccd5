"""What `GaussianMixture` and `BayesianGaussianMixture` share: coordinates, starts, conditioning on cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from credo.blocks.source import Source
from credo.errors import DataError, DataWarning, ParameterError, warn
from credo.models.columns import column_names
from credo.models.mixture.base import MixtureEstimator, threads_for
from credo.models.mixture.components import Components
from credo.models.mixture.conditional import ConditionalPredictive, conditional, imputed, rows_given
from credo.models.mixture.coordinates import Coordinates, scaled_alike, scaled_columns, whitened
from credo.models.mixture.expectation import expected_moments
from credo.models.mixture.factors import FLOOR, MATRIX_FLOOR, upper_factor
from credo.models.mixture.gaussian import kind_of
from credo.models.mixture.moments import Moments
from credo.models.mixture.overview import Overview, overview
from credo.models.mixture.starts import INIT_PARAMS, responsibilities
from credo.numerics.random import as_generator

__all__ = ["GaussianBase", "COVARIANCE_TYPES", "coordinates_for", "ridge_for", "start_moments"]

COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")


def coordinates_for(covariance_type: str, seen: Overview) -> Coordinates:
    """Working coordinates in which the covariance type means the same as in the rows' own."""
    if covariance_type == "spherical":
        return scaled_alike(seen.mean, seen.variance)
    if covariance_type == "diag" or seen.has_missing:
        return scaled_columns(seen.mean, seen.variance)
    return whitened(seen.mean, seen.covariance)


def ridge_for(covariance_type: str, reg_covar: Any, coordinates: Coordinates) -> np.ndarray:
    """reg_covar on the variances in the rows' own units, in working coordinates."""
    reg = np.asarray(reg_covar, dtype=np.float64)
    d = coordinates.centre.size
    if reg.shape not in ((), (d,)):
        raise ParameterError("", "reg_covar", f"a number or {d} of them, one a column", reg_covar)
    reg = np.broadcast_to(reg, (d,))
    diagonal = kind_of(covariance_type) == "diag"
    return coordinates.spread(reg if diagonal else np.diag(reg), diagonal=diagonal)


def start_moments(kind: str, rows: np.ndarray, weights: np.ndarray, shares: np.ndarray, total: float) -> Moments:
    """Moments of sampled rows (n, d) with memberships (k, n), scaled to `total` rows.

    The covariance of a cluster of fewer than 2 (d + 1) rows is averaged with the pooled one as if that had d + 1 rows,
    so that it starts wide rather than singular.
    """
    columns = np.ascontiguousarray(rows.T)
    r = shares * weights
    k, d = len(r), len(columns)
    weight, first = r.sum(axis=1), r @ rows
    if kind == "diag":
        second: np.ndarray = r @ np.square(rows)
    elif kind == "tied":
        second = (columns * r.sum(axis=0)) @ rows
    else:
        second = np.stack([(columns * share) @ rows for share in r])
    moments = Moments(kind, weight, first, second, np.zeros((k, d)))
    if kind != "tied":
        pooled = moments.scatter.sum(axis=0) / weight.sum()
        extra = np.where(weight < 2.0 * (d + 1.0), d + 1.0, 0.0).reshape((k,) + (1,) * (moments.scatter.ndim - 1))
        n = weight.reshape(extra.shape)
        wide = np.where(extra > 0.0, n * (moments.scatter + extra * pooled) / (n + extra + (n == 0.0)), moments.scatter)
        moments = replace(moments, second=moments.second + (wide - moments.scatter))
    return moments.scaled(total / weight.sum())


@dataclass(frozen=True, eq=False)
class _Spread:
    """Covariances and precision factors in the rows' own units, in scikit-learn's shapes."""

    covariances: np.ndarray
    precisions_cholesky: np.ndarray
    precisions: np.ndarray


class GaussianBase(MixtureEstimator):
    """Base of the two Gaussian mixtures; not public."""

    covariance_type: str
    reg_covar: Any
    init_params: str
    means_: np.ndarray
    covariances_: np.ndarray
    precisions_cholesky_: np.ndarray
    _allow_nan = True

    def _check(self) -> None:
        super()._check()
        owner = type(self).__name__
        if self.covariance_type not in COVARIANCE_TYPES:
            raise ParameterError(owner, "covariance_type", f"one of {COVARIANCE_TYPES}", self.covariance_type)
        if self.init_params not in INIT_PARAMS:
            raise ParameterError(owner, "init_params", f"one of {INIT_PARAMS}", self.init_params)
        reg = np.asarray(self.reg_covar)
        if reg.dtype.kind not in "iuf" or reg.ndim > 1 or not np.all((reg >= 0.0) & (reg < np.inf)):
            raise ParameterError(owner, "reg_covar", "a number ≥ 0, or one a column", self.reg_covar)

    @property
    def _kind(self) -> str:
        return kind_of(self.covariance_type)

    def _prepare(self, source: Source, rng: np.random.Generator) -> Overview:
        seen = overview(source, int(rng.integers(2**63)), threads_for(source))
        if seen.n_rows == 0:
            raise DataError(f"{type(self).__name__}: no row has a positive weight.", value=0)
        empty = [name for name, cells in zip(column_names(self), seen.cells or ()) if cells.total == 0.0]
        if empty:
            raise DataError(
                f"{type(self).__name__}: no cell is observed in {', '.join(empty[:8])}.",
                columns=empty,
                remedy="Drop columns without values.",
            )
        return seen

    def _best_start(self, model: Any, seen: Overview, rng: np.random.Generator, k: int) -> Any:
        """Parameters from clusters of the sample, found in working coordinates and, where those mix columns, in columns
        of unit sd too: whitening helps clusters that are narrow in one direction and hurts those far apart."""
        rows = np.nan_to_num(model.coordinates.points(seen.rows), nan=0.0)
        views = [rows]
        if model.coordinates.is_matrix and self.init_params.startswith("k"):
            views.append(scaled_columns(seen.mean, seen.variance).points(seen.rows))
        found = []
        for view in views:
            shares = responsibilities(self.init_params, view, seen.weights, k, rng)
            found.append(model.finalize(start_moments(model.kind, rows, seen.weights, shares, seen.weight)))
        if len(found) == 1:
            return found[0]
        columns = np.ascontiguousarray(rows.T)
        return max(found, key=lambda p: expected_moments(columns, seen.weights, p.gaussians).log_likelihood)

    # -- from working coordinates to attributes ------------------------------------------------------------------

    def _spread(self, coordinates: Coordinates, covariance: np.ndarray, factor: np.ndarray) -> _Spread:
        diagonal = self._kind == "diag"
        covariances = coordinates.spread_back(covariance, diagonal=diagonal)
        factors = coordinates.factor_back(factor, diagonal=diagonal)
        if not diagonal:
            factors = upper_factor(factors)
            return _Spread(covariances, factors, factors @ factors.swapaxes(-1, -2))
        if self.covariance_type == "spherical":
            covariances, factors = covariances[:, 0], factors[:, 0]
        return _Spread(covariances, factors, np.square(factors))

    def _warn_of_collapse(self, weights: np.ndarray, working: np.ndarray, own: np.ndarray) -> None:
        """Of components held up by the floor or by reg_covar alone, in some direction, and of empty ones.

        working, own : their covariances in working coordinates and in the rows' own units
        """
        reg = np.broadcast_to(np.asarray(self.reg_covar, dtype=np.float64), own.shape[-1:])
        reg = np.full_like(reg, reg.mean()) if self.covariance_type == "spherical" else reg
        if self._kind == "diag":
            fallen = (working.min(axis=1) <= 1.01 * FLOOR) | (own <= 1.01 * reg).any(axis=1)
        else:
            # Σ − 1.01 R has a direction without variance
            lowest, spare = (np.atleast_2d(np.linalg.eigvalsh(e))[:, 0] for e in (working, own - 1.01 * np.diag(reg)))
            fallen = (lowest <= 1.01 * MATRIX_FLOOR) | (spare <= 0.0)
        empty = weights <= 10.0 * np.finfo(float).eps
        fallen = np.broadcast_to(fallen, weights.shape) & ~empty
        owner = type(self).__name__
        if fallen.any():
            shown = ", ".join(map(str, np.flatnonzero(fallen)[:8]))
            warn(
                f"{owner}: components {shown} have collapsed onto duplicated rows or a flat, or are narrower than "
                "reg_covar: their covariance is the smallest allowed. Use fewer components, a prior on the components, "
                "or a reg_covar that suits the units of the columns.",
                DataWarning,
            )
        if empty.any():
            shown = ", ".join(map(str, np.flatnonzero(empty)[:8]))
            warn(f"{owner}: components {shown} are empty. Use fewer components.", DataWarning)

    # -- prediction ----------------------------------------------------------------------------------------------

    def _components(self) -> Components:
        """The fitted components, in the rows' own units."""
        return Components(self._kind, self.weights_, self.means_, self.precisions_cholesky_)

    def _log_joint(self, X: np.ndarray) -> np.ndarray:
        return self._components().log_joint(X)

    def predict_distribution(self, X: Any) -> ConditionalPredictive:
        """p(missing cells | observed cells) as a `Predictive`; every row must have the same cells missing.

        Its shape is (rows, missing columns). To predict column b from column a, set b to NaN.
        """
        check_is_fitted(self)
        return conditional(self._components(), self._validated(X, reset=False), type(self).__name__)

    def condition(self, columns: Any, values: Any) -> ConditionalPredictive:
        """p(other columns | these columns = values) as a `Predictive`.

        columns : numbers or names; values : (rows, len(columns)), or one row
        """
        check_is_fitted(self)
        owner = f"{type(self).__name__}.condition"
        rows = rows_given(owner, columns, values, column_names(self))
        return conditional(self._components(), rows, owner)

    def impute(self, X: Any) -> np.ndarray:
        """Rows with missing cells replaced by their mean given the observed ones, (n, d)."""
        check_is_fitted(self)
        return imputed(self._components(), self._validated(X, reset=False))

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """n_samples rows (n, d), grouped by component, and their components (n,)."""
        check_is_fitted(self)
        if not n_samples >= 1:
            raise ParameterError(f"{type(self).__name__}.sample", "n_samples", "≥ 1", n_samples)
        return self._components().sample(int(n_samples), as_generator(self.random_state))

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        spread = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
        return spread[self.covariance_type] + k * d + k - 1
