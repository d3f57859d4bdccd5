"""Stacking weights are optimal, and prove it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from credo.errors import DataError
from credo.selection import stacking_weights


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 7), st.sampled_from([0.01, 1.0, 30.0]))
def test_no_weights_are_better(seed, n, k, spread):
    rng = np.random.default_rng(seed)
    table = spread * rng.normal(size=(n, k)) + rng.normal(size=k)
    found = stacking_weights(table)
    assert found.gap <= 1e-8
    assert np.isclose(found.weights.sum(), 1.0)
    assert np.all(found.weights >= 0)
    for other in [*rng.dirichlet(np.full(k, 0.5), size=20), *np.eye(k)]:
        with np.errstate(divide="ignore"):
            value = np.logaddexp.reduce(table + np.log(other), axis=1).mean()
        assert value <= found.log_score + 1e-8


def test_two_models_by_a_line_search():
    table = np.random.default_rng(1).normal(size=(50, 2))
    best = minimize_scalar(
        lambda w: -np.log(w * np.exp(table[:, 0]) + (1 - w) * np.exp(table[:, 1])).mean(),
        bounds=(0, 1), method="bounded", options={"xatol": 1e-12},
    )  # fmt: skip
    found = stacking_weights(table)
    assert np.isclose(found.weights[0], best.x, atol=1e-5)
    assert np.isclose(found.log_score, -best.fun, atol=1e-8)


def test_counts_are_repeated_rows():
    table = np.random.default_rng(2).normal(size=(30, 3))
    counts = np.random.default_rng(3).integers(0, 4, 30)
    weighted, repeated = stacking_weights(table, counts), stacking_weights(np.repeat(table, counts, axis=0))
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-6)


def test_equal_models_and_impossible_outcomes():
    table = np.random.default_rng(2).normal(size=(30, 3))
    table[:, 1] = table[:, 0]
    assert stacking_weights(table).gap <= 1e-8
    table[4, 2] = -np.inf  # the third model may have weight, but not alone
    assert stacking_weights(table).weights[2] < 1.0
    table[4] = -np.inf
    with pytest.raises(DataError, match="row 4"):
        stacking_weights(table)
    with pytest.raises(DataError, match="row 0"):
        stacking_weights([[np.nan, 0.0]])
