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
`sensitivity`  power-scaling of prior and likelihood
`sbc`          simulation-based calibration
`geweke`       the joint-distribution test of a kernel

What they stand on
`views`        predictives, families and draws seen alike
`labels`       class labels and their positions
`quadrature`   expectations from a cdf and its quantiles
`binomial`     the binomial's cdf and quantiles
"""

from credo.diagnostics.brier import Brier, Reliability, brier, reliability
from credo.diagnostics.calibration import PIT, Coverage, Sharpness, coverage, pit, sharpness
from credo.diagnostics.envelope import Envelope, uniform_envelope
from credo.diagnostics.geweke import JointTest, geweke_joint_test
from credo.diagnostics.information import WAIC, LeaveOneOut, psis_loo, waic
from credo.diagnostics.mcmc import Convergence, autocorrelation, bfmi, check_convergence, ess, hdi, mcse, rhat
from credo.diagnostics.psis import PSIS, psis
from credo.diagnostics.r2 import BayesianR2, bayesian_r2
from credo.diagnostics.residuals import Check, ResidualChecks, check_residuals
from credo.diagnostics.sbc import Calibration, rank_calibration, simulation_based_calibration
from credo.diagnostics.scores import ScoreDifference, crps, log_score, score_differences
from credo.diagnostics.sensitivity import Sensitivity, power_scaling_sensitivity

__all__ = [
    "log_score",
    "crps",
    "score_differences",
    "ScoreDifference",
    "brier",
    "Brier",
    "reliability",
    "Reliability",
    "pit",
    "PIT",
    "coverage",
    "Coverage",
    "sharpness",
    "Sharpness",
    "check_residuals",
    "ResidualChecks",
    "Check",
    "uniform_envelope",
    "Envelope",
    "psis",
    "PSIS",
    "psis_loo",
    "LeaveOneOut",
    "waic",
    "WAIC",
    "bayesian_r2",
    "BayesianR2",
    "rhat",
    "ess",
    "mcse",
    "hdi",
    "autocorrelation",
    "bfmi",
    "check_convergence",
    "Convergence",
    "power_scaling_sensitivity",
    "Sensitivity",
    "simulation_based_calibration",
    "rank_calibration",
    "Calibration",
    "geweke_joint_test",
    "JointTest",
]
