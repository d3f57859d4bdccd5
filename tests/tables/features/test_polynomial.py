"""Polynomials against their definition, exact arithmetic and scikit-learn."""

from __future__ import annotations

import fractions

import numpy as np
import pytest
import sklearn.preprocessing
from hypothesis import given
from hypothesis import strategies as st

from credo.errors import DataError, ParameterError
from credo.tables.features import Interactions, PolynomialFeatures
from credo.tables.features.polynomial import exponents, n_exponents


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("include_bias", [False, True])
def test_same_columns_as_scikit_learn(degree: int, interaction_only: bool, include_bias: bool) -> None:
    X = np.random.default_rng(0).normal(size=(20, 4))
    options = {"degree": degree, "interaction_only": interaction_only, "include_bias": include_bias}
    theirs = sklearn.preprocessing.PolynomialFeatures(**options).fit(X)
    ours = PolynomialFeatures(**options).fit(X)
    assert np.array_equal(ours.powers_, theirs.powers_)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-14)


@given(st.integers(1, 5), st.integers(0, 1), st.integers(1, 4), st.booleans())
def test_the_count_is_known_without_enumerating(columns: int, lowest: int, degree: int, only: bool) -> None:
    assert n_exponents(columns, lowest, degree, only) == len(exponents(columns, lowest, degree, only))


def test_raw_powers_are_within_one_rounding_of_the_exact_value() -> None:
    """NIST's Filip problem uses x¹⁰ on [−9, −3]; the bound is one unit in the last place."""
    x = np.random.default_rng(1).uniform(-9, -3, size=200)
    powers = PolynomialFeatures(10).fit_transform(x[:, None])
    for row, value in zip(powers, x, strict=True):
        for k, power in enumerate(row, start=1):
            exact = fractions.Fraction(value) ** k
            assert abs(fractions.Fraction(power) - exact) <= fractions.Fraction(np.spacing(abs(power)))


@pytest.mark.parametrize(("offset", "spread"), [(0.0, 1.0), (1e8, 1.0), (-3.0, 1e-6)])
def test_orthogonal_columns_are_orthonormal_and_span_the_same_functions(offset: float, spread: float) -> None:
    z = np.random.default_rng(2).normal(size=300)
    x = offset + spread * z
    features = PolynomialFeatures(10, orthogonal=True, include_bias=True).fit_transform(x[:, None])
    # Stieltjes' procedure loses a digit or two over ten degrees; an ill-conditioned basis would lose all.
    np.testing.assert_allclose(features.T @ features / 300, np.eye(11), atol=1e-10)
    target = np.polynomial.chebyshev.chebval((x - x.mean()) / np.ptp(x), [1, 2, 3, 4, 5])
    assert np.allclose(features @ (features.T @ target / 300), target, rtol=1e-9)


def test_orthogonal_products_of_columns() -> None:
    X = np.random.default_rng(4).normal(size=(50, 2))
    fitted = PolynomialFeatures(3, orthogonal=True).fit(X)
    names = list(fitted.get_feature_names_out(["x", "z"]))
    assert names[:5] == ["P1(x)", "P1(z)", "P2(x)", "P1(x)·P1(z)", "P2(z)"]
    F = fitted.transform(X)
    np.testing.assert_array_equal(F[:, 3], F[:, 0] * F[:, 1])
    np.testing.assert_allclose(F[:, 0], (X[:, 0] - X[:, 0].mean()) / X[:, 0].std(), rtol=1e-12)


def test_too_few_distinct_values_for_the_degree() -> None:
    X = np.column_stack([np.arange(6.0), [0, 1, 0, 1, 0, 1]])
    PolynomialFeatures(1, orthogonal=True).fit(X)
    with pytest.raises(DataError, match="needs 3 distinct values; columns with fewer: x1") as caught:
        PolynomialFeatures(2, orthogonal=True).fit(X)
    assert caught.value.columns == ["x1"]


def test_names() -> None:
    fitted = PolynomialFeatures(3, include_bias=True).fit(np.zeros((1, 2)))
    assert list(fitted.get_feature_names_out(["a", "b"])) == [
        "1", "a", "b", "a^2", "a·b", "b^2", "a^3", "a^2·b", "a·b^2", "b^3",
    ]  # fmt: skip


def test_interactions_of_three() -> None:
    X = np.array([[2.0, 3.0, 5.0]])
    assert Interactions(3, include_main=False).fit_transform(X).tolist() == [[6.0, 10.0, 15.0, 30.0]]
    assert Interactions(5).fit_transform(X).shape == (1, 7)


def test_a_degree_that_explodes_is_refused_before_it_does() -> None:
    with pytest.raises(ParameterError, match="would give") as caught:
        PolynomialFeatures(8).fit(np.zeros((1, 60)))
    assert caught.value.value == 8
