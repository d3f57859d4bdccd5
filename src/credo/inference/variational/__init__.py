"""Variational inference: the q of a family that is nearest to the posterior, and how near that is.

`mean_field`    coordinate ascent for conjugate-exponential targets: factors with their updates
`exponential`   the families of those factors, in natural parameters
`product`       what it believes: independent members of `credo.distributions`
`normal`        a Normal's mean and precision: the worked example, beside the exact posterior
`stochastic`    the nearest Normal to any differentiable target, certified
`gaussian`, `sample_average`, `slopes`, `certificate`, `posterior`    its families, ascent, checks, record
"""

from credo.inference.variational.mean_field import MeanFieldFit, VariationalFactor, mean_field
from credo.inference.variational.normal import NormalMeanPrecision, NormalMeanPrecisionFit
from credo.inference.variational.posterior import VariationalPosterior
from credo.inference.variational.product import ProductPosterior
from credo.inference.variational.stochastic import stochastic_vi

__all__ = [
    "MeanFieldFit",
    "NormalMeanPrecision",
    "NormalMeanPrecisionFit",
    "ProductPosterior",
    "VariationalFactor",
    "VariationalPosterior",
    "mean_field",
    "stochastic_vi",
]
