"""Default priors: their scales by hand, their units, and what the user states instead."""

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError, ParameterError
from credo.program.formula import design
from credo.program.formula.families import FAMILIES, family_of
from credo.program.formula.priors import default_priors, stated_priors


def table_of(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(5, 2, size=n)
    return {
        "y": 100 + 3 * x + rng.normal(size=n), "x": x, "a": np.array([*"pqr"])[np.arange(n) % 3],
        "g": [f"g{i % 6}" for i in range(n)], "k": rng.poisson(4.0, size=n), "hit": (np.arange(n) % 2) * 1.0,
        "t": rng.uniform(1, 9, size=n),
    }  # fmt: skip


def defaults(formula, family="gaussian", table=None):
    return default_priors(design(formula, table or table_of()), FAMILIES[family])


def test_scales_by_hand():
    table = table_of()
    priors = defaults("y ~ x + a + (x | g)", table=table)
    s_y, s_x = np.std(table["y"]), np.std(table["x"])
    assert list(priors) == ["Intercept", "x", "a=q", "a=r", "sd(Intercept | g)", "sd(x | g)", "cor(g)", "sigma"]
    assert priors["Intercept"].mean == pytest.approx(np.mean(table["y"]), rel=5e-3)  # three digits
    assert priors["Intercept"].sd == pytest.approx(2.5 * s_y, rel=5e-3)
    assert priors["x"].sd == pytest.approx(2.5 * s_y / s_x, rel=5e-3)
    assert priors["a=q"].sd == pytest.approx(2.5 * s_y / np.sqrt(2 / 9), rel=5e-3)
    assert priors["sd(Intercept | g)"].scale == priors["sigma"].scale == pytest.approx(2.5 * s_y, rel=5e-3)
    assert priors["sd(x | g)"].scale == priors["x"].sd
    assert priors["cor(g)"] == 2.0


def test_units_do_not_matter():
    """Another unit of y or x moves priors in proportion, to the three digits kept."""
    table = table_of()
    one = defaults("y ~ x + (x | g)", table=table)
    other = defaults("y ~ x + (x | g)", table={**table, "y": 1000 * table["y"], "x": table["x"] / 1000})
    ratios = {"Intercept": 1e3, "x": 1e6, "sd(Intercept | g)": 1e3, "sd(x | g)": 1e6, "sigma": 1e3}
    for name, ratio in ratios.items():
        assert other[name].sd / one[name].sd == pytest.approx(ratio, rel=1e-2)


def test_without_an_intercept_coefficients_reach_the_mean():
    priors = defaults("y ~ 0 + a")
    assert priors["a=p"].sd > 100
    assert "Intercept" not in priors


def test_log_and_logit_scales():
    table = table_of()
    counts = defaults("k ~ x + offset(log(t))", "poisson", table)
    assert counts["Intercept"].mean == pytest.approx(np.log(np.sum(table["k"]) / np.sum(table["t"])), rel=1e-2)
    assert counts["Intercept"].sd == 2.5
    assert defaults("hit ~ x", "bernoulli")["x"].sd == pytest.approx(2.5 / np.std(table["x"]), rel=5e-3)
    never = defaults("k ~ 1", "poisson", {"k": np.zeros(100)})
    assert never["Intercept"].mean == pytest.approx(np.log(0.005), rel=1e-2)


def test_they_print_as_a_table():
    text = str(defaults("y ~ x + (x | g)"))
    assert text.splitlines()[0].split() == ["Intercept", "Normal(116,", "13.4)", "at", "the", "columns'", "means"]
    assert "cor(g)" in text
    assert "LKJ(2)" in text


def test_stated_priors():
    basis = defaults("y ~ x + a + (x | g)")
    law = cr.Laplace(0, 1)
    stated = stated_priors(
        {"x": cr.Normal(1, 2), "coefficients": law, "sd": cr.HalfCauchy(3), "cor": 1, "Intercept": cr.Normal(0, 9)},
        basis,
    )
    assert stated["x"].mean == 1  # what is special wins, in any order
    assert stated["a=q"] is stated["a=r"] is law
    assert stated["sd(x | g)"].scale == 3
    assert stated["cor(g)"] == 1.0
    assert basis.notes
    assert not stated.notes  # a stated intercept is at 0
    assert stated["sigma"] is basis["sigma"]


@pytest.mark.parametrize(
    ("priors", "says"),
    [
        ({"z": cr.Normal(0, 1)}, "'x'"),
        ({"x": 3}, "law of one number"),
        ({"x": cr.Normal([0, 1], 1)}, "law of one number"),
        ({"sd(x | g)": cr.Normal(0, 1)}, "positive"),
        ({"sigma": cr.Normal(0, 1)}, "positive"),
        ({"cor(g)": cr.Normal(0, 1)}, "LKJ"),
        ({"cor(g)": 0}, "LKJ"),
    ],
)
def test_priors_that_do_not_fit(priors, says):
    with pytest.raises(ParameterError, match=says):
        stated_priors(priors, defaults("y ~ x + (x | g)"))


def test_a_column_called_like_a_parameter():
    with pytest.raises(DataError, match="Rename"):
        defaults("y ~ sigma", table={"y": [1.0, 2.0, 4.0], "sigma": [1.0, 5.0, 2.0]})


@pytest.mark.parametrize(
    ("family", "y", "levels", "says"),
    [
        ("gaussian", [2.0, 2.0], (), "in all 2 rows"),
        ("gaussian", [0.0, 1.0], ("no", "yes"), "numbers"),
        ("bernoulli", [0.0, 2.0], (), "0 and 1"),
        ("bernoulli", [0.0, 2.0], ("a", "b", "c"), "two of them"),
        ("poisson", [0.5, 2.0], (), "counts"),
        ("poisson", [-1.0, 2.0], (), "row 0 has -1"),
        ("binomial", [1.0, 6.0], (), "from 0 to trials"),
    ],
)
def test_responses_that_a_family_cannot_give(family, y, levels, says):
    trials = np.array([5.0, 5.0]) if family == "binomial" else None
    with pytest.raises(DataError, match=says):
        family_of(family).check(np.array(y), levels, trials, "y", np.arange(4))


def test_unknown_family():
    with pytest.raises(ParameterError, match="'gaussian'"):
        family_of("nrml")
