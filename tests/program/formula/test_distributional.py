"""Formulas of parameters beside the mean, and of classes, against their densities written out with scipy.stats."""

import numpy as np
import pytest
from scipy import special, stats

import credo as cr
from credo.errors import DataError, DataWarning, ParameterError
from credo.program.formula import FormulaError, regress
from tests.program.formula.oracle import agrees, moments

N = 80
LINE = {"Intercept": cr.Normal(0.0, 2.0), "x": cr.Normal(0.0, 1.5)}


def table():
    """x above its mean, and a linear predictor of the mean and of the log of another parameter."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=N)
    x -= x.mean()
    return rng, x, 0.4 + 0.7 * x, -0.5 + 0.4 * x


def responses():
    """family → (parameter, response, log density (y, η, its linear predictor), priors of its intercept and slope)."""
    rng, _, eta, gamma = table()
    mean, p, s = np.exp(eta), special.expit(eta), np.exp(gamma)
    return {
        "gaussian": ("sigma", eta + s * rng.normal(size=N), lambda y, e, g: stats.norm.logpdf(y, e, np.exp(g))),
        "student_t": ("sigma", eta + s * rng.standard_t(5, size=N), None),
        "lognormal": (
            "sigma", np.exp(eta + s * rng.normal(size=N)),
            lambda y, e, g: stats.lognorm.logpdf(y, np.exp(g), 0, np.exp(e)),
        ),
        "negative_binomial": (
            "overdispersion", rng.poisson(mean * rng.gamma(s**-2, s**2)),
            lambda y, e, g: stats.nbinom.logpmf(y, np.exp(-2 * g), 1 / (1 + np.exp(e + 2 * g))),
        ),
        "gamma": (
            "cv", rng.gamma(s**-2, mean * s**2),
            lambda y, e, g: stats.gamma.logpdf(y, np.exp(-2 * g), scale=np.exp(e + 2 * g)),
        ),
        "beta": (
            "phi", rng.beta(p * 5 * s, (1 - p) * 5 * s),
            lambda y, e, g: stats.beta.logpdf(y, special.expit(e) * np.exp(g), special.expit(-e) * np.exp(g)),
        ),
        "zero_inflated_poisson": (
            "zi", np.where(rng.random(N) < special.expit(gamma), 0, rng.poisson(mean * 3)),
            lambda y, e, g: np.where(
                y == 0, np.log(special.expit(g) + special.expit(-g) * np.exp(-np.exp(e))),
                np.log(special.expit(-g)) + stats.poisson.logpmf(y, np.exp(e)),
            ),
        ),
    }  # fmt: skip


@pytest.mark.parametrize("family", [name for name in responses() if name != "student_t"])
def test_two_lines_against_a_density_by_hand(family):
    """False alarms: see `agrees`, four rows a family."""
    (name, y, density), x = responses()[family], table()[1]
    priors = {**LINE, f"{name}_Intercept": cr.Normal(-0.2, 1.0), f"{name}_x": cr.Normal(0.1, 0.8)}

    def log_posterior(t):
        a, b, c, d = t.T[:, :, None]
        prior = sum(stats.norm.logpdf(v[:, 0], law.mean, law.sd) for v, law in zip((a, b, c, d), priors.values()))
        with np.errstate(all="ignore"):
            return np.nan_to_num(density(y, a + b * x, c + d * x).sum(axis=1) + prior, nan=-1e300)

    names = {key: lambda t, i=i: t[:, i] for i, key in enumerate(priors)}
    fit = regress(["y ~ x", f"{name} ~ x"], {"y": y, "x": x}, family, priors=priors, random_state=0)
    assert list(fit.summary()) == list(priors)
    agrees(fit, moments(log_posterior, [0.4, 0.7, -0.5, 0.4], names))


def test_student_t():
    _, y, _ = responses()["student_t"]
    x = table()[1]
    fit = regress(["y ~ x", "sigma ~ x"], {"y": y, "x": x}, "student_t", draws=400, random_state=0)
    assert list(fit.summary()) == ["Intercept", "x", "sigma_Intercept", "sigma_x", "df"]
    assert fit.summary()["sigma_x"]["lower"] < 0.4 < fit.summary()["sigma_x"]["upper"]


def test_the_mean_s_variance_is_the_row_s():
    """σ known to follow x: predictions of two rows spread as far as draws of σ say."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, 400)
    y = 1 + 2 * x + np.exp(0.2 + x) * rng.normal(size=400)
    fit = regress(["y ~ x", "sigma ~ x"], {"y": y, "x": x}, random_state=0)
    draws = fit.draws()
    p = fit.predict({"x": [-1.0, 1.0]})
    for i, at in enumerate((-1.0, 1.0)):
        s = np.exp(draws["sigma_Intercept"] + at * draws["sigma_x"])
        assert np.isclose(p.aleatoric[i], np.mean(s**2), rtol=1e-6)
        assert np.isclose(p.mean[i], np.mean(draws["Intercept"] + at * draws["x"]), rtol=1e-6)
    assert "integrated out exactly" in str(fit.explain())
    assert fit.said_formula == "y ~ 1 + x; sigma ~ 1 + x"
    assert "sigma ~ 1 + x" in str(fit)


def test_columns_levels_and_curves_of_sigma_are_its_own(tmp_path):
    rng = np.random.default_rng(4)
    x, g = rng.uniform(0, 3, 300), np.array(["a", "b", "c"])[rng.integers(0, 3, 300)]
    y = x + np.exp(np.sin(x) - 1 + 0.8 * (g == "c")) * rng.normal(size=300)
    data = {"y": y, "x": x, "g": g, "z": rng.normal(size=300)}
    fit = regress(["y ~ x", "sigma ~ g + poly(x, 2)"], data, draws=400, random_state=0)
    assert fit.inputs == ["x", "g"]
    assert fit.summary()["sigma_g=c"]["lower"] > 0
    new = {"x": [0.5, 1.0], "g": ["a", "c"]}
    cr.save(fit, tmp_path / "fit.credo")
    assert np.array_equal(cr.load(tmp_path / "fit.credo").predict(new).sd, fit.predict(new).sd)
    with pytest.raises(DataError, match="never met"):
        fit.predict({"x": [0.5], "g": ["d"]})


def test_groups_in_both():
    """Prior draws: sd of log σ's levels, and the levels of the two predictors independent."""
    from credo.program.formula.columns import Frame
    from credo.program.formula.design import designs
    from credo.program.formula.expansion import parse
    from credo.program.formula.families import FAMILIES
    from credo.program.formula.lowering import model_of
    from credo.program.formula.priors import default_priors, stated_priors

    rng = np.random.default_rng(5)
    data = {"y": rng.normal(size=60), "x": rng.normal(size=60), "g": [f"g{i % 6}" for i in range(60)]}
    made = designs([parse("y ~ x + (1 | g)"), parse("sigma ~ (x | g)")], Frame(data), "drop")
    others = {"sigma": made[1]}
    laws = stated_priors({"sigma_cor": 1.0}, default_priors(made[0], FAMILIES["gaussian"], others))
    assert laws["sigma_cor(g)"] == 1.0
    model = model_of(made[0], FAMILIES["gaussian"], laws, None, others)
    prior = model.sample_prior(2000, random_state=0)
    assert np.array_equal(model.nodes["level of g"].value, np.tile(np.arange(6), 10))
    log_sd = np.log(np.abs(prior["response"] - (prior["Intercept"][:, None] + data_of(prior, made[0]))))
    log_sd -= prior["sigma_Intercept"][:, None] + levels_of(prior, made[1])
    # log |ε| of standard Normal ε: no false alarm but once in 1,000
    assert stats.kstest(log_sd[:, :6].ravel(), lambda t: 2 * stats.norm.cdf(np.exp(t)) - 1).pvalue > 1e-3


def data_of(prior, made):
    x = made.fixed[:, 1] - made.fixed[:, 1].mean()
    return prior["coefficients"] * x + prior["Intercept | g"][:, made.groups[0].codes]


def levels_of(prior, made):
    group = made.groups[0]
    r = 2 * prior["sigma_partial 2,1 of cor(g)"][:, None] - 1
    z0, z1 = (prior[f"sigma_z({e} | g)"] for e in ("Intercept", "x"))
    u0 = prior["sigma_sd(Intercept | g)"][:, None] * z0
    u1 = prior["sigma_sd(x | g)"][:, None] * (r * z0 + np.sqrt(1 - r**2) * z1)
    return u0[:, group.codes] + u1[:, group.codes] * group.matrix[:, 1]


def test_rows_that_any_formula_lacks_are_left_out():
    x, z = np.arange(12.0), np.arange(12.0) ** 0.5
    y = np.random.default_rng(0).normal(size=12)
    z[3] = np.nan
    with pytest.warns(DataWarning, match=r"1 of 12 rows have missing cells, in z \(1\)"):
        fit = regress(["y ~ x", "sigma ~ z"], {"y": y, "x": x, "z": z}, draws=200, random_state=0)
    assert fit.n_rows == 11


def test_priors_are_told_and_stated():
    x = np.random.default_rng(1).normal(size=50)
    data = {"y": 3 * x, "x": x, "g": np.tile(list("ab"), 25)}
    data["y"] = data["y"] + np.random.default_rng(2).normal(size=50)
    fit = regress(["y ~ x", "sigma ~ x + g"], data, draws=100, random_state=0,
                  priors={"coefficients": cr.Normal(0, 9), "sigma_coefficients": cr.Normal(0, 0.5)})  # fmt: skip
    assert [fit.priors[name].sd for name in ("x", "sigma_x", "sigma_g=b")] == [9.0, 0.5, 0.5]
    assert fit.priors.notes["sigma_Intercept"] == "at the columns' means"
    stated = regress(
        ["y ~ x", "sigma ~ x"], data, draws=100, priors={"sigma_Intercept": cr.Normal(0, 1)}, random_state=0
    )
    assert not stated.others[0].centers.any()
    assert stated.centers.any()


@pytest.mark.parametrize(
    ("formulas", "family", "says"),
    [
        (["y ~ x", "sgima ~ x"], "gaussian",
         r"no parameter 'sgima' beside its mean: it has sigma \(character 1\)\. Did .* sigma\?\n  sgima ~ x\n  \^{5}"),
        (["y ~ x", "sigma ~ x"], "poisson", "it has none"),
        (["y ~ x", "log(sigma) ~ x"], "gaussian", "Write sigma ~ …: .* its log already"),
        ("y ~ x; sigma ~ x", "gaussian", r'\["y ~ x", "sigma ~ x"\]'),
        ("y ~ bs(x, knots=[2, 3])", "gaussian", r"A list is c\(1, 2, 3\)"),
        (["y ~ x", "shape ~ x"], "gamma", "1/√shape"),
        (["y ~ x", "phi ~ x"], "negative_binomial", "−½ of the shape's"),
        (["y ~ x", "~ x"], "gaussian", r"which parameter is it of\? .*Write sigma ~ x"),
        (["y ~ x", "sigma ~ x", "sigma ~ 1"], "gaussian", "has a formula already"),
        (["y ~ x", "sigma ~ me(x, 1)"], "gaussian", "cannot be part of what sigma depends on"),
        (["y ~ x", "sigma ~ lg(x)"], "gaussian", "no function 'lg'"),
        (["~ x"], "gaussian", "no response"),
        (["c ~ mi(x)"], "categorical", "cannot be part of family 'categorical'"),
    ],
)  # fmt: skip
def test_what_is_refused_points_into_its_formula(formulas, family, says):
    data = {"y": np.arange(1.0, 9), "x": np.arange(8.0) ** 2, "c": list("abcabcab")}
    with pytest.raises(FormulaError, match=says):
        regress(formulas, data, family)


@pytest.mark.parametrize("formula", [[], 3, ["y ~ x", 3]])
def test_a_formula_is_a_text_or_several(formula):
    with pytest.raises(ParameterError, match="a list of texts"):
        regress(formula, {"y": [1.0, 2.0], "x": [1.0, 3.0]})


# classes --------------------------------------------------------------------------------------------------------------


def classes():
    rng, x, _, _ = table()
    p = special.softmax(np.column_stack([np.zeros(N), 0.3 + x, -0.2 - 0.5 * x]), axis=1)
    return x, np.array([rng.choice(3, p=row) for row in p])


def test_classes_against_a_density_by_hand():
    x, k = classes()
    words = np.array(["ant", "bee", "fly"])[k]
    priors = {"Intercept": cr.Normal(0.0, 2.0), "x": cr.Normal(0.0, 1.5)}

    def log_posterior(t):
        eta = np.stack([np.zeros((len(t), N)), t[:, :1] + t[:, 1:2] * x, t[:, 2:3] + t[:, 3:] * x], axis=-1)
        prior = stats.norm.logpdf(t[:, ::2], 0, 2).sum(1) + stats.norm.logpdf(t[:, 1::2], 0, 1.5).sum(1)
        return np.take_along_axis(special.log_softmax(eta, axis=-1), k[None, :, None], -1)[..., 0].sum(1) + prior

    fit = regress("insect ~ x", {"insect": words, "x": x}, "categorical", priors=priors, random_state=0)
    names = ["bee: Intercept", "bee: x", "fly: Intercept", "fly: x"]
    assert list(fit.summary()) == names
    assert fit.classes == ("ant", "bee", "fly")
    agrees(fit, moments(log_posterior, [0.3, 1, -0.2, -0.5], {n: lambda t, i=i: t[:, i] for i, n in enumerate(names)}))
    p = fit.predict({"x": [-2.0, 2.0]})
    draws = {name: d.ravel() for name, d in fit.draws().items()}
    eta = np.stack([np.zeros(len(draws[names[0]])), draws[names[0]] + 2 * draws[names[1]],
                    draws[names[2]] + 2 * draws[names[3]]], axis=1)  # fmt: skip
    assert np.allclose(p.probabilities[1], special.softmax(eta, axis=1).mean(0), atol=1e-9)
    assert p.mode.tolist() == ["fly", "bee"]


def test_two_classes_are_the_bernoulli_s():
    x, k = classes()
    data = {"k": (k == 1) * 1, "x": x}
    one, two = (regress("k ~ x", data, family, random_state=0) for family in ("categorical", "bernoulli"))
    assert one.classes == two.classes == (0, 1)
    for name in ("Intercept", "x"):
        a, b = one.summary()[f"1: {name}"], two.summary()[name]
        assert abs(a["mean"] - b["mean"]) < 5 * np.hypot(a["mcse_mean"], b["mcse_mean"])
        assert abs(a["sd"] / b["sd"] - 1) < 0.1
    assert np.allclose(one.predict(data).probabilities, two.predict(data).probabilities, atol=0.01)
    assert np.isclose(one.log_evidence, two.log_evidence, atol=0.02)


def test_classes_centring_changes_nothing_but_the_prior(tmp_path):
    """Far from 0 the coefficients are those of columns about their means, shifted."""
    x, k = classes()
    near, far = ({"k": np.array(list("abc"))[k], "x": x + at} for at in (0.0, 50.0))
    one, two = (regress("k ~ x", t, "categorical", random_state=0) for t in (near, far))
    assert np.allclose(one.summary()["b: x"]["mean"], two.summary()["b: x"]["mean"], atol=1e-6)
    assert np.allclose(one.predict(near).probabilities, two.predict(far).probabilities, atol=1e-6)
    cr.save(two, tmp_path / "classes.credo")
    again = cr.load(tmp_path / "classes.credo")
    assert np.array_equal(again.predict(far).probabilities, two.predict(far).probabilities)
    own = regress("k ~ x", far, "categorical", priors={"b: Intercept": cr.Normal(0, 100)}, draws=400, random_state=0)
    assert [p.centers.any() for p in own.predictors] == [False, True]


def test_one_class_is_refused():
    with pytest.raises(DataError, match="in all 3 rows"):
        regress("k ~ x", {"k": ["a", "a", "a"], "x": [1.0, 2.0, 4.0]}, "categorical")


def grouped_classes(levels, classes):
    rng = np.random.default_rng(8)
    g = np.repeat(np.arange(levels), 30)
    u = np.column_stack([np.zeros(levels), rng.normal(0, 1.0, (levels, classes - 1))])
    k = np.array([rng.choice(classes, p=row) for row in special.softmax(u[g], axis=1)])
    return {"k": k, "g": [f"g{i}" for i in g]}


def test_groups_of_two_classes_are_the_bernoulli_s():
    """By importance sampling the one, by another rung the other."""
    table = grouped_classes(8, 2)
    one = regress("k ~ (1 | g)", table, "categorical", random_state=0)
    two = regress("k ~ (1 | g)", table, "bernoulli", random_state=0)
    a, b = one.effects("g")["1: Intercept"], two.effects("g")["Intercept"]
    assert a.shape == b.shape == (4, 1000, 8)
    assert np.allclose(a.mean((0, 1)), b.mean((0, 1)), atol=5 * np.sqrt(2 / 2000) * b.std((0, 1)).max())
    sd, of = one.summary()["1: sd(Intercept | g)"], two.summary()["sd(Intercept | g)"]
    assert abs(sd["mean"] - of["mean"]) < 5 * np.hypot(sd["mcse_mean"], of["mcse_mean"])


def test_groups_of_three_classes_have_effects_of_each():
    sds = {"sd": cr.LogNormal(0.0, 0.2)}  # away from 0, where the joint density has no mode
    fit = regress("k ~ (1 | g)", grouped_classes(3, 3), "categorical", priors=sds, inference="laplace", random_state=0)
    assert {type(fit.priors[f"{k}: sd(Intercept | g)"]) for k in (1, 2)} == {cr.LogNormal}
    assert list(fit.effects("g")) == ["1: Intercept", "2: Intercept"]
    assert "2: Intercept of g2" in fit.summary(group="g")
    p = fit.predict({"g": ["g2", "new"]}).probabilities
    assert p.shape == (2, 3)
    assert np.allclose(p.sum(axis=1), 1)
