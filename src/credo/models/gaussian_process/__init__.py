"""Gaussian processes: beliefs about functions, conditioned on what was seen of them.

`regression`    `GaussianProcessRegressor`
`fitting`       from rows to a `Belief`: units, defaults, what is maximised
`belief`        `Belief`: a prior and what was seen, at one setting of the hyperparameters
`equations`     evidence, left-out scores, conditional laws: pure functions of arrays
`observations`  distinct rows, copies as less noise
`mean`, `noise`, `slopes`, `defaults`   what else a model is made of
`regression_robust`  its noise that is not Normal
`learning`      `climb`: hyperparameters where an objective is highest
`hierarchical`  hyperparameters integrated over
`reading`       predictions, left-out densities, sensitivities, in the user's units
`paths`         draws of whole functions
`solvers/`      ways of solving with K_y: exact, and for more rows than n³ allows
"""

from credo.models.gaussian_process.regression import GaussianProcessRegressor

__all__ = ["GaussianProcessRegressor"]
