"""`LinearRegression` against the evidence references, the NIST sets and the linear posteriors of posteriordb.

posteriordb's flat prior on σ is not among Credo's (flat coefficients come with 1/σ² on σ²), but it changes the degrees
of freedom alone: the coefficients are Student-t about the same estimate, with n − P − 1 of them instead of n − P and
the same residual sum of squares, which is a known factor on the sd. Its kidiq and sblrc models (half-Cauchy and
half-Normal σ) and kilpisjarvi (stated coefficients, flat σ) are left out: no exact rung takes those priors together.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import credo as cr

DATA = Path(os.environ["CREDO_REFERENCE_DATA"])
TARGETS = {"diabetes_lars": "progression", "prostate": "lpsa", "uci_concrete": "strength_mpa"}
LLS = sorted(path.stem.removesuffix("_certified") for path in (DATA / "nist" / "lls").glob("*.json"))
UNIVARIATE = sorted(path.stem.removesuffix("_certified") for path in (DATA / "nist" / "univariate").glob("*.json"))
#: lowest number of digits by NIST's level of difficulty
BARS = {"Lower": 9.0, "Average": 8.0, "Higher": 7.0}


def digits(value, reference) -> float:
    """−log10 of the largest relative error (absolute where the reference is 0), at most 17."""
    value, reference = np.asarray(value, dtype=float), np.asarray(reference, dtype=float)
    error = np.abs(value - reference) / np.where(reference == 0.0, 1.0, np.abs(reference))
    return float(-np.log10(np.max(error) + 1e-17))


def evidence_reference(name):
    """Standardised inputs, centred target, the target's mean, and the stored values."""
    reference = json.loads((DATA / "references" / f"evidence_linear_{name}.json").read_text())
    frame = pl.read_csv(DATA / "tables" / f"{name}.csv", infer_schema_length=None)
    X, y = frame.select(reference["columns"]).to_numpy().astype(float), frame[TARGETS[name]].to_numpy()
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y - y.mean(), y.mean(), reference


@pytest.mark.parametrize("name", TARGETS)
def test_evidence_maximised(name, record_property):
    X, y, mean, reference = evidence_reference(name)
    model = cr.LinearRegression(prior=cr.Normal(0, None), inference="evidence", fit_intercept=False).fit(X, y)
    p, stored = model.predict_distribution(X[reference["predictive"]["rows"]]), reference["predictive"]
    found = {
        "prior precision": digits(model.prior_scale_**-2, reference["alpha"]),
        "noise precision": digits(model.noise_scale_**-2, reference["beta"]),
        "log evidence": digits(model.log_evidence_, reference["log_evidence_at_maximum"]),
        "mean": digits(model.coef_, reference["posterior_mean"]),
        "sd": digits(model.posterior_.sd, reference["posterior_sd"]),
        "predictive": min(digits(p.mean + mean, stored["mean_of_target"]), digits(p.variance, stored["variance"])),
    }
    for what, n in found.items():
        record_property(f"digits of {what}", n)
    assert min(found.values()) >= 9.0, found


@pytest.mark.parametrize("name", TARGETS)
def test_evidence_of_a_stated_prior_and_noise(name, record_property):
    X, y, _, reference = evidence_reference(name)
    fixed = reference["fixed"]
    model = cr.LinearRegression(
        prior=cr.Normal(0, fixed["alpha"] ** -0.5), noise=cr.noise.Normal(fixed["beta"] ** -0.5), fit_intercept=False
    ).fit(X, y)
    found = digits(model.log_evidence_, fixed["log_evidence"]), digits(model.coef_, fixed["posterior_mean"])
    record_property("digits of log evidence", found[0])
    record_property("digits of mean", found[1])
    assert min(found) >= 9.0


def nist_table(name):
    """The design of B0, B1, ... in raw powers of x, the target and the stored values."""
    reference = json.loads((DATA / "nist" / "lls" / f"{name}_certified.json").read_text())
    rows = np.loadtxt(DATA / "nist" / "lls" / f"{name}.csv", delimiter=",", skiprows=1)
    start = int(name.startswith("noint"))
    powers = np.arange(start, start + len(reference["parameters"]))
    X = np.column_stack([np.ones(len(rows)), rows[:, 1:]]) if name == "longley" else rows[:, 1:] ** powers
    return X, rows[:, 0], reference


# Wampler 1 and 2 are exact polynomials: Credo says that they are fitted exactly.
@pytest.mark.filterwarnings("ignore:.*fit the rows exactly:credo.errors.DataWarning")
@pytest.mark.parametrize("name", LLS)
def test_certified_least_squares(name, record_property):
    X, y, reference = nist_table(name)
    model = cr.LinearRegression(prior=cr.Flat(), fit_intercept=False).fit(X, y)
    columns = reference["parameters"].values()
    found = {
        "estimate": digits(model.coef_, [column["estimate"] for column in columns]),
        "standard error": digits(model.posterior_.marginals.scale[0], [column["std_error"] for column in columns]),
        "residual sd": digits(model.noise_scale_, reference["residual_sd"]),
    }
    for what, n in found.items():
        record_property(f"digits of {what}", n)
    assert min(found.values()) >= BARS[reference["difficulty"].split()[0]], found


@pytest.mark.parametrize("kind", ["known_noise", "normal_inverse_gamma"])
@pytest.mark.parametrize("name", LLS)
def test_conjugate_references(name, kind, record_property):
    X, y, reference = nist_table(name)
    stored, p = reference["derived_conjugate_reference"][kind], X.shape[1]
    if kind == "known_noise":
        prior, noise = cr.Normal(0, 10), cr.noise.Normal(stored["noise_variance"] ** 0.5)
    else:
        prior, noise = cr.NormalInverseGamma(np.zeros(p), np.full(p, 100.0), 2.0, 1.0), None
    model = cr.LinearRegression(prior=prior, noise=noise, fit_intercept=False).fit(X, y)
    sd = stored.get("posterior_sd", stored.get("posterior_sd_beta"))
    found = {
        "mean": digits(model.coef_, stored["posterior_mean"]),
        "sd": digits(model.posterior_.sd, sd),
        "log evidence": digits(model.log_evidence_, stored["log_evidence"]),
    }
    for what, n in found.items():
        record_property(f"digits of {what}", n)
    assert min(found.values()) >= 9.0, found


def sample_posterior(name):
    """The posterior of μ for a sample y ~ N(μ, σ²) under 1/σ: a column of ones under the flat prior."""
    reference = json.loads((DATA / "nist" / "univariate" / f"{name}_certified.json").read_text())
    y = np.loadtxt(DATA / "nist" / "univariate" / f"{name}.csv", skiprows=1)
    return cr.LinearRegression(prior=cr.Flat(), fit_intercept=False).fit(np.ones((len(y), 1)), y), reference


@pytest.mark.parametrize("name", UNIVARIATE)
def test_certified_mean_and_sd(name, record_property):
    model, reference = sample_posterior(name)
    found = digits(model.coef_[0], reference["sample_mean"]), digits(model.noise_scale_, reference["sample_sd"])
    record_property("digits of mean", found[0])
    record_property("digits of sd", found[1])
    assert min(found) >= 9.0


# numacc1 has three rows: the Student-t has two degrees of freedom and no sd, and no reference is stored.
@pytest.mark.parametrize("name", [name for name in UNIVARIATE if name != "numacc1"])
def test_posterior_of_a_normal_sample(name, record_property):
    model, reference = sample_posterior(name)
    stored, posterior = reference["derived_normal_posterior"]["mu"], model.posterior_
    # Stored less a whole number of the sample's size, so that their digits show. Four roundings at that size, of y, its
    # mean, the quantile and the difference, leave 4 · 2⁻⁵³ of it.
    beyond = {k: v for k, v in stored["quantiles_minus_offset"].items() if k != "offset"}
    offset = stored["quantiles_minus_offset"]["offset"]
    quantiles = posterior.quantile(np.array([float(q) for q in beyond]))[:, 0]
    error = np.max(np.abs(quantiles - offset - np.array(list(beyond.values())))) / stored["sd"]
    record_property("digits of sd", digits(posterior.sd[0], stored["sd"]))
    record_property("error of a quantile in sds", float(error))
    assert digits(posterior.sd[0], stored["sd"]) >= 9.0
    assert error <= 1e-9 + 2.0**-51 * abs(offset) / stored["sd"]


def indicator(values, level):
    return (np.asarray(values) == level).astype(float)


def earnings(d, *columns):
    male = np.asarray(d["male"], dtype=float)
    parts = {"height": d["height"], "male": male, "both": np.asarray(d["height"]) * male}
    return [np.asarray(parts[name], dtype=float) for name in columns]


def volume(d):
    return np.log(np.asarray(d["diam1"], dtype=float) * d["diam2"] * d["canopy_height"])


def mesquite(d, transform):
    names = ("diam1", "diam2", "canopy_height", "total_height", "density")
    return [*(transform(np.asarray(d[name], dtype=float)) for name in names), d["group"]]


def nes(d):
    ages = [indicator(d["age_discrete"], level) for level in (2, 3, 4)]
    return [d["real_ideo"], d["race_adj"], *ages, d["educ1"], d["gender"], d["income"]]


#: posterior → columns beside the intercept, and the target
POSTERIORS = {
    "earnings-earn_height": (lambda d: earnings(d, "height"), lambda d: d["earn"]),
    "earnings-logearn_height": (lambda d: earnings(d, "height"), lambda d: np.log(d["earn"])),
    "earnings-logearn_height_male": (lambda d: earnings(d, "height", "male"), lambda d: np.log(d["earn"])),
    "earnings-logearn_interaction": (lambda d: earnings(d, "height", "male", "both"), lambda d: np.log(d["earn"])),
    "mesquite-mesquite": (lambda d: mesquite(d, np.positive), lambda d: d["weight"]),
    "mesquite-logmesquite": (lambda d: mesquite(d, np.log), lambda d: np.log(d["weight"])),
    "mesquite-logmesquite_logvolume": (lambda d: [volume(d)], lambda d: np.log(d["weight"])),
    "mesquite-logmesquite_logva": (
        lambda d: [volume(d), np.log(np.asarray(d["diam1"], dtype=float) * d["diam2"]), d["group"]],
        lambda d: np.log(d["weight"]),
    ),
    **{f"nes{year}-nes": (nes, lambda d: d["partyid7"]) for year in (1972, 1980, 1988, 1996)},
}


@pytest.mark.parametrize("name", POSTERIORS)
def test_flat_prior_of_posteriordb(name, record_property):
    stored = json.loads((DATA / "posteriordb" / "reference" / f"{name}.json").read_text())
    data = json.loads((DATA / "posteriordb" / "data" / f"{stored['data']}.json").read_text())
    columns, target = POSTERIORS[name]
    X, y = np.column_stack(columns(data)).astype(float), np.asarray(target(data), dtype=float)
    model = cr.LinearRegression(prior=cr.Flat()).fit(X, y)
    exact = [stored["exact"]["parameters"][f"beta[{k}]"] for k in range(1, X.shape[1] + 2)]
    mean = np.append(model.intercept_, model.coef_)
    sd = np.append(model.posterior_.intercept.sd, model.posterior_.sd)
    df = len(y) - X.shape[1] - 1
    assert model.posterior_.belief.df == df
    found = {
        "mean": digits(mean, [each["mean"] for each in exact]),
        "sd": digits(sd * np.sqrt((df - 2) / (df - 3)), [each["sd"] for each in exact]),
    }
    draws = [stored["parameters"][f"beta[{k}]"] for k in range(1, X.shape[1] + 2)]
    z = np.abs(mean - [each["mean"] for each in draws]) / [each["mcse_mean"] for each in draws]
    for what, n in found.items():
        record_property(f"digits of {what}", n)
    record_property("largest z against the reference draws", float(z.max()))
    assert min(found.values()) >= 9.0, found
    assert z.max() < 4.0  # false alarm 6e-5 a coefficient
