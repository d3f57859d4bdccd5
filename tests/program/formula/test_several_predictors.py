"""Groups in sigma, and in the log odds of classes, against importance sampling of the four numbers left when each
group is integrated: levels in closed form, what is left of a group by Gauss and Hermite."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import credo as cr

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
LOG_WEIGHTS = np.log(WEIGHTS) - 0.5 * np.log(2.0 * np.pi)


def compared(fit, names, log_likelihood):
    """The fit's means, sds and evidence within 4.5 standard errors (a false alarm in 10⁵ each) of importance sampling.

    names : of two intercepts, then of two sds; log_likelihood : of these (B, 4).
    """
    priors, values = fit.priors, fit.posterior.values
    draws = np.column_stack([np.ravel(values[name]) for name in names])
    draws[:, 2:] = np.log(draws[:, 2:])
    mean, covariance, rng = draws.mean(axis=0), np.cov(draws.T), np.random.default_rng(1)
    for _ in range(2):  # the second proposal owes nothing to the fit but where it began
        proposal = stats.multivariate_t(mean, 1.3 * covariance, df=4)
        z = proposal.rvs(4000, random_state=rng)
        x = np.column_stack([z[:, :2], np.exp(z[:, 2:])])
        log_w = sum(priors[name].log_prob(x[:, k]) for k, name in enumerate(names)) + z[:, 2:].sum(axis=1)
        log_w = log_w + log_likelihood(x) - proposal.logpdf(z)
        w = np.exp(log_w - logsumexp(log_w))
        mean = w @ z
        covariance = (z - mean).T @ ((z - mean) * w[:, None])
    truth = w @ x
    sd = np.sqrt(w @ np.square(x - truth))
    error = np.sqrt(np.square(w).sum() + 1.0 / fit.posterior.result.certificate["effective"])
    for k, name in enumerate(names):
        found = fit.summary()[name]
        assert abs(found["mean"] - truth[k]) / sd[k] < 4.5 * error, (name, found["mean"], truth[k])
        assert abs(np.log(found["sd"] / sd[k])) < 4.5 * 1.5 / np.sqrt(2.0) * error, (name, found["sd"], sd[k])
    assert abs(fit.log_evidence - (logsumexp(log_w) - np.log(len(log_w)))) < 4.5 * error + 0.01


@pytest.mark.slow
def test_groups_in_sigma():
    rng, G, n = np.random.default_rng(5), 16, 6
    g = np.repeat(np.arange(G), n)
    u, v = rng.normal(0, 1, G), rng.normal(0, 0.6, G)
    y = 3 + u[g] + np.exp(-0.3 + v[g]) * rng.normal(size=G * n)
    table = {"y": y, "g": [f"g{i}" for i in g]}
    fit = cr.regress(["y ~ 1 + (1 | g)", "sigma ~ 1 + (1 | g)"], table, random_state=0)
    assert fit.posterior.inference == "nested_laplace"
    means = np.array([y[g == k].mean() for k in range(G)])
    squares = np.array([np.square(y[g == k] - means[k]).sum() for k in range(G)])

    def log_likelihood(x):
        a, b, tau, omega = x.T[:, :, None]
        log_sd, total = np.clip(b + omega * NODES, -300.0, 300.0), np.zeros(len(x))
        within = np.exp(2.0 * log_sd)
        about = within + n * tau**2
        for k in range(G):
            own = -(n - 1) * log_sd - 0.5 * np.log(about) - 0.5 * n * np.log(2.0 * np.pi)
            own = own - 0.5 * (squares[k] / within + n * (means[k] - a) ** 2 / about)
            total += logsumexp(own + LOG_WEIGHTS, axis=1)
        return total

    compared(fit, ["Intercept", "sigma_Intercept", "sd(Intercept | g)", "sigma_sd(Intercept | g)"], log_likelihood)


@pytest.mark.slow
def test_groups_of_classes():
    rng, G, n = np.random.default_rng(1), 12, 10
    g = np.repeat(np.arange(G), n)
    u = rng.normal(0, [1.0, 0.6], (G, 2))
    eta = np.column_stack([np.zeros(G * n), 0.3 + u[g, 0], -0.4 + u[g, 1]])
    seen = np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)
    table = {"y": np.array(["a", "b", "c"])[seen], "g": [f"g{i}" for i in g]}
    fit = cr.regress("y ~ 1 + (1 | g)", table, "categorical", random_state=0)
    assert fit.posterior.inference == "nested_laplace"
    counts = np.array([[(seen[g == k] == c).sum() for c in range(3)] for k in range(G)])
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    first, second = (each.ravel() for each in np.meshgrid(nodes, nodes))
    log_weights = np.log(np.outer(weights, weights)).ravel() - np.log(2.0 * np.pi)

    def log_likelihood(x):
        total = np.zeros(len(x))
        for i in range(0, len(x), 1000):
            a, b, tau, omega = x[i : i + 1000].T[:, :, None]
            one, two = a + tau * first, b + omega * second
            every = n * np.logaddexp(np.logaddexp(0.0, one), two)
            for k in range(G):
                total[i : i + 1000] += logsumexp(counts[k, 1] * one + counts[k, 2] * two - every + log_weights, axis=1)
        return total

    names = ["b: Intercept", "c: Intercept", "b: sd(Intercept | g)", "c: sd(Intercept | g)"]
    compared(fit, names, log_likelihood)
