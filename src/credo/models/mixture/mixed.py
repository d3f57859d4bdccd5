"""`MixedMixture`: numbers and categories in one mixture, p(x, c) = Σ_k π_k N(x | μ_k, Σ_k) Π_j θ_kj[c_j].

Given the component, categories are independent of the numbers and of each other. Categories as 0/1 columns of a
Gaussian mixture would be wrong: a component shrinks onto one level, its density grows without limit, and the clusters
found are the levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from credo.blocks.source import Block, Source
from credo.distributions.statistics import WeightedMoments
from credo.errors import DataError, ParameterError
from credo.inference.em import EMFit, EMModel
from credo.models.columns import column_names
from credo.models.mixture.base import MixtureEstimator, threads_for
from credo.models.mixture.categorical import CategoricalModel
from credo.models.mixture.estimator import GaussianMixture
from credo.models.mixture.expectation import Beside
from credo.models.mixture.gaussian import GaussianModel, GaussianParams
from credo.models.mixture.gaussian_base import start_moments
from credo.models.mixture.moments import Moments
from credo.models.mixture.overview import Overview, overview
from credo.models.mixture.starts import responsibilities
from credo.saving.registry import register

__all__ = ["MixedMixture"]


class MixedParams(NamedTuple):
    """gaussian : weights, means and covariances ; theta : θ (k, Σ_j categories), column by column."""

    gaussian: GaussianParams
    theta: np.ndarray


@dataclass(frozen=True, eq=False)
class MixedModel(EMModel):
    """numbers, categories : the two models ; at, codes : their columns"""

    numbers: GaussianModel
    categories: CategoricalModel
    at: np.ndarray
    codes: np.ndarray

    def accumulate(self, block: Block, params: MixedParams) -> tuple[Moments, np.ndarray]:
        beside = Beside(self.categories.natural(params.theta), self.categories.features(block.X[:, self.codes]))
        numbers = Block(block.X[:, self.at], None, block.weights, block.start)
        return self.numbers.accumulate(numbers, params.gaussian, beside), beside.gathered

    def finalize(self, statistics: tuple[Moments, np.ndarray]) -> MixedParams:
        moments, gathered = statistics
        return MixedParams(self.numbers.finalize(moments), self.categories.values(moments.weight, gathered))

    def bound(self, statistics: tuple[Moments, np.ndarray], params: MixedParams) -> float:
        return self.numbers.bound(statistics[0], params.gaussian) + self.categories.log_prior(params.theta)

    def slack(self, statistics: tuple[Moments, np.ndarray], params: MixedParams) -> float:
        return self.numbers.slack(statistics[0], params.gaussian)

    def pack(self, params: MixedParams) -> np.ndarray:
        return np.concatenate([self.categories.pack_values(params.theta), self.numbers.pack(params.gaussian)])

    def unpack(self, vector: np.ndarray) -> MixedParams:
        levels, d = sum(self.categories.sizes), len(self.at)
        # the vector is as long as k (levels + what the numbers take): one k fits
        k = self.numbers.components_in(vector.size, d, more=levels)
        theta = self.categories.unpack_values(vector[: k * levels].reshape(k, levels))
        return MixedParams(self.numbers.unpack(vector[k * levels :]), theta)


@register
class MixedMixture(MixtureEstimator):
    """Mixture over numbers and categories together, by EM.

    Parameters
    ----------
    n_components, covariance_type, tol, reg_covar, max_iter, init_params, component_prior, acceleration, random_state,
    warm_start, verbose, verbose_interval : as `GaussianMixture`
    n_init : starts, each run for 20 steps; the best is run to the end
    categories : positions of the columns that hold categories, as codes 0, 1, 2…
    concentration : of a symmetric Dirichlet prior on every distribution over categories, ≥ 1; at 2 every category
        counts one row more in every component, so that none is impossible

    Attributes
    ----------
    numbers_ : the `GaussianMixture` of the numbers alone: `means_`, `covariances_`
    weights_ (k,) ; probabilities_ : a list over `categories` of (k, levels)
    lower_bound_, lower_bounds_, converged_, n_iter_, result_ : as `GaussianMixture`

    Raises
    ------
    ParameterError, DataError

    Notes
    -----
    Cells that are NaN are missing, in both kinds of columns. A code that `fit` has not seen counts as missing.

    References
    ----------
    Hunt and Jorgensen (2003), Mixture model clustering for mixed data with missing information, Computational
    Statistics & Data Analysis 41.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat([0, 1], 100)
    >>> X = np.column_stack([rng.normal(2.0 * kind, 1.0), np.where(rng.random(200) < 0.9, kind, 1 - kind)])
    >>> model = MixedMixture(2, categories=[1], random_state=0).fit(X)
    >>> bool(np.mean(model.predict(X) == kind) > 0.85 or np.mean(model.predict(X) != kind) > 0.85)
    True
    """

    n_features_in_: int
    _allow_nan = True
    _screen = 20

    def __init__(
        self,
        n_components: int = 1,
        *,
        categories: Sequence[int] = (),
        covariance_type: str = "full",
        concentration: float = 2.0,
        tol: float = 1e-4,
        reg_covar: Any = 1e-6,
        max_iter: int = 200,
        n_init: int = 5,
        init_params: str = "kmeans",
        component_prior: Any = None,
        acceleration: str | None = "squarem",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.categories = categories
        self.covariance_type = covariance_type
        self.concentration = concentration
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.component_prior = component_prior
        self.acceleration = acceleration
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def _check(self) -> None:
        super()._check()
        self._gaussian()._check()
        if not (isinstance(self.concentration, (int, float, np.number)) and 1.0 <= self.concentration < np.inf):
            raise ParameterError("MixedMixture", "concentration", "a number ≥ 1", self.concentration)

    def _gaussian(self) -> GaussianMixture:
        return GaussianMixture(
            self.n_components,
            covariance_type=self.covariance_type,
            reg_covar=self.reg_covar,
            init_params=self.init_params,
            component_prior=self.component_prior,
            random_state=self.random_state,
        )

    def _columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of numbers and of categories."""
        d = int(self.n_features_in_)
        codes = np.asarray(self.categories)
        whole = codes.ndim == 1 and (codes.size == 0 or codes.dtype.kind in "iu")
        if not whole or np.any(codes < 0) or np.any(codes >= d) or len(set(codes.tolist())) != codes.size:
            raise ParameterError("MixedMixture", "categories", f"different columns from 0 to {d - 1}", self.categories)
        if not 0 < codes.size < d:
            raise ParameterError(
                "MixedMixture", "categories", "some of the columns", self.categories,
                "Use GaussianMixture where there are none, CategoricalMixture where all are.",
            )  # fmt: skip
        return np.setdiff1d(np.arange(d), codes), codes.astype(np.intp)

    # -- fitting -------------------------------------------------------------------------------------------------

    def _prepare(self, source: Source, rng: np.random.Generator) -> Overview:
        _, codes = self._columns()
        seen = overview(source, int(rng.integers(2**63)), threads_for(source))
        names, cells = column_names(self), seen.by_column
        empty = [names[j] for j in range(len(names)) if cells[j].total == 0.0]
        if empty:
            raise DataError(
                f"MixedMixture: no cell is observed in {', '.join(empty[:8])}.",
                columns=empty, remedy="Drop columns without values.",
            )  # fmt: skip
        self._sizes = self._checked_codes(source, codes)
        return seen

    def _checked_codes(self, source: Source, codes: np.ndarray) -> tuple[int, ...]:
        """The number of categories of every column."""
        most = np.zeros(len(codes))
        for block in source:
            part = block.X[:, codes]
            strange = ~(np.isnan(part) | ((part >= 0.0) & (part == np.floor(part)) & (part < 2**31)))
            if strange.any():
                row, j = np.argwhere(strange)[0]
                raise DataError(
                    f"MixedMixture: {column_names(self)[codes[j]]} holds {part[row, j]} in row {block.start + row}, "
                    "which is no code of a category.",
                    rows=[int(block.start + row)], value=part[row, j], remedy="Number the categories 0, 1, 2….",
                )  # fmt: skip
            most = np.fmax(most, np.fmax.reduce(part, axis=0))
        return tuple(int(m) + 1 for m in most)

    def _model(self, seen: Overview) -> MixedModel:
        at, codes = self._columns()
        categories = CategoricalModel(self._sizes, float(self.concentration))
        return MixedModel(self._gaussian()._model(_of_columns(seen, at)), categories, at, codes)

    def _start(self, model: MixedModel, seen: Overview, rng: np.random.Generator) -> MixedParams:
        """Clusters of the sampled rows, with every category column of unit variance beside the numbers."""
        z = np.nan_to_num(model.numbers.coordinates.points(seen.rows[:, model.at]), nan=0.0)
        hot = model.categories.features(seen.rows[:, model.codes])
        overall = seen.weights @ hot / seen.weights.sum()
        spread = np.add.reduceat(overall * (1.0 - overall), model.categories._starts)
        unit = np.repeat(1.0 / np.sqrt(np.maximum(spread, 1e-3)), model.categories.sizes)
        rows = np.hstack([z, hot * unit])
        shares = responsibilities(self.init_params, rows, seen.weights, int(self.n_components), rng)
        moments = start_moments(model.numbers.kind, z, seen.weights, shares, seen.weight)
        r = shares * seen.weights
        return MixedParams(model.numbers.finalize(moments), model.categories.values(r.sum(axis=1), r @ hot + overall))

    def _resume(self, model: MixedModel, seen: Overview) -> MixedParams:
        return MixedParams(
            self.numbers_._resume(model.numbers, _of_columns(seen, model.at)),
            np.concatenate(self.probabilities_, axis=1),
        )

    def _settle(self, model: MixedModel, fit: EMFit, seen: Overview) -> None:
        numbers: Any = self._gaussian()
        numbers.n_features_in_ = len(model.at)
        numbers._settle(model.numbers, replace(fit, params=fit.params.gaussian), _of_columns(seen, model.at))
        numbers.converged_ = fit.result.status == "converged"
        self.numbers_ = numbers
        self.weights_ = numbers.weights_
        edges = np.cumsum(model.categories.sizes)[:-1]
        self.probabilities_ = np.split(fit.params.theta, edges, axis=1)

    # -- prediction ----------------------------------------------------------------------------------------------

    def _log_joint(self, X: np.ndarray) -> np.ndarray:
        at, codes = self._columns()
        sizes = tuple(p.shape[1] for p in self.probabilities_)
        known = np.where(X[:, codes] < np.asarray(sizes), X[:, codes], np.nan)
        features = CategoricalModel(sizes).features(known)
        return self.numbers_._log_joint(X[:, at]) + np.log(np.concatenate(self.probabilities_, axis=1)) @ features.T

    def _n_parameters(self) -> int:
        k = len(self.weights_)
        return self.numbers_._n_parameters() + k * sum(p.shape[1] - 1 for p in self.probabilities_)


def _of_columns(seen: Overview, at: np.ndarray) -> Overview:
    """The overview of some of the columns."""
    m = seen.moments
    moments = WeightedMoments(m.count, m.total, m.shift[at], m.offset[at], m.scatter[np.ix_(at, at)])
    cells = None if seen.cells is None else tuple(seen.cells[j] for j in at)
    return replace(seen, moments=moments, cells=cells, rows=seen.rows[:, at])
