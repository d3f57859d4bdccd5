"""Exact linear-Gaussian inference, shared by everything Gaussian.

`statistics`       mergeable moments or factors of [X y]
`accumulate`       a block of rows into statistics; `summary` all rows of a source, in as many passes as digits ask for
`sparse`           sparse rows: their moments, their kernel, and rows that stand for themselves
`precise`          the moments in double-double, for ill-conditioned tables
`spectrum`         the likelihood in rotated coordinates: primal, dual, flat or proper priors alike
`linear_gaussian`  closed forms, and quadrature or maximisation over the one hyperparameter left
`belief`           the result: means and variances of coefficients and of f(x)
`posterior`        the Posterior record over it; `noise_scale` its part about σ
`noise_prior`      what is believed of σ; `scale_priors` the quadratures where that is not conjugate
`propriety`        whether σ can be learned at all from rows that are fitted exactly
"""

from credo.inference.exact.belief import LinearBelief
from credo.inference.exact.posterior import LinearPosterior
from credo.inference.exact.spectrum import Spectrum, Whitening
from credo.inference.exact.statistics import RegressionStatistics

__all__ = ["LinearBelief", "LinearPosterior", "Spectrum", "Whitening", "RegressionStatistics"]
