"""`m.check`: what is right passes, what is wrong is named; pictures and the page hold what was found."""

from __future__ import annotations

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError, ParameterError
from credo.plots.model_checks import model_check, prior_quantiles, replicates, rootogram, test_statistics
from credo.program.check import ModelCheck, check_model
from credo.program.check.simulations import _with_data, simulate_fits
from credo.program.check.statistics import _between, _neighbours, compared, statistics_of
from credo.reports.checking import check_html, write_check_html

N = 150
RNG = np.random.default_rng(11)
X = RNG.normal(size=N)
G = RNG.integers(6, size=N)


def linear(y, sd=3.0, noise=None, groups=False, missing=()):
    m = cr.Model()
    x = m.data("x", X, dims="obs")
    a, b = m.latent("a", cr.Normal(0, sd)), m.latent("b", cr.Normal(0, sd))
    mean = a + b * x
    if groups:
        g = m.data("g", [f"g{i}" for i in G], dims="obs", levels="group")
        tau = m.latent("tau", cr.HalfNormal(2))
        mean = mean + m.latent("u", cr.Normal(0, tau), dims="group")[g]
    sigma = m.latent("sigma", cr.HalfNormal(3))
    y = np.array(y, dtype=float)
    y[list(missing)] = np.nan
    m.observed("y", cr.Normal(mean, sigma) if noise is None else noise(mean, sigma), y, dims="obs")
    return m


def counts(y, sd=1.0):
    m = cr.Model()
    x = m.data("x", X, dims="obs")
    a, b = m.latent("a", cr.Normal(0, sd)), m.latent("b", cr.Normal(0, sd))
    m.observed("y", cr.Poisson(cr.math.exp(a + b * x)), y, dims="obs")
    return m


def binary(y, sd=1.5):
    m = cr.Model()
    x = m.data("x", X, dims="obs")
    a, b = m.latent("a", cr.Normal(0, sd)), m.latent("b", cr.Normal(0, sd))
    m.observed("y", cr.Bernoulli(cr.math.expit(a + b * x)), y, dims="obs")
    return m


LINE = 1 + 2 * X + RNG.normal(size=N)
COUNTS = RNG.poisson(np.exp(1 + 0.5 * X))
BINARY = RNG.binomial(1, 1 / (1 + np.exp(-X)))


def parts(found: ModelCheck) -> set[str]:
    return {f.part for f in found.findings}


@pytest.mark.parametrize("model", [linear(LINE), counts(COUNTS), binary(BINARY), linear(LINE, missing=[3, 4])],
                         ids=["line", "counts", "binary", "missing"])  # fmt: skip
def test_right_models_pass(model):
    found = check_model(model, random_state=1)
    assert found.ok, str(found)
    assert str(found).startswith("Nothing speaks against the model.")
    assert repr(found) == str(found)
    y = found.posterior["y"]
    if y.pit is not None:
        assert 0.8 < y.coverage <= 1.0


def test_the_same_seed_finds_the_same():
    a, b = (check_model(linear(LINE), random_state=5) for _ in range(2))
    assert str(a) == str(b)
    assert np.array_equal(a.posterior["y"].replicates, b.posterior["y"].replicates)


# -- priors ------------------------------------------------------------------------------------------------------------


def test_priors_of_another_scale_are_named():
    found = check_model(linear(LINE, sd=1e6), False)
    assert not found.ok
    assert parts(found) == {"prior"}
    assert not found.posterior
    assert found.fitted is None
    assert "100 times the data's range" in found.findings[0].what
    assert found.prior["y"].far > 0.9


def test_rates_that_cannot_be_drawn_are_named():
    found = check_model(counts(COUNTS, sd=200.0), False)
    assert found.prior["y"].infinite > 0.3
    assert any("infinite" in f.what for f in found.findings)


def test_almost_sure_priors_of_probabilities_are_named():
    found = check_model(binary(BINARY, sd=50.0), False)
    assert found.prior["y"].sure > 0.8
    assert any("below 1 %" in f.what for f in found.findings)
    assert check_model(binary(BINARY), False).ok


def test_data_that_the_priors_did_not_allow():
    found = check_model(linear(LINE + 500.0), False)
    assert any("hardly possible" in f.what and "mean" in f.what for f in found.findings)


def test_flat_priors_and_potentials_are_left_out_with_a_reason():
    m = cr.Model()
    mu = m.latent("mu", cr.Flat())
    m.observed("y", cr.Normal(mu, 1.0), LINE)
    found = check_model(m, sbc=20)
    assert "flat" in found.absent["prior"]
    assert "flat" in found.absent["inference"]
    assert found.posterior
    assert "not checked" in str(found)
    pulled = linear(LINE)
    pulled.potential("pull", -(pulled.nodes["a"] ** 2))
    assert set(check_model(pulled, False, sbc=20).absent) == {"prior", "inference"}


# -- replicates --------------------------------------------------------------------------------------------------------


def extreme(found, node="y"):
    return {s.name for s in found.posterior[node].statistics if s.extreme}


def test_outliers_are_named():
    y = LINE.copy()
    y[[5, 50]] = [25.0, -30.0]
    assert {"minimum", "maximum"} <= extreme(check_model(linear(y)))


def test_too_many_zeros_are_named():
    found = check_model(counts(COUNTS * (RNG.random(N) < 0.6)))
    assert "share of zeros" in extreme(found)
    assert not found.posterior["y"].pit.envelope.inside
    assert any("NegativeBinomial" in f.remedy for f in found.findings)


def test_groups_that_the_model_does_not_know():
    y = LINE + np.array([-2, -1, 0, 0, 1, 2.0])[G]
    found = check_model(linear(y), by={"g": G})
    assert extreme(found) == {"spread of means by g"}
    known = check_model(linear(y, groups=True))
    assert known.ok, str(known)
    assert "spread of means by g" in [s.name for s in known.posterior["y"].statistics]  # its own levels, unasked


def test_columns_that_differ():
    y = RNG.normal(np.array([0.0, 1.0, 2.0]), size=(40, 3))
    m = cr.Model()
    mu, sigma = m.latent("mu", cr.Normal(0, 3)), m.latent("sigma", cr.HalfNormal(3))
    m.observed("y", cr.Normal(mu, sigma), y, dims=("row", "column"))
    assert extreme(check_model(m)) == {"spread of means by column"}


def test_order_that_the_model_does_not_know():
    walk = np.cumsum(RNG.normal(size=N))
    assert "correlation of neighbours" in extreme(check_model(linear(walk)))


def test_a_bend_of_a_probability_shows_in_forecasts():
    y = RNG.binomial(1, 1 / (1 + np.exp(-2 * X)))
    wrong = RNG.binomial(1, 0.1 + 0.8 * (np.abs(X) > 1))
    assert check_model(binary(y)).posterior["y"].reliability is not None
    found = check_model(binary(wrong))
    assert found.posterior["y"].reliability is not None
    assert parts(found) == {"posterior"}


def test_classes_and_vectors():
    m = cr.Model()
    p = m.latent("p", cr.Dirichlet(np.ones(3)))
    mu = m.latent("mu", cr.Normal(0, 3), shape=2)
    m.observed("c", cr.Categorical(p), RNG.choice(3, size=60))
    m.observed("v", cr.MultivariateNormal(mu, np.eye(2)), RNG.normal(size=(50, 2)))
    found = check_model(m)
    assert found.ok, str(found)
    assert next(s.name for s in found.posterior["c"].statistics).startswith("share of class")
    assert found.posterior["v"].pit is None
    assert "single numbers" in found.posterior["v"].absent


def test_leave_one_out_transforms_are_those_of_refits():
    """u_i of a Normal mean with known sd: Φ((y_i − m_{−i})/√(1 + v_{−i})) in closed form."""
    y = LINE[:30]
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 10))
    m.observed("y", cr.Normal(mu, 2.0), y)
    found = check_model(m, m.fit(draws=4000, random_state=0)).posterior["y"].pit.values
    precision = 0.01 + 29 / 4.0
    left = (y.sum() - y) / 4.0 / precision
    expected = cr.Normal(left, np.sqrt(4.0 + 1 / precision)).cdf(y)
    assert np.abs(found - expected).max() < 0.02  # 1,000 draws: 4 standard errors


def test_points_and_wrong_arguments():
    m = linear(LINE)
    assert "point" in check_model(m, inference="map").absent["posterior"]
    with pytest.raises(ParameterError, match="posterior"):
        check_model(m, "yes")
    with pytest.raises(DataError, match="labels"):
        check_model(m, by={"g": G[:-1]})
    with pytest.raises(ParameterError, match="sbc"):
        check_model(m, False, sbc=3)
    with pytest.raises(ParameterError, match="inference"):
        check_model(m, False, sbc=20, inference="map")


def test_of_a_posterior():
    posterior = linear(LINE).fit(draws=400, random_state=0)
    assert posterior.check().fitted is posterior


# -- statistics --------------------------------------------------------------------------------------------------------


def test_statistics_by_hand():
    x = np.array([[1.0, 2.0, 4.0, 3.0], [0.0, 0.0, 1.0, 1.0]])
    codes = np.array([0, 1, 0, 1])
    centred = x - x.mean(axis=1, keepdims=True)
    r = [np.sum(c[1:] * c[:-1]) / np.sum(c * c) for c in centred]
    assert np.allclose(_neighbours(x), r)
    means = np.array([[row[codes == g].mean() for g in (0, 1)] for row in x])
    assert np.allclose(_between(x, codes), np.sqrt(np.mean(means**2, axis=1)))


def test_p_values_are_ranks():
    y = np.array([1.0, 2.0])
    reps = np.arange(200.0).reshape(100, 2)
    mean, *_ = compared({"mean": lambda x: x.mean(axis=1)}, y, reps)
    assert mean.observed == 1.5
    assert np.isclose(mean.p_value, 2 * 2 / 101)
    assert not mean.extreme
    assert compared(statistics_of("count", y), y, np.tile(y, (50, 1)))[0].z == 0.0


@pytest.mark.slow
def test_false_alarms(replicates, record_property):
    """Of right models statistics and transforms each complain about fewer than 1 %."""
    n, alarms = replicates(40, 200), 0
    rng = np.random.default_rng(0)
    for i in range(n):
        a, b, sigma = rng.normal(0, 3), rng.normal(0, 3), abs(rng.normal(0, 3))
        found = check_model(linear(a + b * X + sigma * rng.normal(size=N)), random_state=i, by={"g": G})
        alarms += "posterior" in parts(found)
    record_property("right models complained about", f"{alarms} of {n}")
    assert alarms <= (3 if n == 40 else 9)  # statistics and transforms together: 2 % at most, p < 0.01


# -- simulations -------------------------------------------------------------------------------------------------------


def small(missing=()):
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 2), shape=2)
    y = np.arange(8.0).reshape(4, 2)
    y.reshape(-1)[list(missing)] = np.nan
    m.observed("y", cr.Normal(mu, 1.0), y)
    return m


def test_a_right_inference_passes():
    found = check_model(small(), False, sbc=40, draws=200)
    assert found.ok, str(found)
    simulations = found.simulations
    assert simulations.n == 40
    assert set(simulations.calibration.ranks) == {"mu[0]", "mu[1]", "log-likelihood"}
    assert "uniform" in str(found)
    assert simulations.uncertified == 0


def test_threads_change_nothing():
    a, b = (simulate_fits(small(), 12, "auto", 100, np.random.default_rng(0), {}, k) for k in (1, 2))
    for label, ranks in a.calibration.ranks.items():
        assert np.array_equal(ranks, b.calibration.ranks[label])


def test_a_wrong_inference_is_named(monkeypatch):
    """Draws half as spread as they should be."""
    from credo.program.check import simulations

    def narrow(model, *arguments):
        posterior = simulations.__dict__["right"](model, *arguments)
        values = posterior.values
        values["mu"] = values["mu"].mean() + 0.4 * (values["mu"] - values["mu"].mean())
        return posterior

    monkeypatch.setattr(simulations, "right", simulations.fit_model, raising=False)
    monkeypatch.setattr(simulations, "fit_model", narrow)
    found = check_model(small(), False, sbc=60, draws=100)
    assert [f.node for f in found.findings if "narrow" in f.what] == ["mu[0]", "mu[1]"]
    assert "another rung" in found.findings[0].remedy


def test_missing_cells_stay_missing_in_simulations():
    m = small([2])
    twin = _with_data(m, {"y": np.full((4, 2), 7.0)})
    assert twin.factors[-1].missing.tolist() == [2]
    assert m.factors[-1].node.parents[0].value[0, 0] == 0.0  # the model itself is as it was
    found = check_model(m, False, sbc=12, draws=100).simulations
    assert found.failed == {}
    assert "y_missing[0]" in found.calibration.ranks


def test_missing_predictors_are_ranked():
    m = cr.Model()
    x = m.observed("x", cr.Normal(0.0, 1.0), [0.5, np.nan, -1.0], dims="o")
    b = m.latent("b", cr.Normal(0, 1))
    m.observed("y", cr.Normal(b * x, 1.0), [1.0, 0.0, 2.0], dims="o")
    found = check_model(m, False, sbc=10, draws=100)
    assert set(found.simulations.calibration.ranks) == {"b", "x_missing[0]", "log-likelihood"}


def test_failures_are_counted(monkeypatch):
    from credo.errors import NumericalError
    from credo.program.check import simulations

    right, calls = simulations.fit_model, []

    def sometimes(*arguments):
        calls.append(1)
        if len(calls) % 4 == 0:
            raise NumericalError("no.")
        return right(*arguments)

    monkeypatch.setattr(simulations, "fit_model", sometimes)
    found = check_model(small(), False, sbc=16, draws=100)
    assert found.simulations.failed == {"NumericalError: no.": 4}
    assert any("4 of 16 fits" in f.what for f in found.findings)
    monkeypatch.setattr(simulations, "fit_model", lambda *a: (_ for _ in ()).throw(NumericalError("never.")))
    assert "16 failed" in check_model(small(), False, sbc=16).absent["inference"]


# -- pictures and the page ---------------------------------------------------------------------------------------------


def test_pictures():
    found = check_model(counts(COUNTS * (RNG.random(N) < 0.6)))
    charts = [figure.chart() for figure in model_check(found)]
    assert [c.title for c in charts] == ["y: could the priors make these data?", "y: how often each count comes",
                                         "y: test statistics", "Are the distributions right?"]  # fmt: skip
    figure = rootogram(found.posterior["y"])
    assert figure.observed.sum() <= N
    assert figure.observed[0] > figure.upper[0]
    assert "share of zeros" in test_statistics(found.posterior["y"]).chart().description
    with pytest.raises(DataError):
        rootogram(check_model(linear(LINE)).posterior["y"])


def test_densities_integrate_to_one():
    figure = replicates(check_model(linear(LINE)).posterior["y"])
    assert abs(figure.data.sum() * (figure.x[1] - figure.x[0]) - 1.0) < 1e-3
    assert len(figure.each) == 30


def test_a_prior_of_another_scale_is_drawn_on_one_that_holds_it():
    chart = prior_quantiles(check_model(linear(LINE, sd=1e6), False).prior["y"]).chart()
    texts = [text for _, text in chart.y.ticks]
    assert "1000000" in texts
    assert "−1000000" in texts
    gaps = np.diff([at for at, _ in chart.y.ticks])
    assert gaps.min() > 0.1 * (chart.y.high - chart.y.low)


def test_the_page(tmp_path):
    found = check_model(linear(LINE, sd=1e6), sbc=10, draws=100)
    page = check_html(found, "A <check>")
    assert "A &lt;check&gt;" in page
    assert page.count("<svg") == len(model_check(found)) == 5
    assert "100 times the data" in page
    write_check_html(found, tmp_path / "check.html", "A <check>")
    assert (tmp_path / "check.html").read_text(encoding="utf-8") == page
