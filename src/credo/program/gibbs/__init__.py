"""Gibbs sampling by name: full conditionals derived from the declared laws.

`augment`      auxiliary latents that make Student-t, Laplace, logit, probit and negative binomial laws Normal
`picked`       mu[z] as a sum over states
`moves`        which move each node gets
`linear`       the linear-Gaussian block, drawn together
`powers`       scales, rates, precisions: Gamma, Inverse-Gamma, inverse Gaussian, or a slice of what is left
`products`     pairs of scales along what the data do not see
`shares`       Beta and Dirichlet nodes
`states`       discrete cells, enumerated, or drawn together by elimination
`slices`       everything else
`auxiliary`    Pólya–Gamma weights, probit utilities
`chains`       sweeps until the certificate holds
`expressions`  values and log densities of all chains at once
"""

from credo.program.gibbs.chains import explain_gibbs, fit_gibbs, is_all_conditional

__all__ = ["explain_gibbs", "fit_gibbs", "is_all_conditional"]
