"""Sines and cosines against their definition."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from credo.tables.features import Fourier


def test_definition_and_order_of_columns() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    features = Fourier(period=[2.0, 5.0], order=2).fit_transform(X)
    expected = [
        function(2 * np.pi * k * X[:, j] / period)
        for j, period in enumerate((2.0, 5.0))
        for k in (1, 2)
        for function in (np.sin, np.cos)
    ]
    np.testing.assert_allclose(features, np.column_stack(expected), atol=1e-14)
    names = Fourier(period=[2.0, 5.0], order=2).fit(X).get_feature_names_out(["a", "b"])
    assert list(names[:5]) == ["sin(2π·a/2)", "cos(2π·a/2)", "sin(4π·a/2)", "cos(4π·a/2)", "sin(2π·b/5)"]


# 2³⁶ days of seconds are still integers that a float64 holds.
@given(st.integers(-(2**36), 2**36), st.integers(0, 86399))
def test_time_stamps_keep_the_digits_of_their_phase(day: int, second: int) -> None:
    fitted = Fourier(period=86400, order=1).fit([[0.0]])
    sine, cosine = fitted.transform([[float(86400 * day + second)]])[0]
    angle = 2 * math.pi * second / 86400
    assert math.isclose(sine, math.sin(angle), abs_tol=2e-15)
    assert math.isclose(cosine, math.cos(angle), abs_tol=2e-15)


def test_over_whole_periods_the_columns_are_orthogonal() -> None:
    x = np.arange(28.0)[:, None]
    F = Fourier(period=7, order=3).fit_transform(x)
    np.testing.assert_allclose(F.T @ F / 28, np.eye(6) / 2, atol=1e-14)
