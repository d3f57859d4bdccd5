"""Latent Gaussian models: f ~ N(m, K) or f = Φ w with w ~ N(m₀, S₀), and one likelihood term log p(y_i | f_i, ψ) a row.

`prior`         `LatentPrior` (dense K) and `WeightPrior` (Φ and S₀): conditioning on Gaussian sites, stably
`mode`          Newton's method for the mode of f
`laplace`       `laplace_latent`: the Gaussian at the mode
`propagation`   `expectation_propagation`: the Gaussian that matches moments site by site
`posterior`     `LatentPosterior`: what both return; predictions, evidence and its gradients
`softmax`       `laplace_softmax`: k classes, one latent function each
`softmax_mode`  its curvature and its mode
`softmax_nested` `softmax_propagation`, nested EP for k classes; `softmax_rows`: EP within a row

Engines know no kernel and no table: a prior is arrays, a likelihood is a record of `distributions/likelihoods`.
"""

from credo.inference.latent_gaussian.laplace import laplace_latent
from credo.inference.latent_gaussian.mode import Sites
from credo.inference.latent_gaussian.posterior import LatentPosterior
from credo.inference.latent_gaussian.prior import LatentPrior, WeightPrior
from credo.inference.latent_gaussian.propagation import expectation_propagation
from credo.inference.latent_gaussian.softmax import SoftmaxPosterior, laplace_softmax
from credo.inference.latent_gaussian.softmax_nested import softmax_propagation

__all__ = [
    "LatentPrior",
    "WeightPrior",
    "LatentPosterior",
    "Sites",
    "laplace_latent",
    "expectation_propagation",
    "SoftmaxPosterior",
    "laplace_softmax",
    "softmax_propagation",
]
