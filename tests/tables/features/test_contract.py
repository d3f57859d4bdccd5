"""What every feature map promises: scikit-learn's checks, row by row, names, saving, named errors."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from credo.errors import CredoError, DataError, SaveError
from credo.saving import load, save
from credo.tables.features import Fourier, Interactions, PolynomialFeatures, RadialBasis, Splines
from credo.tables.features.base import FeatureMap

MAPS = [
    PolynomialFeatures(),
    PolynomialFeatures(3, include_bias=True),
    PolynomialFeatures(2, orthogonal=True),
    Interactions(),
    Splines(),
    Splines(4, degree=2, knots="uniform", extrapolation="constant", include_bias=True),
    Splines(kind="natural"),
    Splines(kind="periodic", period=2.5),
    Fourier(period=2.0),
    RadialBasis(5),
]


SEED = {RadialBasis: {"random_state": 0}}


@parametrize_with_checks(MAPS)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def each(**options: Any) -> Any:
    return pytest.mark.parametrize("feature_map", MAPS, ids=repr, **options)


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(157, 9))  # 9: from 8 on NumPy sums in another order


@each()
def test_blocks_give_the_same_bits_as_the_whole(feature_map: FeatureMap, X: np.ndarray) -> None:
    """However the rows are cut, ordered in memory or typed by a frame."""
    fitted = feature_map.fit(X[:100])
    whole = fitted.transform(X)
    for size in (1, 7, 64):
        blocks = [fitted.transform(X[i : i + size]) for i in range(0, len(X), size)]
        assert np.array_equal(np.vstack(blocks), whole)
    assert np.array_equal(fitted.transform(np.asfortranarray(X)), whole)
    assert np.array_equal(fitted.transform(X[::-1])[::-1], whole)
    assert whole.dtype == np.float64


@each()
def test_names_are_one_a_column_and_distinct(feature_map: FeatureMap, X: np.ndarray) -> None:
    fitted = feature_map.fit(X)
    names = fitted.get_feature_names_out()
    assert len(names) == fitted.transform(X).shape[1]
    assert len(set(names)) == len(names)
    with pytest.raises(DataError, match="length"):
        fitted.get_feature_names_out(["a"])


def framed(X: np.ndarray, frame: Any = pd.DataFrame) -> Any:
    return frame(dict(zip("abcdefghi", X.T, strict=True)))


@each()
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_their_names(feature_map: FeatureMap, frame: Any, X: np.ndarray) -> None:
    fitted = clone(feature_map).set_params(**SEED.get(type(feature_map), {})).fit(framed(X, frame))
    assert list(fitted.feature_names_in_) == list("abcdefghi")
    plain = clone(fitted).fit(X)
    assert np.array_equal(fitted.transform(framed(X, frame)), plain.transform(X))
    expected = [name.replace("x7", "h").replace("x8", "i") for name in plain.get_feature_names_out()][-1]
    assert fitted.get_feature_names_out()[-1] == expected
    with pytest.raises(DataError, match="feature names"):
        fitted.transform(frame({"z": X[:, 0]}))


@each()
def test_saving(feature_map: FeatureMap, X: np.ndarray) -> None:
    fitted = feature_map.fit(framed(X))
    file, again = io.BytesIO(), io.BytesIO()
    save(fitted, file)
    loaded = load(file)
    assert type(loaded) is type(fitted)
    assert np.array_equal(loaded.transform(framed(X)), fitted.transform(framed(X)))
    assert list(loaded.get_feature_names_out()) == list(fitted.get_feature_names_out())
    save(loaded, again)
    assert again.getvalue() == file.getvalue()


def test_a_pipeline_is_saved_with_its_steps(X: np.ndarray) -> None:
    fitted = make_pipeline(Splines(), PolynomialFeatures()).fit(X)
    file = io.BytesIO()
    save(fitted, file)
    loaded = load(file)
    assert np.array_equal(loaded.transform(X), fitted.transform(X))
    assert list(loaded.get_feature_names_out()) == list(fitted.get_feature_names_out())
    with pytest.raises(SaveError, match=r"model\.steps\[0\]\[1\] is a sklearn"):
        save(make_pipeline(StandardScaler(), Splines()).fit(X), file)


@each()
def test_bad_cells_are_named(feature_map: FeatureMap, X: np.ndarray) -> None:
    fitted = feature_map.fit(framed(X))
    for bad in (np.nan, np.inf):
        Z = X.copy()
        Z[[5, 8], 2] = bad
        for action in (fitted.transform, clone(fitted).fit):
            with pytest.raises(DataError, match=r"2 rows \(first: row 5\), columns c") as caught:
                action(framed(Z))
            assert caught.value.rows == [5, 8]
            assert caught.value.columns == ["c"]


@each()
@pytest.mark.parametrize("scale", [1e-200, 1e8, 1e100])
def test_any_unit(feature_map: FeatureMap, scale: float, X: np.ndarray) -> None:
    """Finite rows in units however odd give finite columns."""
    assert np.isfinite(feature_map.fit(scale * X).transform(scale * X)).all()


def test_overflow_is_named() -> None:
    with pytest.raises(DataError, match=r"'x1\^2' overflows in row 1") as caught:
        PolynomialFeatures().fit_transform([[1.0, 1.0], [1.0, 1e200]])
    assert caught.value.rows == [1]


WRONG = [
    PolynomialFeatures(0),
    PolynomialFeatures(1.5),  # type: ignore[arg-type]
    PolynomialFeatures(True),
    PolynomialFeatures(30),
    PolynomialFeatures(2, orthogonal="yes"),  # type: ignore[arg-type]
    PolynomialFeatures(160, interaction_only=True, orthogonal=True, include_bias=1),  # type: ignore[arg-type]
    Interactions(1),
    Interactions(include_main=None),  # type: ignore[arg-type]
    Splines(1),
    Splines(degree=0),
    Splines(kind="cubic"),
    Splines(kind="natural", degree=2),
    Splines(kind="natural", extrapolation="continue"),
    Splines(kind="periodic"),
    Splines(2, kind="periodic", period=1.0),
    Splines(kind="periodic", period=-1.0),
    Splines(kind="periodic", period="week"),  # type: ignore[arg-type]
    Splines(kind="periodic", period=2.0, knots=[0.0, 1.0]),
    Splines(period=1.0),
    Splines(knots="random"),
    Splines(knots=[1.0]),
    Splines(knots=[1.0, 1.0]),
    Splines(knots=[0.0, np.nan]),
    Splines(knots=[["a", "b"]]),
    Splines(knots=3.0),
    Splines(extrapolation="zero"),
    Fourier(0),
    Fourier(np.inf),
    Fourier([1.0, 2.0]),
    Fourier("year"),
    Fourier(order=0),
    RadialBasis(0),
    RadialBasis(lengthscale=-1.0),
    RadialBasis(lengthscale=[1.0, 2.0]),
    RadialBasis(centers=[[1.0, 2.0]]),
    RadialBasis(centers=[]),
    RadialBasis(placement="grid"),
    RadialBasis(placement="quantile"),
    RadialBasis(random_state="seed"),
]


@pytest.mark.parametrize("feature_map", WRONG, ids=repr)
def test_wrong_arguments_are_named(feature_map: FeatureMap, X: np.ndarray) -> None:
    with pytest.raises(CredoError) as caught:
        feature_map.fit(X)
    assert type(feature_map).__name__ in str(caught.value) or "random_state" in str(caught.value)


@each()
def test_empty_and_misshapen_input(feature_map: FeatureMap, X: np.ndarray) -> None:
    for wrong in (np.empty((0, 3)), np.empty((3, 0)), X[0], X[None], [["a"]]):
        with pytest.raises(DataError):
            feature_map.fit(wrong)
    with pytest.raises(DataError, match="9 features"):
        feature_map.fit(X).transform(X[:, :3])
