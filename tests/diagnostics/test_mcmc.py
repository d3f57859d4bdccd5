"""R̂, ESS and MCSE against the R package posterior; identities; the verdict."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from credo.diagnostics.mcmc import autocorrelation, bfmi, check_convergence, ess, hdi, mcse, rhat
from credo.errors import DataError, ParameterError

DATA = Path(__file__).parents[1] / "data" / "diagnostics"


@pytest.fixture(scope="module")
def blocker():
    chains = []
    for i in (1, 2):
        with gzip.open(DATA / f"blocker_chain{i}.csv.gz", "rt") as file:
            rows = list(csv.reader(file))
        chains.append(np.array(rows[1:], dtype=float))
    with open(DATA / "blocker_reference.csv") as file:
        reference = {row["parameter"]: row for row in csv.DictReader(file)}
    return dict(zip(rows[0], np.array(chains).transpose(2, 0, 1))), reference


STATISTICS = {
    "rhat_rank": lambda x: rhat(x),
    "rhat_raw": lambda x: rhat(x, "identity"),
    "ess_bulk": lambda x: ess(x),
    "ess_tail": lambda x: ess(x, "tail"),
    "ess_mean": lambda x: ess(x, "mean"),
    "ess_sd": lambda x: ess(x, "sd"),
    "ess_median": lambda x: ess(x, "median"),
    "ess_raw": lambda x: ess(x, "identity"),
    "ess_quantile01": lambda x: ess(x, "quantile", 0.01),
    "ess_quantile10": lambda x: ess(x, "quantile", 0.1),
    "ess_quantile30": lambda x: ess(x, "quantile", 0.3),
    "mcse_mean": lambda x: mcse(x),
    "mcse_sd": lambda x: mcse(x, "sd"),
    "mcse_median": lambda x: mcse(x, "median"),
    "mcse_quantile01": lambda x: mcse(x, "quantile", 0.01),
    "mcse_quantile10": lambda x: mcse(x, "quantile", 0.1),
    "mcse_quantile30": lambda x: mcse(x, "quantile", 0.3),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_blocker_as_the_r_package_posterior(blocker, name):
    draws, reference = blocker
    for parameter, row in reference.items():
        assert STATISTICS[name](draws[parameter]) == pytest.approx(float(row[name]), rel=1e-9), parameter


@pytest.mark.parametrize("phi", [-0.9, 0.0, 0.5, 0.99])
@pytest.mark.parametrize("shape", [(4, 200), (2, 501), (3, 7), (4, 10), (2, 4)])
def test_as_arviz_stats(phi, shape):
    """An implementation for many quantities at once, against arviz-stats one by one; ties included."""
    from arviz_stats.base.array import array_stats as other

    rng = np.random.default_rng(0)
    x = rng.normal(size=(*shape, 2))
    for t in range(1, shape[1]):
        x[:, t] += phi * x[:, t - 1]
    x[..., 1] = np.round(x[..., 1])
    for j in range(2):
        y = x[..., j]
        for method in ("bulk", "mean", "sd", "median", "identity"):
            assert ess(x, method)[j] == pytest.approx(float(other.ess(y, method=method)), rel=1e-9, nan_ok=True), method
        for method in ("rank", "split", "folded", "identity"):
            assert rhat(x, method)[j] == pytest.approx(float(other.rhat(y, method=method)), rel=1e-9, nan_ok=True), (
                method
            )
        assert ess(x, "tail")[j] == pytest.approx(float(other.ess(y, method="tail", prob=0.05)), rel=1e-9, nan_ok=True)
        assert mcse(x)[j] == pytest.approx(float(other.mcse(y, method="mean")), rel=1e-9, nan_ok=True)
        assert [end[j] for end in hdi(x, 0.8)] == list(other.hdi(y.ravel(), 0.8))
        np.testing.assert_allclose(autocorrelation(x)[..., j], other.autocorr(y, axis=-1), atol=1e-12)
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(bfmi(y), other.bfmi(y), rtol=1e-12)


def test_shapes_and_constants():
    x = np.random.default_rng(0).normal(size=(4, 100, 2, 3))
    x[..., 0, 0] = 7.0
    for statistic in (rhat, ess):
        found = statistic(x)
        assert found.shape == (2, 3)
        assert np.isnan(found[0, 0])
        assert np.all(np.isfinite(found.ravel()[1:]))
    assert mcse(x)[0, 0] == 0.0
    assert mcse(x, "sd")[0, 0] == 0.0
    assert hdi(x)[0].shape == (2, 3)
    assert autocorrelation(x, 10).shape == (4, 11, 2, 3)


def test_one_chain_is_compared_with_itself():
    x = np.random.default_rng(0).normal(size=(1, 1000))
    assert rhat(x) < 1.01
    assert rhat(x + np.linspace(0, 3, 1000)) > 1.3


def test_mcse_of_sd_uses_the_squares():
    """Antithetic draws know the mean well and the sd no better than independent ones."""
    rng = np.random.default_rng(0)
    e = rng.normal(size=(4, 5000))
    x = np.empty_like(e)
    x[:, 0] = e[:, 0]
    for t in range(1, x.shape[1]):
        x[:, t] = -0.9 * x[:, t - 1] + np.sqrt(1 - 0.81) * e[:, t]
    # AR(1) with φ = −0.9: the squares have autocorrelation 0.81^k, so ESS = n (1 − .81)/(1 + .81).
    exact = np.sqrt(1 / (2 * x.size * 0.19 / 1.81))
    assert mcse(x, "sd") == pytest.approx(exact, rel=0.25)


def test_bfmi_is_low_for_a_slowly_wandering_energy():
    rng = np.random.default_rng(0)
    assert np.all(bfmi(rng.normal(size=(3, 1000))) > 1.5)
    assert np.all(bfmi(np.cumsum(rng.normal(size=(3, 1000)), axis=1)) < 0.1)


def test_verdict_names_what_is_wrong():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 1000, 2))
    assert check_convergence({"w": x, "s": rng.normal(size=(4, 1000))}).ok
    shifted = x.copy()
    shifted[..., 1] += np.arange(4)[:, None]
    verdict = check_convergence({"w": shifted}, divergent=np.eye(4, 1000))
    assert verdict.worst == "w[1]"
    assert not verdict.ok
    assert any("R̂ of w[1]" in sentence for sentence in verdict.advice)
    assert any("4 divergent" in sentence for sentence in verdict.advice)
    assert verdict.certificate["divergences"] == 4
    assert any("BFMI" in s for s in check_convergence({"w": x}, energy=np.cumsum(rng.normal(size=(4, 1000)), 1)).advice)


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((2, 3)), np.full((2, 10), np.nan)])
def test_unusable_draws_are_named(bad):
    with pytest.raises(DataError):
        rhat(bad)


def test_unknown_methods_are_named():
    x = np.zeros((2, 10))
    for call in (lambda: rhat(x, "best"), lambda: ess(x, "best"), lambda: mcse(x, "best"), lambda: hdi(x, 1.5)):
        with pytest.raises(ParameterError):
            call()
