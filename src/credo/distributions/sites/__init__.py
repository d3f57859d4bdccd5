"""Sites: log p(y_i | η_i, ψ) of observed cells and every derivative that a nested Laplace approximation asks for.

`base`       `SiteLaw`: what every law offers
`binary`     `BernoulliLogit`, `BernoulliProbit`, `BernoulliCloglog`, `BinomialLogit`, `BinomialProbit`
`counts`     `PoissonLog`, `NegativeBinomialLog`
`positive`   `GammaLog`, `ExponentialLog`
`real`       `StudentT`
`fractions`  `BetaLogit`
`ordinal`    `OrdinalLogit`, `OrdinalProbit`
`several`    `NormalLogScale`, `CategoricalLogit`: more than one linear predictor a cell

`distributions/likelihoods` are for engines that own ψ (its prior, its transform); here ψ is natural, and the model's.
"""

from credo.distributions.sites.base import SiteLaw
from credo.distributions.sites.binary import (
    BernoulliCloglog,
    BernoulliLogit,
    BernoulliProbit,
    BinomialLogit,
    BinomialProbit,
)
from credo.distributions.sites.counts import NegativeBinomialLog, PoissonLog
from credo.distributions.sites.fractions import BetaLogit
from credo.distributions.sites.ordinal import OrdinalLogit, OrdinalProbit
from credo.distributions.sites.positive import ExponentialLog, GammaLog
from credo.distributions.sites.real import StudentT
from credo.distributions.sites.several import CategoricalLogit, NormalLogScale

__all__ = [
    "SiteLaw",
    "PoissonLog",
    "NegativeBinomialLog",
    "BernoulliLogit",
    "BernoulliProbit",
    "BernoulliCloglog",
    "BinomialLogit",
    "BinomialProbit",
    "OrdinalLogit",
    "OrdinalProbit",
    "GammaLog",
    "ExponentialLog",
    "BetaLogit",
    "StudentT",
    "NormalLogScale",
    "CategoricalLogit",
]
