"""`PoissonRegression`: belief about counts and rates."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from credo.distributions.likelihoods import Likelihood, PoissonLog
from credo.models.glm.counts import CountRegressor
from credo.saving.registry import register

__all__ = ["PoissonRegression"]


@register
class PoissonRegression(CountRegressor):
    """Bayesian Poisson regression: y ~ Poisson(μ), log μ = offset + b + w·x.

    The posterior is a Gaussian at the mode, checked and corrected by Pareto-smoothed importance weights; predictions
    integrate it. Where the variance of the counts exceeds their mean, its intervals are too narrow:
    `NegativeBinomialRegression` learns by how much.

    Parameters
    ----------
    fit_intercept : whether to add an intercept.
    prior : belief about the coefficients as you see them. None: N(0, τ²) on standardised columns, τ weighed by the
        evidence (a priori the linear predictor's sd √P τ is half-Normal(3)); `Flat()`; `Normal(mean, sd)`, `sd=None`
        for a learned common scale on raw columns; `MultivariateNormal`.
    prior_intercept : None or `Flat()`; or `Normal(mean, sd)`.
    inference : "laplace" is the weighted Gaussian; "nuts" and "hmc" sample; "auto" is the first, and a sampler where
        its certificate fails; "map" is the mode alone, without uncertainty.

    Attributes
    ----------
    coef_ (P,), intercept_ : posterior means, or the mode for "map"
    mode_ : (1, P + 1) intercept and coefficients at the mode
    posterior_ : `GlmPosterior`; prior_scale_ : τ, where learned
    log_evidence_ : log p(y | X), relative to the flat intercept
    result_ : certificate "pareto_k" or "rhat"; n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError : a bad argument; bad rows, the first named.
    NotIdentifiedError : all counts are zero under a flat intercept; a flat prior without a mode.

    Notes
    -----
    `fit(X, y, sample_weight=None, offset=None)` and `predict(X, offset=None)`: with exposure E (time, people, area)
    offset = log E, and the model is of rates. `sample_weight` counts rows. Outcomes that are not whole numbers are
    taken with a warning: the mode is then quasi-likelihood's, the predictive still one of counts. About ten passes over
    the rows, each n P², in bounded memory; `score` is D², as for scikit-learn's `PoissonRegressor`.

    References
    ----------
    McCullagh and Nelder (1989), Generalized Linear Models, ch. 6; Gelman et al. (2013), Bayesian Data Analysis, ch. 16.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.models.glm import PoissonRegression
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]]); y = np.array([1, 3, 6, 20]); hours = np.array([1.0, 1.0, 1.0, 2.0])
    >>> model = PoissonRegression().fit(X, y, offset=np.log(hours))
    >>> p = model.predict_distribution([[2.0]], offset=np.log(2.0))
    >>> bool(p.epistemic[0] > 0), p.quantile(0.5).item()
    (True, 10.0)
    """

    def _likelihood(self, classes: np.ndarray | None) -> Likelihood:
        return PoissonLog()

    def _deviance(self, y: np.ndarray, mean: np.ndarray) -> np.ndarray:
        return 2.0 * (xlogy(y, y / mean) - y + mean)
