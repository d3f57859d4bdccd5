"""Answers of Bayesian networks by sampling, with error bars; and exact ones by parts, where memory does not suffice.

`arrays`       a network as arrays, evidence as numbers of states
`estimates`    `MarginalEstimates`, what all of these return
`forward`      draws from P(x); likelihood weighting given evidence
`posterior`    exact draws from P(x | evidence)
`gibbs`, `gibbs_kernel`  a walk; `blocks` which nodes it draws at once
`cutset`       exact marginals as a sum over the states of a few nodes
`approximate`  the first of these that fits into memory
`asking`       what methods of `BayesianNetwork` call
"""

from credo.models.network.sampling.approximate import approximate_marginals
from credo.models.network.sampling.cutset import condition_on_cutset
from credo.models.network.sampling.estimates import MarginalEstimates
from credo.models.network.sampling.forward import forward_sample, likelihood_weighting
from credo.models.network.sampling.gibbs import gibbs
from credo.models.network.sampling.posterior import posterior_sample

__all__ = [
    "approximate_marginals", "condition_on_cutset", "forward_sample", "gibbs", "likelihood_weighting",
    "posterior_sample", "MarginalEstimates",
]  # fmt: skip
