"""Linear regression: the prior is the regulariser, the noise is the loss.

`estimator`        `LinearRegression`; `specification` what its user stated; `dispatch` the rung it stands on
`equations`        Normal prior and noise: which closed form or integral applies
`gibbs`, `box`     other priors, by Gibbs sampling on the statistics alone
`robust`, `heteroscedastic`, `by_glm`  other noise, on the rows
`ard`, `modes`     maxima: of the evidence a column, of the posterior
`posterior`, `prediction`  what is believed of coefficients when it is not exact; of new rows
`sparse`, `targets`  sparse tables too wide for moments; targets with missing entries
`paths`, `penalties`  ridge, lasso and elastic-net paths; λ as a prior and back
"""

from credo.models.linear.estimator import LinearRegression

__all__ = ["LinearRegression"]
