"""Targets that are counts, ordered, or no classes at all; what a table's model says of its coefficients."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import credo as cr
from credo.errors import DataError, ModelWarning
from credo.models.glm import GammaRegression, PoissonRegression
from credo.models.tabular import TableModel, TableTask

rng = np.random.default_rng(0)
A = rng.normal(size=90)
TABLE = pl.DataFrame(
    {
        "a": A,
        "many": rng.poisson(np.exp(1.0 + 0.5 * A)),
        "grade": np.clip(np.round(3 + A + 0.5 * rng.normal(size=90)), 1, 5).astype(int),
        "size": np.array(["small", "medium", "large"])[np.digitize(A + 0.5 * rng.normal(size=90), [-0.5, 0.5])],
        "real": A + rng.normal(size=90),
        "cost": np.exp(A + 0.3 * rng.normal(size=90)),
        "kind": np.array(["x", "y", "z"])[rng.integers(0, 3, 90)],
    }
)


def test_ordinal_as_asked():
    table = TABLE.select("a", "grade")
    model = TableModel.fit(table, "grade", task="ordinal")
    assert (model.name, model.task) == ("ordinal", "classification")
    assert model.labels == (1, 2, 3, 4, 5)
    assert [row.name for row in model.coefficients()] == ["a"]
    assert [row.name for row in model.coefficients().auxiliary] == [f"cutpoints[{i}]" for i in range(4)]
    assert "log-odds of a higher grade" in model.coefficient_notes[0]
    assert len(model.summary()["auxiliary"]) == 4
    low, high = model.predict(pl.DataFrame({"a": [-2.5, 2.5]}))
    assert low < high


def test_a_scale_in_words_is_ordered():
    model = TableModel.fit(TABLE.select("a", "size"), "size")
    assert model.name == "ordinal"
    assert model.labels == ("small", "medium", "large")
    task = TableTask.prepare(TABLE.select("a", "kind"), "kind")
    assert not task.ordered
    with pytest.raises(DataError, match=r"in no order.*ordered:low,middle,high"):
        TableTask.prepare(TABLE.select("a", "kind"), "kind", task="ordinal")


def test_measurements_are_no_classes():
    with pytest.raises(DataError, match=r"90 distinct numbers, 90 of them in a single row"):
        TableTask.prepare(TABLE.select("a", "real"), "real", task="classification")


def test_intervals_below_zero_name_the_models_that_know_better():
    with pytest.warns(ModelWarning, match="PoissonRegression"):
        TableModel.fit(TABLE.select("a", "many"), "many")
    with pytest.warns(ModelWarning, match="GammaRegression"):
        TableModel.fit(TABLE.select("a", "cost"), "cost")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TableModel.fit(TABLE.select("a", "many"), "many", PoissonRegression())
        TableModel.fit(TABLE.select("a", "cost"), "cost", GammaRegression())
    assert "log of the expected many" in model.coefficient_notes[0]


def test_counts_through_the_table(tmp_path):
    model = TableModel.fit(TABLE.select("a", "many"), "many", PoissonRegression())
    cr.save(model, tmp_path / "m.credo")
    again = cr.load(tmp_path / "m.credo")
    rows = pl.DataFrame({"a": [-1.0, 0.0, 1.0]})
    p = again.predict_distribution(rows)
    assert p.kind == "count"
    assert np.array_equal(p.quantile(0.9), model.predict_distribution(rows).quantile(0.9))
    assert np.all(p.quantile(0.05) >= 0)
    assert cr.decide(p, cr.losses.Linear(over=1, under=9)).shape == (3,)
    draws = again.law_draws(rows)
    np.testing.assert_allclose(draws.weights @ draws.means(), p.mean, rtol=1e-9)


def test_columns_of_a_feature_map_are_named_by_it():
    from credo.models.featured import FeaturedModel, Quadratic

    estimator = FeaturedModel(Quadratic(interactions=True), cr.LinearRegression(prior=cr.Normal(0, None)))
    model = TableModel.fit(TABLE.select("a", "kind", "real"), "real", estimator)
    names = [row.name for row in model.coefficients()]
    assert {"a", "a²"} <= set(names)
    assert any(name.startswith("kind=") for name in names)
    assert any(" × " in name for name in names)
    assert "curvature" in model.coefficient_notes[1]
