"""Which candidates join for which outcomes, and scores of counts beside numbers."""

from __future__ import annotations

import numpy as np
import pytest

import credo as cr
from credo.models.glm import NegativeBinomialRegression, PoissonRegression
from credo.prediction import RoundedPredictive
from credo.selection import OutcomeShape, average, candidates, compare

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 2))
RATE = np.exp(0.8 + 0.6 * X[:, 0])
COUNTS = rng.poisson(RATE).astype(float)
OUTCOMES = {
    "counts": (COUNTS, {"poisson", "negative_binomial"}),
    "two values": (COUNTS > 2, set()),
    "years": (np.round(rng.uniform(1990, 2020, 150)), set()),
    "ratings": (rng.integers(4, 7, 150), set()),  # variance .67 below mean 5: no counts
    "amounts": (rng.gamma(1.0, RATE), {"gamma"}),
    "prices": (np.round(1e5 * rng.gamma(1.0, RATE)) + 1, {"gamma"}),
    "heavy": (X[:, 0] + rng.standard_t(2, 150), {"student_t"}),
    "normal": (X[:, 0] + rng.normal(size=150), set()),
    "negative": (COUNTS - 1, set()),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_which_join(name):
    y, expected = OUTCOMES[name]
    found = candidates("regression", 2, 150, outcome=OutcomeShape.of(y, X))
    joined = set(found) & {"poisson", "negative_binomial", "gamma", "student_t"}
    assert expected <= joined
    assert joined - expected <= {"student_t"}  # a gamma's or count's tails beside a straight line are heavy
    assert set(found.unfit) == {"poisson", "negative_binomial", "gamma", "student_t"} - joined


def test_ordered_classes():
    codes = rng.integers(0, 3, 150)
    assert "ordinal" in candidates("classification", 2, 150, outcome=OutcomeShape.of(codes, X, ordered=True))
    assert "ordinal" not in candidates("classification", 2, 150, outcome=OutcomeShape.of(codes, X))
    assert "ordinal" not in candidates("classification", 2, 150, outcome=OutcomeShape.of(codes > 1, X, ordered=True))


def test_tails_are_of_what_the_columns_leave():
    y = 100.0 * X[:, 0] ** 1 + rng.standard_t(2, 150)
    assert OutcomeShape.of(y, X).tails > 3.0
    assert OutcomeShape.of(y).tails < 1.0


def test_numbers_beside_counts_are_scored_as_whole_ones():
    models = {"poisson": PoissonRegression(), "line": cr.LinearRegression()}
    comparison = compare(models, X, COUNTS)
    assert "whole ones" in comparison.scheme
    assert comparison.best == "poisson"
    assert np.all(np.exp(comparison.pointwise["line"]) <= 1.0)
    alone = compare({"line": cr.LinearRegression()}, X, COUNTS, cv=5)
    # A unit of a density that hardly changes within it
    assert abs(alone["line"].score - comparison["line"].score) < 0.05
    both = average(comparison, by="stacking")
    p = both.predict_distribution(X[:3])
    assert p.kind == "count"
    assert np.all(p.quantile(0.9) == np.round(p.quantile(0.9)))


def test_counts_alone_leave_one_out():
    comparison = compare({"poisson": PoissonRegression(), "nb": NegativeBinomialRegression()}, X, COUNTS)
    assert comparison.scheme == "exact leave-one-out"
    assert comparison["poisson"].score > comparison["nb"].score - 0.02


def test_rounded_scores_are_masses():
    line = cr.LinearRegression().fit(X, COUNTS)
    p = RoundedPredictive(line.predict_distribution(X[:4]))
    total = np.exp(np.stack([p.log_prob(k) for k in np.arange(-80.0, 120.0)])).sum(axis=0)
    np.testing.assert_allclose(total, 1.0, rtol=1e-6)
