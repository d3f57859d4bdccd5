"""Models: one folder each, `equations.py` (pure arrays) beside `estimator.py` (thin, scikit-learn's shape).

`linear`        regression with Normal, Student-t or Laplace noise: exact, by evidence, by Gibbs; penalty paths
`glm`           logistic, Poisson, negative-binomial, Gamma and ordinal regression on one core
`kernel_ridge`  ridge in the dual: any covariance function, an intercept, an evidence
`mixture`       mixtures by EM: Gaussian, Student-t, Poisson, categorical, of regressions
`topics`        PLSA and LDA
`density`       histograms and kernel densities
`baseline`      what can be said without any column
`featured`      a feature map followed by a regression
`tabular`       a model of a table: typed columns in, a predictive out
`columns`, `priors`, `scale_mixtures`  what estimators share
"""
