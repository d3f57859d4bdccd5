"""Rounded predictives are laws of whole numbers; laws at draws in chunks."""

from __future__ import annotations

import numpy as np
import pytest

import credo as cr
from credo.errors import ParameterError
from credo.prediction import IntegratedPredictive, LawDraws, NormalPredictive, RoundedPredictive
from credo.prediction import law_draws as module

INNER = NormalPredictive(np.array([0.3, 7.0, 120.0]), np.array([0.01, 4.0, 900.0]), np.array([0.0, 1.0, 100.0]))


def test_probabilities_sum_to_one_and_follow_the_cdf():
    p = RoundedPredictive(INNER)
    numbers = np.arange(-200.0, 500.0)
    mass = np.exp(np.stack([p.log_prob(k) for k in numbers]))
    np.testing.assert_allclose(mass.sum(axis=0), 1.0, rtol=1e-9)
    np.testing.assert_allclose(np.cumsum(mass, axis=0)[210], p.cdf(10.0), rtol=1e-6)
    assert np.all(p.log_prob(0.5) == -np.inf)
    assert p.kind == "count"


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
def test_quantiles_are_the_smallest_numbers(q):
    p = RoundedPredictive(INNER)
    k = p.quantile(q)
    assert np.all(p.cdf(k) >= q)
    assert np.all(p.cdf(k - 1) < q)


def test_far_tails_keep_their_logarithm():
    p = RoundedPredictive(NormalPredictive(np.zeros(1), np.full(1, 100.0), np.zeros(1)))
    found = p.log_prob(np.array([200.0]))
    assert found[0] == pytest.approx(-0.5 * 400 - np.log(10.0 * np.sqrt(2.0 * np.pi)), abs=0.1)


def test_of_rounded_draws():
    draws = RoundedPredictive(INNER).sample(2000, 0)
    assert np.all(draws == np.round(draws))
    assert RoundedPredictive(INNER)[1:].shape == (2,)
    with pytest.raises(ParameterError, match="real"):
        RoundedPredictive(IntegratedPredictive([1.0], lambda rows: cr.Poisson(np.ones((1, len(rows)))), 2, "count"))


def test_laws_in_chunks(monkeypatch):
    rates = np.random.default_rng(0).gamma(2.0, size=(7, 11))
    draws = LawDraws(np.full(7, 1 / 7), lambda rows: cr.Poisson(rates[:, rows]), 11)
    y = np.arange(11.0)
    whole = draws.means(), draws.variances(), draws.log_prob(y), draws.averages()
    monkeypatch.setattr(module, "CHUNK_CELLS", 21)  # three rows at a time
    for a, b in zip(whole, (draws.means(), draws.variances(), draws.log_prob(y), draws.averages()), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_allclose(draws.averages(y), rates @ y / y.sum())
