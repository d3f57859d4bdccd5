"""Mixed models against restricted maximum likelihood, which SciPy maximises here from dense matrices.

Under flat priors of the coefficients the density of the scales given the data is their restricted likelihood (Harville
1974). So its mode is the REML estimate; posterior moments are averages over it; and where the design is balanced,
coefficients are least squares' whatever the scales are.
"""

import numpy as np
import pytest
from scipy import optimize, stats

import credo as cr
from credo.program.collapsed import Collapsed
from credo.program.formula import regress
from credo.program.plan import plan_of

SUBJECTS, DAYS = 18, 10
FLAT = {"Intercept": cr.Normal(0.0, 1e5), "days": cr.Normal(0.0, 1e5), "sd": cr.Uniform(0.0, 500.0),
        "sigma": cr.Uniform(0.0, 500.0), "cor": 1.0}  # fmt: skip


@pytest.fixture(scope="module")
def sleep():
    """In the shape of the sleep study: 18 subjects, 10 days each."""
    rng = np.random.default_rng(21)
    subject, days = np.repeat(np.arange(SUBJECTS), DAYS), np.tile(np.arange(10.0), SUBJECTS)
    own = rng.multivariate_normal([250.0, 10.0], [[625.0, 15.0], [15.0, 36.0]], size=SUBJECTS)
    return {
        "reaction": own[subject, 0] + own[subject, 1] * days + rng.normal(0.0, 25.0, size=subject.size),
        "days": days,
        "subject": subject,
    }


def restricted(table, taus, rho, sigma):
    """(log restricted likelihood, coefficients, their covariance, effects by level) at these scales."""
    D = np.diag(taus) @ np.array([[1.0, rho], [rho, 1.0]]) @ np.diag(taus)
    Z = np.column_stack([np.ones(DAYS), table["days"][:DAYS]])
    V = Z @ D @ Z.T + sigma**2 * np.eye(DAYS)  # of each subject, all alike
    W = np.linalg.inv(V)
    A = SUBJECTS * Z.T @ W @ Z
    rows = table["reaction"].reshape(SUBJECTS, DAYS)
    b = Z.T @ W @ rows.sum(axis=0)
    beta = np.linalg.solve(A, b)
    left = rows - Z @ beta
    log = -0.5 * (SUBJECTS * np.linalg.slogdet(V)[1] + np.linalg.slogdet(A)[1] + np.einsum("ij,jk,ik", left, W, left))
    return log, beta, np.linalg.inv(A), left @ W @ Z @ D


def scales(z):
    """((τ_intercept, τ_slope), ρ, σ) at their logarithms and ρ's artanh; of two numbers, without slopes."""
    return ((np.exp(z[0]), 0.0), 0.0, np.exp(z[1])) if len(z) == 2 else (np.exp(z[:2]), np.tanh(z[2]), np.exp(z[3]))


def reml(table, slopes):
    """The REML estimate in the coordinates of `scales`, and the covariance that the curvature there says."""

    def minus_log(z):
        return -restricted(table, *scales(z))[0]

    start = np.array([3.0, 1.5, 0.0, 3.0] if slopes else [3.0, 3.0])
    z = optimize.minimize(minus_log, start, method="BFGS", options={"gtol": 1e-6}).x
    e = 1e-3 * np.eye(len(z))
    corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    hessian = [[sum(s * t * minus_log(z + s * a + t * b) for s, t in corners) / 4e-6 for a in e] for b in e]
    return z, np.linalg.inv(hessian)


def fitted(table, slopes):
    formula = "reaction ~ days + (days | subject)" if slopes else "reaction ~ days + (1 | subject)"
    priors = FLAT if slopes else {name: law for name, law in FLAT.items() if name != "cor"}
    return regress(formula, table, priors=priors, random_state=0)


def test_the_collapsed_density_is_the_restricted_likelihood(sleep):
    """Up to a constant, at scales all over the place; so that its mode is the REML estimate, where its slope is 0."""
    fit = fitted(sleep, slopes=True)
    assert fit.posterior.model is not None
    collapsed = Collapsed(plan_of(fit.posterior.model, "auto"))
    order = ("sd(Intercept | subject)", "sd(days | subject)", "partial 2,1 of cor(subject)", "sigma")
    assert tuple(str(node.name) for node in collapsed.rest) == order

    def credo(taus, rho, sigma):
        return collapsed.target.evaluate(np.array([*taus, 0.5 * (1.0 + rho), sigma]), gradient=True)

    rng = np.random.default_rng(2)
    places = [(rng.uniform(1, 80, size=2), rng.uniform(-0.95, 0.95), rng.uniform(5, 80)) for _ in range(20)]
    apart = [credo(*place).log_density - restricted(sleep, *place)[0] for place in places]
    np.testing.assert_allclose(apart, np.mean(apart), atol=2e-5)  # priors of 1e5 are flat to (300/1e5)²
    best, _ = reml(sleep, slopes=True)
    taus, rho, sigma = scales(best)
    slope = credo(taus, rho, sigma).gradient * np.array([*taus, 0.5 * (1.0 - rho**2), sigma])
    np.testing.assert_allclose(slope, 0.0, atol=1e-3)  # nats a unit of the logarithms; the sds are about 0.2


@pytest.mark.parametrize("slopes", [False, True])
def test_moments_are_averages_over_the_restricted_likelihood(sleep, slopes):
    """Against 4,000 importance draws from a t about the REML estimate: both means are off by less than 4.5 of their
    joint standard errors, once in 150,000 each."""
    fit = fitted(sleep, slopes)
    mode, spread = reml(sleep, slopes)
    law = stats.multivariate_t(loc=mode, shape=1.3 * spread, df=5)  # pyright: ignore[reportArgumentType]
    z = law.rvs(4000, random_state=np.random.default_rng(1))
    theta = [scales(row) for row in z]
    found = [restricted(sleep, *each) for each in theta]
    jacobian = np.array([np.log(t[0][0]) + np.log(t[2]) + ((np.log(t[0][1]) + np.log1p(-t[1] ** 2)) if slopes else 0.0)
                         for t in theta])  # fmt: skip
    log = np.array([each[0] for each in found]) + jacobian - law.logpdf(z)
    w = np.exp(log - log.max())
    w /= w.sum()
    names = {"sd(Intercept | subject)": [t[0][0] for t in theta], "sigma": [t[2] for t in theta]}
    if slopes:
        names |= {
            "sd(days | subject)": [t[0][1] for t in theta],
            "cor(Intercept, days | subject)": [t[1] for t in theta],
        }
    summary = fit.summary()
    for name, values in names.items():
        mean = w @ np.array(values)
        sd = np.sqrt(w @ (np.array(values) - mean) ** 2)
        error = np.sqrt(np.sum((w * (np.array(values) - mean)) ** 2) + sd**2 / 4000)
        assert abs(summary[name]["mean"] - mean) < 4.5 * error, name
        assert summary[name]["sd"] == pytest.approx(sd, rel=0.1), name
    betas, inside = np.array([each[1] for each in found]), np.array([np.diag(each[2]) for each in found])
    ols = np.polyfit(sleep["days"], sleep["reaction"], 1)[::-1]
    np.testing.assert_allclose(betas, np.broadcast_to(ols, betas.shape), rtol=1e-6)  # balanced
    sd = np.sqrt(w @ inside)
    for j, name in enumerate(("Intercept", "days")):
        assert abs(summary[name]["mean"] - ols[j]) < 4.5 * sd[j] / np.sqrt(4000), name
        assert summary[name]["sd"] == pytest.approx(sd[j], rel=0.08), name
    effects = np.einsum("s,sij->ij", w, np.array([each[3] for each in found]))
    for j, name in enumerate(("Intercept", "days") if slopes else ("Intercept",)):
        own = fit.effects("subject")[name].reshape(-1, SUBJECTS)
        assert np.all(np.abs(own.mean(axis=0) - effects[:, j]) < 5 * own.std(axis=0) / np.sqrt(4000)), name
