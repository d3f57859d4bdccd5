"""Generalised linear models: Newton over blocks, a Gaussian at the mode, importance weights to check and correct it.

`equations`   log-likelihood, gradient and curvature of a block
`laplace`     mode, scale of the prior, weighted posterior
`separation`  when the likelihood has no maximum
`posterior`   the Posterior record
`estimator`   `LogisticRegression`
"""

from credo.models.glm.estimator import LogisticRegression

__all__ = ["LogisticRegression"]
