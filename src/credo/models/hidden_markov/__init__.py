"""Hidden Markov models by EM: states that form a chain, seen only through what they give.

`estimator`   what they share: fit, paths, smoothing, filtering, forecasts; `gaussian`, `poisson`,
              `categorical`, those that users hold
`model`       the model that EM sees: forward–backward is its E-step
`equations`   the chain's half of the M-step; `emissions`, the other half, from the equations of mixtures
`sequences`   rows of several sequences as a source; `forecast`, the rows to come
"""

from credo.models.hidden_markov.categorical import CategoricalHMM
from credo.models.hidden_markov.forecast import Forecast
from credo.models.hidden_markov.gaussian import GaussianHMM
from credo.models.hidden_markov.poisson import PoissonHMM

__all__ = ["GaussianHMM", "PoissonHMM", "CategoricalHMM", "Forecast"]
