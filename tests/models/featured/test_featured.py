"""A feature map in front of an estimator keeps what the estimator has."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import credo as cr
from credo.blocks import ArraySource
from credo.errors import ParameterError, UnavailableError
from credo.models.baseline import InterceptOnlyClassifier
from credo.models.featured import FeaturedModel, Quadratic
from credo.models.featured.source import evenly_sampled
from credo.tables.features import PolynomialFeatures


# Its tables of copied rows leave σ unidentified, which is warned of: tests/inference/exact/test_propriety.py.
@pytest.mark.filterwarnings("ignore:.*(not identified|fit the rows exactly):credo.errors.DataWarning")
@parametrize_with_checks(
    [
        Quadratic(),
        Quadratic(interactions=True),
        FeaturedModel(Quadratic(), cr.LinearRegression()),
        FeaturedModel(PolynomialFeatures(2), cr.LinearRegression()),
        FeaturedModel(Quadratic(), cr.LogisticRegression(inference="map")),
        FeaturedModel(Quadratic(), InterceptOnlyClassifier()),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


rng = np.random.default_rng(0)
X = rng.normal(3.0, 2.0, size=(60, 3))
X[:, 2] = rng.integers(0, 2, 60)
Y = X[:, 0] ** 2 - X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=60)


def test_same_as_mapping_by_hand():
    model = FeaturedModel(PolynomialFeatures(2), cr.LinearRegression()).fit(X, Y)
    mapped = PolynomialFeatures(2).fit_transform(X)
    plain = cr.LinearRegression().fit(mapped, Y)
    assert np.array_equal(model.predict(X), plain.predict(mapped))
    assert np.array_equal(model.predict_distribution(X).sd, plain.predict_distribution(mapped).sd)
    assert model.log_evidence_ == plain.log_evidence_
    assert len(model.get_feature_names_out()) == plain.coef_.size


def test_streamed_and_in_parts():
    """A short source is read whole by the map, so that the fit is that of the arrays."""
    model = FeaturedModel(Quadratic(True), cr.LinearRegression())
    whole = model.fit(X, Y).predict(X)
    streamed = FeaturedModel(Quadratic(True), cr.LinearRegression()).fit(ArraySource(X, Y, block_rows=7))
    np.testing.assert_allclose(streamed.predict(X), whole, rtol=1e-9)
    raw = FeaturedModel(PolynomialFeatures(2), cr.LinearRegression())
    np.testing.assert_allclose(
        raw.partial_fit(X[:40], Y[:40]).partial_fit(X[40:], Y[40:]).predict(X), raw.fit(X, Y).predict(X), rtol=1e-8
    )
    assert not hasattr(FeaturedModel(Quadratic(), cr.LogisticRegression()), "partial_fit")


def test_classes_and_weights():
    labels = np.where(np.median(Y) < Y, "high", "low")
    model = FeaturedModel(Quadratic(), cr.LogisticRegression()).fit(X, labels, sample_weight=np.full(60, 2.0))
    assert model.classes_.tolist() == ["high", "low"]
    assert model.predict_distribution(X).probabilities.shape == (60, 2)
    assert model.score(X, labels) > 0.9


def test_round_trip(tmp_path):
    model = FeaturedModel(Quadratic(True), cr.LinearRegression()).fit(X, Y)
    cr.save(model, tmp_path / "model.credo")
    assert np.array_equal(cr.load(tmp_path / "model.credo").predict(X), model.predict(X))


def test_no_evidence_is_said():
    with pytest.raises(UnavailableError, match="evidence"):
        _ = FeaturedModel(Quadratic(), cr.LinearRegression(prior=cr.Flat())).fit(X, Y).log_evidence_


def test_source_is_sampled_over_its_whole_length():
    rows, weights = evenly_sampled(ArraySource(np.arange(1000.0)[:, None], block_rows=64), rows=50)
    assert 50 <= len(rows) <= 100
    assert weights is None
    assert np.all(np.diff(rows[:, 0]) == 16.0)


def test_quadratic_terms_are_orthonormal():
    terms = Quadratic(share=1.0).fit_transform(X)
    assert terms.shape == (60, 5)  # the indicator has no square
    gram = terms.T @ terms / 60
    for first, second in ((0, 3), (1, 4)):
        assert abs(gram[first, second]) < 1e-12  # a square beside its own column
    np.testing.assert_allclose(np.diag(gram)[:3], 1.0)
    np.testing.assert_allclose(np.diag(gram)[3:], 3 / 2)  # two squares share what three linear terms have
    assert np.allclose(np.square(Quadratic().fit_transform(X)[:, 3:]).mean(axis=0), 3 / 8)


def test_redundant_products_are_left_out():
    a = np.array([0.0, 1, 0, 0, 1, 0, 0, 1])
    b = np.array([0.0, 0, 1, 0, 0, 1, 0, 0])  # never on together with a
    c = np.array([0.0, 0, 0, 1, 1, 1, 0, 0])  # all four combinations with a, and with b
    table = np.column_stack([a, b, c, np.full(8, 7.0)])
    names = Quadratic(interactions=True).fit(table).get_feature_names_out(["a", "b", "c", "k"]).tolist()
    assert names == ["a", "b", "c", "a × c", "b × c"]


def test_rows_of_weight_two_are_rows_twice():
    weights = rng.integers(0, 3, 60)
    weighted = Quadratic(True).fit(X, sample_weight=weights).transform(X)
    repeated = Quadratic(True).fit(np.repeat(X, weights, axis=0)).transform(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_units_do_not_matter(scale):
    np.testing.assert_allclose(
        Quadratic(True).fit_transform(X * scale), Quadratic(True).fit_transform(X), rtol=1e-9, atol=1e-12
    )


def test_bad_share():
    with pytest.raises(ParameterError, match="share"):
        Quadratic(share=0.0).fit(X)
