"""Bumps against their definition; centres against what they are for."""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from credo.tables.features import RadialBasis
from credo.tables.features.radial import MAX_ROWS, nearest_distance


def test_definition() -> None:
    rng = np.random.default_rng(0)
    X, centers = rng.normal(size=(40, 3)), rng.normal(size=(6, 3))
    fitted = RadialBasis(centers=centers, lengthscale=[0.5, 1.0, 2.0]).fit(X)
    expected = RBF([0.5, 1.0, 2.0])(X, centers)
    np.testing.assert_allclose(fitted.transform(X), expected, rtol=1e-12)


def test_far_from_zero_distances_do_not_cancel() -> None:
    X = np.array([[0.0], [0.25], [1.0]])
    near = RadialBasis(centers=[[0.0]], lengthscale=1.0).fit(X).transform(X)
    far = RadialBasis(centers=[[1e8]], lengthscale=1.0).fit(X).transform(X + 1e8)
    np.testing.assert_array_equal(near, far)


def test_centres_find_the_clusters_and_units_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    places = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    X = np.repeat(places, 100, axis=0) + rng.normal(size=(300, 2)) * 0.1
    found = RadialBasis(3, random_state=0).fit(X)
    np.testing.assert_allclose(found.centers_, places[[0, 2, 1]], atol=0.1)
    units = np.array([1e-3, 1e6])
    scaled = RadialBasis(3, random_state=0).fit(X * units)
    np.testing.assert_allclose(scaled.transform(X * units), found.transform(X), rtol=1e-9)


def test_the_default_lengthscale_is_the_distance_between_neighbours() -> None:
    fitted = RadialBasis(centers=[[0.0], [1.0], [3.0]]).fit([[-1.0], [1.0]])  # sd 1
    assert fitted.lengthscale_.tolist() == [(1.0 + 1.0 + 2.0) / 3.0]
    assert nearest_distance(np.zeros((1, 2))) == 1.0
    assert nearest_distance(np.zeros((3, 2))) == 1.0


def test_same_seed_same_centres_and_a_large_table_is_sampled() -> None:
    X = np.random.default_rng(2).normal(size=(MAX_ROWS + 50, 2))
    a, b = (RadialBasis(4, random_state=5).fit(X).centers_ for _ in range(2))
    assert np.array_equal(a, b)
    generators = [RadialBasis(4, random_state=np.random.default_rng(5)).fit(X).centers_ for _ in range(2)]
    assert np.array_equal(*generators)
    assert not np.array_equal(a, RadialBasis(4, random_state=6).fit(X).centers_)


def test_quantile_placement_and_fewer_distinct_rows_than_centres() -> None:
    x = np.arange(1.0, 101.0)[:, None]
    fitted = RadialBasis(4, placement="quantile").fit(x)
    np.testing.assert_allclose(fitted.centers_[:, 0], np.quantile(x, [0.125, 0.375, 0.625, 0.875]))
    assert fitted.get_feature_names_out(["t"])[0] == "rbf(t−13.375)"
    for placement in ("quantile", "kmeans"):
        few = RadialBasis(10, placement=placement, random_state=0).fit([[1.0], [2.0], [1.0]])
        assert np.isclose(few.centers_.min(), 1.0)
        assert len(few.centers_) <= 10
        assert np.isfinite(few.transform([[5.0]])).all()
    constant = RadialBasis(10, random_state=0).fit(np.ones((4, 2)))
    assert constant.transform(np.ones((1, 2))).tolist() == [[1.0]]
