"""Discriminant analysis: Normal classes, with one covariance (linear) or each its own (quadratic).

`statistics`  mergeable mean and scatter of every class ; `equations`  covariances, boundaries, axes
`family`      point estimates and the Normal–inverse-Wishart belief
`base`, `linear`, `quadratic`  the estimators
"""

from credo.models.discriminant.equations import SingularCovarianceError
from credo.models.discriminant.linear import LinearDiscriminantAnalysis
from credo.models.discriminant.quadratic import QuadraticDiscriminantAnalysis

__all__ = ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "SingularCovarianceError"]
