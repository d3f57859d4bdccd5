"""Families: frozen records of parameters that know their density, moments, quantiles, draws and fit.

one file a family   `normal`, `gamma`, … `mixture`, `truncated` (scalar); `multivariate_normal`, `dirichlet`, … (vector,
                    matrix and joint)
`base`, `scalar`    the contract; both tails and broadcasting for scalar families
`support`           the set of values
`fitting`           maximum likelihood and a posteriori where no closed form exists
`statistics`        mergeable moments and counts
`conjugate`         exact updates, predictives and evidence
`divergences`       `kl`
`expectation`       quadrature and sums
`stirling`          gamma functions without cancellation
`noise`, `likelihoods/`  how outcomes scatter; log p(y|η) and its derivatives

Each name is imported when first used.
"""

from __future__ import annotations

from credo._lazy import lazily

#: public name → module; importing all of them takes 0.1 s, which `import credo` must not
_MODULES = {
    "Family": "base",
    "ScalarFamily": "scalar",
    "Support": "support",
    "kl": "divergences",
    "ConjugateModel": "conjugate",
    "CategoryCounts": "statistics",
    "ValueCounts": "statistics",
    "WeightedMoments": "statistics",
    # scalar families, alphabetical
    "Bernoulli": "bernoulli",
    "Beta": "beta",
    "BetaBinomial": "beta_binomial",
    "BetaNegativeBinomial": "beta_negative_binomial",
    "Binomial": "binomial",
    "Categorical": "categorical",
    "Cauchy": "cauchy",
    "Exponential": "exponential",
    "Flat": "flat",
    "Gamma": "gamma",
    "Geometric": "geometric",
    "HalfCauchy": "half_cauchy",
    "HalfNormal": "half_normal",
    "InverseGamma": "inverse_gamma",
    "Laplace": "laplace",
    "LogNormal": "log_normal",
    "Logistic": "logistic",
    "Lomax": "lomax",
    "Mixture": "mixture",
    "NegativeBinomial": "negative_binomial",
    "Normal": "normal",
    "Pareto": "pareto",
    "Poisson": "poisson",
    "StudentT": "student_t",
    "Truncated": "truncated",
    "Uniform": "uniform",
    # priors and auxiliary laws, alphabetical
    "ARD": "ard",
    "ElasticNet": "elastic_net",
    "Horseshoe": "horseshoe",
    "PolyaGamma": "polya_gamma",
    # vector, matrix and joint families, alphabetical
    "Dirichlet": "dirichlet",
    "DirichletMultinomial": "dirichlet_multinomial",
    "InverseWishart": "inverse_wishart",
    "Multinomial": "multinomial",
    "MultivariateNormal": "multivariate_normal",
    "MultivariateStudentT": "multivariate_student_t",
    "NormalInverseGamma": "normal_inverse_gamma",
    "NormalInverseWishart": "normal_inverse_wishart",
    "Wishart": "wishart",
}

__all__ = list(_MODULES)


__getattr__ = lazily(__name__, _MODULES)
