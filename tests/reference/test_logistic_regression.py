"""`LogisticRegression` against modes, Laplace approximations and posteriors found by quasi-Monte-Carlo elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import credo as cr

DATA = Path(os.environ["CREDO_REFERENCE_DATA"])


def table(name: str) -> pl.DataFrame:
    return pl.read_csv(DATA / "tables" / f"{name}.csv", infer_schema_length=None)


def orings(_):
    frame = table("orings")
    return frame.select("Temperature"), frame["Total"] > 0


def iris_virginica(columns):
    frame = table("iris").filter(pl.col("Species") != "setosa")
    return frame.select(columns), frame["Species"] == "virginica"


def prostate_svi(columns):
    frame = table("prostate")
    return frame.select(columns), frame["svi"] == 1


def titanic(_):
    frame = table("titanic").drop_nulls("age")
    made = frame.select(
        "age",
        male=pl.col("sex") == "male",
        pclass2=pl.col("pclass") == 2,
        pclass3=pl.col("pclass") == 3,
        sibsp="sibsp",
        parch="parch",
    )
    return made, frame["survived"] == 1


CASES = {"orings": orings, "iris_virginica": iris_virginica, "prostate_svi": prostate_svi, "titanic": titanic}


def problem(name):
    """Standardised columns, labels and the stored values."""
    reference = json.loads((DATA / "references" / f"glm_{name}.json").read_text())
    frame, y = CASES[name](reference["columns"][1:])
    X = frame.to_numpy().astype(float)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y.to_numpy().astype(int), reference


def fitted(name, **options):
    X, y, reference = problem(name)
    model = cr.LogisticRegression(prior=cr.Normal(0, 2.5), prior_intercept=cr.Normal(0, 10), **options).fit(X, y)
    return X, model, reference


@pytest.mark.parametrize("name", CASES)
def test_mode_and_curvature(name, record_property):
    X, model, reference = fitted(name, inference="map")
    theta = np.append(model.intercept_, model.coef_)
    rows = np.column_stack([np.ones(len(X)), X])
    p = 1.0 / (1.0 + np.exp(-rows @ theta))
    precision = (rows * (p * (1.0 - p))[:, None]).T @ rows + np.diag([0.01, *[0.16] * X.shape[1]])
    error = np.max(np.abs(theta - reference["map"]))
    sd_error = np.max(np.abs(np.sqrt(np.diag(np.linalg.inv(precision))) / reference["laplace_sd"] - 1.0))
    record_property("largest error of the mode", float(error))
    record_property("largest relative error of a Laplace sd", float(sd_error))
    assert error <= 1e-8
    assert sd_error <= 1e-8


@pytest.mark.parametrize("name", CASES)
def test_posterior_and_evidence(name, record_property):
    """Means and sds within four standard errors of both (false alarm 6e-5 each), the evidence within 0.02."""
    _, model, reference = fitted(name)
    stored, posterior = reference["posterior"], model.posterior_
    mean = np.append(posterior.intercept_mean, posterior.mean)
    sd = np.append(posterior.intercept_sd, posterior.sd)
    draws = posterior.draws
    # Standard errors of self-normalised importance sampling (Owen 2013, Monte Carlo theory, §9.2).
    square, deviation = np.square(draws.weights) @ np.square(draws.points - draws.mean), draws.points - draws.mean
    mean_error = np.sqrt(square + np.square(stored["se_of_mean"]))
    sd_error = np.sqrt(np.square(draws.weights) @ np.square(np.square(deviation) - np.square(sd))) / (2.0 * sd)
    z_mean = np.max(np.abs(mean - stored["mean"]) / mean_error)
    z_sd = np.max(np.abs(sd - stored["sd"]) / np.hypot(sd_error, np.array(stored["sd"]) / np.sqrt(2e4)))
    difference = model.log_evidence_ - stored["log_evidence"]
    record_property("largest z of a mean", float(z_mean))
    record_property("largest z of an sd", float(z_sd))
    record_property("error of the log evidence", float(difference))
    record_property("Pareto k", float(model.result_.certificate["pareto_k"]))
    assert model.result_.ok
    assert z_mean < 4.0
    assert z_sd < 4.0
    assert abs(difference) <= 0.02
