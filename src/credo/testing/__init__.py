"""Contract suites: what every family, likelihood and kernel must pass, yours included. Nothing in `credo` imports them.

`families`     scalar families: the density, cdf, quantiles, moments and draws agree
`likelihoods`  derivatives, links and predictive integrals against mpmath (needs `mpmath`)
`covariances`  covariance functions: values, diagonals, gradients
`storages`     storages of studies: numbers, slots, order, concurrent writers
`kernels`      Markov kernels: Geweke's joint test and simulation-based calibration
"""
