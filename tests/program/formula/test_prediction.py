"""New rows are predicted from numbers, those of the fit by the graph too: of the same rows both say the same."""

from __future__ import annotations

import numpy as np
import pytest

import credo as cr
from credo.inference.result import Result
from credo.program.formula import regress
from credo.program.model import Model
from credo.program.posterior import ModelPosterior

N = 40


def from_the_prior(model, *arguments, **options):
    """A "fit" that costs nothing: 50 draws from the prior."""
    drawn = model.sample_prior(50, random_state=1)
    values = {str(node.name): drawn[str(node.name)][None] for node in model.latents}
    return ModelPosterior(values, Result("exact", "prior"), model=model)


def table():
    rng = np.random.default_rng(5)
    return {
        "x": rng.normal(size=N), "z": rng.uniform(0, 3, size=N), "h": rng.normal(size=N),
        "c": np.arange(N) % 4, "g": np.array(["u", "v", "w"])[np.arange(N) % 3],
        "y": rng.gamma(2.0, size=N), "share": rng.uniform(0.1, 0.9, size=N), "k": rng.integers(0, 3, size=N),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "family", "link"),
    [
        ("y ~ x*g + s(z, k=5) + mo(c) + (x | g) + offset(h)", "gaussian", None),
        ("y ~ 0 + s(z, by=g, k=4)", "student_t", None),
        ("k ~ x + (x || g) + offset(h)", "zero_inflated_poisson", None),
        ("k ~ x + mo(c)", "negative_binomial", None),
        ("k | trials(4) ~ x + (1 | g)", "binomial", "cloglog"),
        ("share ~ x + s(z, k=4)", "beta", "probit"),
        ("y ~ 1 + (1 | g)", "gamma", None),
        ("k ~ x + mo(c) + (1 | g)", "ordinal", "cloglog"),
    ],
)
def test_both_ways_to_a_prediction_agree(monkeypatch, formula, family, link):
    monkeypatch.setattr(Model, "fit", from_the_prior)
    rows = table()
    narrow = {"coefficients": cr.Normal(0, 0.3), "sd": cr.HalfNormal(0.3)}  # so that no share is 1 up to rounding
    fit = regress(formula, rows, family, link=link, priors=narrow)
    by_graph, by_numbers = fit.posterior.law_draws().means(), fit.law_draws(rows).means()
    assert by_graph.std(axis=0).min() > 0.0
    np.testing.assert_allclose(by_numbers, by_graph, rtol=1e-9, atol=1e-12)
    assert fit.posterior.predict().kind == fit.predict(rows).kind
    some = {name: column[5:9] for name, column in rows.items()}
    np.testing.assert_allclose(fit.law_draws(some).means(), by_graph[:, 5:9], rtol=1e-9, atol=1e-12)
