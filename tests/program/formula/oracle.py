"""Posterior moments of a density written out by hand: importance sampling from a wide Student t at its mode."""

import numpy as np
from scipy import optimize, stats


def moments(log_density, start, names, draws=12_000, seed=0):
    """name → (mean, sd, standard error of the mean) of the coordinates named.

    log_density : (S, d) → (S,); names : name → function of (S, d) draws
    """
    start = np.asarray(start, dtype=float)
    mode = optimize.minimize(lambda t: -log_density(t[None])[0], start, method="BFGS", options={"gtol": 1e-4}).x
    d, step = len(mode), 1e-3
    steps = np.eye(d) * step
    corners = [mode + a * steps[i] + b * steps[j] for i in range(d) for j in range(d) for a in (1, -1) for b in (1, -1)]
    at = log_density(np.array(corners)).reshape(d, d, 4)
    hessian = -(at[..., 0] - at[..., 1] - at[..., 2] + at[..., 3]) / (4 * step**2)
    spread = np.linalg.cholesky(np.linalg.inv((hessian + hessian.T) / 2))
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((draws, d)) / np.sqrt(rng.chisquare(5, size=draws) / 5)[:, None]
    theta = mode + 1.1 * z @ spread.T
    log_w = log_density(theta) - stats.multivariate_t.logpdf(z, shape=np.eye(d), df=5)
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    assert 1 / np.sum(w**2) > draws / 20, "the oracle itself is poor"
    found = {}
    for name, function in names.items():
        x = function(theta)
        mean = w @ x
        found[name] = (mean, np.sqrt(w @ (x - mean) ** 2), np.sqrt(np.sum(w**2 * (x - mean) ** 2)))
    return found


def agrees(fit, found):
    """Means within 4.5 standard errors of both (once in 150,000), sds within a tenth (4.5 of a thousand draws')."""
    summary = fit.summary()
    for name, (mean, sd, error) in found.items():
        row = summary[name]
        assert abs(row["mean"] - mean) < 4.5 * np.hypot(error, row["mcse_mean"]), (name, row["mean"], mean, sd)
        assert abs(row["sd"] / sd - 1) < 0.1, (name, row["sd"], sd)
