"""Which parameters matter: the variance of an objective shared out among them (functional ANOVA).

`boxes`         a regression tree as boxes of the space, with their masses
`equations`     variances of trees' main effects, pairs and totals, exactly
`forest`        trees grown on resamples of trials
`process`       trees grown on functions drawn from a Gaussian process
`decomposition` `importance`, `Importance`
"""

from credo.design.importance.decomposition import Importance, Pair, importance

__all__ = ["Importance", "Pair", "importance"]
