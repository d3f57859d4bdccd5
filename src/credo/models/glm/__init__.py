"""Generalised linear models: Newton over blocks, a Gaussian at the mode, importance weights to check and correct it.

`equations`       log-likelihood, gradient and curvature of a block
`prior`           Gaussian blocks, their common scale learned
`start`, `separation`, `identification`  where to begin; when there is no mode, or no single one
`laplace`         mode, scale of the prior, weighted posterior
`sampling`        chains, where the weights do not certify it
`mixtures`, `bounded`, `variances`, `gibbs`  priors that are no Gaussian: modes, bounds, Gibbs sampling
`specification`, `overview`, `refusals`, `ladder`, `raw`  the steps of `fitting`: what is to be fitted, the rows looked
                  over, what has no answer, which rung, and back to the user's units
`fitting`         `fit_glm`: all of that in order, for any likelihood
`sparse`          sparse rows: by blocks, in the span of few rows, at the mode
`posterior`       the Posterior record
`base`            what the estimators share
`logistic`, `poisson`, `negative_binomial`, `gamma`, `ordinal`  the estimators; `counts` what two of them share
"""

from credo.models.glm.fitting import GlmFit, GlmSpecification, fit_glm
from credo.models.glm.gamma import GammaRegression
from credo.models.glm.logistic import LogisticRegression
from credo.models.glm.negative_binomial import NegativeBinomialRegression
from credo.models.glm.ordinal import OrdinalRegression
from credo.models.glm.poisson import PoissonRegression
from credo.models.glm.posterior import GlmPosterior

__all__ = [
    "GammaRegression",
    "GlmFit",
    "GlmPosterior",
    "GlmSpecification",
    "LogisticRegression",
    "NegativeBinomialRegression",
    "OrdinalRegression",
    "PoissonRegression",
    "fit_glm",
]
