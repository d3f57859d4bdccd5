"""Awkward input: every failure is a named error, and no number that comes out is silently wrong."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import credo as cr
from credo.errors import CredoError, DataError, MemoryLimitError, NumericalError, ParameterError, UnavailableError
from credo.probability import Event, SampleSpace, bayes_rule, coherence
from credo.probability.factors import Factor, FactorGraph

DIE = SampleSpace(range(1, 7))
RACE = SampleSpace("ABC")
WEATHER = cr.MarkovChain([[0.3, 0.7], [0.5, 0.5]], ["sun", "rain"])
GRAPH = FactorGraph([Factor(["a", "b"], [[1.0, 2.0], [3.0, 4.0]]), Factor("b", [0.5, 0.5])])
PATHS = cr.learn_chain("ABAB", states="ABC", prior=0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: SampleSpace(5),
        lambda: SampleSpace(None),
        lambda: SampleSpace("ab", 1),
        lambda: SampleSpace("ab", weights=1),
        lambda: SampleSpace("ab", weights=["1", "2"]),
        lambda: SampleSpace("ab", weights=[None, 1]),
        lambda: SampleSpace("ab", weights=[-1, 2]),
        lambda: SampleSpace("ab", weights=[0, 0]),
        lambda: SampleSpace("ab", weights=[np.nan, 1]),
        lambda: DIE.event([[1]]),
        lambda: DIE.event(lambda face: np.array([face, 1])),
        lambda: DIE.then(lambda face: [face]),
        lambda: DIE.law(lambda face: [face]),
        lambda: SampleSpace("ab").expectation(),
        lambda: DIE.sample(-1),
        lambda: DIE.sample(2.5),
        lambda: bayes_rule(),
        lambda: bayes_rule(likelihood=[0.5, 0.6], prior=[0.1, 0.2, 0.3], otherwise=0.5),
        lambda: coherence(RACE, [({"A"}, "x")]),
        lambda: coherence(RACE, [({"A"}, (0.1, 0.2, 0.3))]),
        lambda: coherence(["A"], []),
        lambda: coherence(RACE, 5),
        lambda: cr.MarkovChain(np.eye(2, dtype=complex)),
        lambda: cr.MarkovChain(np.eye(2), [["a"], ["b"]]),
        lambda: cr.MarkovChain(np.eye(2), 2),
        lambda: cr.MarkovChain(pd.DataFrame(np.eye(2), index=["b", "a"], columns=["a", "b"])),
        lambda: WEATHER.law(["a", "b"], 1),
        lambda: WEATHER.law({"sun": "x"}, 1),
        lambda: WEATHER.simulate(-1),
        lambda: WEATHER.simulate(1.5),
        lambda: WEATHER.simulate(True),
        lambda: WEATHER.distance_to_stationary("sun", 1.5),
        lambda: WEATHER.distance_to_stationary("sun", "a"),
        lambda: WEATHER.mixing_time("a"),
        lambda: WEATHER.mixing_time(1e-17),
        lambda: cr.learn_chain(5),
        lambda: cr.learn_chain(None),
        lambda: cr.learn_chain([[["u"]]]),
        lambda: cr.learn_chain(pd.DataFrame({"s": ["x", "y"]})),
        lambda: cr.learn_chain("AB", prior="x"),
        lambda: cr.learn_chain("AB", prior=[1, 2, 3]),
        lambda: PATHS.sd,
        lambda: PATHS.sample(2, 0),
        lambda: cr.learn_chain("AB").sample(-1),
        lambda: Factor("a", [1 + 0j, 2]),
        lambda: Factor("a", [1, 2], [[[1], [2]]]),
        lambda: FactorGraph(Factor("a", [1, 2])),
        lambda: FactorGraph(5),
        lambda: FactorGraph([Factor("a", [1, 2])], memory_limit="x"),
        lambda: GRAPH.query("a", ["b"]),
        lambda: GRAPH.query("a", likelihoods=5),
        lambda: GRAPH.most_probable(["b"]),
    ],
)
def test_misuse_is_a_named_error(call):
    with pytest.raises(CredoError):
        call()


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, object])
def test_integer_weights_of_any_width_are_shares(kind):
    """NumPy's integers overflow: three weights near the largest of their kind are a third each, exactly."""
    largest = 10**30 if kind is object else int(np.iinfo(kind).max)
    space = SampleSpace("abc", weights=np.array([largest, largest - 1, largest], dtype=kind))
    total = 3 * largest - 1
    assert space.probabilities == {s: Fraction(w, total) for s, w in zip("abc", (largest, largest - 1, largest))}


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", ["max", "tiny"])
def test_floating_weights_of_any_scale_are_shares(kind, size):
    value = getattr(np.finfo(kind), size)
    shares = SampleSpace("abc", weights=np.array([value, value, 0], dtype=kind)).probabilities
    assert shares == {"a": 0.5, "b": 0.5, "c": 0.0}


def test_kinds_of_numbers_mix_in_bayes_rule():
    mixed = bayes_rule(likelihood=[0.5, 0.6], prior=Fraction(1, 2), otherwise=Fraction(1, 10))
    np.testing.assert_allclose(mixed, [0.25 / 0.3, 0.3 / 0.35], rtol=1e-14)


def test_asking_whether_anything_is_in_an_event_is_allowed():
    assert [1] not in DIE.event({1})
    assert len(DIE ** np.int64(2)) == 36
    assert isinstance(DIE.event({1}), Event)


def test_a_chain_in_single_precision_or_a_data_frame():
    rows = np.random.default_rng(0).dirichlet(np.ones(5), 5)
    single = cr.MarkovChain(rows.astype(np.float32))
    np.testing.assert_allclose(list(single.stationary.values()), list(cr.MarkovChain(rows).stationary.values()), 1e-6)
    with pytest.raises(CredoError, match="row 0 sums"):
        cr.MarkovChain(rows * 1.001)
    for index in (None, ["x", "y"]):
        assert cr.MarkovChain(pd.DataFrame([[0.5, 0.5], [0.2, 0.8]], index, ["x", "y"])).states == ("x", "y")


@pytest.mark.parametrize("steps", [10**9, 10**15, 10**18])
def test_a_law_after_very_many_steps(steps):
    a = 1e-15 * (1 + 2**-20)
    leave = np.array([[1.0 - a, a], [a, 1.0 - a]])
    stay = leave[0, 0]  # as a float has it: one step keeps stay − (1 − stay) of the difference of the two
    chain = cr.MarkovChain(leave)
    kept = np.exp(steps * np.log1p(-(1.0 - stay) - a))
    assert abs(chain.law(0, steps)[0] - 0.5 * (1.0 + kept)) < 1e-3
    assert WEATHER.law("sun", steps)["sun"] == pytest.approx(5 / 12, abs=1e-12)


def test_repeated_squaring_is_step_by_step(monkeypatch):
    rows = np.random.default_rng(1).dirichlet(np.ones(6) * 0.3, 6)
    chain = cr.MarkovChain(rows)
    slow = [list(chain.law(2, k).values()) for k in range(20)]
    monkeypatch.setattr("credo.probability.chains.chain.MOST_PRODUCTS", -1)
    np.testing.assert_allclose([list(chain.law(2, k).values()) for k in range(20)], slow, atol=1e-14)


def test_rows_of_small_concentration_are_drawn_and_have_their_moments():
    """Gamma(1e-4) underflows to 0 in most draws; a row of such is still a point of the simplex.

    A share of Dirichlet(c, c, c) has mean 1/3 and variance (2/9)/(3c + 1): z-tests of 4 σ, false alarm 6e-5 each.
    """
    belief = cr.learn_chain("A", states="ABC", prior=1e-4)
    shares = np.array([chain.transition.toarray()[0, 0] for chain in belief.sample(2000, rng=0)])
    assert abs(shares.mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / 2000)
    ordinary = cr.learn_chain("A", states="ABC", prior=2.0)
    shares = np.array([chain.transition.toarray()[0, 0] for chain in ordinary.sample(2000, rng=1)])
    assert abs(shares.mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / 7 / 2000)
    assert shares.var() == pytest.approx(2 / 9 / 7, rel=0.15)


def test_paths_in_columns_of_a_table():
    series = [pd.Series(["x", "y", "x"], index=[5, 6, 7]), pd.Series(["y", "x"])]
    assert cr.learn_chain(series).counts.tolist() == [[0, 1], [2, 0]]


def test_a_row_never_left_is_named():
    with pytest.raises(UnavailableError, match="'C' was never left"):
        _ = PATHS.sd


BIG, SMALL = Factor("a", [1e300, 1.0]), Factor("a", [1e-200, 2e-200])


@pytest.mark.parametrize(
    "call",
    [
        lambda: BIG * BIG,
        lambda: SMALL * SMALL,
        lambda: BIG / Factor("a", [1e-300, 1.0]),
        lambda: Factor("a", [1e308, 1e308]).total,
        lambda: Factor("a", [1e308, 1e308]).normalise(),
    ],
)
def test_a_table_beyond_floating_point_is_an_error_that_names_logarithms(call):
    with pytest.raises(NumericalError, match="from_log"):
        call()


def test_the_remedy_for_a_table_beyond_floating_point_works():
    logs = [Factor.from_log("a", f.log_values, f.states) for f in (SMALL, SMALL)]
    np.testing.assert_allclose((logs[0] * logs[1]).normalise().values, [0.2, 0.8], rtol=1e-12)
    assert (Factor("a", [1e-310, 0.0]) * 1.0).values[0] == 1e-310  # small already, and nothing lost
    assert (Factor("a", [1.0, 0.0]) * Factor("a", [0.0, 1.0])).values.tolist() == [0.0, 0.0]  # truly impossible
    assert (Factor("a", [1e-300, 1.0]) * Factor("a", [1e-300, 1.0])).values.tolist() == [0.0, 1.0]


def test_a_query_about_nothing_is_one():
    assert float(GRAPH.query([])) == 1.0
    assert float(GRAPH.query([], {"b": 1})) == 1.0


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, np.float32("nan")])
def test_what_is_missing_in_a_column_has_likelihood_one(missing):
    assert GRAPH.indicators("b", [0, missing]).tolist() == [[1.0, 1.0], [0.0, 1.0]]
    with pytest.raises(ParameterError, match="states\\[1\\]"):
        GRAPH.indicators("b", [0, 7, missing])


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64])
def test_numpy_integers_among_fractions_do_not_overflow(kind):
    """`Fraction(np.int8(1))` keeps the width of its numerator: 1/100 + 1/99 would overflow in it."""
    one, zero, wide = kind(1), kind(0), Fraction(1, 10**9 + 7)
    chain = cr.MarkovChain(
        [[zero, one, zero], [wide, zero, 1 - wide], [Fraction(1, 10**9 + 9), zero, 1 - Fraction(1, 10**9 + 9)]]
    )
    assert sum(chain.stationary.values()) == 1
    P = chain._exact
    pi = list(chain.stationary.values())
    assert all(sum(pi[i] * P[i][j] for i in range(3)) == pi[j] for j in range(3))
    hundred = kind(100)
    product = Factor("a", [hundred, wide]) * Factor("a", [hundred, wide])
    assert product.values.tolist() == [Fraction(10_000), wide**2]
    assert bayes_rule(likelihood=one, prior=wide, otherwise=wide) == wide / (wide + wide * (1 - wide))
    assert SampleSpace("ab", [one, zero]).probabilities == {"a": 1, "b": 0}


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int64])
def test_moments_of_numpy_integers_are_exact(kind):
    top = int(np.iinfo(kind).max)
    space = SampleSpace([kind(top), kind(-top)])
    assert space.expectation() == 0
    assert space.variance() == top**2


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_step_is_not_a_state(gap):
    """Each NaN would be a state of its own, for none equals another."""
    for path in (["a", gap, "b", gap], pd.Series(["a", gap, "b"], dtype=object)):
        with pytest.raises(DataError, match="step 1 of path 0 is missing"):
            cr.learn_chain(path)
    with pytest.raises(DataError, match="step 2 of path 1 is missing"):
        cr.learn_chain([["a", "b"], ["a", "b", gap]], states="ab")
    with pytest.raises(DataError, match="step 0 of path 0 is missing"):
        PATHS.update([[gap, "A"]])


def test_states_and_times_are_plain_numbers():
    for path in (np.array([2, 0, 2]), [2, 0, 2], np.array([[2, 0], [0, 2]])):
        assert [type(state) for state in cr.learn_chain(path).states] == [int, int]
    assert {type(t) for t in WEATHER.return_times().values()} == {float}
    with pytest.raises(ParameterError, match=r"values\[0\] must be finite and ≥ 0, got -1.0"):
        Factor("a", [-1, 2])
    with pytest.raises(ParameterError, match=r"values must be finite and ≥ 0, got -2.0"):
        Factor("a", [1, 2]) * -2


def test_tables_beyond_memory_are_refused_before_they_are_formed():
    a, b = Factor("a", np.ones(10**5)), Factor("b", np.ones(10**5))
    for call in (lambda: a * b, lambda: a / b, lambda: Factor.from_log("a", np.zeros(10**5)) * b):
        with pytest.raises(MemoryLimitError) as caught:
            call()
        assert caught.value.value == 8 * 10**10
    n = 20_000
    ring = cr.MarkovChain(scipy.sparse.diags_array([0.5, 0.25, 0.25, 0.25, 0.25], offsets=[0, 1, -1, n - 1, 1 - n],
                                                   shape=(n, n)))  # fmt: skip
    with pytest.raises(MemoryLimitError, match="20,000 states"):
        ring.mixing_time()


def test_what_is_printed_is_what_matters():
    assert "_equations" not in repr(coherence(RACE, [({"A"}, 0.5)]))


def test_a_gap_too_small_for_arnoldi_iteration_is_said_in_bounded_time():
    """A walk on a line of 1,500 states: the gap is 2.2e-6, which some thousand products with P do not settle."""
    n = 1500
    walk = scipy.sparse.diags_array([0.5, 0.5], offsets=[1, -1], shape=(n, n)).tolil()
    walk[0, 0] = walk[-1, -1] = 0.5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("credo.probability.chains.mixing.RESTARTS", 2)
        with pytest.raises(NumericalError, match="too small to tell from 0"):
            _ = cr.MarkovChain(walk).spectral_gap
