"""s(x): the spline against SciPy's and its bending against quadrature; the mixed model against dense algebra."""

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import CubicSpline

import credo as cr
from credo.errors import DataError
from credo.program.formula import FormulaError, design, regress
from credo.program.formula.splines import PenalisedSpline, bending


def table_of(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n)
    return {"x": x, "y": 3 + 0.2 * x + np.sin(x) + rng.normal(0, 0.3, n), "g": np.array([*"ab"])[rng.integers(0, 2, n)],
            "z": rng.normal(size=n)}  # fmt: skip


def test_bending_is_the_integral_of_the_squared_second_derivative():
    rng = np.random.default_rng(1)
    for k in (3, 4, 9):
        knots = np.sort(rng.uniform(0, 5, k))
        v = rng.normal(size=k)
        curve = CubicSpline(knots, v, bc_type="natural")
        # f'' is a line between knots: Simpson's rule is exact for its square
        a, b = curve(knots[:-1], 2), curve(knots[1:], 2)
        assert v @ bending(knots) @ v == pytest.approx(np.sum(np.diff(knots) * (a * a + a * b + b * b)) / 3, rel=1e-9)


def kernel_by_hand(x, knots):
    """Covariance of the wiggles at sd 1 (n, n): the generalised inverse of the penalty, lines taken out, trace n."""
    cardinal = np.column_stack([CubicSpline(knots, e, bc_type="natural")(x) for e in np.eye(len(knots))])
    K = cardinal @ np.linalg.pinv(bending(knots), rcond=1e-10) @ cardinal.T
    line = np.column_stack([np.ones(len(x)), x])
    out = np.eye(len(x)) - line @ np.linalg.pinv(line)
    K = out @ K @ out
    return K * len(x) / np.trace(K)


@pytest.mark.parametrize(("k", "scale", "shift"), [(3, 1.0, 0.0), (6, 1.0, 0.0), (10, 1e-6, 0.0), (12, 1.0, 1e5)])
def test_wiggles_are_the_spline_of_the_penalty(k, scale, shift):
    x = table_of()["x"]
    spline = PenalisedSpline.fit(scale * x + shift, k, "s(x)")
    Z = spline.wiggles(scale * x + shift)
    assert Z.shape == (60, k - 2)
    knots = np.quantile(np.unique(x), np.linspace(0, 1, k))
    np.testing.assert_allclose(Z @ Z.T, kernel_by_hand(x, knots), atol=1e-6)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(Z.T @ (x - x.mean()), 0, atol=1e-7)


def test_beyond_the_range_it_is_straight():
    x = table_of()["x"]
    spline = PenalisedSpline.fit(x, 8, "s(x)")
    beyond = np.array([x.max(), x.max() + 1, x.max() + 2, x.min() - 2, x.min() - 1, x.min()])
    Z = spline.wiggles(beyond)
    np.testing.assert_allclose(Z[2] - 2 * Z[1] + Z[0], 0, atol=1e-9)
    np.testing.assert_allclose(Z[5] - 2 * Z[4] + Z[3], 0, atol=1e-9)


def test_a_smooth_is_its_mixed_model():
    """log evidence and the curve by dense algebra on a grid of (τ, σ)."""
    table = table_of(30)
    x, y = table["x"], table["y"]
    priors = {"Intercept": cr.Normal(0, 10), "s(x, k=7)[linear]": cr.Normal(0, 2), "sd": cr.HalfNormal(2),
              "sigma": cr.HalfNormal(1)}  # fmt: skip
    fit = regress("y ~ s(x, k=7)", table, priors=priors, random_state=0)
    K = kernel_by_hand(x, np.quantile(np.unique(x), np.linspace(0, 1, 7)))
    line = np.column_stack([np.ones(30), x - x.mean()])
    prior = line @ np.diag([100.0, 4.0]) @ line.T
    logs, curves = [], []
    taus, sigmas = np.linspace(0.05, 5, 60), np.linspace(0.12, 0.9, 50)
    for tau in taus:
        for sigma in sigmas:
            mean_cov = prior + tau**2 * K
            cov = mean_cov + sigma**2 * np.eye(30)
            solved = np.linalg.solve(cov, y)
            logs.append(-0.5 * (y @ solved + np.linalg.slogdet(cov)[1] + 30 * np.log(2 * np.pi))
                        + stats.halfnorm.logpdf(tau, scale=2) + stats.halfnorm.logpdf(sigma, scale=1))  # fmt: skip
            curves.append(mean_cov @ solved)
    logs = np.array(logs)
    w = np.exp(logs - logs.max())
    evidence = logs.max() + np.log(w.sum() * (taus[1] - taus[0]) * (sigmas[1] - sigmas[0]))
    assert fit.log_evidence == pytest.approx(evidence, abs=2e-2)
    curve = (w / w.sum()) @ np.array(curves)
    np.testing.assert_allclose(fit.predict(table).mean, curve, atol=0.03)
    assert any("s(x, k=7)" in name for name in fit.explain().exact)


def test_a_curve_is_found():
    table = table_of(300)
    fit = regress("y ~ s(x) + z", table, draws=1000, random_state=0)
    new = {"x": np.linspace(0.5, 9.5, 40), "z": np.zeros(40)}
    p = fit.predict(new)
    truth = 3 + 0.2 * new["x"] + np.sin(new["x"])
    assert np.sqrt(np.mean((p.mean - truth) ** 2)) < 0.12
    summary = fit.summary()
    assert list(summary) == ["Intercept", "s(x)[linear]", "z", "sd(s(x))", "sigma"]
    assert 0.4 < summary["sd(s(x))"]["mean"] < 1.8  # the sine's root mean square is 0.7
    assert summary["z"]["lower"] < 0 < summary["z"]["upper"]
    # the intercept is the curve's mean over the rows
    assert abs(summary["Intercept"]["mean"] - np.mean(table["y"])) < 0.05


def test_a_curve_for_each_level():
    table = table_of(400, seed=3)
    sign = np.where(table["g"] == "a", 1.0, -1.0)
    table["y"] = sign + sign * np.sin(table["x"]) + np.random.default_rng(0).normal(0, 0.3, 400)
    fit = regress("y ~ g + s(x, by=g)", table, draws=1000, random_state=0)
    x = np.linspace(0.5, 9.5, 20)
    for level, s in (("a", 1.0), ("b", -1.0)):
        mean = fit.predict({"x": x, "g": [level] * 20}).mean
        assert np.sqrt(np.mean((mean - s - s * np.sin(x)) ** 2)) < 0.15
    made = design("y ~ g + s(x, by=g)", table)
    Z = made.latent["s(x, by=g)=a"]
    assert not Z[table["g"] == "b"].any()
    np.testing.assert_allclose(Z.sum(axis=0), 0, atol=1e-8)  # centred in its level
    with pytest.raises(DataError, match="'c', which the fit never met"):
        fit.predict({"x": [1.0], "g": ["c"]})


def test_prediction_of_the_fits_own_rows_and_files(tmp_path):
    table = table_of()
    fit = regress("y ~ s(log(x + 1), k=6) + s(z, k=5)", table, draws=200, random_state=0)
    made = design("y ~ s(log(x + 1), k=6) + s(z, k=5)", table)
    again = made.encoder.encode({name: table[name] for name in ("x", "z")})
    for name, array in made.latent.items():
        np.testing.assert_array_equal(again.latent[name], array)
    cr.save(fit, tmp_path / "fit.credo")
    loaded = cr.load(tmp_path / "fit.credo")
    assert str(loaded) == str(fit)
    np.testing.assert_array_equal(loaded.predict(table).mean, fit.predict(table).mean)
    part = loaded.predict({"x": table["x"][:3], "z": table["z"][:3]})
    np.testing.assert_allclose(part.mean, fit.predict(table).mean[:3], rtol=1e-12)


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("y ~ s(constant)", "1 distinct values, and a curve needs three"),
        ("y ~ s(two)", "2 distinct values"),
        ("y ~ s(four, k=5)", "k = 5 is more"),
        ("y ~ s(words)", "holds words"),
        ("y ~ s(x, by=one)", "one level"),
        ("y ~ s(four, k=4, by=half)", "half\\)=a: there are 2 distinct values"),
    ],
)
def test_curves_that_cannot_be(formula, says):
    n = 24
    table = {"y": np.arange(n) % 7 + 0.0, "x": np.arange(n) + 0.5, "constant": np.ones(n), "two": np.arange(n) % 2,
             "four": np.arange(n) % 4, "words": ["u", "v"] * 12, "one": ["u"] * n,
             "half": np.where(np.arange(n) % 4 < 2, "a", "b")}  # fmt: skip
    with pytest.raises(DataError, match=says):
        design(formula, table)


def test_few_values_get_fewer_knots():
    table = {"y": np.random.default_rng(0).normal(size=40), "x": np.arange(40) % 5}
    made = design("y ~ s(x)", table)
    assert made.latent["s(x)"].shape == (40, 3)


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("y ~ s(x):z", "s\\(x, by=g\\)"),
        ("y ~ s(x)*z", "term by itself"),
        ("y ~ (s(x) | g)", "term by itself"),
        ("y ~ log(s(x))", "cannot stand inside"),
        ("y ~ s(x, k=2)", "whole number ≥ 3"),
        ("y ~ te(x, z)", r"is t2\(x, z\)"),
        ("y ~ s(x, z, y)", "of two columns"),
        ("y ~ t2(x)", "a surface, of two columns"),
        ("y ~ s(x, bs='ps')", "'cc' for a curve that repeats itself"),
        ("y ~ s(x, period=3)", "a period is that of a curve that repeats"),
        ("y ~ s(x, z, bs='cc')", "of one column"),
        ("y ~ s(x, other=z)", "no argument 'other'; it has k, by, bs, period"),
        ("y ~ mo(log(x))", "of a column"),
        ("y ~ me(x)", "needs 'sd'"),
        ("y ~ mi(x) + me(x, 1)", "latent in two terms"),
    ],
)
def test_what_is_no_formula(formula, says):
    with pytest.raises(FormulaError, match=says):
        design(formula, table_of())


def test_every_other_column_leaves_out_those_of_curves():
    made = design("y ~ . + s(x)", {k: v for k, v in table_of().items() if k != "g"})
    assert made.names == ("Intercept", "s(x)[linear]", "z") or made.names == ("Intercept", "z", "s(x)[linear]")


def test_what_others_write_is_the_same_curve():
    table = table_of()
    one = design("y ~ s(x, k=6)", table).latent["s(x, k=6)"]
    for text in ("s(x, k=6, bs='cr')", 's(x, bs="tp", k=6)', "s(x, 6)"):
        np.testing.assert_array_equal(next(iter(design(f"y ~ {text}", table).latent.values())), one)
