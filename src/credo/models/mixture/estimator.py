"""`GaussianMixture`: p(x) = Σ_k π_k N(x | μ_k, Σ_k), by EM."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from credo.blocks.source import Source
from credo.distributions.dirichlet import Dirichlet
from credo.distributions.normal_inverse_wishart import NormalInverseWishart
from credo.errors import ParameterError
from credo.inference.em import EMFit, OnlineEM
from credo.models.mixture.choice import choose_components
from credo.models.mixture.coordinates import Coordinates, scaled_columns
from credo.models.mixture.full_pass import is_worth_compiling
from credo.models.mixture.gaussian import GaussianModel, GaussianParams
from credo.models.mixture.gaussian_base import GaussianBase, coordinates_for, ridge_for
from credo.models.mixture.given import checked_means, checked_precisions, checked_weights_init
from credo.models.mixture.overview import Overview
from credo.models.mixture.prior import MixturePrior
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["GaussianMixture"]


@register
class GaussianMixture(GaussianBase):
    """Gaussian mixture: p(x) = Σ_k π_k N(x | μ_k, Σ_k), fitted by EM.

    Parameters
    ----------
    n_components : number of components k, or "auto": the k ≤ 10 of lowest BIC (see `choose_components`)
    covariance_type : "full", each component its own; "tied", one for all; "diag"; "spherical", one variance each
    tol : stop when a step raises the bound by less than this a row
    reg_covar : added to the variances, in squared units of the columns: a number, or one a column
    max_iter, n_init : steps; starts, of which the best is kept
    init_params : "kmeans" (k-means++ and a few of Lloyd's steps), "k-means++", "random" or "random_from_data", all on
        a sample of 4,096 rows in whitened coordinates
    weights_init, means_init, precisions_init : parts of the start that are given, in scikit-learn's shapes
    weight_prior : None (flat); the concentration ≥ 1 of a symmetric Dirichlet, or a `Dirichlet`
    component_prior : None (flat); "auto", weak and scaled to the data (Fraley and Raftery 2007); or a
        `NormalInverseWishart` of (μ_k, Σ_k). With it the fit is the posterior mode, and no component can collapse
    acceleration : None or "squarem": several times fewer passes where components overlap
    random_state, warm_start, verbose, verbose_interval : as in scikit-learn

    Attributes
    ----------
    weights_ (k,), means_ (k, d), covariances_, precisions_, precisions_cholesky_ : scikit-learn's shapes
    lower_bound_ : mean log p(x) of a row (plus log prior/n) before the last M-step, so that `score` is no lower;
        lower_bounds_ of every step
    converged_, n_iter_, result_ : how EM went; choice_ : the comparison behind "auto"
    online_ : after `partial_fit`, the statistics that the next call goes on from
    n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError

    Notes
    -----
    Cells that are NaN are missing (at random): the likelihood is that of the observed cells, in `fit` and in every
    prediction. A pass costs 2 n k d² multiplications; memory beyond the data does not depend on n. Components that
    collapse onto equal rows are kept at an sd of 1e-9 of the data's, with a `DataWarning`.

    References
    ----------
    McLachlan and Peel (2000), Finite Mixture Models; Fraley and Raftery (2007), Bayesian regularization for normal
    mixture estimation and model-based clustering, Journal of Classification 24.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal([0, 0], 1, (100, 2)), rng.normal([8, 4], [1, 2], (100, 2))])
    >>> model = cr.GaussianMixture(2, random_state=0).fit(X)
    >>> model.weights_.round(2).tolist(), np.sort(model.means_[:, 1]).round().tolist()
    ([0.5, 0.5], [0.0, 4.0])
    >>> model.predict_distribution([[8.0, np.nan]]).mean.round().tolist()  # the second column, given the first
    [[4.0]]
    """

    _can_choose = True

    def __init__(
        self,
        n_components: Any = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: Any = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        weight_prior: Any = None,
        component_prior: Any = None,
        acceleration: str | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.weight_prior = weight_prior
        self.component_prior = component_prior
        self.acceleration = acceleration
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows X (n, d), NaN where missing, or to a `Source` of blocks; `sample_weight` (n,) counts rows."""
        self._check()
        vars(self).pop("online_", None)
        if self.n_components != "auto":
            return super().fit(X, sample_weight=sample_weight)
        choice = choose_components(X, estimator=self, sample_weight=sample_weight)
        names = vars(choice.best)
        vars(self).update({name: value for name, value in names.items() if name.endswith("_")})
        self.choice_ = choice.record
        return self

    # -- the model and its start ---------------------------------------------------------------------------------

    def _model(self, seen: Overview, coordinates: Coordinates | None = None) -> GaussianModel:
        coordinates = coordinates or coordinates_for(self.covariance_type, seen)
        ridge = ridge_for(self.covariance_type, self.reg_covar, coordinates)
        prior = self._prior(seen, coordinates)
        compiled = is_worth_compiling(seen.n_rows, seen.mean.size, int(self.n_components))
        return GaussianModel(self.covariance_type, coordinates, ridge, prior, seen.has_missing, compiled=compiled)

    def _prior(self, seen: Overview, coordinates: Coordinates) -> MixturePrior:
        concentration = self._concentration()
        belief, d = self.component_prior, coordinates.centre.size
        if belief is None:
            return MixturePrior(concentration)
        if isinstance(belief, str) and belief == "auto":
            # in working coordinates the data have mean 0 and variance 1: Fraley and Raftery's κ, ν, Ψ
            scale = coordinates.spread(seen.covariance, diagonal=False) / self.n_components ** (2.0 / d)
            least = np.finfo(float).eps * np.eye(d)  # constant columns
            return MixturePrior(concentration, np.zeros(d), 0.01, d + 2.0, scale + least)
        if not isinstance(belief, NormalInverseWishart) or belief.dimension != d:
            constraint = f"None, 'auto' or a NormalInverseWishart of dimension {d}"
            raise ParameterError("GaussianMixture", "component_prior", constraint, belief)
        return MixturePrior(
            concentration,
            coordinates.points(belief.mean),
            float(belief.kappa),
            float(belief.df),
            coordinates.spread(np.asarray(belief.scale_matrix), diagonal=False),
        )

    def _concentration(self) -> np.ndarray | float:
        belief = self.weight_prior
        if belief is None:
            return 1.0
        alpha = np.asarray(belief.concentration if isinstance(belief, Dirichlet) else belief, dtype=np.float64)
        if alpha.shape not in ((), (self.n_components,)) or not np.all(alpha >= 1.0) or not np.all(np.isfinite(alpha)):
            constraint = f"a number ≥ 1 or a Dirichlet of {self.n_components} of them (a mode needs them)"
            raise ParameterError("GaussianMixture", "weight_prior", constraint, belief)
        return float(alpha) if alpha.ndim == 0 else alpha

    def _start(self, model: GaussianModel, seen: Overview, rng: np.random.Generator) -> GaussianParams:
        k, d = int(self.n_components), model.coordinates.centre.size
        weights = checked_weights_init(self.weights_init, k)
        means = checked_means(self.means_init, k, d)
        covariances = checked_precisions(self.precisions_init, self.covariance_type, k, d)
        if weights is None or means is None or covariances is None:
            found = self._best_start(model, seen, rng, k)
            weights = found.weights if weights is None else weights
            mean = found.mean if means is None else model.coordinates.points(means)
            covariance = found.covariance
        else:
            mean = model.coordinates.points(means)
            covariance = np.empty(0)
        if covariances is not None:
            covariance = model.coordinates.spread(covariances, diagonal=model.kind == "diag")
        return GaussianParams.of(model.kind, weights, mean, covariance)

    def _resume(self, model: GaussianModel, seen: Overview) -> GaussianParams:
        covariance = np.asarray(self.covariances_, dtype=np.float64)
        if self.covariance_type == "spherical":
            covariance = np.broadcast_to(covariance[:, None], self.means_.shape)
        return GaussianParams.of(
            model.kind,
            np.asarray(self.weights_, dtype=np.float64),
            model.coordinates.points(self.means_),
            model.coordinates.spread(covariance, diagonal=model.kind == "diag"),
        )

    def _settle(self, model: GaussianModel, fit: EMFit, seen: Overview) -> None:
        self._set_params_from(model, fit.params, seen.rows.dtype)
        own = model.coordinates.spread_back(fit.params.covariance, diagonal=model.kind == "diag")
        self._warn_of_collapse(fit.params.weights, fit.params.covariance, own)

    def _set_params_from(self, model: GaussianModel, params: GaussianParams, dtype: Any) -> None:
        spread = self._spread(model.coordinates, params.covariance, params.factor)
        self.weights_ = params.weights.astype(dtype)
        self.means_ = model.coordinates.points_back(params.mean).astype(dtype)
        self.covariances_ = spread.covariances.astype(dtype)
        self.precisions_cholesky_ = spread.precisions_cholesky.astype(dtype)
        self.precisions_ = spread.precisions.astype(dtype)

    # -- streams -------------------------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One step of online EM with these rows; the first call places the components, so give it a few hundred.

        Cappé and Moulines (2009), with the weight t^−0.7 of the t-th call. A model saved between two calls goes on as
        though it had not been; one that `fit` made goes on from its parameters, without the weight of those rows.
        """
        self._check()
        first = not hasattr(self, "means_")
        source = self._source(X, sample_weight, reset=first)
        online = getattr(self, "online_", None)
        if first or online is None:
            online = self._begin(source, first)
        for block in source:
            model: Any = online.model
            online.model = replace(model, has_missing=bool(np.isnan(block.X).any()))
            online.update(block)
        self.online_ = online
        model = online.model
        self._set_params_from(model, online.params, np.float64)
        return self

    def _begin(self, source: Source, first: bool) -> OnlineEM:
        rng = as_generator(self.random_state)
        seen = self._prepare(source, rng)
        # later rows may have missing cells, which only a scaling of single columns lets stand
        scaled = scaled_columns(seen.mean, seen.variance) if self.covariance_type in ("full", "tied") else None
        model = self._model(seen, scaled)
        return OnlineEM(model, self._start(model, seen, rng) if first else self._resume(model, seen))
