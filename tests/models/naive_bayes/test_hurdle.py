"""Amounts of which some are nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import lognorm

from credo.errors import DataError
from credo.models.generative import Memberships
from credo.models.naive_bayes import NaiveBayes
from credo.models.naive_bayes.counts import ClassSums

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 60)
X = np.where(RNG.random(120) < 0.2 + 0.4 * Y, 0.0, np.exp(RNG.normal(1.0 + Y, 0.5)))[:, None]


def test_it_is_chosen_for_amounts_with_zeros_alone():
    assert NaiveBayes().fit(X, Y).families_ == ("hurdle",)
    assert NaiveBayes().fit(X + 1e-3, Y).families_ != ("hurdle",)
    assert NaiveBayes().fit(RNG.normal(size=(120, 1)), Y).families_ == ("gaussian",)


def test_its_plug_in_density_is_a_share_of_zeros_and_a_log_normal():
    model = NaiveBayes("hurdle").fit(X, Y)
    belief = model.beliefs_[0]
    value = belief.log_plug(np.array([[0.0], [2.0], [np.nan]]))
    for c in (0, 1):
        own = X[c == Y, 0]
        share = (np.sum(own > 0) + 1.0) / (len(own) + 2.0)
        logs = np.log(own[own > 0])
        assert value[0, c] == pytest.approx(np.log1p(-share))
        amount = lognorm(s=logs.std(), scale=np.exp(logs.mean())).logpdf(2.0)
        assert value[1, c] == pytest.approx(np.log(share) + amount, rel=1e-6)
        assert value[2, c] == 0.0


def test_its_predictive_has_mass_one():
    """Zeros have the posterior mean of their share; the amounts integrate to the rest."""
    belief = NaiveBayes("hurdle").fit(X, Y).beliefs_[0]
    z = np.linspace(-30.0, 30.0, 200_001)
    density = np.exp(belief.log_predictive(np.exp(z)[:, None]) + z[:, None])
    total = np.trapezoid(density, z, axis=0) + np.exp(belief.log_predictive(np.zeros((1, 1))))[0]
    assert total == pytest.approx(1.0, abs=1e-5)


def test_batches_draws_and_what_it_refuses():
    both = NaiveBayes("hurdle").partial_fit(X[:50], Y[:50], classes=[0, 1]).partial_fit(X[50:], Y[50:])
    assert both.predict_proba(X) == pytest.approx(NaiveBayes("hurdle").fit(X, Y).predict_proba(X), abs=1e-12)
    rows, labels = both.sample(4000, random_state=0)
    share = (np.sum(X[Y == 1] == 0.0) + 1.0) / 62.0
    # of some 2,000 draws; four standard errors, a false alarm in 16,000
    assert np.mean(rows[labels == 1] == 0.0) == pytest.approx(share, abs=4.0 * np.sqrt(0.25 / 1900.0))
    with pytest.raises(DataError, match="≥ 0"):
        NaiveBayes("hurdle").fit(-X - 1.0, Y)
    labelled = np.array([*Y[:-20].tolist(), *[None] * 20], dtype=object)
    assert NaiveBayes("hurdle").fit(X, labelled).result_.status == "converged"
    assert ClassSums.accumulate(X > 0, Memberships(2, Y)).total.sum() == np.sum(X > 0)
