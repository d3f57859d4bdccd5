"""Every combination of estimator, prior, noise and inference fits with an honest status, or is refused with the reason.

Chains run for a handful of sweeps: what is asked here is whether a cell is offered, not whether it is right (that is
asked by `linear/test_sbc.py` and `glm/test_sbc.py`).
"""

from __future__ import annotations

import functools
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo as cr
from credo.errors import ConvergenceWarning, NotIdentifiedError, ParameterError, UnavailableError
from credo.inference import gibbs_chains
from credo.models import glm
from credo.models.glm import sampling

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "priors.md"
STATUSES = ("exact", "converged", "not_certified", "max_iter", "diverged")

RNG = np.random.default_rng(0)
N = 24
X = RNG.normal(size=(N, 2)) * [1.0, 3.0] + [0.0, 1.0]
Y = X @ [1.0, -0.2] + 0.3 + 0.5 * RNG.normal(size=N)
RATE = np.exp(X @ [0.5, -0.1] + 0.5)

PRIORS = {
    "`None`": None,
    "`Flat()`": cr.Flat(),
    "`Normal(m, s)`": cr.Normal(0, 1),
    "`Normal(m, None)`": cr.Normal(0, None),
    "`MultivariateNormal`": cr.MultivariateNormal(np.zeros(2), np.array([[1.0, 0.3], [0.3, 1.0]])),
    "`NormalInverseGamma`": cr.NormalInverseGamma(np.zeros(2), np.ones(2), shape=2.0, scale=1.0),
    "`Uniform`, near": cr.Uniform(-1, 0.5),
    "`Uniform`, far": cr.Uniform(-100, 100),
    "`Laplace(m, b)`": cr.Laplace(0, 0.5),
    "`Laplace(m, None)`": cr.Laplace(0, None),
    "`StudentT(df, m, s)`": cr.StudentT(4, 0, 1),
    "`StudentT(df, m, None)`": cr.StudentT(4, 0, None),
    "`ElasticNet`": cr.ElasticNet(0.5, 1.0),
    "`Horseshoe()`": cr.Horseshoe(),
    "`Horseshoe(s)`": cr.Horseshoe(1.0),
    "`ARD()`": cr.ARD(),
}
ROWS = np.linspace(0.3, 0.8, N)
NOISES = {
    "Normal": cr.noise.Normal(),
    "Normal, known": cr.noise.Normal(0.5),
    "Normal, known by row": cr.noise.Normal(ROWS),
    "Normal, `scale_prior`": cr.noise.Normal(scale_prior=cr.HalfNormal(1)),
    "Normal, `variance_prior`": cr.noise.Normal(variance_prior=cr.InverseGamma(shape=2, scale=1)),
    "log-linear": cr.noise.Normal(cr.noise.LogLinear()),
    "Student-t": cr.noise.StudentT(),
    "Student-t, df known": cr.noise.StudentT(df=4, scale_prior=cr.HalfNormal(1)),
    "Student-t, known": cr.noise.StudentT(df=4, scale=0.5),
    "Laplace": cr.noise.Laplace(),
    "Laplace, known": cr.noise.Laplace(0.5),
}
INFERENCES = ("auto", "exact", "evidence", "map", "gibbs", "laplace", "nuts")
OF_GLM = ("auto", "laplace", "gibbs", "nuts", "hmc", "map")
INTERCEPTS: dict[str, dict[str, Any]] = {
    "flat": {},
    "Normal": {"prior_intercept": cr.Normal(0, 2)},
    "none": {"fit_intercept": False},
}
FAMILIES = {
    "logistic": (cr.LogisticRegression, {}, (RNG.random(N) < 1 / (1 + np.exp(-Y))).astype(int)),
    "softmax": (cr.LogisticRegression, {}, RNG.integers(0, 3, N)),
    "Poisson": (glm.PoissonRegression, {}, RNG.poisson(RATE)),
    "negative binomial": (glm.NegativeBinomialRegression, {}, RNG.poisson(RATE * RNG.gamma(2, 0.5, N))),
    "Gamma": (glm.GammaRegression, {}, RNG.gamma(4, RATE / 4)),
    "Gamma, known": (glm.GammaRegression, {"shape": 4.0}, RNG.gamma(4, RATE / 4)),
    "ordinal": (glm.OrdinalRegression, {"link": "probit"}, np.digitize(Y + RNG.normal(size=N), [-1, 0.5])),
}


@pytest.fixture(autouse=True, scope="module")
def short_chains():
    with pytest.MonkeyPatch.context() as patch:
        limits = {"warm_up": 2, "draws": 8, "budget": 8}
        patch.setattr(gibbs_chains.run_chains, "__kwdefaults__", gibbs_chains.run_chains.__kwdefaults__ | limits)
        for name, length in (("NUTS_WARMUP", 12), ("NUTS_DRAWS", 8), ("WARMUP", 12), ("DRAWS", 8)):
            patch.setattr(sampling, name, length)
        yield


def attempt(model: Any, X: np.ndarray, y: np.ndarray, known: dict[str, Any]) -> tuple[str | None, Exception | None]:
    """How it was inferred, or why it was refused; anything else, a NumPy warning too, is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X, y)
        except (ParameterError, NotIdentifiedError, UnavailableError) as error:
            return None, error
        assert model.result_.status in STATUSES
        assert np.all(np.isfinite(model.coef_)), model
        try:
            predicted = model.predict_distribution(X[:3], **known)
        except UnavailableError:  # a mode has no predictive law
            return model.result_.inference, None
        if hasattr(predicted, "probabilities"):
            assert np.all(np.isfinite(predicted.probabilities))
        else:
            assert np.all(np.isfinite(predicted.mean))
    return model.result_.inference, None


@functools.cache
def linear(prior: str, noise: str, inference: str, intercept: str = "flat"):
    model = cr.LinearRegression(prior=PRIORS[prior], noise=NOISES[noise], inference=inference, **INTERCEPTS[intercept])
    known = {"noise_scale": 0.5} if noise == "Normal, known by row" else {}
    return attempt(model, X, Y, known)


@functools.cache
def generalised(family: str, prior: str, inference: str, intercept: str = "flat"):
    estimator, particular, y = FAMILIES[family]
    if estimator is glm.OrdinalRegression:  # the cut-points are its intercepts
        return attempt(estimator(prior=PRIORS[prior], inference=inference, **particular), X, y, {})
    model = estimator(prior=PRIORS[prior], inference=inference, **particular, **INTERCEPTS[intercept])
    return attempt(model, X, y, {})


def check_refusal(error: Exception, inference: str, works) -> None:
    """A reason and a remedy; an inference that the message names in quotes is offered indeed."""
    message = str(error)
    assert getattr(error, "remedy", None) or " must be " in message, message
    assert len(message) > 60, message
    if isinstance(error, ParameterError) and error.parameter == "inference":
        offered = set(re.findall(r"'(\w+)'", error.constraint + (error.remedy or ""))) - {inference}
        assert offered, message
        refused = {name for name in offered if not works(name)}
        assert not refused, (message, refused)


@pytest.mark.parametrize("prior", PRIORS)
def test_linear(prior):
    for noise in NOISES:
        for inference in INFERENCES:
            error = linear(prior, noise, inference)[1]
            if error is not None:
                check_refusal(error, inference, lambda name: linear(prior, noise, name)[0] is not None)  # noqa: B023
        for intercept in ("Normal", "none"):
            linear(prior, noise, "auto", intercept)
            linear(prior, noise, "map", intercept)


@pytest.mark.parametrize("family", FAMILIES)
def test_generalised(family):
    for prior in PRIORS:
        for inference in OF_GLM:
            error = generalised(family, prior, inference)[1]
            if error is not None:
                check_refusal(error, inference, lambda name: generalised(family, prior, name)[0] is not None)  # noqa: B023
        for intercept in ("Normal", "none"):
            generalised(family, prior, "auto", intercept)


# -- the tables of docs/concepts/priors.md ---------------------------------------------------------------------------

COLUMNS = ("Normal", "Normal, known", "log-linear", "Student-t", "Student-t, known", "Laplace")
NAMES = {"collapsed": "exact", "hmc": "nuts"}


def shown(automatic: tuple[str | None, Any], offered: list[str]) -> str:
    """What "auto" does in bold, then what else can be asked for."""
    if automatic[0] is None:
        return "–"
    first = NAMES.get(automatic[0], automatic[0])
    return ", ".join([f"**{first}**", *(name for name in offered if name != first)])


def linear_table() -> list[str]:
    lines = [f"| prior \\ noise | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for prior in PRIORS:
        cells = [
            shown(linear(prior, noise, "auto"), [i for i in INFERENCES[1:] if linear(prior, noise, i)[0]])
            for noise in COLUMNS
        ]
        lines.append(f"| {prior} | {' | '.join(cells)} |")
    return lines


def generalised_table() -> list[str]:
    lines = ["| prior | LogisticRegression, PoissonRegression, … |", "|---|---|"]
    for prior in PRIORS:
        everywhere = [i for i in ("laplace", "gibbs", "nuts", "map")
                      if all(generalised(family, prior, i)[0] for family in FAMILIES)]  # fmt: skip
        lines.append(f"| {prior} | {shown(generalised('Poisson', prior, 'auto'), everywhere)} |")
    return lines


@pytest.mark.parametrize("table", [linear_table, generalised_table])
def test_the_page_says_what_the_code_does(table):
    lines = table()
    page = PAGE.read_text(encoding="utf-8")
    assert "\n".join(lines) in page, "docs/concepts/priors.md should hold:\n" + "\n".join(lines)
