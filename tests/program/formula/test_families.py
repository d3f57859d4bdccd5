"""Every family against its density written with scipy.stats and integrated by importance sampling."""

import numpy as np
import pytest
from scipy import special, stats

import credo as cr
from credo.errors import DataError, DataWarning, ParameterError
from credo.program.formula import design, regress
from credo.program.formula.families import FAMILIES, family_of
from credo.program.formula.zero_inflated import ZeroInflatedPoisson
from credo.program.ordinal import ordinal_probabilities
from tests.program.formula.oracle import agrees, moments

N = 40
PRIORS = {"Intercept": cr.Normal(0.0, 2.0), "x": cr.Normal(0.0, 1.5)}
INVERSES = {
    "logit": special.expit, "probit": special.ndtr, "cloglog": lambda eta: -np.expm1(-np.exp(np.minimum(eta, 5))),
}  # fmt: skip


def half_normal(log_s, scale=1.0):
    """Density of log s, s ~ HalfNormal."""
    return stats.halfnorm.logpdf(np.exp(log_s), scale=scale) + log_s


def data():
    rng = np.random.default_rng(7)
    x = rng.normal(size=N)
    return rng, x - x.mean(), 0.4 + 0.7 * (x - x.mean())


#: family → (response, log likelihood (η, own (S, 1)) → (S, n), priors of its own by name, log prior of the log of it)
def cases():
    rng, x, eta = data()
    mean = np.exp(eta)
    p = special.expit(eta)
    n = rng.integers(3, 9, size=N)
    return x, n, {
        "gaussian": (eta + 0.5 * rng.normal(size=N), lambda e, y, s: stats.norm.logpdf(y, e, s), "sigma"),
        "poisson": (rng.poisson(mean), lambda e, y, s: stats.poisson.logpmf(y, np.exp(e)), None),
        "negative_binomial": (
            rng.poisson(mean * rng.gamma(2.0, 0.5, size=N)),
            lambda e, y, s: stats.nbinom.logpmf(y, s**-2, 1 / (1 + np.exp(e) * s**2)), "overdispersion",
        ),
        "gamma": (
            rng.gamma(4.0, mean / 4),
            lambda e, y, s: stats.gamma.logpdf(y, s**-2, scale=np.exp(e) * s**2), "cv",
        ),
        "exponential": (rng.exponential(mean), lambda e, y, s: stats.expon.logpdf(y, scale=np.exp(e)), None),
        "lognormal": (
            np.exp(eta + 0.5 * rng.normal(size=N)),
            lambda e, y, s: stats.lognorm.logpdf(y, s, scale=np.exp(e)), "sigma",
        ),
        "beta": (rng.beta(8 * p, 8 * (1 - p)), lambda e, y, s: stats.beta.logpdf(y, special.expit(e) * s,
                 special.expit(-e) * s), "phi"),
        "binomial": (rng.binomial(n, p), lambda e, y, s: stats.binom.logpmf(y, n, special.expit(e)), None),
        **{
            f"bernoulli:{link}": (
                (rng.random(N) < p) * 1.0,
                lambda e, y, s, f=f: stats.bernoulli.logpmf(y, np.clip(f(e), 1e-300, 1 - 1e-16)), None,
            )
            for link, f in INVERSES.items()
        },
    }  # fmt: skip


@pytest.mark.parametrize("name", list(cases()[2]))
def test_posteriors(name):
    x, n, found = cases()
    y, likelihood, own = found[name]
    family, _, link = name.partition(":")
    priors = dict(PRIORS)
    own_prior = {"phi": lambda t: stats.norm.logpdf(t, np.log(8), 1.0)}.get(own, half_normal)
    if own:
        priors[own] = cr.LogNormal(np.log(8), 1.0) if own == "phi" else cr.HalfNormal(1.0)

    def log_density(theta):
        a, b = theta[:, :1], theta[:, 1:2]
        log = stats.norm.logpdf(theta[:, 0], 0, 2) + stats.norm.logpdf(theta[:, 1], 0, 1.5)
        log = log + (own_prior(theta[:, 2]) if own else 0.0)
        return log + likelihood(a + b * x, y, np.exp(theta[:, 2:3]) if own else None).sum(axis=1)

    names = {"Intercept": lambda t: t[:, 0], "x": lambda t: t[:, 1]}
    if own:
        names[own] = lambda t: np.exp(t[:, 2])
    wanted = moments(log_density, [0.4, 0.7] + ([np.log(6.0) if own == "phi" else -0.7] if own else []), names)
    formula = "y | trials(n) ~ x" if family == "binomial" else "y ~ x"
    table = {"x": x, "y": y, "n": n}
    fit = regress(formula, table, family, link=link or None, priors=priors, draws=1000, random_state=1)
    agrees(fit, wanted)
    check_prediction(fit, table, family, link)


def check_prediction(fit, table, family, link):
    """E[y | x] by hand from the draws."""
    d = {name: value.ravel()[:, None] for name, value in fit.draws().items()}
    eta = d["Intercept"] + d["x"] * table["x"]
    p = fit.predict(table)
    if family == "bernoulli":
        np.testing.assert_allclose(p.probabilities[:, 1], INVERSES[link](eta).mean(axis=0), atol=1e-9)
        return
    mean = {
        "gaussian": lambda: eta, "lognormal": lambda: np.exp(eta + d["sigma"] ** 2 / 2),
        "beta": lambda: special.expit(eta), "binomial": lambda: table["n"] * special.expit(eta),
    }.get(family, lambda: np.exp(eta))()  # fmt: skip
    np.testing.assert_allclose(p.mean, mean.mean(axis=0), rtol=1e-9)
    assert abs(np.mean(p.draws.mean(axis=0) / p.mean) - 1) < 0.05


def test_student_t():
    rng, x, eta = data()
    y = eta + 0.5 * rng.standard_t(3, size=N)

    def log_density(t):
        log = stats.norm.logpdf(t[:, 0], 0, 2) + stats.norm.logpdf(t[:, 1], 0, 1.5) + half_normal(t[:, 2])
        log += stats.gamma.logpdf(np.exp(t[:, 3]), 2, scale=10) + t[:, 3]
        z = (y - t[:, :1] - t[:, 1:2] * x) / np.exp(t[:, 2:3])
        return log + (stats.t.logpdf(z, np.exp(t[:, 3:4])) - t[:, 2:3]).sum(axis=1)

    names = {"Intercept": lambda t: t[:, 0], "x": lambda t: t[:, 1], "sigma": lambda t: np.exp(t[:, 2])}
    wanted = moments(log_density, [0.4, 0.7, -0.7, 2.0], names)
    table = {"x": x, "y": y}
    agrees(
        regress("y ~ x", table, "student_t", priors={**PRIORS, "sigma": cr.HalfNormal(1)}, draws=1000, random_state=2),
        wanted,
    )


@pytest.mark.parametrize("link", list(INVERSES))
def test_ordered_categories(link):
    """Three categories; a Dirichlet(1, 1, 1) of probabilities has the density 2 F'(c₁) F'(c₂) of cut-points."""
    rng, x, _ = data()
    noise = {"logit": rng.logistic, "probit": rng.normal, "cloglog": lambda size: np.log(rng.exponential(size=size))}
    y = np.searchsorted([-0.5, 1.2], 0.8 * x + noise[link](size=N))
    F = INVERSES[link]
    slope = {
        "logit": stats.logistic.logpdf, "probit": stats.norm.logpdf, "cloglog": lambda c: c - np.exp(np.minimum(c, 30)),
    }[link]  # fmt: skip

    def log_density(t):
        c1, c2 = t[:, :1], t[:, :1] + np.exp(t[:, 1:2])
        eta = t[:, 2:3] * x
        p = np.stack([F(c1 - eta), F(c2 - eta) - F(c1 - eta), 1 - F(c2 - eta)])
        log = np.log(np.maximum(np.take_along_axis(p, np.broadcast_to(y, p.shape[1:])[None], 0)[0], 1e-300)).sum(axis=1)
        return log + (slope(c1) + slope(c2) + t[:, 1:2])[:, 0] + stats.norm.logpdf(t[:, 2], 0, 1.5)

    names = {"x": lambda t: t[:, 2], "cut(lo | mid)": lambda t: t[:, 0],
             "cut(mid | top)": lambda t: t[:, 0] + np.exp(t[:, 1])}  # fmt: skip
    wanted = moments(log_density, [-0.5, 0.5, 0.8], names)
    table = {"x": x, "y": np.array(["lo", "mid", "top"])[y]}
    with pytest.warns(DataWarning, match="lo < mid < top"):
        fit = regress("y ~ x", table, "ordinal", link=link, priors={"x": cr.Normal(0, 1.5)}, draws=1000, random_state=3)
    agrees(fit, wanted)
    p = fit.predict({"x": [-1.0, 1.0]})
    assert p.classes.tolist() == ["lo", "mid", "top"]
    d = {name: value.ravel() for name, value in fit.draws().items()}
    cuts = np.stack([d["cut(lo | mid)"], d["cut(mid | top)"]], axis=1)
    by_hand = np.mean([ordinal_probabilities(-d_x, c, link) for d_x, c in zip(d["x"], cuts)], axis=0)
    np.testing.assert_allclose(p.probabilities[0], by_hand, atol=1e-9)


def test_ordered_numbers_and_declared_orders():
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    x = rng.normal(3, 1, size=60)
    k = np.clip(np.round(x + rng.normal(size=60)), 1, 5)
    fit = regress("k ~ x", {"k": k, "x": x}, "ordinal", draws=400, random_state=0)
    assert fit.classes == (1, 2, 3, 4, 5)
    assert fit.predict({"x": [0.0, 6.0]}).mode.tolist() == [1, 5]
    assert "Intercept" not in fit.summary()
    words = pl.Series(np.array(["e", "d", "c", "b", "a"])[k.astype(int) - 1].tolist(), dtype=pl.Enum([*"edcba"]))
    again = regress("k ~ x", {"k": words, "x": x}, "ordinal", draws=400, random_state=0)
    assert again.classes == tuple("edcba")
    np.testing.assert_allclose(again.draws()["x"], fit.draws()["x"], atol=1e-12)
    # cut-points are where all columns are 0, wherever the columns were centred
    shifted = regress("k ~ z", {"k": k, "z": x - 3}, "ordinal", draws=400, random_state=0)
    d = fit.draws()
    np.testing.assert_allclose(shifted.draws()["cut(1 | 2)"], d["cut(1 | 2)"] - 3 * d["x"], atol=1e-8)


def test_probabilities_of_ordered_categories_keep_their_digits():
    for link in INVERSES:
        eta = np.linspace(-3, 3, 5) if link == "cloglog" else np.linspace(-30, 30, 7)
        p = ordinal_probabilities(eta, np.array([-1.0, 0.5]), link)
        assert np.all(p > 0) or link != "logit"
        np.testing.assert_allclose(p.sum(axis=-1), 1.0, atol=1e-12)
    tail = ordinal_probabilities(np.array([-40.0]), np.array([-1.0, 0.0]))
    assert tail[0, 1] == pytest.approx(np.exp(-39) - np.exp(-40), rel=1e-12)
    high = ordinal_probabilities(np.array([-12.0]), np.array([-1.0, 0.0]), "probit")
    assert high[0, 1] == pytest.approx(stats.norm.sf(11.0) - stats.norm.sf(12.0), rel=1e-12)


def test_zero_inflated_counts():
    law = ZeroInflatedPoisson(np.array([0.3, 4.0]), 0.25)
    k = np.arange(60)[:, None]
    p = np.exp(law.log_prob(k))
    np.testing.assert_allclose(p[:, 1], 0.75 * stats.poisson.pmf(k[:, 0], 4.0) + 0.25 * (k[:, 0] == 0), rtol=1e-12)
    np.testing.assert_allclose(k[:, 0] @ p, law.mean, rtol=1e-9)
    np.testing.assert_allclose(k[:, 0] ** 2 @ p - law.mean**2, law.variance, rtol=1e-9)
    np.testing.assert_allclose(law.cdf(k) + law.survival(k), 1.0, atol=1e-12)
    draws = law._draw((20_000,), np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(axis=0), law.mean, atol=4.5 * np.sqrt(law.variance / 20_000).max())
    rng, x, eta = data()
    y = np.where(rng.random(N) < 0.3, 0, rng.poisson(np.exp(eta + 1)))

    def log_density(t):
        zi, rate = special.expit(t[:, 2:3]), np.exp(t[:, :1] + t[:, 1:2] * x)
        log = np.log(zi * (y == 0) + (1 - zi) * stats.poisson.pmf(y, rate)).sum(axis=1)
        log += np.log(zi * (1 - zi))[:, 0]
        return log + stats.norm.logpdf(t[:, 0], 0, 2) + stats.norm.logpdf(t[:, 1], 0, 1.5)

    names = {"Intercept": lambda t: t[:, 0], "x": lambda t: t[:, 1], "zi": lambda t: special.expit(t[:, 2])}
    wanted = moments(log_density, [1.4, 0.7, -1.0], names)
    fit = regress("y ~ x", {"x": x, "y": y}, "zero_inflated_poisson", priors=PRIORS, draws=1000, random_state=4)
    agrees(fit, wanted)
    assert fit.predict({"x": [0.0]}).quantile(0.05)[0] == 0


def test_trials_as_others_write_them():
    rng, x, eta = data()
    n = rng.integers(3, 12, size=N)
    k = rng.binomial(n, special.expit(eta))
    table = {"x": x, "n": n, "k": k, "share": k / n, "rest": n - k}
    fits = [
        regress(formula, table, "binomial", draws=400, random_state=0)
        for formula in ("k | trials(n) ~ x", "prop(k, n) ~ x", "cbind(k, n - k) ~ x", "cbind(k, rest) ~ x",
                        "share | trials(n) ~ x")
    ]  # fmt: skip
    for fit in fits:
        np.testing.assert_array_equal(fit.draws()["x"], fits[0].draws()["x"])
    new = {"x": [0.0, 0.0], "n": [10, 20]}
    p = fits[0].predict(new)
    assert p.mean[1] == pytest.approx(2 * p.mean[0])
    np.testing.assert_allclose(fits[0].predict({"x": [0.0, 0.0]}, trials=10).mean, p.mean[0])
    assert str(fits[0].formula) == "k | trials(n) ~ 1 + x"
    assert regress("k | trials(20) ~ x", table, "binomial", draws=400, random_state=0).predict(new).mean[0] > 1


def test_links_are_kept(tmp_path):
    rng, x, eta = data()
    table = {"x": x, "y": (rng.random(N) < special.ndtr(eta)).astype(int)}
    fit = regress("y ~ x", table, "bernoulli", link="probit", draws=400, random_state=0)
    cr.save(fit, tmp_path / "fit.credo")
    again = cr.load(tmp_path / "fit.credo")
    assert "bernoulli (probit)" in str(again)
    np.testing.assert_array_equal(again.predict(table).probabilities, fit.predict(table).probabilities)


@pytest.mark.parametrize("family", ["ordinal", "zero_inflated_poisson", "beta"])
def test_saving(family, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    counts = np.where(rng.random(50) < 0.4, 0, np.clip(rng.poisson(2 * np.exp(0.2 * x)), 0, 4))
    y = rng.beta(2, 3, size=50) if family == "beta" else counts
    fit = regress("y ~ x", {"x": x, "y": y}, family, draws=400, random_state=0)
    cr.save(fit, tmp_path / "fit.credo")
    again = cr.load(tmp_path / "fit.credo")
    assert str(again) == str(fit)
    one, two = fit.predict({"x": [0.3]}), again.predict({"x": [0.3]})
    of = "probabilities" if family == "ordinal" else "draws"
    np.testing.assert_array_equal(getattr(one, of), getattr(two, of))


def test_the_command_knows_them_all():
    from credo.cli.regress import FAMILIES as names
    from credo.cli.regress import LINKS

    assert set(names) == set(FAMILIES)
    assert set(LINKS) == {link for family in FAMILIES.values() for link in family.links if len(family.links) > 1}


def test_names_of_other_packages():
    assert family_of("normal") is family_of("gaussian")
    assert family_of("negbinomial").name == "negative_binomial"
    assert family_of("Cumulative").name == "ordinal"
    with pytest.raises(ParameterError, match="Did you mean 'poisson'"):
        family_of("poison")
    with pytest.raises(ParameterError, match="'logit' or 'probit' or 'cloglog'"):
        family_of("beta", "log")


@pytest.mark.parametrize(
    ("family", "y", "says"),
    [
        ("gamma", [1.0, 0.0, 2.0], "numbers > 0"),
        ("beta", [0.5, 1.0, 0.2], "between 0 and 1"),
        ("exponential", [1.0, 1.0, 1.0], "in all 3 rows"),
        ("ordinal", [1.0, 1.0, 1.0], "in all 3 rows"),
        ("zero_inflated_poisson", [0.5, 1.0, 2.0], "counts"),
    ],
)
def test_responses_that_cannot_be(family, y, says):
    with pytest.raises(DataError, match=says):
        regress("y ~ x", {"y": y, "x": [0.0, 1.0, 3.0]}, family)


def test_what_ordinal_refuses():
    with pytest.raises(ParameterError, match="cut-points take its place"):
        regress("y ~ 0 + x", {"y": [1, 2, 3], "x": [0.0, 1.0, 3.0]}, "ordinal")
    with pytest.raises(DataError, match="50 at most"):
        regress("y ~ x", {"y": np.arange(60.0), "x": np.arange(60.0)}, "ordinal")
    with pytest.raises(ParameterError, match="a Dirichlet of 3 numbers"):
        regress("y ~ x", {"y": [1, 2, 3], "x": [0.0, 1.0, 3.0]}, "ordinal", priors={"cuts": cr.Normal(0, 1)})


def test_units_of_a_lognormal():
    """Its linear predictor is of log y, and priors are in the units of that."""
    rng = np.random.default_rng(0)
    from credo.program.formula.priors import default_priors

    table = {"y": np.exp(3 + rng.normal(size=90)), "x": rng.normal(size=90)}
    laws = default_priors(design("y ~ x", table), FAMILIES["lognormal"])
    assert laws["Intercept"].mean == pytest.approx(np.log(table["y"]).mean(), rel=1e-2)
    assert laws["sigma"].scale == pytest.approx(2.5 * np.log(table["y"]).std(), rel=1e-2)
