"""Credo: Bayesian machine learning, from data to belief to decision.

Every public name is reachable as ``credo.NAME`` and is imported when first used, so that ``import credo`` costs
next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

from credo._version import __version__

#: module → the public names it defines
_MODULES: dict[str, tuple[str, ...]] = {
    "credo.distributions": (
        "Normal", "StudentT", "Laplace", "Logistic", "Cauchy", "Uniform", "Flat",
        "Gamma", "InverseGamma", "Exponential", "LogNormal", "HalfNormal", "HalfCauchy", "Pareto", "Lomax", "Beta",
        "Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson", "BetaBinomial", "BetaNegativeBinomial",
        "Categorical",
        "MultivariateNormal", "MultivariateStudentT", "Dirichlet", "Multinomial", "DirichletMultinomial",
        "Wishart", "InverseWishart", "NormalInverseGamma", "NormalInverseWishart", "Mixture", "Truncated",
        "ElasticNet", "Horseshoe", "ARD",
        "ConjugateModel", "kl",
    ),
    "credo.probability": (
        "SampleSpace", "Event", "bayes_rule", "coherence",
        "MarkovChain", "learn_chain", "forward_backward", "viterbi", "Factor", "FactorGraph",
    ),
    "credo.models.linear": ("LinearRegression",),
    "credo.models.linear.paths": ("ridge_path", "lasso_path", "elastic_net_path"),
    "credo.models.kernel_ridge": ("KernelRidge",),
    "credo.models.gaussian_process.regression": ("GaussianProcessRegressor",),
    "credo.models.gaussian_process.classification": ("GaussianProcessClassifier",),
    "credo.models.gaussian_process.counts": (
        "GaussianProcessPoissonRegressor", "GaussianProcessNegativeBinomialRegressor",
    ),
    "credo.models.glm": (
        "LogisticRegression", "PoissonRegression", "NegativeBinomialRegression", "GammaRegression", "OrdinalRegression",
    ),
    "credo.models.effects": ("average_effects", "conditional_effect"),
    "credo.models.coefficients": ("coefficients",),
    "credo.models.mixture": (
        "GaussianMixture", "BayesianGaussianMixture", "StudentTMixture", "PoissonMixture", "CategoricalMixture",
        "RegressionMixture", "MixedMixture", "choose_components",
    ),
    "credo.models.naive_bayes": ("NaiveBayes", "GaussianNB", "CategoricalNB", "BernoulliNB", "MultinomialNB"),
    "credo.models.discriminant": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "credo.models.hidden_markov": ("GaussianHMM", "PoissonHMM", "CategoricalHMM"),
    "credo.models.density": ("KernelDensity", "Histogram"),
    "credo.models.network": ("BayesianNetwork", "NetworkDefinition", "NoisyOr", "NoisyMax", "Deterministic"),
    "credo.models.network.gaussian": (
        "LinearGaussian", "LinearGaussianNetwork", "ConditionalGaussianNetwork", "CredibleNumber", "NormalMixture",
    ),
    "credo.models.network.learning": (
        "learn_network", "learn_structure", "learn_parameters", "edge_strengths", "score_structure",
        "independence_test", "IndependenceTest",
    ),
    "credo.models.preference": ("PreferenceGP", "Preferences"),
    "credo.models.topics": ("PLSA", "LatentDirichletAllocation"),
    "credo.tables.corpus": ("Corpus", "read_corpus"),
    "credo.saving": ("save", "load"),
    "credo.models.featured": ("FeaturedModel",),
    "credo.models.tabular": ("TableModel", "TableTask"),
    "credo.program.model": ("Model",),
    "credo.program.posterior": ("ModelPosterior",),
    "credo.program.formula": ("regress", "Regression"),
    "credo.selection": ("compare", "average", "Hypotheses"),
    "credo.inference": ("Target",),
    "credo.decisions.networks": ("DecisionNetwork",),
    "credo.design.bandits": ("BernoulliBandit", "GaussianBandit", "LinearBandit"),
    "credo.design.spaces": ("Space", "Real", "Integer", "Choice", "Ordinal", "Boolean", "Constant", "LinearConstraint"),
    "credo.studies": ("Study", "Trial"),
    "credo.studies.search": ("CredoSearchCV",),
    "credo.decisions": ("decide", "expected_loss", "value_of_information", "coverage_risk", "CostSensitive"),
}  # fmt: skip

#: public submodules, imported when first used
_SUBMODULES = {
    "noise": "credo.distributions.noise",
    "math": "credo.program.math",
    "kernels": "credo.kernels",
    "penalties": "credo.models.linear.penalties",
    "losses": "credo.decisions.losses",
    "features": "credo.tables.features",
    "blocks": "credo.blocks",
    "probability": "credo.probability",
    "tables": "credo.tables",
    "saving": "credo.saving",
    "diagnostics": "credo.diagnostics",
    "inference": "credo.inference",
    "mcmc": "credo.inference.mcmc",
    "prediction": "credo.prediction",
    "selection": "credo.selection",
    "plots": "credo.plots",
    "reports": "credo.reports",
    "decisions": "credo.decisions",
    "design": "credo.design",
    "studies": "credo.studies",
    "errors": "credo.errors",
}

_NAMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = ["__version__", *_NAMES, *_SUBMODULES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        value = importlib.import_module(_SUBMODULES[name])
    elif name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
    else:
        raise AttributeError(f"module 'credo' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
