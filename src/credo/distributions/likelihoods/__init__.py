"""Likelihoods: log p(y | η, ψ), its derivatives in η and ψ, the link, and integrals over a Gaussian η.

`base`                what every likelihood offers, auxiliary parameters ψ, the predictive probability of an outcome
`log_link`            what those with mean e^η share
`priors`              default priors of ψ
`series`              functions that cancel, written so that they do not
`integrals`           integrals over η ~ N(m, v): adaptive trapezoid, step functions, lattice nodes
`interval`            the probability of an interval under N(0, 1), in logs
`normal`              `NormalIdentity`: y ~ N(η, σ²)
`laplace`             `LaplaceIdentity`: the absolute loss
`student_t`           `StudentTIdentity`: outliers
`poisson`             `PoissonLog`: counts
`negative_binomial`   `NegativeBinomialLog`: overdispersed counts
`gamma`               `GammaLog`: positive outcomes
`bernoulli`           `Binary`, what links of y ∈ {0, 1} share, and `BernoulliLogit`
`probit`, `cloglog`   `BernoulliProbit`, `BernoulliCloglog`
`binomial`            `BinomialLogit`: successes in n trials
`ordinal`             `OrdinalLogit`, `OrdinalProbit`: ordered classes
`categorical`         `CategoricalLogit`: y ∈ {0..k−1}, softmax
"""

from credo.distributions.likelihoods.base import Likelihood
from credo.distributions.likelihoods.bernoulli import BernoulliLogit
from credo.distributions.likelihoods.binomial import BinomialLogit
from credo.distributions.likelihoods.categorical import CategoricalLogit
from credo.distributions.likelihoods.cloglog import BernoulliCloglog
from credo.distributions.likelihoods.gamma import GammaLog
from credo.distributions.likelihoods.laplace import LaplaceIdentity
from credo.distributions.likelihoods.negative_binomial import NegativeBinomialLog
from credo.distributions.likelihoods.normal import NormalIdentity
from credo.distributions.likelihoods.ordinal import OrdinalLogit, OrdinalProbit
from credo.distributions.likelihoods.poisson import PoissonLog
from credo.distributions.likelihoods.probit import BernoulliProbit
from credo.distributions.likelihoods.student_t import StudentTIdentity

__all__ = [
    "Likelihood",
    "NormalIdentity",
    "LaplaceIdentity",
    "StudentTIdentity",
    "PoissonLog",
    "NegativeBinomialLog",
    "GammaLog",
    "BernoulliLogit",
    "BernoulliProbit",
    "BernoulliCloglog",
    "BinomialLogit",
    "OrdinalLogit",
    "OrdinalProbit",
    "CategoricalLogit",
]
