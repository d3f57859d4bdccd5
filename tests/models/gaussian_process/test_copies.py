"""Copies of rows, and the noise that is learned beside them."""

import warnings

import numpy as np
import pytest

import credo as cr
from credo.errors import DataWarning

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(20, 1))
Y = np.sin(3.0 * X[:, 0]) + 0.2 * RNG.normal(size=20)


@pytest.mark.parametrize("times", [2, 5])
def test_noise_read_off_copies_is_said(times):
    with pytest.warns(DataWarning, match="20 of 20 distinct rows come in copies"):
        cr.GaussianProcessRegressor().fit(np.repeat(X, times, axis=0), np.repeat(Y, times))


def test_weights_are_copies_too():
    with pytest.warns(DataWarning, match="copies"):
        cr.GaussianProcessRegressor().fit(X, Y, sample_weight=np.full(20, 3.0))


def test_repeated_measurements_and_stated_noise_are_silent():
    again = np.repeat(Y, 2) + 0.2 * RNG.normal(size=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cr.GaussianProcessRegressor().fit(np.repeat(X, 2, axis=0), again)
        cr.GaussianProcessRegressor(noise=0.2).fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2))
