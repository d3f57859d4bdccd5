"""Mixtures by EM: Gaussian, and on the same engine Student-t, Poisson, categorical and of regressions.

`estimator`   `GaussianMixture`; `bayesian`, `student_t`, `poisson`, `categorical`, `regression`: the others
`gaussian`    the model that EM sees and its parameters; `variational`, the same for variational Bayes
`expectation` the E-step in cache-sized chunks; `missing`, the same with missing cells; `moments`, what it gathers
`mixed`       numbers and categories in one mixture; `linear`, mixtures whose densities are linear in features of a row
`prior`       priors and the M-step's modes under them
`coordinates` centred, whitened working coordinates; `overview`, the first pass; `starts`, where EM begins; `given`
`components`  a fitted mixture in the rows' own units; `conditional`, some columns given others
`choice`      how many components
`base`, `gaussian_base`  what the estimators share
"""

from credo.models.mixture.bayesian import BayesianGaussianMixture
from credo.models.mixture.categorical import CategoricalMixture
from credo.models.mixture.choice import Chosen, ComponentChoice, ComponentScore, choose_components
from credo.models.mixture.estimator import GaussianMixture
from credo.models.mixture.mixed import MixedMixture
from credo.models.mixture.poisson import PoissonMixture
from credo.models.mixture.regression import RegressionMixture
from credo.models.mixture.student_t import StudentTMixture

__all__ = [
    "GaussianMixture",
    "BayesianGaussianMixture",
    "StudentTMixture",
    "PoissonMixture",
    "CategoricalMixture",
    "MixedMixture",
    "RegressionMixture",
    "choose_components",
    "Chosen",
    "ComponentChoice",
    "ComponentScore",
]
