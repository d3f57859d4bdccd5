"""`GammaRegression`: belief about positive outcomes with a constant coefficient of variation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from credo.distributions.likelihoods import GammaLog, Likelihood
from credo.models.glm.base import GlmRegressor, deviance_explained
from credo.saving.registry import register

__all__ = ["GammaRegression"]


@register
class GammaRegression(GlmRegressor):
    """Bayesian Gamma regression: y > 0 with mean μ and variance μ²/α, log μ = offset + b + w·x.

    For amounts whose spread grows with their mean: costs, durations, concentrations.

    Parameters
    ----------
    fit_intercept, prior, prior_intercept, inference : as for `PoissonRegression`.
    shape : α > 0 when known; None learns it with α^(−½) ~ HalfNormal(1); a family is its prior.

    Attributes
    ----------
    shape_ : posterior median of α, where learned; 1/√α is the coefficient of variation
    coef_, intercept_, mode_, posterior_, prior_scale_, log_evidence_, result_ : as for `PoissonRegression`;
        `posterior_["shape"]` draws α

    Raises
    ------
    ParameterError, DataError, NotIdentifiedError : a bad argument; outcomes that are not > 0, the first row named; a
        flat prior that leaves coefficients undetermined.

    Notes
    -----
    `score` is D², as for scikit-learn's `GammaRegressor`.

    References
    ----------
    McCullagh and Nelder (1989), Generalized Linear Models, ch. 8.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.models.glm import GammaRegression
    >>> rng = np.random.default_rng(0); x = rng.normal(size=(300, 1))
    >>> y = rng.gamma(4.0, np.exp(2.0 - 0.7 * x[:, 0]) / 4.0)
    >>> model = GammaRegression().fit(x, y)
    >>> bool(abs(model.coef_[0] + 0.7) < 0.1), bool(3.0 < model.shape_ < 5.0)
    (True, True)
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        prior: Any = None,
        prior_intercept: Any = None,
        shape: Any = None,
        inference: str = "auto",
    ) -> None:
        super().__init__(fit_intercept=fit_intercept, prior=prior, prior_intercept=prior_intercept, inference=inference)
        self.shape = shape

    def _likelihood(self, classes: np.ndarray | None) -> Likelihood:
        return GammaLog(self.shape)

    def _checked_outcomes(self, y: np.ndarray) -> np.ndarray:
        return GammaLog().check(y)

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """D², the share of the deviance of a constant mean that the predicted means explain: at most 1."""
        y = np.asarray(y, dtype=np.float64)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, y)
        return deviance_explained(
            lambda y, mean: 2.0 * (y / mean - 1.0 - np.log(y / mean)), y, self.predict(X, offset), weights
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
