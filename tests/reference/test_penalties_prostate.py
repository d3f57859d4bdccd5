"""Is the λ chosen by cross-validation an estimate of σ²? The prostate data of docs/concepts/penalties.md."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import credo as cr
from credo.models.linear.paths import ridge_path
from credo.models.linear.penalties import prior_to_ridge


@pytest.fixture(scope="module")
def prostate():
    frame = pl.read_csv(Path(os.environ["CREDO_REFERENCE_DATA"]) / "tables" / "prostate.csv")
    X = frame.drop("lpsa", "train").to_numpy().astype(float)
    return (X - X.mean(axis=0)) / X.std(axis=0), frame["lpsa"].to_numpy()


def test_lambda_is_a_ratio(prostate):
    X, y = prostate
    grid = np.geomspace(1e4, 1e-2, 121)
    chosen = ridge_path(X, y, grid).cross_validate(X, y)
    for unit in (10.0, 0.1):  # σ² changes a hundredfold, λ not at all
        assert ridge_path(X, unit * y, grid).cross_validate(X, unit * y).best == chosen.best


def test_cross_validation_and_evidence_predict_alike(prostate):
    X, y = prostate
    path = ridge_path(X, y, np.geomspace(1e4, 1e-2, 121))
    cv = path.cross_validate(X, y)
    fit = cr.LinearRegression(prior=cr.Normal(0, None), inference="evidence").fit(X, y)
    by_evidence = prior_to_ridge(cr.Normal(0, fit.prior_scale_), fit.noise_scale_)
    nearest = np.abs(np.log(path.penalties / by_evidence)).argmin()
    assert cv.mean[nearest] < cv.mean[cv.best] + cv.standard_error[cv.best]
    # Least squares puts the noise at sd .70 too, σ² = .49; the penalties are 12.6 and 6.5.
    assert abs(fit.noise_scale_ - cr.LinearRegression(prior=cr.Flat()).fit(X, y).noise_scale_) < 0.01
    assert path.penalties[cv.best] > 10 * fit.noise_scale_**2
    assert by_evidence > 10 * fit.noise_scale_**2
