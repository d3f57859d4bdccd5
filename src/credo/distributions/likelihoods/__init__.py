"""Likelihoods: log p(y | η), its derivatives in η, the link, and integrals over a Gaussian η.

`base`         what every likelihood offers, and the predictive probability of an outcome
`integrals`    integrals over η ~ N(m, v): adaptive trapezoid, step functions, lattice nodes
`normal`       `NormalIdentity`: y ~ N(η, variance)
`bernoulli`    `BernoulliLogit`: y ∈ {0, 1}
`categorical`  `CategoricalLogit`: y ∈ {0..k−1}, softmax
`poisson`      `PoissonLog`: counts
"""

from credo.distributions.likelihoods.base import Likelihood
from credo.distributions.likelihoods.bernoulli import BernoulliLogit
from credo.distributions.likelihoods.categorical import CategoricalLogit
from credo.distributions.likelihoods.normal import NormalIdentity
from credo.distributions.likelihoods.poisson import PoissonLog

__all__ = ["Likelihood", "NormalIdentity", "BernoulliLogit", "CategoricalLogit", "PoissonLog"]
