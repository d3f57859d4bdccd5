"""Models: one folder each, `equations.py` (pure arrays) beside `estimator.py` (thin, scikit-learn's shape).

`linear`        regression with Normal, Student-t or Laplace noise: exact, by evidence, by Gibbs; penalty paths
`glm`           logistic, Poisson, negative-binomial, Gamma and ordinal regression on one core
`kernel_ridge`  ridge in the dual: any covariance function, an intercept, an evidence
`mixture`       mixtures by EM: Gaussian, Student-t, Poisson, categorical, of regressions
`topics`        PLSA and LDA
`hidden_markov` mixtures whose components follow a Markov chain
`network`       Bayesian networks: building, files, questions, learning
`gaussian_process`, `preference`  beliefs about functions; about what people like
`generative`    what classifiers by class-conditional densities share
`naive_bayes`, `discriminant`  a family a column; a Normal a class
`density`       histograms and kernel densities
`baseline`      what can be said without any column
`featured`      a feature map followed by a regression
`tabular`       a model of a table: typed columns in, a predictive out
`evidence`, `reading`       what every estimator says of itself: evidence, laws at draws, leave-one-out, R²
`coefficients`, `effects`   what a column does, as a table and along it
`columns`, `priors`, `scale_mixtures`  what estimators share
"""
