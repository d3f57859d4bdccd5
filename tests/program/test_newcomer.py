"""What somebody who comes from brms, PyMC or Stan does first, and what is said to them where it goes wrong."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError, DataWarning, NotIdentifiedError, NumericalError, ParameterError, UnavailableError

HALVES = np.full((2, 2), 0.5)


def line(x=(1.0, 2.0, 3.0, 4.0), y=(1.1, 1.9, 3.2, 3.9)):
    m = cr.Model()
    at = m.data("x", np.asarray(x), dims="row")
    slope, sigma = m.latent("slope", cr.Normal(0, 5)), m.latent("sigma", cr.HalfNormal(1))
    m.observed("y", cr.Normal(slope * at, sigma), np.asarray(y), dims="row")
    return m


class TestChains:
    def test_a_dim_of_unknown_size_is_refused_and_is_not_one_step_long(self):
        with pytest.raises(DataError, match=r"'time' has no size yet.*shape="):
            cr.Model().chain("z", [0.5, 0.5], HALVES, dims="time")

    def test_dims_with_a_shape_declare_the_dims(self):
        m = cr.Model()
        z = m.chain("z", [0.5, 0.5], HALVES, dims=("person", "time"), shape=(3, 20))
        assert z.shape == (3, 20)
        assert m.sizes == {"person": 3, "time": 20}

    def test_a_shape_of_another_length_than_dims_or_another_size_is_refused(self):
        with pytest.raises(DataError, match="differ in length"):
            cr.Model().chain("z", [0.5, 0.5], HALVES, dims="time", shape=(3, 20))
        m = cr.Model()
        m.data("t", np.arange(20.0), dims="time")
        with pytest.raises(DataError, match="has size 20, not 19"):
            m.chain("z", [0.5, 0.5], HALVES, dims="time", shape=19)


class TestPosterior:
    def test_scalars_are_numbers_and_have_no_brackets(self):
        posterior = line().fit(random_state=0)
        assert "draws of slope, sigma;" in repr(posterior)
        for moments in (posterior.mean, posterior.sd):
            assert all(isinstance(moments[name], float) for name in ("slope", "sigma"))

    def test_a_table_given_to_predict_is_told_how(self):
        posterior = line().fit(random_state=0)
        with pytest.raises(ParameterError, match=r"predict\(\*\*table\)"):
            posterior.predict({"x": [5.0]})
        assert posterior.predict(x=[5.0]).mean.shape == (1,)

    @pytest.mark.parametrize(
        ("other", "here"),
        [("init", "initial"), ("tune", "warmup"), ("cores", "threads"), ("adapt_delta", "target_acceptance")],
    )
    def test_options_of_other_packages_are_told_by_their_names_here(self, other, here):
        with pytest.raises(ParameterError, match=f"got '{other}'. Here it is called {here}"):
            line().fit("nuts", **{other: 1})

    @pytest.mark.parametrize(("other", "here"), [("NUTS", "nuts"), ("hmc", "nuts"), ("advi", "mean_field")])
    def test_rungs_of_other_packages_too(self, other, here):
        with pytest.raises(ParameterError, match=f"Did you mean '{here}'"):
            line().fit(other)

    def test_growth_reaches_one_mode_from_two_starts(self):
        rng = np.random.default_rng(7)
        x = np.linspace(0, 10, 40)
        m = cr.Model()
        a, b, s = m.latent("a", cr.Normal(0, 10)), m.latent("b", cr.HalfNormal(2)), m.latent("s", cr.HalfNormal(1))
        y = 5 * (1 - np.exp(-0.4 * x)) + 0.3 * rng.normal(size=40)
        m.observed("y", cr.Normal(a * (1 - cr.math.exp(-b * x)), s), y)
        near = m.fit("map", initial={"a": 1.0, "b": 0.1, "s": 1.0}).values
        far = m.fit("map", initial={"a": 40.0, "b": 3.0, "s": 1.0}).values
        assert all(abs(near[name] - far[name]) < 1e-4 for name in ("a", "b", "s"))
        assert abs(near["a"] - 5) < 0.5


def test_a_regression_by_its_mode_is_refused_and_told_of_laplace():
    x = np.arange(10.0)
    with pytest.raises(UnavailableError, match='inference="laplace"'):
        cr.regress("y ~ x", {"x": x, "y": x**2}, inference="map")


class TestShares:
    def test_a_share_of_nothing_is_named_by_its_cell(self):
        m = cr.Model()
        a = m.latent("a", cr.Normal(0, 1))
        m.observed("p", cr.Beta(cr.math.exp(a) + 1.5, 2.0), [0.5, 0.0, 1.0])
        with pytest.raises(NumericalError, match=r"log p\(p\[1\] = 0\) is −∞"):
            m.fit(random_state=0)


class TestWords:
    def table(self, x):
        rng = np.random.default_rng(0)
        return {"y": rng.normal(size=40), "x": x}

    def design(self, x, formula="y ~ x"):
        from credo.program.formula import design

        return design(formula, self.table(x))

    def test_numbers_written_as_words_are_told(self):
        words = [f"{v:.3f}" for v in np.linspace(0, 1, 40)]
        with pytest.warns(DataWarning, match="40 categories, in 40 rows: they are numbers written as words. Make"):
            self.design(words)
        with pytest.warns(DataWarning, match="but for words such as 'n.a.'"):
            self.design([*words[1:], "n.a."])
        with pytest.warns(DataWarning, match="5 categories, in 40 rows.*but for words such as 'n/k'"):
            self.design(["0.5", "1.5", "2.5", "3.5", "n/k"] * 8)

    def test_dates_written_as_words_and_names_of_rows_are_told(self):
        with pytest.warns(DataWarning, match="dates: count the days"):
            self.design([f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(40)])

    def test_a_monotone_effect_of_a_measurement_is_told(self):
        with pytest.warns(DataWarning, match=r"x is taken for 40 categories.*s\(x\)"):
            self.design(np.random.default_rng(1).normal(size=40), "y ~ mo(x)")

    def test_categories_that_repeat_are_not(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.design([f"{i % 10}" for i in range(40)])
            self.design(["0", "1", "2", "3+"] * 10)
            self.design(np.arange(40) % 8, "y ~ mo(x)")


def test_formula_and_table_in_the_wrong_order_are_told_the_right_one(tmp_path, capsys):
    from credo.cli.main import main

    path = tmp_path / "t.csv"
    path.write_text("y,x\n1,2\n2,3\n3,5\n")
    assert main(["regress", str(path), "y ~ x"]) != 0
    assert f"credo regress 'y ~ x' {path}" in " ".join(capsys.readouterr().err.split())


def test_a_mode_is_found_where_all_random_starts_are_lost():
    """exp of forty times a slope: from slopes of ±2 Newton's method falls off the edge of floating point."""
    rng = np.random.default_rng(0)
    g, x = rng.integers(12, size=240), rng.normal(40, 10, size=240)
    y = rng.poisson(np.exp(-0.5 + 0.04 * x + rng.normal(0, 0.15, size=12)[g]))
    m = cr.Model()
    b0, b = m.latent("b0", cr.Normal(0, 5)), m.latent("b", cr.Normal(0, 1))
    u = m.latent("u", cr.Normal(0, 0.15), shape=12)
    m.observed("y", cr.Poisson(cr.math.exp(b0 + b * x + u[g])), y)
    nested = m.fit("nested_laplace", random_state=0)
    for seed in range(3):
        mode = m.fit("map", random_state=seed)
        assert abs(mode["b"] - nested.mean["b"]) < 0.3 * nested.sd["b"]
    whole = m.fit("laplace", random_state=1)
    assert abs(whole.mean["b"] - nested.mean["b"]) < 0.3 * nested.sd["b"]


@pytest.mark.parametrize("how", ["map", "laplace"])
def test_a_hierarchy_without_a_mode_says_so(how):
    rng = np.random.default_rng(0)
    g, y = rng.integers(4, size=40), rng.poisson(2.0, size=40)
    m = cr.Model()
    tau = m.latent("tau", cr.HalfNormal(1))
    u = m.latent("u", cr.Normal(0, tau), shape=4)
    m.observed("y", cr.Poisson(cr.math.exp(0.7 + u[g])), y)
    with pytest.raises(NotIdentifiedError, match="no mode: it grows without bound as tau goes to 0"):
        m.fit(how, random_state=0)


def test_a_latent_may_have_dims_and_sizes():
    m = cr.Model()
    assert m.latent("a", cr.Normal(0, 1), dims="part", shape=3).shape == (3,)
    assert m.sizes["part"] == 3
    with pytest.raises(DataError, match="which has size 3"):
        m.latent("b", cr.Normal(0, 1), dims="part", shape=4)
    with pytest.raises(DataError, match="dims"):
        m.latent("c", cr.Normal(0, 1), dims="part", shape=(3, 2))


def test_models_that_were_not_fitted_are_not_compared():
    m = cr.Model()
    m.observed("y", cr.Normal(m.latent("a", cr.Normal(0, 1)), 1.0), [0.3, 0.1])
    with pytest.raises(ParameterError, match="compared by their posteriors"):
        cr.compare({"one": m, "two": m}, [[0.0], [1.0]], [0.3, 0.1])
