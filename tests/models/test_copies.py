"""Fits of small tables depend neither on the order of rows nor on whether copies are written out or counted."""

from __future__ import annotations

import numpy as np
import pytest

import credo as cr
from credo.models.copies import merged
from credo.models.glm import sampling


def test_distinct_rows_are_sorted_and_counted():
    X, y = np.array([[2.0, 0.0], [1.0, 5.0], [2.0, 0.0], [1.0, 5.0]]), np.array(["b", "a", "b", "z"])
    found = merged(np.array([1.0, 2.0, 3.0, 0.5]), X, y)
    assert found.rows.tolist() == [1, 3, 0]
    assert found.group.tolist() == [2, 0, 2, 1]
    assert found.counts.tolist() == [2.0, 0.5, 4.0]


@pytest.mark.parametrize(
    "model",
    [
        cr.OrdinalRegression(),
        cr.LogisticRegression(),
        cr.PoissonRegression(),
        cr.NegativeBinomialRegression(),
        cr.LogisticRegression(inference="nuts"),
        cr.KernelRidge(),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::credo.errors.CredoWarning")
def test_order_and_copies_leave_the_same_bits(model, monkeypatch):
    """Twelve rows, where the chains of the last rung amplify a digit: a hundred draws do as a thousand."""
    for name, length in (("NUTS_WARMUP", 60), ("NUTS_DRAWS", 100), ("WARMUP", 60), ("DRAWS", 100)):
        monkeypatch.setattr(sampling, name, length)
    rng = np.random.default_rng(5)
    X, y, counts = rng.normal(size=(12, 3)), np.tile([0, 1, 2], 4), rng.integers(0, 4, 12)
    if isinstance(model, cr.LogisticRegression):
        y = y % 2
    counts[:3] = 1
    counted = model.fit(X, y, sample_weight=counts).predict_distribution(X)
    order = rng.permutation(np.repeat(np.arange(12), counts))
    repeated = model.fit(X[order], y[order]).predict_distribution(X)
    read = (lambda p: p.probabilities) if hasattr(counted, "probabilities") else (lambda p: p.mean)
    if isinstance(model, cr.KernelRidge):  # its default gamma is a mean over the rows as they come
        assert np.allclose(read(counted), read(repeated), rtol=1e-9, atol=1e-12)
    else:
        assert np.array_equal(read(counted), read(repeated))
