"""Diagnostics: arrays (or a predictive's methods) in, records out. What is below inference knows no model.

Predictions against outcomes
`scores`       log score and CRPS row by row; paired differences with standard errors
`brier`        Brier score with its decomposition; reliability curves
`calibration`  PIT, coverage, sharpness
`residuals`    does the noise model hold: curvature, spread, tails, order
`envelope`     the simultaneous band of a uniform sample's empirical cdf

Inference against itself
`psis`         Pareto-smoothed importance weights and k̂
`tails`        whether draws have a mean: k̂ of their own tails
`information`  leave-one-out by PSIS, and WAIC, from log-likelihoods at draws
`r2`           Bayesian R²
`mcmc`         R̂, ESS, MCSE, HDI, BFMI, and one verdict
`visits`       whether chains went often enough to what they seldom reach
`sensitivity`  power-scaling of prior and likelihood
`sbc`          simulation-based calibration
`geweke`       the joint-distribution test of a kernel

What they stand on
`views`        predictives, families and draws seen alike
`labels`       class labels and their positions
`quadrature`   expectations from a cdf and its quantiles
`binomial`     the binomial's cdf and quantiles

Names are imported when first used, but those of `mcmc`, which every chain needs, and of modules that have a function of
their own name.
"""

from credo._lazy import lazily
from credo.diagnostics.brier import Brier, Reliability, brier, reliability
from credo.diagnostics.mcmc import Convergence, autocorrelation, bfmi, check_convergence, ess, hdi, mcse, rhat
from credo.diagnostics.psis import PSIS, psis

_MODULES = {
    "PIT": "calibration",
    "Coverage": "calibration",
    "Sharpness": "calibration",
    "coverage": "calibration",
    "pit": "calibration",
    "sharpness": "calibration",
    "Envelope": "envelope",
    "uniform_envelope": "envelope",
    "JointTest": "geweke",
    "geweke_joint_test": "geweke",
    "WAIC": "information",
    "LeaveOneOut": "information",
    "psis_loo": "information",
    "waic": "information",
    "BayesianR2": "r2",
    "bayesian_r2": "r2",
    "Check": "residuals",
    "ResidualChecks": "residuals",
    "check_residuals": "residuals",
    "Calibration": "sbc",
    "rank_calibration": "sbc",
    "simulation_based_calibration": "sbc",
    "ScoreDifference": "scores",
    "crps": "scores",
    "log_score": "scores",
    "score_differences": "scores",
    "Sensitivity": "sensitivity",
    "power_scaling_sensitivity": "sensitivity",
}

__all__ = [
    "Brier",
    "Reliability",
    "brier",
    "reliability",
    "Convergence",
    "autocorrelation",
    "bfmi",
    "check_convergence",
    "ess",
    "hdi",
    "mcse",
    "rhat",
    "PSIS",
    "psis",
]
__all__ += list(_MODULES)


__getattr__ = lazily(__name__, _MODULES)
