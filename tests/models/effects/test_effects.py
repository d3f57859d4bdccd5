"""Effects: identities of linear models, brute force over draws, columns of every kind of table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import credo as cr
from credo.errors import ParameterError, UnavailableError
from credo.models.baseline import InterceptOnlyRegressor
from credo.models.coefficients import coefficients
from credo.models.effects import average_effects, conditional_effect
from credo.models.featured import FeaturedModel, Quadratic
from credo.models.glm import OrdinalRegression, PoissonRegression
from credo.models.tabular import TableModel

rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(size=120), rng.integers(0, 2, 120), rng.normal(5.0, 2.0, size=120)])
Y = X @ [0.8, -0.5, 0.2] + rng.normal(size=120)
COUNTS = rng.poisson(np.exp(0.3 + 0.5 * X[:, 0] - 0.4 * X[:, 1]))
FRAME = pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 0, "yes", "no"), "b": X[:, 2]})


def test_of_a_line_they_are_its_coefficients():
    model = cr.LinearRegression().fit(X, Y)
    effects, table = average_effects(model, X), coefficients(model)
    for j in range(3):
        effect, own = effects[f"x{j}"], table[f"x{j}"]
        # 1,000 draws: five standard errors of mean, sd and a 5 % quantile
        assert abs(effect.mean - own.mean) < 5 * own.sd / np.sqrt(1000)
        assert abs(effect.sd / own.sd - 1.0) < 5 / np.sqrt(2000)
        assert abs(effect.lower - own.lower) < 5 * 2.1 * own.sd / np.sqrt(1000)
    assert effects["x1"].change == "1 − 0"
    assert effects["x0"].change == "+1"


def test_of_classes_by_brute_force():
    labels = np.where(Y > 0.5, "up", "down")
    model = cr.LogisticRegression(inference="laplace").fit(X, labels)
    points, weights = model.posterior_.draws.thinned(1000)
    eta = points[:, :1] + points[:, 1:] @ X.T
    slope = (expit(eta) * expit(-eta)).mean(axis=1) * points[:, 1]
    high = points[:, :1] + points[:, 1:] @ np.column_stack([X[:, 0], np.ones(120), X[:, 2]]).T
    low = high - points[:, 2:3]
    contrast = (expit(high) - expit(low)).mean(axis=1)
    effects = average_effects(model, X)
    for name, draws in (("x0", slope), ("x1", contrast)):
        found = effects[name]
        assert found.outcome == "up"
        assert found.mean == pytest.approx(weights @ draws, rel=1e-6)
        assert found.sd == pytest.approx(np.sqrt(weights @ np.square(draws - weights @ draws)), rel=1e-5)
        assert found.prob_positive == pytest.approx(weights @ (draws > 0))
    assert effects.draws.shape == (1000, 3)


def test_of_several_classes_they_sum_to_zero():
    model = OrdinalRegression().fit(X, np.minimum(COUNTS, 2))
    effects = average_effects(model, X, ["x0"])
    assert [row.outcome for row in effects] == [0, 1, 2]
    assert sum(row.mean for row in effects) == pytest.approx(0.0, abs=1e-9)
    assert "P(y = …)" in str(effects)


def test_through_feature_maps_and_pipelines():
    curved = FeaturedModel(Quadratic(interactions=True), cr.LinearRegression(prior=cr.Normal(0, None))).fit(X, Y)
    step = 1e-3
    up, down = X.copy(), X.copy()
    up[:, 0] += step
    down[:, 0] -= step
    expected = np.mean(curved.predict(up) - curved.predict(down)) / (2 * step)
    assert abs(average_effects(curved, X)["x0"].mean - expected) < 5 * 0.1 / np.sqrt(1000)
    columns = make_column_transformer((OneHotEncoder(drop="first"), ["kind"]), remainder="passthrough")
    pipeline = make_pipeline(columns, PoissonRegression()).fit(FRAME, COUNTS)
    effects = average_effects(pipeline, FRAME)
    reference = FRAME["kind"].value_counts().index[0]
    other = ({"yes", "no"} - {reference}).pop()
    assert effects["kind"].change == f"{other} − {reference}"
    at = {level: pipeline.predict(FRAME.assign(kind=level)).mean() for level in (other, reference)}
    assert effects["kind"].mean == pytest.approx(at[other] - at[reference], rel=0.05)
    assert "onehotencoder__kind_yes" in [row.name for row in coefficients(pipeline)]


def test_of_a_table():
    table = pl.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 0, "red", "blue"), "b": X[:, 2], "y": Y})
    model = TableModel.fit(table, "y")
    effects = average_effects(model, table)
    assert {row.column for row in effects} == {"a", "kind", "b"}
    own = model.coefficients()["a"]
    assert abs(effects["a"].mean - own.mean) < 5 * own.sd / np.sqrt(1000)
    assert "expected y" in str(effects)
    labels = table.with_columns(pl.Series("y", np.where(Y > 0.5, "up", "down")))
    classes = average_effects(TableModel.fit(labels, "y"), labels)
    assert classes["kind"].outcome == "up"
    assert "P(y = up)" in str(classes)
    curve = conditional_effect(TableModel.fit(labels, "y"), labels, "kind")
    assert curve.values.tolist() == ["blue", "red"]
    np.testing.assert_allclose(curve.mean.sum(axis=1), 1.0)


def test_along_a_column():
    model = cr.LinearRegression().fit(X, Y)
    curve = conditional_effect(model, X, "x0", [-1.0, 0.0, 1.0])
    slope = model.coef_[0]
    np.testing.assert_allclose(np.diff(curve.mean), slope, atol=5 * model.posterior_.sd[0] / np.sqrt(1000))
    mean, lower, upper = curve.contrast(-1.0, 1.0)
    assert lower < 2 * slope < upper
    assert mean == pytest.approx(2 * slope, abs=0.05)
    whole = conditional_effect(model, X, "x2")
    assert whole.values.shape == whole.mean.shape == (41,)
    assert np.all(whole.lower < whole.upper)
    one = conditional_effect(model, X[:1], "x0", [0.0])
    x = X[:1].copy()
    x[0, 0] = 0.0
    assert one.mean[0] == pytest.approx(model.predict(x)[0], abs=5 * 0.2 / np.sqrt(1000))


def test_many_rows_are_spread_evenly():
    many = np.random.default_rng(1).normal(size=(5000, 1))
    model = cr.LinearRegression().fit(many, many[:, 0] + np.random.default_rng(2).normal(size=5000))
    assert average_effects(model, many).n_rows == 1000


def test_refusals():
    model = cr.LinearRegression().fit(X, Y)
    with pytest.raises(ParameterError, match="x9"):
        average_effects(model, X, ["x9"])
    with pytest.raises(ParameterError, match="mass"):
        average_effects(model, X, mass=1.0)
    with pytest.raises(ParameterError, match="grid"):
        conditional_effect(model, X, "x0", ["a"])
    frame = pl.DataFrame({"kind": np.where(X[:, 1] > 0, "red", "blue"), "b": X[:, 2], "y": Y})
    with pytest.raises(ParameterError, match="green"):
        conditional_effect(TableModel.fit(frame, "y"), frame, "kind", ["green"])
    with pytest.raises(ParameterError, match="constant"):
        conditional_effect(model, X[:1], "x0")
    with pytest.raises(UnavailableError, match="point"):
        average_effects(PoissonRegression(inference="map").fit(X, COUNTS), X)
    with pytest.raises(UnavailableError, match="one target"):
        average_effects(cr.LinearRegression().fit(X, np.column_stack([Y, Y])), X)
    constant = X.copy()
    constant[:, 1] = 1.0
    effects = average_effects(model, constant)
    assert effects.skipped == {"x1": "it is constant in these rows"}
    with pytest.raises(ParameterError, match="constant in these rows"):
        effects["x1"]
    with pytest.raises(UnavailableError, match="average_effects"):
        coefficients(InterceptOnlyRegressor().fit(X, Y))


def test_coefficients_of_every_posterior():
    robust = cr.LinearRegression(noise=cr.noise.StudentT(4)).fit(X, Y)
    table = coefficients(robust, 0.8)
    assert [row.name for row in table] == ["intercept", "x0", "x1", "x2"]
    assert "80 % interval" in str(table)
    ordinal = coefficients(OrdinalRegression().fit(X, np.minimum(COUNTS, 2)))
    assert [row.name for row in ordinal] == ["x0", "x1", "x2"]
    assert [row.name for row in ordinal.auxiliary] == ["cutpoints[0]", "cutpoints[1]"]
    several = coefficients(cr.LogisticRegression().fit(X, np.minimum(COUNTS, 2)))
    assert {row.outcome for row in several} == {"0", "1", "2"}
    targets = coefficients(cr.LinearRegression().fit(X, np.column_stack([Y, -Y])))
    assert [row.mean for row in targets["x0"]] == pytest.approx([robust.coef_[0], -robust.coef_[0]], abs=0.2)


def test_coefficients_of_chains():
    from credo.inference.draws import Draws
    from credo.inference.result import Result

    class Model:
        posterior_ = Draws({"w": rng.normal(size=(2, 500, 3)), "s": np.ones((2, 500))}, Result("converged", "nuts"))

    table = coefficients(Model())
    assert [row.name for row in table] == ["w[0]", "w[1]", "w[2]", "s"]
    assert table["s"].prob_positive == 1.0
