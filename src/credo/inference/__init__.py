"""Engines: they know no model, and say which rung they stand on and how sure they are.

`result`, `posterior`  the two records that every engine returns
`exact/`               linear-Gaussian algebra
`newton`               the mode of a concave objective, over sources of blocks
`weighted`             a posterior as weighted points: a Gaussian corrected by importance weights, checked by k̂
`target`, `transforms`, `draws`  a density over named parameters; to the whole space and back; draws
`map`, `laplace`, `pathfinder`   a target's mode, its Gaussian, its cheapest good approximation
`latent_gaussian/`     Newton, Laplace and EP for f ~ N(m, K) with one likelihood term a row
`em/`                  expectation–maximisation
`direct/`              inversion, rejection, importance sampling, SMC
`variational/`         mean field by coordinate ascent; the nearest Normal, certified
`mcmc/`                Markov chain Monte Carlo

A name is imported when first used. Functions called like their module (`newton.newton`, `laplace.laplace`) are found
there alone: here the name means the module.
"""

from __future__ import annotations

from credo._lazy import lazily

#: public name → module; an exact fit needs the records alone, so the engines are not imported with them
_MODULES = {
    "Result": "result",
    "Posterior": "posterior",
    "LinearPosterior": "exact",
    "Curve": "newton",
    "NewtonFit": "newton",
    "SplitProposal": "weighted",
    "WeightedDraws": "weighted",
    "importance_sample": "weighted",
    "Target": "target",
    "Draws": "draws",
    "ImportanceDraws": "draws",
    "Mode": "map",
    "maximise": "map",
    "LaplacePosterior": "laplace",
    "EMFit": "em",
    "EMModel": "em",
    "OnlineEM": "em",
    "inversion": "direct",
    "rejection": "direct",
    "adaptive_rejection": "direct",
    "importance": "direct",
    "sampling_importance_resampling": "direct",
    "resample": "direct",
    "annealed_importance": "direct",
    "smc": "direct",
    "DirectDraws": "direct",
    "ImportanceSample": "direct",
    "Estimate": "direct",
    "VariationalFactor": "variational",
    "MeanFieldFit": "variational",
    "mean_field": "variational",
    "NormalMeanPrecision": "variational",
    "NormalMeanPrecisionFit": "variational",
    "ProductPosterior": "variational",
    "VariationalPosterior": "variational",
    "stochastic_vi": "variational",
    "LatentPrior": "latent_gaussian",
    "WeightPrior": "latent_gaussian",
    "LatentPosterior": "latent_gaussian",
    "laplace_latent": "latent_gaussian",
    "expectation_propagation": "latent_gaussian",
    "laplace_softmax": "latent_gaussian",
    "softmax_propagation": "latent_gaussian",
}

__all__ = list(_MODULES)


__getattr__ = lazily(__name__, _MODULES)
