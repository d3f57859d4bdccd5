"""Splines against their defining properties, SciPy's interpolants and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, make_interp_spline
from sklearn.preprocessing import SplineTransformer

from credo.errors import DataError
from credo.tables.features import Splines

KNOTS = np.array([0.0, 1.0, 2.5, 3.0, 7.0])
INSIDE = np.linspace(0.0, 7.0, 101)


def basis(x: np.ndarray, **options: object) -> np.ndarray:
    return Splines(**{"knots": KNOTS, "include_bias": True, **options}).fit(KNOTS[:, None]).transform(x[:, None])


def test_natural_is_scipy_s_natural_interpolant_of_each_unit_vector() -> None:
    expected = CubicSpline(KNOTS, np.eye(5), bc_type="natural")(INSIDE)
    np.testing.assert_allclose(basis(INSIDE, kind="natural"), expected, atol=1e-13)


def test_natural_goes_on_straight() -> None:
    outside = basis(np.array([-3.0, -2.0, -1.0, 8.0, 9.0, 10.0]), kind="natural")
    np.testing.assert_allclose(outside[0] - outside[1], outside[1] - outside[2], atol=1e-12)
    np.testing.assert_allclose(outside[3] - outside[4], outside[4] - outside[5], atol=1e-12)


def test_a_natural_coefficient_is_a_height_over_the_first_knot() -> None:
    heights = np.array([2.0, 3.0, 1.0, 5.0, 4.0])
    X = Splines(kind="natural", knots=KNOTS).fit(KNOTS[:, None]).transform(KNOTS[:, None])
    np.testing.assert_allclose(heights[0] + X @ (heights[1:] - heights[0]), heights, atol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_bsplines_sum_to_one_and_hold_every_polynomial_of_their_degree(degree: int) -> None:
    B = basis(INSIDE, degree=degree)
    assert B.shape[1] == len(KNOTS) + degree - 1
    np.testing.assert_allclose(B.sum(axis=1), 1.0, atol=1e-13)
    target = np.polynomial.polynomial.polyval(INSIDE, np.arange(1.0, degree + 2))
    fitted = B @ np.linalg.lstsq(B, target, rcond=None)[0]
    np.testing.assert_allclose(fitted, target, rtol=1e-9)


def test_without_bias_the_intercept_takes_the_place_of_the_first_function() -> None:
    for options in ({}, {"kind": "natural"}, {"kind": "periodic", "period": 7.0}):
        whole, without = basis(INSIDE, **options), basis(INSIDE, include_bias=False, **options)
        assert np.array_equal(whole[:, 1:], without)
        assert np.linalg.matrix_rank(np.column_stack([np.ones(101), without])) == np.linalg.matrix_rank(whole)


def test_bsplines_span_scikit_learn_s() -> None:
    X = np.random.default_rng(0).normal(size=(200, 1))
    theirs = SplineTransformer(n_knots=6, knots="quantile").fit_transform(X)
    ours = Splines(6, include_bias=True).fit_transform(X)
    np.testing.assert_allclose(ours @ np.linalg.lstsq(ours, theirs, rcond=None)[0], theirs, atol=1e-10)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("knots", [KNOTS, [0.0, 3.0, 7.0], [0.0, 7.0]])
def test_periodic_repeats_smoothly(degree: int, knots: object) -> None:
    def at(x: float) -> np.ndarray:
        return basis(np.array([x]), kind="periodic", period=7.0, knots=knots, degree=degree)[0]

    for x in (0.0, 0.3, 6.9):
        np.testing.assert_allclose(at(x), at(x + 7.0), atol=1e-12)
        np.testing.assert_allclose(at(x), at(x - 21.0), atol=1e-12)
        np.testing.assert_allclose(at(x).sum(), 1.0, atol=1e-12)
    # No jump at the join: neighbours differ by at most slope × distance, the slope below degree / shortest gap.
    np.testing.assert_allclose(at(-1e-9), at(1e-9), atol=2e-9 * 2 * degree / 0.5)


def test_periodic_is_scipy_s_periodic_interpolant() -> None:
    heights = np.sin(2 * np.pi * KNOTS / 7.0)
    heights[-1] = heights[0]
    expected = make_interp_spline(KNOTS, heights, bc_type="periodic")(INSIDE)
    B = basis(KNOTS[:-1], kind="periodic", period=7.0)
    weights = np.linalg.solve(B, heights[:-1])
    np.testing.assert_allclose(basis(INSIDE, kind="periodic", period=7.0) @ weights, expected, atol=1e-12)


def test_extrapolation() -> None:
    far, ends = np.array([-2.0, 9.0]), np.array([0.0, 7.0])
    at_ends, step = basis(ends), 1e-6
    np.testing.assert_array_equal(basis(far, extrapolation="constant"), at_ends)
    slopes = np.vstack([basis(ends[:1] + step) - at_ends[0], at_ends[1] - basis(ends[1:] - step)]) / step
    np.testing.assert_allclose(basis(far), at_ends + np.array([[-2.0], [2.0]]) * slopes, atol=1e-4)
    inside_left = np.linspace(0.0, 1.0, 4)
    cubic = np.polynomial.polynomial.polyfit(inside_left, basis(inside_left), 3)
    continued = np.polynomial.polynomial.polyval(-2.0, cubic)
    np.testing.assert_allclose(basis(far, extrapolation="continue")[0], continued, atol=1e-9)
    with pytest.raises(DataError, match=r"2 rows lie outside the knots \(first: row 0\)") as caught:
        basis(far, extrapolation="error")
    assert caught.value.columns == ["x0"]
    basis(ends, extrapolation="error")


def test_knots_at_quantiles_merge_ties_and_constant_columns_are_named() -> None:
    X = np.column_stack([np.r_[np.zeros(80), 1:21], np.arange(100.0)])
    fitted = Splines(5).fit(X)
    assert [len(knots) for knots in fitted.knots_] == [2, 5]
    assert fitted.transform(X).shape == (100, (2 + 2 - 1) + (5 + 2 - 1))
    with pytest.raises(DataError, match="constant columns: x1") as caught:
        Splines().fit(np.column_stack([np.arange(5.0), np.ones(5)]))
    assert caught.value.columns == ["x1"]


def test_names_tell_knots_apart() -> None:
    fitted = Splines(kind="natural", knots=[1e8, 1e8 + 1, 1e8 + 2]).fit([[1e8]])
    assert list(fitted.get_feature_names_out(["t"])) == ["t@100000001", "t@100000002"]
    assert list(Splines(2).fit([[0.0], [1.0]]).get_feature_names_out(["t"])) == ["B2(t)", "B3(t)", "B4(t)"]


def test_natural_knots_far_from_zero_keep_their_digits() -> None:
    """Year 2000 in seconds, knots a minute apart."""
    shifted = 9.5e8 + 60.0 * KNOTS
    fitted = Splines(kind="natural", knots=shifted, include_bias=True).fit(shifted[:, None])
    found = fitted.transform((9.5e8 + 60.0 * INSIDE)[:, None])
    # 9.5e8 + 60 u is rounded to 1e-7, so u itself to 2e-9; slopes are below 2 a knot.
    np.testing.assert_allclose(found, basis(INSIDE, kind="natural"), atol=1e-8)
