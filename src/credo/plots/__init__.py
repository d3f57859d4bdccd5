"""Pictures: a figure is data first, drawn second.

Each function takes what Credo's models, diagnostics and decisions return and gives a frozen record, which `draw` puts
on matplotlib axes (extra `plots`) and reports write as SVG without it.

`beliefs`      coefficients, posteriors
`predictions`  predictions along a column; the share of their doubt that more data would remove
`checks`       calibration, and what models leave
`model_checks` what checking a model found
`choices`      models compared, actions, thresholds, learning curves
`chains`       MCMC runs, and simulation-based calibration
`bounds`       how EM rose
`clusters`     rows and the ellipses of a mixture; the criterion by number of components
`densities`    histograms and density curves
`processes`    a Gaussian process along a column: band, paths, what the lengthscale does
`fields`       numbers over a plane; a Gaussian process over two columns
`evidence`     its evidence over two hyperparameters
`readings`, `hyperparameters`  what these ask of a Gaussian process
`studies`      a study's trials in order, and which parameters matter; `fronts` two objectives
`influences`   on which numbers of a network an answer hangs
`slicing`, `parallel`  an objective along each parameter; trials as lines
`trials`       what these ask of a study
`tastes`       how liking grew over answers; liking along each parameter, and over two
`contours`, `panels`  lines and shades of a surface; several charts below each other
`chart`        charts as data: axes and marks
`drawing`      charts on matplotlib axes
`theme`        colours
"""

from credo.plots.beliefs import CoefficientForest, PosteriorDensity, forest, posterior_density
from credo.plots.bounds import BoundFigure, bound
from credo.plots.chains import (
    CalibrationFigure,
    EnergyFigure,
    PairFigure,
    Ranks,
    Trace,
    calibration,
    chain_lags,
    energy,
    pair,
    ranks,
    trace,
)
from credo.plots.chart import Chart, Figure
from credo.plots.checks import (
    AutocorrelationFigure,
    CoverageFigure,
    PITFigure,
    QuantilesFigure,
    ReliabilityFigure,
    ResidualsFigure,
    autocorrelation,
    coverage,
    normal_quantiles,
    pit,
    reliability,
    residuals,
)
from credo.plots.choices import (
    ComparisonFigure,
    ExpectedLossFigure,
    LearningCurve,
    NetBenefit,
    RejectionFigure,
    comparison,
    expected_loss,
    learning_curve,
    net_benefit,
    rejection,
)
from credo.plots.clusters import CriterionFigure, EllipsesFigure, criterion, ellipses
from credo.plots.densities import DensityFigure, HistogramFigure, density, histogram
from credo.plots.drawing import draw
from credo.plots.evidence import EvidenceSurface, evidence_surface
from credo.plots.fields import FunctionMaps, Surface, function_maps, surface
from credo.plots.fronts import FrontFigure, HypervolumeFigure, front, hypervolume_history
from credo.plots.influences import TornadoFigure, tornado
from credo.plots.model_checks import (
    PriorQuantilesFigure,
    ReplicatesFigure,
    RootogramFigure,
    StatisticsFigure,
    model_check,
    prior_quantiles,
    replicates,
    rootogram,
    test_statistics,
)
from credo.plots.parallel import ParallelFigure, parallel_coordinates
from credo.plots.predictions import (
    ClassProbabilities,
    PredictiveBand,
    UncertaintyShare,
    class_probabilities,
    predictive_band,
    uncertainty_share,
)
from credo.plots.processes import FunctionBand, LengthscalesFigure, function_band, lengthscales
from credo.plots.slicing import SliceFigure, slices
from credo.plots.studies import HistoryFigure, ImportancesFigure, history, importances
from credo.plots.tastes import LikingFigure, liking_over_answers, taste_maps, taste_slices
from credo.plots.trials import ObjectiveBelief, objective_belief

__all__ = [
    "PriorQuantilesFigure",
    "ReplicatesFigure",
    "RootogramFigure",
    "StatisticsFigure",
    "model_check",
    "prior_quantiles",
    "replicates",
    "rootogram",
    "test_statistics",
    "draw",
    "forest",
    "posterior_density",
    "density",
    "histogram",
    "DensityFigure",
    "HistogramFigure",
    "predictive_band",
    "class_probabilities",
    "uncertainty_share",
    "function_band",
    "lengthscales",
    "function_maps",
    "surface",
    "evidence_surface",
    "reliability",
    "pit",
    "coverage",
    "residuals",
    "normal_quantiles",
    "autocorrelation",
    "comparison",
    "expected_loss",
    "net_benefit",
    "rejection",
    "learning_curve",
    "trace",
    "ranks",
    "chain_lags",
    "energy",
    "pair",
    "calibration",
    "bound",
    "ellipses",
    "criterion",
    "Figure",
    "Chart",
    "CoefficientForest",
    "PosteriorDensity",
    "PredictiveBand",
    "ClassProbabilities",
    "UncertaintyShare",
    "FunctionBand",
    "LengthscalesFigure",
    "FunctionMaps",
    "Surface",
    "EvidenceSurface",
    "ReliabilityFigure",
    "PITFigure",
    "CoverageFigure",
    "ResidualsFigure",
    "QuantilesFigure",
    "AutocorrelationFigure",
    "ComparisonFigure",
    "ExpectedLossFigure",
    "NetBenefit",
    "RejectionFigure",
    "LearningCurve",
    "Trace",
    "Ranks",
    "EnergyFigure",
    "PairFigure",
    "CalibrationFigure",
    "BoundFigure",
    "EllipsesFigure",
    "CriterionFigure",
    "FrontFigure",
    "HypervolumeFigure",
    "front",
    "hypervolume_history",
    "ParallelFigure",
    "parallel_coordinates",
    "SliceFigure",
    "slices",
    "HistoryFigure",
    "ImportancesFigure",
    "history",
    "importances",
    "ObjectiveBelief",
    "objective_belief",
    "LikingFigure",
    "liking_over_answers",
    "taste_maps",
    "taste_slices",
    "TornadoFigure",
    "tornado",
]
