"""`NegativeBinomialRegression`: belief about counts that vary more than a Poisson's."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from credo.distributions.likelihoods import Likelihood, NegativeBinomialLog
from credo.models.glm.counts import CountRegressor
from credo.saving.registry import register

__all__ = ["NegativeBinomialRegression"]


@register
class NegativeBinomialRegression(CountRegressor):
    """Bayesian negative-binomial regression: counts with mean μ and variance μ + μ²/φ, log μ = offset + b + w·x.

    Overdispersed counts: a Poisson whose rate varies from row to row as a Gamma of shape φ. φ → ∞ is the Poisson.

    Parameters
    ----------
    fit_intercept, prior, prior_intercept, inference : as for `PoissonRegression`.
    dispersion : φ > 0 when known; None learns it with φ^(−½) ~ HalfNormal(1); a family is its prior.

    Attributes
    ----------
    dispersion_ : posterior median of φ (Stan's phi, R's theta; statsmodels' alpha is 1/φ), where learned; its mean is
        infinite under the default prior, since rows never rule out the Poisson
    coef_, intercept_, mode_, posterior_, prior_scale_, log_evidence_, result_ : as for `PoissonRegression`;
        `posterior_["dispersion"]` draws φ

    Raises
    ------
    ParameterError, DataError, NotIdentifiedError : as for `PoissonRegression`.

    References
    ----------
    Hilbe (2011), Negative Binomial Regression; Simpson et al. (2017), Statistical Science 32, for the prior of φ.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.models.glm import NegativeBinomialRegression
    >>> rng = np.random.default_rng(0); x = rng.normal(size=(200, 1))
    >>> y = rng.poisson(np.exp(1.0 + 0.5 * x[:, 0]) * rng.gamma(2.0, 0.5, size=200))
    >>> model = NegativeBinomialRegression().fit(x, y)
    >>> bool(1.0 < model.dispersion_ < 4.0), model.result_.ok
    (True, True)
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        prior: Any = None,
        prior_intercept: Any = None,
        dispersion: Any = None,
        inference: str = "auto",
    ) -> None:
        super().__init__(fit_intercept=fit_intercept, prior=prior, prior_intercept=prior_intercept, inference=inference)
        self.dispersion = dispersion

    def _likelihood(self, classes: np.ndarray | None) -> Likelihood:
        return NegativeBinomialLog(self.dispersion)

    def _deviance(self, y: np.ndarray, mean: np.ndarray) -> np.ndarray:
        phi = getattr(self, "dispersion_", self.dispersion)
        return 2.0 * (xlogy(y, y / mean) - (y + phi) * np.log((y + phi) / (mean + phi)))
