"""Bayes' rule over finitely many hypotheses: exact enumeration, order, underflow, errors."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credo as cr
from credo.errors import DataError, ParameterError
from credo.selection import Hypotheses

COINS = {"fair": Fraction(1, 2), "bent": Fraction(3, 4), "two-headed": Fraction(1)}


def coins(prior=None):
    return Hypotheses({name: lambda d, p=p: p if d else 1 - p for name, p in COINS.items()}, prior)


def test_exact_enumeration_of_every_sequence():
    """Posterior and predictive of all sequences of six tosses, by the definition."""
    prior = {"fair": Fraction(1, 2), "bent": Fraction(1, 3), "two-headed": Fraction(1, 6)}
    total = Fraction(0)
    for tosses in product([0, 1], repeat=6):
        joint = {}
        for name, p in COINS.items():
            joint[name] = prior[name] * p ** sum(tosses) * (1 - p) ** (6 - sum(tosses))
        evidence = sum(joint.values())
        total += evidence
        h = coins(prior)
        for toss in tosses:
            h.update(toss)
        assert h.posterior == {name: value / evidence for name, value in joint.items()}
        assert all(isinstance(value, Fraction) for value in h.posterior.values())
        assert h.predictive()(1) == sum(value / evidence * COINS[name] for name, value in joint.items())
    assert total == 1


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=20), st.integers(0, 1000))
def test_families_by_enumeration_in_any_order(data, seed):
    families = {"a": cr.Normal(0, 1), "b": cr.Normal(1, 2), "c": cr.Laplace(0, 1)}
    h, shuffled = Hypotheses(families, [1, 2, 1]), Hypotheses(families, [1, 2, 1])
    for x in data:
        h.update(x)
    for x in np.random.default_rng(seed).permutation(data):
        shuffled.update(x)
    joint = np.array(
        [w * np.exp(f.log_prob(np.array(data)).sum()) for f, w in zip(families.values(), (0.25, 0.5, 0.25))]
    )
    np.testing.assert_allclose(list(h.posterior.values()), joint / joint.sum(), rtol=1e-9)
    np.testing.assert_allclose(list(h.posterior.values()), list(shuffled.posterior.values()), rtol=1e-9)
    assert h.map == list(families)[int(np.argmax(joint))] or np.isclose(*np.sort(joint)[-2:])
    x = np.linspace(-3, 3, 7)
    mixed = sum(w * np.exp(f.log_prob(x)) for f, w in zip(families.values(), h.posterior.values()))
    np.testing.assert_allclose(np.exp(h.predictive().log_prob(x)), mixed, rtol=1e-9)


def test_nothing_underflows():
    h = Hypotheses({"near": cr.Normal(0, 1), "far": cr.Normal(0.1, 1)})
    for _ in range(3000):
        h.update(40.0)
    assert h.map == "far"
    tiny = coins({"fair": Fraction(1, 10**400), "bent": 1, "two-headed": 1})
    assert tiny.update(1).posterior["fair"] > 0
    tiny.hypotheses["fair"] = lambda d: -1.0  # a float: on to log space, where 10⁻⁴⁰⁰ still counts
    assert np.isfinite(tiny.update(1)._log[0])


def test_models_are_hypotheses():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1))
    line = cr.LinearRegression().fit(x, 2 * x[:, 0] + 0.1 * rng.normal(size=40))
    flat = cr.LinearRegression().fit(x, 0 * x[:, 0] + 0.1 * rng.normal(size=40))
    h = Hypotheses([line, flat]).update(([1.0], 2.0))
    assert h.map == 0
    assert np.isclose(h.predictive([[1.0]]).mean[0], line.predict([[1.0]])[0], atol=1e-3)
    with pytest.raises(DataError, match="pair"):
        h.update(1.0)


def test_copies_are_independent():
    h = coins().update(1)
    branch = h.copy().update(0)
    assert branch.posterior["two-headed"] == 0
    assert h.posterior["two-headed"] > 0
    assert branch.n_updates == 2


def test_the_impossible_is_named_and_changes_nothing():
    h = Hypotheses({"head": lambda d: Fraction(int(d)), "also head": lambda d: Fraction(int(d))})
    with pytest.raises(DataError, match="probability 0") as failure:
        h.update(0)
    assert failure.value.value == 0
    assert h.posterior == {"head": Fraction(1, 2), "also head": Fraction(1, 2)}
    with pytest.raises(DataError, match="probability 0"):
        Hypotheses([cr.Uniform(0, 1), cr.Uniform(2, 3)]).update(1.5)


def test_errors():
    with pytest.raises(ParameterError, match="at least one"):
        Hypotheses({})
    with pytest.raises(ParameterError, match="functions"):
        Hypotheses([3])
    for prior in ([1], [1, -1], [0, 0], {"x": 1, "y": 2}, [1, np.nan]):
        with pytest.raises(ParameterError, match="prior"):
            Hypotheses([cr.Normal(0, 1), cr.Normal(1, 1)], prior)
    with pytest.raises(DataError, match="likelihood"):
        Hypotheses([lambda d: float("nan")]).update(1)
    with pytest.raises(DataError, match="likelihood"):
        Hypotheses([lambda d: Fraction(-1, 2)]).update(1)
