"""`BayesianGaussianMixture`: a posterior over the mixture's parameters, by variational Bayes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.inference.em import EMFit
from credo.models.mixture.components import Components
from credo.models.mixture.factors import floored
from credo.models.mixture.full_pass import is_worth_compiling
from credo.models.mixture.gaussian_base import GaussianBase, coordinates_for, ridge_for
from credo.models.mixture.overview import Overview
from credo.models.mixture.variational import VariationalModel, VariationalParams, VariationalPrior
from credo.saving.registry import register

__all__ = ["BayesianGaussianMixture"]

TYPES = ("dirichlet_process", "dirichlet_distribution")


@register
class BayesianGaussianMixture(GaussianBase):
    """Gaussian mixture with a posterior over weights, means and covariances, by coordinate ascent on the ELBO.

    Parameters
    ----------
    n_components : the most components; unneeded ones get weights near 0
    covariance_type : "full", "tied", "diag" or "spherical"
    tol : stop when a step raises the ELBO by less than this
    reg_covar, max_iter, n_init, init_params, random_state, warm_start, verbose, verbose_interval : as `GaussianMixture`
    weight_concentration_prior_type : "dirichlet_process" or "dirichlet_distribution"
    weight_concentration_prior : γ > 0; None is 1/n_components
    mean_precision_prior : β_0 > 0, rows that the prior of a mean is worth; None is 1
    mean_prior : m_0 (d,); None is the mean of the rows
    degrees_of_freedom_prior : ν_0 > d − 1; None is d
    covariance_prior : Ψ_0, (d, d) for "full" and "tied", (d,) for "diag", a number for "spherical"; None is the
        covariance of the rows

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_ : E π, E μ, and Ψ/ν with its inverse E Λ
    weight_concentration_, mean_precision_, degrees_of_freedom_ : the rest of the posterior; with a trailing `prior_`
        the priors used
    lower_bound_ : the ELBO, all constants included: ≤ log p(X), comparable between models; lower_bounds_ of every step
    converged_, n_iter_, result_, n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError

    Notes
    -----
    `score_samples` and all other predictions are those of the posterior predictive, a mixture of Student-t's: wider
    than Normals where a component has seen few rows. For "tied" the posterior of the one covariance counts every row
    (degrees of freedom ν_0 + n; scikit-learn has ν_0 + n/k), and for "diag" each variance has its own Gamma posterior.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, §10.2; Blei and Jordan (2006), Bayesian Analysis 1.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-4, 1, 200), rng.normal(4, 1, 100)])[:, None]
    >>> model = cr.BayesianGaussianMixture(n_components=6, random_state=0, max_iter=500).fit(X)
    >>> np.sort(model.weights_)[::-1].round(1)[:3].tolist()
    [0.7, 0.3, 0.0]
    """

    acceleration = None

    def __init__(
        self,
        *,
        n_components: int = 1,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: Any = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weight_concentration_prior_type: str = "dirichlet_process",
        weight_concentration_prior: float | None = None,
        mean_precision_prior: float | None = None,
        mean_prior: Any = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: Any = None,
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
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def _scale(self, weight: float) -> float:
        return 1.0

    def _check(self) -> None:
        super()._check()
        if self.weight_concentration_prior_type not in TYPES:
            self._refuse("weight_concentration_prior_type", f"one of {TYPES}")
        for name in ("weight_concentration_prior", "mean_precision_prior", "degrees_of_freedom_prior"):
            value = getattr(self, name)
            if value is not None and not (np.ndim(value) == 0 and np.isfinite(value) and value > 0.0):
                self._refuse(name, "a number > 0 or None")

    def _refuse(self, name: str, constraint: str) -> None:
        raise ParameterError("BayesianGaussianMixture", name, constraint, getattr(self, name))

    # -- priors --------------------------------------------------------------------------------------------------

    def _model(self, seen: Overview) -> VariationalModel:
        coordinates = coordinates_for(self.covariance_type, seen)
        mean, precision, df, scale, gamma = self._priors(seen)
        diagonal = self._kind == "diag"
        own = coordinates.spread(scale * np.ones(seen.mean.size) if diagonal else scale, diagonal=diagonal)
        # constant columns have no spread of their own for the prior to copy
        least = np.finfo(float).eps
        belief = VariationalPrior(
            gamma,
            self.weight_concentration_prior_type == "dirichlet_process",
            coordinates.points(mean),
            precision,
            df,
            own + (least if diagonal else least * np.eye(len(own))),
        )
        ridge = ridge_for(self.covariance_type, self.reg_covar, coordinates)
        compiled = is_worth_compiling(seen.n_rows, seen.mean.size, int(self.n_components))
        model = VariationalModel(self.covariance_type, coordinates, ridge, has_missing=seen.has_missing, belief=belief)
        return replace(model, compiled=compiled)

    def _priors(self, seen: Overview) -> tuple[np.ndarray, float, float, np.ndarray, float]:
        """m_0, β_0, ν_0, Ψ_0 and γ, in the rows' own units."""
        d = seen.mean.size
        mean = seen.mean if self.mean_prior is None else np.asarray(self.mean_prior, dtype=np.float64)
        if mean.shape != (d,) or not np.all(np.isfinite(mean)):
            self._refuse("mean_prior", f"finite numbers of shape {(d,)} or None")
        df = float(d if self.degrees_of_freedom_prior is None else self.degrees_of_freedom_prior)
        if df <= d - 1.0:
            self._refuse("degrees_of_freedom_prior", f"> {d - 1}, the columns less one,")
        gamma = self.weight_concentration_prior
        gamma = 1.0 / self.n_components if gamma is None else float(gamma)
        precision = 1.0 if self.mean_precision_prior is None else float(self.mean_precision_prior)
        return mean, precision, df, self._covariance_prior(seen), gamma

    def _covariance_prior(self, seen: Overview) -> np.ndarray:
        d = seen.mean.size
        if self.covariance_prior is None:
            unbiased = seen.weight / max(seen.weight - 1.0, 1.0)
            variance = unbiased * seen.variance
            default = {"diag": variance, "spherical": variance.mean()}
            return np.asarray(default.get(self.covariance_type, unbiased * seen.covariance))
        scale = np.asarray(self.covariance_prior, dtype=np.float64)
        shape = {"diag": (d,), "spherical": ()}.get(self.covariance_type, (d, d))
        good = scale.shape == shape and bool(np.all(np.isfinite(scale)))
        if good and scale.ndim == 2:
            good = bool(np.allclose(scale, scale.T) and np.linalg.eigvalsh(scale)[0] > 0.0)
        elif good:
            good = bool(np.all(scale > 0.0))
        if not good:
            self._refuse("covariance_prior", f"positive (definite) of shape {shape} or None")
        return scale

    # -- fitting -------------------------------------------------------------------------------------------------

    def _start(self, model: VariationalModel, seen: Overview, rng: np.random.Generator) -> VariationalParams:
        return self._best_start(model, seen, rng, int(self.n_components))

    def _resume(self, model: VariationalModel, seen: Overview) -> VariationalParams:
        covariance = np.asarray(self.covariances_, dtype=np.float64)
        if self.covariance_type == "spherical":
            covariance = np.broadcast_to(covariance[:, None], self.means_.shape)
        covariance = model.coordinates.spread(covariance, diagonal=model.kind == "diag")
        return VariationalParams(
            self.covariance_type,
            model.kind,
            np.asarray(self.weight_concentration_, dtype=np.float64),
            np.asarray(self.mean_precision_, dtype=np.float64),
            model.coordinates.points(self.means_),
            np.asarray(self.degrees_of_freedom_, dtype=np.float64),
            *floored(model.kind, covariance),
        )

    def _settle(self, model: VariationalModel, fit: EMFit, seen: Overview) -> None:
        params, dtype = fit.params, seen.rows.dtype
        spread = self._spread(model.coordinates, params.covariance, params.factor)
        process = model.belief.process
        self.weight_concentration_ = tuple(params.concentration) if process else params.concentration
        self.weights_ = params.weights.astype(dtype)
        self.mean_precision_ = params.precision
        self.means_ = model.coordinates.points_back(params.mean).astype(dtype)
        self.degrees_of_freedom_ = params.df if params.df.ndim else float(params.df)
        self.covariances_ = spread.covariances.astype(dtype)
        self.precisions_cholesky_ = spread.precisions_cholesky.astype(dtype)
        self.precisions_ = spread.precisions.astype(dtype)
        mean, precision, df, scale, gamma = self._priors(seen)
        self.mean_prior_, self.mean_precision_prior_, self.degrees_of_freedom_prior_ = mean, precision, df
        self.covariance_prior_ = scale if scale.ndim else float(scale)
        self.weight_concentration_prior_ = gamma

    # -- prediction ----------------------------------------------------------------------------------------------

    def _components(self) -> Components:
        """Student-t's: of df ν − d + 1 and scale matrix (1 + 1/β) Ψ/(ν − d + 1); ν, or d ν, for (one) own variances."""
        k, d = self.means_.shape
        nu, factor = np.asarray(self.degrees_of_freedom_, dtype=np.float64), self.precisions_cholesky_
        widen = 1.0 + 1.0 / self.mean_precision_
        if self.covariance_type == "spherical":
            return Components("diag", self.weights_, self.means_, factor / np.sqrt(widen), d * nu, inference="vb")
        if self.covariance_type == "diag":
            factor = factor / np.sqrt(widen)[:, None]
            return Components("diag", self.weights_, self.means_, factor, nu, True, "vb")
        df = np.broadcast_to(nu - d + 1.0, (k,))
        widen = widen * nu / df
        factor = np.broadcast_to(factor, (k, d, d)) / np.sqrt(widen)[:, None, None]
        return Components("full", self.weights_, self.means_, factor, df, inference="vb")
