"""mo, me and mi against densities with everything latent integrated out by hand."""

import numpy as np
import pytest
from scipy import stats

import credo as cr
from credo.errors import DataError, DataWarning, ParameterError
from credo.program.formula import design, regress
from tests.program.formula.oracle import agrees, moments

PRIORS = {"Intercept": cr.Normal(0, 5), "coefficients": cr.Normal(0, 2), "sigma": cr.HalfNormal(2)}


def half_normal(log_s, scale):
    return stats.halfnorm.logpdf(np.exp(log_s), scale=scale) + log_s


def test_monotone_effects_by_hand():
    """Three categories: y = a + b (0, 2 ζ₁, 2), ζ₁ uniform."""
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, size=50)
    y = 1 + np.array([0, 1.5, 2.0])[k] + rng.normal(0, 0.5, size=50)

    def log_density(t):
        a, b, s, u = t.T
        share = 1 / (1 + np.exp(-u))
        mean = a[:, None] + b[:, None] * np.stack([0 * share, 2 * share, 2 + 0 * share], axis=1)[:, k]
        log = stats.norm.logpdf(a, 0, 5) + stats.norm.logpdf(b, 0, 2) + half_normal(s, 2) + np.log(share * (1 - share))
        return log + stats.norm.logpdf(y, mean, np.exp(s)[:, None]).sum(axis=1)

    names = {"Intercept": lambda t: t[:, 0], "mo(k)": lambda t: t[:, 1], "sigma": lambda t: np.exp(t[:, 2]),
             "mo(k): 0 → 1": lambda t: 1 / (1 + np.exp(-t[:, 3]))}  # fmt: skip
    fit = regress("y ~ mo(k)", {"y": y, "k": k}, priors=PRIORS, draws=1000, random_state=0)
    agrees(fit, moments(log_density, [1, 1, -0.7, 1], names))
    p = fit.predict({"k": [0, 1, 2]})
    d = {name: value.ravel() for name, value in fit.draws().items()}
    by_hand = [d["Intercept"], d["Intercept"] + 2 * d["mo(k)"] * d["mo(k): 0 → 1"], d["Intercept"] + 2 * d["mo(k)"]]
    np.testing.assert_allclose(p.mean, [value.mean() for value in by_hand], rtol=1e-9)
    with pytest.raises(DataError, match="'3', which the fit never met"):
        fit.predict({"k": [3]})


def test_orders_of_categories():
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, size=40)
    words = [["low", "medium", "high"][i] for i in k]
    table = {"y": 2 * k + rng.normal(0, 0.3, size=40)}
    declared = pl.Series(words, dtype=pl.Enum(["low", "medium", "high"]))
    fit = regress("y ~ mo(k)", table | {"k": declared}, draws=400, random_state=0)
    assert fit.summary()["mo(k)"]["mean"] == pytest.approx(2, abs=0.2)
    assert list(fit.summary())[2:4] == ["mo(k): low → medium", "mo(k): medium → high"]
    with pytest.warns(DataWarning, match="high < low < medium"):
        design("y ~ mo(k)", table | {"k": words})
    two = regress("y ~ mo(h)", table | {"h": k > 0}, draws=400, random_state=0)
    assert list(two.summary()) == ["Intercept", "mo(h)", "sigma"]
    np.testing.assert_allclose(np.diff(two.predict({"h": [False, True]}).mean), two.draws()["mo(h)"].mean(), rtol=1e-9)


def latent_table(n=60, seed=1):
    rng = np.random.default_rng(seed)
    true = rng.normal(2, 1, size=n)
    return rng, true, {"y": 1 + 2 * true + rng.normal(0, 0.9, size=n), "x": true + rng.normal(0, 0.4, size=n),
                       "se": np.full(n, 0.4)}  # fmt: skip


COLUMN = {"x: mean": cr.Normal(0, 5), "x: sd": cr.HalfNormal(2)}


def test_measurement_error_by_hand():
    """(x, y) is bivariate Normal given the parameters."""
    _, _, table = latent_table()

    def log_density(t):
        a, b, m, log_tau, log_s = t.T
        tau2, s2 = np.exp(2 * log_tau), np.exp(2 * log_s)
        xx, xy, yy = tau2 + 0.16, b * tau2, b * b * tau2 + s2
        dx, dy = table["x"] - m[:, None], table["y"] - (a + b * m)[:, None]
        det = (xx * yy - xy**2)[:, None]
        quadratic = (yy[:, None] * dx**2 - 2 * xy[:, None] * dx * dy + xx[:, None] * dy**2) / det
        log = (-0.5 * quadratic - 0.5 * np.log(det)).sum(axis=1)
        log += stats.norm.logpdf(a, 0, 5) + stats.norm.logpdf(b, 0, 2) + stats.norm.logpdf(m, 0, 5)
        return log + half_normal(log_tau, 2) + half_normal(log_s, 2)

    names = {"Intercept": lambda t: t[:, 0], "me(x, se)": lambda t: t[:, 1], "x: mean": lambda t: t[:, 2],
             "x: sd": lambda t: np.exp(t[:, 3]), "sigma": lambda t: np.exp(t[:, 4])}  # fmt: skip
    fit = regress("y ~ me(x, se)", table, priors=PRIORS | COLUMN, draws=1000, random_state=0)
    agrees(fit, moments(log_density, [1, 2, 2, 0, -0.5], names))


@pytest.mark.parametrize("family", ["gaussian", "lognormal"])
def test_true_values_given_both_measurements(family):
    """Drawn back, they have the means and variances of a trivariate Normal (t, x, y) at the draws of the parameters.

    False alarms: each of 60 rows' means within 5 standard errors, once in 30,000."""
    _, _, table = latent_table()
    y = table["y"]
    fit = regress("y ~ me(x, se)", {**table, "y": np.exp(y) if family == "lognormal" else y}, family, random_state=0)
    found, draws = fit.imputed("x"), fit.draws()
    a, b, m, tau, s = (draws[k].ravel() for k in ("Intercept", "me(x, se)", "x: mean", "x: sd", "sigma"))
    assert found.shape == (*draws["sigma"].shape, 60)
    assert "true values" not in str(fit.explain())
    means, variances = np.empty((len(a), 60)), np.empty(len(a))
    for i in range(len(a)):
        to_t = np.array([tau[i] ** 2, b[i] * tau[i] ** 2])
        seen = np.array([[tau[i] ** 2 + 0.16, to_t[1]], [to_t[1], b[i] * to_t[1] + s[i] ** 2]])
        gain = np.linalg.solve(seen, to_t)
        means[i] = m[i] + gain @ np.stack([table["x"] - m[i], y - a[i] - b[i] * m[i]])
        variances[i] = tau[i] ** 2 - gain @ to_t
    z = (found.reshape(-1, 60) - means) / np.sqrt(variances)[:, None]
    assert np.abs(z.mean(axis=0)).max() < 5 / np.sqrt(len(a))
    assert abs(z.var() - 1) < 5 * np.sqrt(2 / z.size)


@pytest.mark.slow
def test_measurements_of_unlike_errors():
    """True values are latent then; with errors all but alike the answer is that of errors alike."""
    _, _, table = latent_table()
    one = regress("y ~ me(x, se)", table, draws=1000, random_state=0)
    two = regress("y ~ me(x, se)", {**table, "se": table["se"] + 1e-6 * np.arange(60)}, draws=1000, random_state=0)
    for name in one.summary():
        a, b = one.summary()[name], two.summary()[name]
        assert abs(a["mean"] - b["mean"]) < 4.5 * np.hypot(a["mcse_mean"], b["mcse_mean"])
    assert np.allclose(one.imputed("x").mean((0, 1)), two.imputed("x").mean((0, 1)), atol=0.1)


def test_true_values_and_their_prediction():
    _, true, table = latent_table()
    fit = regress("y ~ me(x, se)", table, draws=1000, random_state=0)
    found = fit.imputed("x").reshape(-1, 60).mean(axis=0)
    assert np.std(found - true) < 0.85 * np.std(table["x"] - true)  # y tells of the true x too
    p = fit.predict({"x": [5.0, 5.0], "se": [0.01, 2.0]})
    assert p.mean[0] == pytest.approx(11, abs=0.8)
    assert p.mean[1] < p.mean[0] - 2  # a poor measurement is drawn to the mean
    assert p.sd[1] > p.sd[0]
    with pytest.raises(DataError, match="must be > 0; row 1"):
        fit.predict({"x": [5.0, 5.0], "se": [1.0, 0.0]})
    plain = regress("y ~ x", table, draws=1000, random_state=0)
    assert plain.summary()["x"]["mean"] < fit.summary()["me(x, se)"]["mean"] - 0.1  # attenuation


def test_missing_predictors_by_hand():
    rng, true, table = latent_table()
    z = true + rng.normal(0, 1, size=60)
    x = np.where(np.arange(60) < 20, np.nan, true)
    seen = ~np.isnan(x)

    def log_density(t):
        a, b, m, c, log_tau, log_s = t.T
        mean = m[:, None] + c[:, None] * (z - z.mean())
        tau, s = np.exp(log_tau)[:, None], np.exp(log_s)[:, None]
        y = table["y"]
        log = stats.norm.logpdf(x[seen], mean[:, seen], tau).sum(axis=1)
        log += stats.norm.logpdf(y[seen], a[:, None] + b[:, None] * x[seen], s).sum(axis=1)
        spread = np.sqrt(b[:, None] ** 2 * tau**2 + s**2)
        log += stats.norm.logpdf(y[~seen], a[:, None] + b[:, None] * mean[:, ~seen], spread).sum(axis=1)
        for v, scale in ((a, 5), (b, 2), (m, 5), (c, 1)):
            log += stats.norm.logpdf(v, 0, scale)
        return log + half_normal(log_tau, 2) + half_normal(log_s, 2)

    names = {"Intercept": lambda t: t[:, 0], "mi(x, z)": lambda t: t[:, 1], "x: mean": lambda t: t[:, 2],
             "x: z": lambda t: t[:, 3], "x: sd": lambda t: np.exp(t[:, 4]),
             "sigma": lambda t: np.exp(t[:, 5])}  # fmt: skip
    table = table | {"x": x, "z": z}
    fit = regress("y ~ mi(x, z)", table, priors=PRIORS | COLUMN | {"x: z": cr.Normal(0, 1)}, draws=1000, random_state=0)
    agrees(fit, moments(log_density, [1, 2, 2, 0.5, 0, -0.7], names))
    assert fit.n_rows == 60
    cells = fit.imputed("x").reshape(-1, 20)
    assert np.corrcoef(cells.mean(axis=0), true[:20])[0, 1] > 0.9


def test_missing_predictors_at_new_rows(tmp_path):
    rng, true, table = latent_table()
    x = np.where(np.arange(60) % 3 == 0, np.nan, true)
    table = {"y": table["y"], "x": x, "w": rng.normal(size=60)}
    fit = regress("y ~ mi(x) + w", table, draws=1000, random_state=0)
    p = fit.predict({"x": [2.0, np.nan], "w": [0.0, 0.0]})
    assert p.mean[1] == pytest.approx(5, abs=0.6)
    assert p.sd[1] == pytest.approx(np.hypot(2, 0.9), rel=0.25)
    assert p.sd[0] < 1.2
    with pytest.raises(DataError, match="Column 'w' has 1 missing"):
        fit.predict({"x": [2.0], "w": [np.nan]})
    with pytest.raises(ParameterError, match=r"\['x'\]"):
        fit.imputed("w")
    table["w"][5] = np.nan
    with pytest.warns(DataWarning, match=r"1 of 60 rows have missing cells, in w \(1\)"):
        fit = regress("y ~ mi(x) + w", table, draws=200, random_state=0)
    cr.save(fit, tmp_path / "fit.credo")
    again = cr.load(tmp_path / "fit.credo")
    np.testing.assert_array_equal(again.predict({"x": [np.nan], "w": [1.0]}).draws,
                                  fit.predict({"x": [np.nan], "w": [1.0]}).draws)  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("y ~ mi(empty)", "all cells are missing"),
        ("y ~ mi(one)", "all values are 2"),
        ("y ~ me(one, 1)", "all values are 2"),
        ("y ~ me(x, zero)", "must be > 0"),
        ("y ~ mi(word)", "holds words"),
        ("y ~ mo(one)", "one level"),
    ],
)
def test_what_is_refused(formula, says):
    table = {"y": [1.0, 2.0, 4.0], "x": [1.0, 2.0, 3.0], "empty": [np.nan] * 3, "one": [2.0, 2.0, 2.0],
             "zero": [0.0] * 3, "word": ["a", "b", None]}  # fmt: skip
    with pytest.raises(DataError, match=says):
        design(formula, table)
