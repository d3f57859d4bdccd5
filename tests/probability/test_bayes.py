"""Bayes' rule from events and from numbers, and the sure loss in incoherent odds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from credo.errors import ParameterError, UnavailableError, ZeroProbabilityError
from credo.probability import SampleSpace, bayes_rule, coherence


def test_known_answers():
    assert bayes_rule(likelihood=0.6, prior=0.3, evidence=0.2) == pytest.approx(0.9, rel=1e-15)
    three = {"likelihood": Fraction(6, 10), "prior": Fraction(3, 10), "evidence": Fraction(2, 10)}
    assert bayes_rule(**three) == Fraction(9, 10)
    # Monty Hall: the car is behind 1, 2 or 3; you point at 1, and the host opens 2 or 3, never the car's
    doors = SampleSpace([1, 2, 3]).then(lambda car: SampleSpace([d for d in (2, 3) if d != car]))
    assert bayes_rule(doors.event(lambda o: o[0] == 1), doors.event(lambda o: o[1] == 3)) == Fraction(1, 3)


def test_arrays():
    posterior = bayes_rule(likelihood=np.array([0.9, 0.5]), prior=0.1, otherwise=0.05)
    assert posterior == pytest.approx([0.09 / 0.135, 0.05 / 0.095], rel=1e-14)


@given(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any))
def test_the_rule_agrees_with_counting(weights):
    space = SampleSpace([(a, b) for a in (0, 1) for b in (0, 1)], weights=weights)
    a, b = space.event(lambda o: o[0]), space.event(lambda o: o[1])
    assume(a.probability and b.probability)
    numbers = {"likelihood": b.given(a), "prior": a.probability}
    assert bayes_rule(**numbers, evidence=b.probability) == a.given(b) == bayes_rule(a, b)
    if (~a).probability:
        assert bayes_rule(**numbers, otherwise=b.given(~a)) == a.given(b)
    floats = {name: float(value) for name, value in numbers.items()}
    assert bayes_rule(**floats, evidence=float(b.probability)) == pytest.approx(float(a.given(b)), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"likelihood": 0.9, "prior": 0.5, "evidence": 0.2}, "contradict"),
        ({"likelihood": Fraction(1, 2), "prior": Fraction(4, 5), "evidence": Fraction(9, 10)}, "outside A"),
        ({"likelihood": 1.2, "prior": 0.5, "evidence": 0.6}, "likelihood must be a number in"),
        ({"likelihood": float("nan"), "prior": 0.5, "evidence": 0.6}, "likelihood"),
        ({"likelihood": 0.5, "prior": None, "evidence": 0.6}, "prior"),
        ({"likelihood": "x", "prior": 0.5, "evidence": 0.6}, "likelihood"),
        ({"likelihood": 0.5, "prior": 0.5}, "one of the two"),
        ({"likelihood": 0.5, "prior": 0.5, "evidence": 0.3, "otherwise": 0.1}, "one of the two"),
        ({"hypothesis": 0.5}, "two events"),
    ],
)
def test_inconsistent_numbers_are_named(arguments, names):
    with pytest.raises(ParameterError, match=names):
        bayes_rule(**arguments)


def test_impossible_evidence():
    with pytest.raises(ZeroProbabilityError):
        bayes_rule(likelihood=0, prior=Fraction(1, 2), evidence=0)
    space = SampleSpace("ab")
    with pytest.raises(ZeroProbabilityError):
        bayes_rule(space.event({"a"}), space.impossible)


def gain(space, quotes, stakes, outcome):
    return sum(stakes[name] * ((outcome in event) - price) for name, (event, price) in quotes.items())


@given(st.lists(st.tuples(st.sets(st.integers(0, 3)), st.floats(0, 1)), min_size=1, max_size=4))
def test_a_sure_loss_or_a_belief_never_both(listed):
    space = SampleSpace(range(4))
    quotes = dict(enumerate(listed))
    found = coherence(space, quotes)
    if found.coherent:
        for event, price in listed:
            low, high = found.bounds(event)
            assert low == pytest.approx(price, abs=1e-6)
            assert high == pytest.approx(price, abs=1e-6)
    else:
        for outcome in space:
            assert gain(space, quotes, found.stakes, outcome) == pytest.approx(found.gains[outcome], abs=1e-12)
            assert found.gains[outcome] >= found.gain - 1e-12 > 0
        with pytest.raises(UnavailableError):
            found.bounds({0})


def test_a_real_distribution_is_coherent_and_bounds_hold_it():
    space = SampleSpace(range(5), weights=[1, 2, 3, 4, 0])
    events = [space.event({0, 1}), space.event({1, 2, 4}), space.event({0, 3})]
    pairs = [(e, e.probability) for e in events] + [((events[0], events[1]), events[0].given(events[1]))]
    found = coherence(space, pairs)
    assert found.coherent
    assert found.gain == 0.0
    assert set(found.stakes.values()) == {0.0}
    for outcome in space:
        low, high = found.bounds({outcome})
        assert low - 1e-9 <= space.probability({outcome}) <= high + 1e-9


def test_a_conditional_price_off_by_a_tenth_loses():
    space = SampleSpace(range(4))
    pairs = [({0, 1}, 0.5), ({0}, 0.25), (({0}, frozenset({0, 1})), 0.6)]
    found = coherence(space, pairs)
    assert not found.coherent
    assert min(found.gains.values()) == pytest.approx(found.gain)
    assert found.gain > 0


def test_a_spread_may_be_coherent_where_its_ends_are_not():
    space = SampleSpace("abc")
    sharp = coherence(space, [({"a"}, 0.4), ({"b"}, 0.4), ({"c"}, 0.3)])
    spread = coherence(space, [({"a"}, (0.3, 0.4)), ({"b"}, (0.3, 0.4)), ({"c"}, (0.2, 0.3))])
    assert not sharp.coherent
    assert spread.coherent
    assert spread.bounds({"a"}) == pytest.approx((0.3, 0.4))


@pytest.mark.parametrize("quotes", [[({"a"}, 1.2)], [({"a"}, (0.5, 0.4))], [0.5], [({"z"}, 0.5)]])
def test_bad_quotes_are_named(quotes):
    with pytest.raises(ParameterError):
        coherence(SampleSpace("ab"), quotes)
