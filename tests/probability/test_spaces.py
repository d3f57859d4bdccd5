"""`SampleSpace` and `Event`: known answers by counting, identities over random spaces, named errors."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credo.errors import ParameterError, UnavailableError, ZeroProbabilityError
from credo.probability import SampleSpace

DIE = SampleSpace(range(1, 7))


@st.composite
def spaces(draw, exact=True):
    weights = draw(st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any))
    space = SampleSpace(range(len(weights)), weights=weights)
    return space if exact else SampleSpace(range(len(weights)), [float(p) for p in space.probabilities.values()])


@st.composite
def events(draw, n=2, exact=True):
    space = draw(spaces(exact))
    size = len(space)
    masks = [draw(st.lists(st.booleans(), min_size=size, max_size=size)) for _ in range(n)]
    return [space.event({o for o, inside in zip(space, mask, strict=True) if inside}) for mask in masks]


def test_a_die():
    even, high = DIE.event({2, 4, 6}), DIE.event(lambda face: face > 3)
    assert even.probability == Fraction(1, 2)
    assert even.given(high) == Fraction(2, 3)
    assert sorted(even | high) == [2, 4, 5, 6]
    assert sorted(even & high) == [4, 6]
    assert sorted(even ^ high) == [2, 5]
    assert sorted(~even) == [1, 3, 5]
    assert even - high == DIE.event({2})
    assert len(high) == 3
    assert 2 in even
    assert 3 not in even
    assert "x" not in even
    assert even & high < even
    assert even <= DIE.certain
    assert DIE.expectation() == Fraction(7, 2)
    assert DIE.variance() == Fraction(35, 12)
    assert DIE.given(even).probabilities == {2: Fraction(1, 3), 4: Fraction(1, 3), 6: Fraction(1, 3)}


def test_two_tosses_and_two_dice():
    coins = SampleSpace("HT") ** 2
    assert coins.outcomes == (("H", "H"), ("H", "T"), ("T", "H"), ("T", "T"))
    assert coins.probability({("H", "H")}) == Fraction(1, 4)
    sums = (DIE * DIE).law(sum)
    assert sums.probabilities[7] == Fraction(6, 36)
    assert sums.expectation() == 7
    assert sums.probabilities == {s: Fraction(6 - abs(s - 7), 36) for s in range(2, 13)}


def test_pairwise_is_not_mutual_independence():
    coins = SampleSpace("HT") ** 2
    first, second = coins.event(lambda t: t[0] == "H"), coins.event(lambda t: t[1] == "H")
    same = coins.event(lambda t: t[0] == t[1])
    assert all(a.is_independent(b) for a, b in itertools.combinations([first, second, same], 2))
    assert coins.are_independent([first, second])
    assert not coins.are_independent([first, second, same])


def test_an_urn_without_replacement_is_hypergeometric():
    urn = SampleSpace([("red", i) for i in range(3)] + [("blue", i) for i in range(2)])
    draws = urn.then(lambda first: SampleSpace([ball for ball in urn if ball != first]))
    reds = draws.law(lambda pair: sum(colour == "red" for colour, _ in pair))
    assert reds.probabilities == {2: Fraction(3, 10), 1: Fraction(6, 10), 0: Fraction(1, 10)}


def test_outcomes_that_are_tuples_stay_whole_in_every_kind_of_trial():
    deck = SampleSpace([(rank, suit) for rank in "AK" for suit in "SH"])
    same = lambda hand: hand[0][0] == hand[1][0]
    assert (deck * deck).probability(same) == (deck**2).probability(same) == Fraction(1, 2)
    assert (deck * deck).outcomes == (deck**2).outcomes
    drawn = deck.then(lambda card: SampleSpace([c for c in deck if c != card]))
    assert drawn.probability(same) == Fraction(1, 3)
    three = drawn.then(lambda hand: SampleSpace([c for c in deck if c not in hand]))
    assert {len(hand) for hand in three} == {3}
    assert ((deck * deck) * deck).outcomes == (deck * (deck * deck)).outcomes == (deck**3).outcomes
    aces = drawn.given(lambda hand: hand[0][0] == "A")
    assert (aces * deck).outcomes[0] == (("A", "S"), ("A", "H"), ("A", "S"))


def test_a_million_outcomes_stay_exact():
    tosses = SampleSpace({"H": Fraction(1, 3), "T": Fraction(2, 3)}) ** 16
    assert tosses.probability(lambda t: t.count("H") == 2) == 120 * Fraction(1, 9) * Fraction(2, 3) ** 14


def test_numerators_beyond_int64_stay_exact():
    space = SampleSpace({"a": Fraction(1, 10**30), "b": 1 - Fraction(1, 10**30)})
    assert space.probability({"a"}) == Fraction(1, 10**30)
    assert (space * space).probability({("a", "a")}) == Fraction(1, 10**60)
    assert space.law(str.upper).probabilities["A"] == Fraction(1, 10**30)


@given(events(3))
def test_conditional_and_total_probability(abc):
    a, b, c = abc
    space = a.space
    assert a.probability + (~a).probability == 1
    assert (a | b).probability == a.probability + b.probability - (a & b).probability
    if c.probability:
        conditional = space.given(c)
        assert sum(conditional.probabilities.values()) == 1
        assert conditional.probability(set(a & c)) == a.given(c)
    total = space.total_probability(a, [b, ~b])
    assert sum(p * q for p, q in total if p is not None) == a.probability
    if (a & b & c).probability:
        assert np.prod(space.chain_rule([a, b, c])) == (a & b & c).probability


@given(events(2, exact=False))
def test_floating_spaces_agree_with_their_law(ab):
    a, b = ab
    law = a.space.law(lambda o: (o in a, o in b))
    assert law.probabilities.get((True, True), 0.0) == pytest.approx((a & b).probability, abs=1e-15)
    assert sum(law.probabilities.values()) == pytest.approx(1.0, abs=1e-12)


@given(st.lists(st.sets(st.integers(0, 4)), max_size=3))
def test_the_generated_algebra_is_one_and_the_smallest(sets):
    space = SampleSpace(range(5)).generated(sets)
    atoms = [frozenset(np.flatnonzero(space.algebra.atoms == k).tolist()) for k in range(space.algebra.size)]
    listed = [set().union(*some) for r in range(len(atoms) + 1) for some in itertools.combinations(atoms, r)]
    again = SampleSpace(range(5), events=listed)
    assert again.algebra.size == len(atoms)
    assert all(again.probability(s) == Fraction(len(s), 5) for s in sets)
    for missing in listed:
        rest = [s for s in listed if s != missing]
        with pytest.raises(ParameterError, match="missing"):
            SampleSpace(range(5), events=rest)


def test_what_is_not_measurable_has_no_probability():
    space = DIE.generated([{2, 4, 6}])
    assert space.probability({1, 3, 5}) == Fraction(1, 2)
    with pytest.raises(UnavailableError, match="not in the σ-algebra"):
        space.probability({1})
    assert space.given({2, 4, 6}).algebra.size == 1


def test_sampling_follows_the_masses():
    """10,000 draws: a false alarm once in 10⁶ (4.9 sd)."""
    space = SampleSpace({"a": 0.2, "b": 0.8, "never": 0.0})
    draws = space.sample(10_000, rng=0)
    assert abs(draws.count("a") - 2000) < 4.9 * np.sqrt(10_000 * 0.16)
    assert "never" not in draws
    assert draws == space.sample(10_000, rng=0)


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: SampleSpace([]), "at least one"),
        (lambda: SampleSpace(["a", "b", "a"]), "distinct, got 'a'"),
        (lambda: SampleSpace([["unhashable"]]), "hashable"),
        (lambda: SampleSpace("ab", [0.5, 0.6]), "sum to 1, got 1.1"),
        (lambda: SampleSpace("ab", [Fraction(1, 3), Fraction(1, 3)]), "sum to 1"),
        (lambda: SampleSpace("ab", [1.5, -0.5]), r"probabilities\['b'\] must be a number ≥ 0"),
        (lambda: SampleSpace("ab", [float("nan"), 1.0]), r"probabilities\['a'\]"),
        (lambda: SampleSpace("ab", [1.0]), "one for each of 2"),
        (lambda: SampleSpace("ab", weights=[0, 0]), "sum > 0"),
        (lambda: SampleSpace({"a": 1}, [1]), "beside a mapping"),
        (lambda: DIE.event({7}), "outcomes of the space, got 7"),
        (lambda: SampleSpace(["ab", "c"]).event("ab"), "Use {outcome}"),
        (lambda: DIE.event({1}) & {2}, "space.event"),
        (lambda: SampleSpace("ab").certain | DIE.certain, "an event of this space"),
        (lambda: DIE**0, "≥ 1"),
        (lambda: DIE**100, "at most"),
        (lambda: DIE.total_probability({1}, [{1, 2}, {2, 3, 4, 5, 6}]), "disjoint parts"),
        (lambda: DIE.total_probability({1}, [{1, 2}]), "cover"),
    ],
)
def test_bad_input_is_named(call, names):
    with pytest.raises(ParameterError, match=names):
        call()


def test_conditioning_on_the_impossible():
    space = SampleSpace({"a": 1, "b": 0})
    for call in (lambda: space.given({"b"}), lambda: space.event({"a"}).given({"b"}), lambda: DIE.given(set())):
        with pytest.raises(ZeroProbabilityError):
            call()
    assert space.total_probability({"a"}, [{"a"}, {"b"}]) == [(1, 1), (None, 0)]
