"""A block and its hyperparameters together, against exact values of posteriordb's models (tests/data/posteriordb)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from credo.inference.gaussian_block import GaussianBlock, LinearFactor
from credo.inference.hyper import integrate

DATA = Path(__file__).parents[2] / "data" / "posteriordb"
EXACT = json.loads((DATA / "exact.json").read_text())
LOG_PI = float(np.log(np.pi))


def log_half_cauchy(t, scale):
    """Of the logarithm t of a half-Cauchy variable."""
    return np.log(2.0 / np.pi / scale) + t - np.log1p(np.exp(2.0 * (t - np.log(scale))))


def mixture(found, means, sds):
    """Means and sds of a Normal mixture over the nodes."""
    mean = found.expect(means)
    return mean, np.sqrt(found.expect(sds**2 + (means - mean) ** 2))


def check(name, parameters, means, sds, tolerance=1e-3):
    for key, mean, sd in zip(parameters, means, sds, strict=True):
        exact = EXACT[name]["parameters"][key]
        assert (mean - exact["mean"]) / exact["sd"] == pytest.approx(0.0, abs=tolerance), key
        assert sd / exact["sd"] == pytest.approx(1.0, abs=tolerance), key


def eight_schools():
    y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    sigma = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    eye, level = np.eye(9)[1:], np.eye(9)[:1]
    factors = [
        LinearFactor([level.repeat(8, axis=0), eye], [y], sigma, name="y"),
        LinearFactor([level], name="mu"),
        LinearFactor([eye], name="eta"),
    ]
    return GaussianBlock(factors, 9), lambda tau: np.stack(
        [1.0 + 0 * tau, tau, -1.0 + 0 * tau, 1.0 + 0 * tau, 1.0 + 0 * tau, 5.0 + 0 * tau, 1.0 + 0 * tau, 1.0 + 0 * tau],
        axis=-1,
    )


def test_eight_schools():
    """μ and θ collapsed; log τ by quadrature, heavy to the left where nothing tells τ from 0."""
    block, coefficients = eight_schools()
    batch = lambda t: (
        block.log_marginals(coefficients(np.exp(t[:, 0])), gradient=False)[0] + log_half_cauchy(t[:, 0], 5.0)
    )
    found = integrate(None, [0.0], batch=batch)
    assert found.converged
    exact = EXACT["eight_schools-eight_schools_noncentered"]
    if exact["log_evidence"] is not None:
        assert found.log_evidence == pytest.approx(exact["log_evidence"], abs=1e-3)
    tau = np.exp(found.nodes[:, 0])
    means, sds = [], []
    for one in tau:  # θ_j = μ + τ η_j
        A = np.hstack([np.ones((8, 1)), one * np.eye(8)])
        mean, sd = block.condition(coefficients(one)).project(np.vstack([A, np.eye(9)[:1]]))
        means.append(mean)
        sds.append(sd)
    names = [*(f"theta[{k}]" for k in range(1, 9)), "mu"]
    check("eight_schools-eight_schools_noncentered", names, *mixture(found, np.array(means), np.array(sds)))
    t = found.sample(20_000, np.random.default_rng(0))[:, 0]
    z = block.sample_each(coefficients(np.exp(t)), np.random.default_rng(1))
    theta = z[:, :1] + np.exp(t)[:, None] * z[:, 1:]
    # 20,000 independent draws: 36 figures, each within 5 standard errors; false-alarm rate 2e-5
    for k in range(8):
        known = exact["parameters"][f"theta[{k + 1}]"]
        assert theta[:, k].mean() == pytest.approx(known["mean"], abs=5 * known["sd"] / np.sqrt(20_000))
        for q in ("q05", "q95"):
            assert np.mean(theta[:, k] < known[q]) == pytest.approx(int(q[1:]) / 100, abs=5 * np.sqrt(0.0475 / 20_000))


@pytest.mark.parametrize("name", ["kidiq-kidscore_momhs", "kidiq-kidscore_interaction", "earnings-earn_height"])
def test_flat_regressions(name):
    """Coefficients flat and collapsed, in units of 10⁻¹ to 10⁵; log σ by quadrature."""
    table = np.genfromtxt(DATA / f"{name.split('-')[0]}.csv", delimiter=",", names=True)
    if name == "earnings-earn_height":
        y, columns = table["earn"], [table["height"]]
        prior = lambda t: t  # flat on σ
    else:
        y, columns = table["kid_score"], [table["mom_hs"]]
        if name == "kidiq-kidscore_interaction":
            columns += [table["mom_iq"], table["mom_hs"] * table["mom_iq"]]
        prior = lambda t: log_half_cauchy(t, 2.5)
    X = np.column_stack([np.ones(len(y)), *columns])
    p = X.shape[1]
    block = GaussianBlock([LinearFactor([X], [y], name="y")], p)
    at = lambda t: np.stack([np.ones(len(t)), -np.ones(len(t)), np.exp(t[:, 0])], axis=-1)
    found = integrate(None, [0.0], batch=lambda t: block.log_marginals(at(t), gradient=False)[0] + prior(t[:, 0]))
    sigma = np.exp(found.nodes)
    means, sds = block.moments(at(found.nodes))
    mean, sd = mixture(found, np.hstack([means, sigma]), np.hstack([sds, 0.0 * sigma]))
    check(name, [*(f"beta[{k + 1}]" for k in range(p)), "sigma"], mean, sd)


def test_autoregression():
    data = json.loads((DATA / "arK.json").read_text())
    y, order = np.array(data["y"]), data["K"]
    X = np.column_stack([np.ones(len(y) - order), *(y[order - k : len(y) - k] for k in range(1, order + 1))])
    factors = [LinearFactor([X], [y[order:]], name="y"), LinearFactor([np.eye(order + 1)], name="beta")]
    block = GaussianBlock(factors, order + 1)

    def at(t):
        one = np.ones(len(t))
        return np.stack([one, -one, np.exp(t[:, 0]), one, 10.0 * one], axis=-1)

    batch = lambda t: block.log_marginals(at(t), gradient=False)[0] + log_half_cauchy(t[:, 0], 2.5)
    found = integrate(None, [0.0], batch=batch)
    if EXACT["arK-arK"]["log_evidence"] is not None:
        assert found.log_evidence == pytest.approx(EXACT["arK-arK"]["log_evidence"], abs=1e-3)
    sigma = np.exp(found.nodes)
    means, sds = block.moments(at(found.nodes))
    mean, sd = mixture(found, np.hstack([means, sigma]), np.hstack([sds, 0.0 * sigma]))
    check("arK-arK", ["alpha", *(f"beta[{k}]" for k in range(1, order + 1)), "sigma"], mean, sd)
