"""`PoissonRegression` against the mode, Laplace approximation and posterior of coal disasters found elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import polars as pl

import credo as cr
from credo.models.glm import PoissonRegression

DATA = Path(os.environ["CREDO_REFERENCE_DATA"])
NAME = "coal_poisson_trend"


def fitted(**options):
    """Standardised years, the model and the stored values."""
    reference = json.loads((DATA / "references" / f"glm_{NAME}.json").read_text())
    frame = pl.read_csv(DATA / "tables" / "coal_disasters_yearly.csv")
    year, count = (frame[name].to_numpy().astype(float) for name in frame.columns[:2])
    rows = ((year - year.mean()) / year.std(ddof=1))[:, None]
    model = PoissonRegression(prior=cr.Normal(0, 2.5), prior_intercept=cr.Normal(0, 10), **options).fit(rows, count)
    return rows, model, reference


def test_mode_and_curvature(record_property):
    rows, model, reference = fitted(inference="map")
    theta = np.append(model.intercept_, model.coef_)
    design = np.column_stack([np.ones(len(rows)), rows])
    precision = (design * np.exp(design @ theta)[:, None]).T @ design + np.diag([0.01, 0.16])
    error = float(np.max(np.abs(theta - reference["map"])))
    sd_error = float(np.max(np.abs(np.sqrt(np.diag(np.linalg.inv(precision))) / reference["laplace_sd"] - 1.0)))
    record_property("largest error of the mode", error)
    record_property("largest relative error of a Laplace sd", sd_error)
    assert error <= 1e-8
    assert sd_error <= 1e-8


def test_posterior_and_evidence(record_property):
    """Means and sds within four standard errors of both (false alarm 6e-5 each), the evidence within 0.02."""
    _, model, reference = fitted()
    stored, posterior = reference["posterior"], model.posterior_
    mean = np.append(posterior.intercept_mean, posterior.mean)
    sd = np.append(posterior.intercept_sd, posterior.sd)
    draws = posterior.draws
    deviation = draws.points - draws.mean
    mean_error = np.hypot(np.sqrt(np.square(draws.weights) @ np.square(deviation)), stored["se_of_mean"])
    sd_error = np.sqrt(np.square(draws.weights) @ np.square(np.square(deviation) - np.square(sd))) / (2.0 * sd)
    z_mean = float(np.max(np.abs(mean - stored["mean"]) / mean_error))
    z_sd = float(np.max(np.abs(sd - stored["sd"]) / np.hypot(sd_error, np.array(stored["sd"]) / np.sqrt(2e4))))
    difference = float(model.log_evidence_ - stored["log_evidence"])
    for name, value in (("z of a mean", z_mean), ("z of an sd", z_sd), ("error of the log evidence", difference)):
        record_property(name, value)
    assert model.result_.ok
    assert z_mean < 4.0
    assert z_sd < 4.0
    assert abs(difference) <= 0.02
