"""Fits by formula against dense arithmetic on grids, prediction, saving, and what is refused."""

import numpy as np
import pytest
from scipy import stats

import credo as cr
from credo.errors import DataError, DataWarning, ParameterError
from credo.program.formula import FormulaError, design, regress


def grouped(seed=0, groups=6, each=8):
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(groups), each)
    x = rng.normal(4, 1, size=g.size)
    y = 20 + 3 * x + rng.normal(0, 4, size=groups)[g] + rng.normal(0, 2, size=g.size)
    return {"y": y, "x": x, "g": [f"g{i}" for i in g]}


PRIORS = {"Intercept": cr.Normal(0, 30), "x": cr.Normal(0, 5), "sigma": cr.HalfNormal(5), "sd": cr.HalfNormal(6)}


def on_a_grid(table, taus, sigmas):
    """(means, sds) of intercept, slope, τ, σ and log evidence of y ~ x + (1 | g), by dense algebra on a grid."""
    n = len(table["y"])
    F = np.column_stack([np.ones(n), table["x"]])
    G = (np.array(table["g"])[:, None] == np.unique(table["g"])).astype(float)
    prior = np.diag([30.0**2, 25.0])
    logs, means, squares = [], [], []
    for tau in taus:
        for sigma in sigmas:
            marginal = F @ prior @ F.T + tau**2 * G @ G.T + sigma**2 * np.eye(n)
            solved = np.linalg.solve(marginal, np.column_stack([F @ prior, table["y"]]))
            mean, cov = solved[:, :2].T @ table["y"], prior - prior @ F.T @ solved[:, :2]
            log = -0.5 * (table["y"] @ solved[:, 2] + np.linalg.slogdet(marginal)[1] + n * np.log(2 * np.pi))
            log += np.log(2) + stats.norm.logpdf(sigma / 5) - np.log(5)
            if len(taus) > 1:
                log += np.log(2) + stats.norm.logpdf(tau / 6) - np.log(6)
            logs.append(log)
            means.append([*mean, tau, sigma])
            squares.append([*(np.diag(cov) + mean**2), tau**2, sigma**2])
    logs, means, squares = np.array(logs), np.array(means), np.array(squares)
    weights = np.exp(logs - logs.max())
    cell = (sigmas[1] - sigmas[0]) * (taus[1] - taus[0] if len(taus) > 1 else 1.0)
    evidence = logs.max() + np.log(weights.sum() * cell)
    weights /= weights.sum()
    mean = weights @ means
    return mean, np.sqrt(weights @ squares - mean**2), evidence


def close(fit, names, mean, sd):
    """4,000 independent draws: off by 4.5 standard errors once in 150,000."""
    summary = fit.summary()
    for name, m, s in zip(names, mean, sd):
        assert abs(summary[name]["mean"] - m) < 4.5 * s / np.sqrt(4000) + 1e-3 * s, name
        assert summary[name]["sd"] == pytest.approx(s, rel=0.08), name


def test_a_line_is_what_a_grid_says():
    table = grouped()
    fit = regress("y ~ x", table, priors={k: v for k, v in PRIORS.items() if k != "sd"}, random_state=1)
    mean, sd, evidence = on_a_grid(table, np.array([0.0]), np.linspace(2, 12, 200))
    close(fit, ("Intercept", "x", "sigma"), mean[[0, 1, 3]], sd[[0, 1, 3]])
    assert fit.log_evidence == pytest.approx(evidence, abs=1e-2)


def test_groups_are_what_a_grid_says():
    table = grouped()
    fit = regress("y ~ x + (1 | g)", table, priors=PRIORS, random_state=2)
    mean, sd, evidence = on_a_grid(table, np.linspace(0.1, 24, 60), np.linspace(1.2, 4, 30))
    close(fit, ("Intercept", "x", "sd(Intercept | g)", "sigma"), mean, sd)
    assert fit.log_evidence == pytest.approx(evidence, abs=2e-2)
    assert fit.levels("g") == tuple(f"g{i}" for i in range(6))
    assert fit.effects("g")["Intercept"].shape[2] == 6
    assert "Intercept of g3" in fit.summary(group="g")
    assert "Intercept | g" in fit.explain().exact


def test_centring_changes_nothing_but_the_prior():
    """The default's centred columns and a stated intercept are one model where the priors are alike."""
    table = grouped()
    one = regress("y ~ x", table, random_state=3)
    wide = regress("y ~ x", table, priors={"Intercept": cr.Normal(float(np.mean(table["y"])), 1e4)}, random_state=4)
    for name in ("Intercept", "x"):
        a, b = one.summary()[name], wide.summary()[name]
        assert abs(a["mean"] - b["mean"]) < 0.15 * a["sd"]


def test_prediction_of_known_and_new_groups():
    table = grouped()
    fit = regress("y ~ x + (1 | g)", table, priors=PRIORS, random_state=2)
    rows = {"x": [4.0, 4.0, 4.0], "g": ["g2", "new", "new"]}
    p = fit.predict(rows)
    draws = fit.draws()
    line = draws["Intercept"].ravel() + 4.0 * draws["x"].ravel()
    known = line + fit.effects("g")["Intercept"][..., 2].ravel()
    sigma2 = np.mean(draws["sigma"] ** 2)
    assert p.mean[0] == pytest.approx(known.mean(), abs=0.15)
    assert p.variance[0] == pytest.approx(known.var() + sigma2, rel=0.1)
    tau2 = np.mean(draws["sd(Intercept | g)"] ** 2)
    assert p.variance[1] == pytest.approx(line.var() + tau2 + sigma2, rel=0.2)
    np.testing.assert_allclose(p.mean[1], p.mean[2])  # the same new level, the same effect
    np.testing.assert_array_equal(p.mean, fit.predict(rows).mean)  # reproducible
    assert fit.predict(rows, new_levels="mean").variance[1] < p.variance[1]
    with pytest.raises(DataError, match="'new'"):
        fit.predict(rows, new_levels="error")
    with pytest.raises(DataError):  # what effects and R² are read from refuses them too
        fit.law_draws(rows, new_levels="error")
    with pytest.raises(ParameterError, match="new_levels"):
        fit.law_draws(rows, new_levels="zero")


def test_predicting_the_rows_of_the_fit():
    table = grouped()
    fit = regress("y ~ x + (1 | g)", table, random_state=2)
    residual = table["y"] - fit.predict(table).mean
    assert np.std(residual) < 1.3 * fit.summary()["sigma"]["mean"]


def test_an_intercept_alone_predicts_any_number_of_rows():
    table = grouped()
    fit = regress("y ~ 1", table, random_state=0)
    p = fit.predict({"x": [1.0, 2.0]})
    assert p.mean.shape == (2,)
    assert p.mean[0] == pytest.approx(np.mean(table["y"]), abs=0.5)


def test_offsets_and_curves():
    rng = np.random.default_rng(3)
    x = np.linspace(0, 10, 60)
    table = {"x": x, "t": 5 * x, "y": 5 * x + np.sin(x) + rng.normal(0, 0.1, size=60)}
    fit = regress("y ~ ns(x, 9) + offset(t)", table, random_state=0)
    new = {"x": [2.5, 7.1], "t": [0.0, 100.0]}
    np.testing.assert_allclose(fit.predict(new).mean, np.sin(new["x"]) + new["t"], atol=0.2)


def test_saving(tmp_path):
    table = grouped()
    fit = regress("y ~ x + (1 | g)", table, priors={"x": cr.Normal(0, 9)}, random_state=2, draws=200)
    path = tmp_path / "fit.credo"
    cr.save(fit, path)
    again = cr.load(path)
    rows = {"x": [4.0, 1.0], "g": ["g2", "new"]}
    assert str(again) == str(fit)
    np.testing.assert_array_equal(again.predict(rows).mean, fit.predict(rows).mean)


def test_it_prints_what_was_done():
    text = str(regress("y ~ x + (1 | g)", grouped(), random_state=2))
    for part in (
        "y ~ 1 + x + (1 | g)   gaussian, 48 rows",
        "HalfNormal(",
        "sd(Intercept | g)",
        "integrated out exactly",
    ):
        assert part in text


def test_two_classes_against_a_grid():
    rng = np.random.default_rng(5)
    x = rng.normal(size=80)
    hit = np.where(rng.random(80) < 1 / (1 + np.exp(-(0.5 + x))), "yes", "no")
    priors = {"Intercept": cr.Normal(0, 2), "x": cr.Normal(0, 2)}
    fit = regress(
        "hit ~ x", {"x": x, "hit": hit}, "bernoulli", priors=priors, inference="laplace", draws=2000, random_state=0
    )
    a, b = np.meshgrid(np.linspace(-3, 4, 141), np.linspace(-3, 5, 141), indexing="ij")
    eta = a[..., None] + b[..., None] * x
    log = np.sum(np.where(hit == "yes", -np.logaddexp(0, -eta), -np.logaddexp(0, eta)), axis=-1) - (a**2 + b**2) / 8
    w = np.exp(log - log.max())
    w /= w.sum()
    for name, value in (("Intercept", a), ("x", b)):
        mean = np.sum(w * value)
        sd = np.sqrt(np.sum(w * value**2) - mean**2)
        assert fit.summary()[name]["mean"] == pytest.approx(mean, abs=0.1 * sd)
        assert fit.summary()[name]["sd"] == pytest.approx(sd, rel=0.08)


def test_counts_and_trials():
    rng = np.random.default_rng(6)
    x, n = rng.normal(size=60), rng.integers(5, 40, size=60)
    table = {"x": x, "n": n, "k": rng.binomial(n, 1 / (1 + np.exp(-x))), "c": rng.poisson(n * np.exp(0.3 * x))}
    fit = regress("k ~ x", table, "binomial", trials="n", draws=400, random_state=0)
    assert abs(fit.summary()["x"]["mean"] - 1) < 0.3
    p = fit.predict({"x": [0.0, 0.0], "n": [10, 30]}, trials="n")
    np.testing.assert_allclose(p.mean, [5, 15], rtol=0.15)
    rates = regress("c ~ x + offset(log(n))", table, "poisson", draws=400, random_state=0)
    assert abs(rates.summary()["x"]["mean"] - 0.3) < 0.1
    np.testing.assert_allclose(rates.predict({"x": [0.0], "n": [50]}).mean, [50], rtol=0.1)


def test_missing_rows_are_left_out():
    table = grouped()
    table["x"] = np.where(np.arange(48) < 3, np.nan, table["x"])
    with pytest.warns(DataWarning, match="3 of 48"):
        fit = regress("y ~ x", table, random_state=0)
    assert fit.n_rows == 45


@pytest.mark.parametrize(
    ("formula", "options", "error", "says"),
    [
        ("~ x", {}, FormulaError, "there is no response"),
        ("y ~ x + foo(x)", {}, FormulaError, "no function"),
        ("y ~ x", {"family": "norml"}, ParameterError, "'gaussian'"),
        ("y ~ x", {"trials": 3}, ParameterError, "None for family"),
        ("k ~ x", {"family": "binomial"}, ParameterError, "a column or a whole number"),
        ("k ~ x", {"family": "binomial", "trials": 2.5}, DataError, "whole numbers"),
        ("k ~ x", {"family": "binomial", "trials": 2}, DataError, "from 0 to trials"),
        ("g ~ x", {"family": "bernoulli"}, DataError, "two of them"),
        ("y ~ x", {"family": "poisson"}, DataError, "counts"),
        ("y ~ x", {"priors": {"z": cr.Normal(0, 1)}}, ParameterError, "about 'Intercept', 'x'"),
        ("y ~ x + (1 | g)", {"inference": "exact"}, cr.errors.UnavailableError, "sigma"),
    ],
)
def test_what_is_refused(formula, options, error, says):
    table = {**grouped(), "k": np.arange(48) % 5}
    with pytest.raises(error, match=says):
        regress(formula, table, **options)


def test_a_column_called_like_a_parameter():
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="Rename"):
        regress("y ~ sigma", {"y": rng.normal(size=9), "sigma": rng.normal(size=9)})


@pytest.mark.slow
def test_correlated_slopes_recover_what_made_the_table():
    """Intervals of 99.9 %: a false alarm once in 200 for the six together."""
    rng = np.random.default_rng(8)
    g = np.repeat(np.arange(40), 12)
    days = np.tile(np.arange(12.0), 40)
    u = rng.multivariate_normal([0, 0], [[400, -60], [-60, 36]], size=40)
    y = 250 + 10 * days + u[g, 0] + u[g, 1] * days + rng.normal(0, 15, size=g.size)
    fit = regress("y ~ days + (days | g)", {"y": y, "days": days, "g": g}, random_state=0)
    truth = {"Intercept": 250, "days": 10, "sd(Intercept | g)": 20, "sd(days | g)": 6, "sigma": 15,
             "cor(Intercept, days | g)": -0.5}  # fmt: skip
    summary = fit.summary(0.999)
    for name, value in truth.items():
        assert summary[name]["lower"] < value < summary[name]["upper"], name
    assert fit.posterior.result.ok


def test_a_design_of_many_rows_and_levels():
    """1e5 rows, 5,000 groups: encoded in a moment (0.1 s on the machine it was written on)."""
    import time

    rng = np.random.default_rng(0)
    g = rng.integers(0, 5000, size=100_000)
    table = {"y": rng.normal(size=g.size), "x": rng.normal(size=g.size), "g": g}
    start = time.process_time()
    made = design("y ~ x + (x | g)", table)
    assert time.process_time() - start < 2.0
    assert len(made.groups[0].levels) == 5000


def test_a_class_is_predicted_as_one():
    rng = np.random.default_rng(5)
    x = rng.normal(size=60)
    hit = rng.random(60) < 1 / (1 + np.exp(-x))
    for y, classes in ((np.where(hit, "yes", "no"), ["no", "yes"]), (hit, [False, True]), (hit.astype(int), [0, 1])):
        fit = regress("y ~ x", {"x": x, "y": y}, "bernoulli", draws=400, random_state=0)
        p = fit.predict({"x": [-2.0, 2.0]})
        assert p.classes.tolist() == classes == list(fit.classes)
        draws = fit.draws()
        eta = draws["Intercept"].ravel() + 2.0 * draws["x"].ravel()
        assert p.probabilities[1, 1] == pytest.approx(np.mean(1 / (1 + np.exp(-eta))), abs=1e-9)
    assert p.mode.tolist() == [0, 1]


def test_trials_are_remembered(tmp_path):
    table = {"k": [3, 5, 2, 8, 4, 6], "n": [10, 12, 9, 14, 11, 10], "x": [0.0, 1.0, 0.5, 2.0, 0.2, 1.5]}
    fit = regress("k ~ x", table, "binomial", trials="n", draws=400, random_state=0)
    cr.save(fit, tmp_path / "fit.credo")
    again = cr.load(tmp_path / "fit.credo")
    new = {"x": [1.0, 1.0], "n": [10, 20]}
    np.testing.assert_array_equal(again.predict(new).mean, fit.predict(new, trials="n").mean)
    assert again.predict(new).mean[1] == pytest.approx(2 * again.predict(new).mean[0])


def test_a_new_file_is_read_like_that_of_the_fit(tmp_path):
    """A file whose groups are 7 and 8 holds the levels 007 and 008, if the fit's file had words among its groups; and
    yes alone is a word where there was a maybe."""
    rows = [("a1" if i % 3 else "007", "yes" if i % 2 else "maybe", i) for i in range(12)]
    (tmp_path / "t.csv").write_text("g,h,y\n" + "".join(f"{g},{h},{y}\n" for g, h, y in rows))
    fit = regress("y ~ h + (1 | g)", str(tmp_path / "t.csv"), draws=100, random_state=0)
    (tmp_path / "new.csv").write_text("g,h\n007,yes\n")
    p = fit.predict(str(tmp_path / "new.csv"), new_levels="error")
    np.testing.assert_array_equal(p.mean, fit.predict({"g": ["007"], "h": ["yes"]}).mean)


def test_numbers_too_large_to_be_told_apart_are_no_groups():
    table = {"y": np.arange(8.0), "g": 10**17 + np.arange(8) % 4}
    with pytest.raises(DataError, match="beyond 2⁵³"):
        regress("y ~ (1 | g)", table)
    fit = regress("y ~ (1 | g)", {**table, "g": [str(g) for g in table["g"]]}, draws=100, random_state=0)
    assert len(fit.levels("g")) == 4
