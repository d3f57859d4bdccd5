"""`MarkovChain`: known answers, identities over random chains against powers of P, named errors."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from credo.errors import DataError, NotIdentifiedError, ParameterError, UnavailableError
from credo.probability import MarkovChain, learn_chain
from credo.probability.chains import stationary

WEATHER = MarkovChain([[F(3, 10), F(7, 10)], [F(1, 2), F(1, 2)]], ["sun", "rain"])
# The gambler with 0 … 4 coins who wins one with probability 2/5
STEPS = [[F(3, 5) * (j == i - 1) + F(2, 5) * (j == i + 1) for j in range(5)] for i in (1, 2, 3)]
RUIN = MarkovChain([[1, 0, 0, 0, 0], *STEPS, [0, 0, 0, 0, 1]])


@st.composite
def rows(draw, n_max=6):
    n = draw(st.integers(1, n_max))
    weights = [draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)) for _ in range(n)]
    return [[F(w, sum(row)) for w in row] for row in weights]


def power(P, k):
    return np.linalg.matrix_power(np.array(P, dtype=np.float64), k)


def test_two_states():
    assert WEATHER.stationary == {"sun": F(5, 12), "rain": F(7, 12)}
    assert MarkovChain([[0.3, 0.7], [0.5, 0.5]]).stationary == pytest.approx({0: 5 / 12, 1: 7 / 12}, rel=1e-15)
    assert WEATHER.is_regular
    assert WEATHER.spectral_gap == pytest.approx(0.8, rel=1e-12)
    assert WEATHER.law("sun", 2) == {"sun": F(44, 100), "rain": F(56, 100)}
    assert WEATHER.return_times() == {"sun": F(12, 5), "rain": F(12, 7)}


def test_a_flip_is_irreducible_and_not_regular():
    flip = MarkovChain([[0, 1], [1, 0]])
    assert (flip.is_irreducible, flip.is_regular, flip.periods) == (True, False, [2])
    assert flip.stationary == {0: F(1, 2), 1: F(1, 2)}
    assert flip.spectral_gap == 0.0
    with pytest.raises(NotIdentifiedError, match="not regular"):
        flip.mixing_time()


def test_regular_without_a_positive_matrix():
    chain = MarkovChain([[0, 1, 0], [0, 0, 1], [F(1, 2), F(1, 2), 0]])
    assert chain.is_regular
    assert np.all(power(chain.transition.toarray(), 5) > 0)


def test_identity_has_many_laws():
    still = MarkovChain(np.eye(3), "abc")
    with pytest.raises(NotIdentifiedError, match="3 recurrent classes"):
        _ = still.stationary
    assert still.stationary_laws == [{s: float(s == only) for s in "abc"} for only in "abc"]
    assert still.long_run({"a": 0.25, "c": 0.75}) == {"a": 0.25, "b": 0.0, "c": 0.75}


def test_the_gamblers_ruin():
    q = F(3, 2)
    win = {i: (q**i - 1) / (q**4 - 1) for i in range(5)}
    assert {i: p[1] for i, p in RUIN.absorption_probabilities().items()} == win
    assert RUIN.absorbing_states == [0, 4]
    assert RUIN.transient_states == [1, 2, 3]
    steps = RUIN.hitting_times([0, 4])
    assert steps[2] == (2 - 4 * win[2]) / (1 - 2 * F(2, 5))
    assert RUIN.hitting_times(4)[2] == math.inf
    assert RUIN.hitting_times(4)[4] == 0
    assert RUIN.hitting_probabilities(0)[4] == 0


@given(rows())
def test_exact_and_floating_agree_with_powers(P):
    exact, floating = MarkovChain(P), MarkovChain(np.array(P, dtype=np.float64))
    assert exact.classes == floating.classes
    assert exact.periods == floating.periods
    # the average of Pᵏ over a common period, far out, is the long run
    period = math.lcm(*(p for p in exact.periods if p))
    far = np.mean([power(P, 2000 + k) for k in range(period)], axis=0)
    for state in exact.states:
        assert list(floating.long_run(state).values()) == pytest.approx(far[state], abs=1e-9)
        assert [float(p) for p in exact.long_run(state).values()] == pytest.approx(far[state], abs=1e-9)
        law = exact.law(state, 3)
        assert list(law.values()) == [F(v) for v in law.values()]
        assert list(map(float, law.values())) == pytest.approx(power(P, 3)[state], abs=1e-12)
    for law in exact.stationary_laws:
        assert {j: sum(law[i] * P[i][j] for i in law) for j in law} == law
    assert exact.is_regular == bool(np.all(power(P, (len(P) - 1) ** 2 + 1) > 0))
    ends = exact.absorption_probabilities()
    assert all(sum(p) == 1 for p in ends.values())
    for state, p in floating.absorption_probabilities().items():
        assert p == pytest.approx([float(v) for v in ends[state]], abs=1e-12)


@given(rows(4), st.integers(0, 3), st.integers(0, 3))
def test_chapman_and_kolmogorov(P, j, k):
    chain = MarkovChain(P)
    assert chain.law(0, j + k) == chain.law(chain.law(0, j), k)


@given(rows(5))
def test_hitting_against_brute_force(P):
    chain, n = MarkovChain(P), len(P)
    target = n - 1
    stopped = np.array(P, dtype=np.float64)
    stopped[target] = np.eye(n)[target]
    far = np.linalg.matrix_power(stopped, 4000)[:, target]
    probability, steps = chain.hitting_probabilities(target), chain.hitting_times(target)
    assert [float(p) for p in probability.values()] == pytest.approx(far, abs=1e-9)
    for i in range(n):
        if steps[i] == math.inf:
            assert probability[i] < 1
        elif i != target:
            assert steps[i] == 1 + sum(p * steps[j] for j, p in enumerate(P[i]) if p)
    floating = MarkovChain(np.array(P, dtype=np.float64)).hitting_times(target)
    assert list(floating.values()) == pytest.approx([float(s) for s in steps.values()], rel=1e-9)


@given(st.lists(st.integers(1, 9), min_size=15, max_size=15))
def test_symmetric_weights_balance_and_detailed_balance_is_stationary(weights):
    W = np.zeros((5, 5), dtype=int)
    W[np.triu_indices(5)] = weights
    W = W + W.T
    chain = MarkovChain([[F(int(w), int(row.sum())) for w in row] for row in W])
    assert chain.satisfies_detailed_balance
    assert chain.stationary == {i: F(int(W[i].sum()), int(W.sum())) for i in range(5)}
    assert chain.reversed().law(0, 1) == chain.law(0, 1)


def test_a_cycle_is_stationary_without_balance():
    ring = MarkovChain([[0, F(2, 3), F(1, 3)], [F(1, 3), 0, F(2, 3)], [F(2, 3), F(1, 3), 0]])
    assert set(ring.stationary.values()) == {F(1, 3)}
    assert not ring.satisfies_detailed_balance
    assert ring.reversed().law(0, 1) == {0: 0, 1: F(1, 3), 2: F(2, 3)}
    floating = MarkovChain(ring.transition)
    assert not floating.satisfies_detailed_balance


def test_mixing_time_by_every_step():
    chain = MarkovChain([[0.9, 0.1, 0, 0], [0.1, 0.8, 0.1, 0], [0, 0.1, 0.8, 0.1], [0, 0, 0.1, 0.9]])
    distance = np.max([chain.distance_to_stationary(s, 300) for s in chain.states], axis=0)
    for eps in (0.4, 0.25, 0.01, 1e-6):
        assert chain.mixing_time(eps) == next(t for t, d in enumerate(distance) if d <= eps)
    assert chain.spectral_gap == pytest.approx(0.1 * (2 - 2 * np.cos(np.pi / 4)), rel=1e-12)


def lazy_ring(n, forward, rng):
    ahead = rng.uniform(forward, forward + 0.2, n)
    i = np.arange(n)
    return scipy.sparse.csr_array(
        (np.concatenate([ahead, 1.0 - ahead]), (np.r_[i, i], np.r_[(i + 1) % n, (i - 1) % n])), shape=(n, n)
    )


@pytest.mark.parametrize("way", ["balanced", "averaged", "factored", "solved"])
def test_each_way_to_the_stationary_law(way):
    n, rng = 60, np.random.default_rng(3)
    if way == "balanced":
        W = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.2)) + np.eye(n) + np.eye(n, k=1)
        P = scipy.sparse.csr_array((W + W.T) / (W + W.T).sum(axis=1, keepdims=True))
    elif way == "averaged":
        W = rng.uniform(size=(n, n))
        P = scipy.sparse.csr_array(W / W.sum(axis=1, keepdims=True))
    else:
        P = lazy_ring(n, 0.5, rng)
    expected = stationary.eliminated(P.toarray())
    pi = getattr(stationary, way)(P.sorted_indices())
    assert pi == pytest.approx(expected, rel=1e-8)
    if way != "balanced":
        assert stationary.balanced(P.sorted_indices()) is None


def test_a_sparse_walk_on_a_grid_is_certified():
    n = 60
    line = scipy.sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1])
    A = scipy.sparse.kronsum(line, line, format="csr")
    degree = np.asarray(A.sum(axis=1)).ravel()
    chain = MarkovChain(scipy.sparse.diags_array(1.0 / degree) @ A)
    assert np.asarray(chain.stationary) == pytest.approx(degree / degree.sum(), rel=1e-10)
    assert chain.stationary_result[0][0] == "balanced"
    assert chain.stationary_result[0][1] <= 1e-10
    assert chain.periods == [2]


def test_a_stationary_law_that_spans_four_hundred_decades():
    n = 1000
    up = np.full(n - 1, 0.1)
    P = scipy.sparse.diags_array([0.9 * np.ones(n - 1), up], offsets=[-1, 1]).tolil()
    P[0, 0], P[n - 1, n - 1] = 0.9, 0.1
    pi = np.asarray(list(MarkovChain(P.tocsr()).stationary.values()))
    assert pi[:300] == pytest.approx((1 - 1 / 9) * (1 / 9.0) ** np.arange(300), rel=1e-9)


def test_simulation_follows_the_chain():
    """20,000 steps: each share within 5 sd of an independent sample's, times the chain's variance factor (< 1)."""
    path = WEATHER.simulate(20_000, rng=0)
    assert path == WEATHER.simulate(20_000, rng=0)
    belief = learn_chain(path)
    P = WEATHER.transition.toarray()
    from_row = belief.counts.sum(axis=1)
    order = [belief.states.index(s) for s in WEATHER.states]
    shares = (belief.counts / from_row[:, None])[np.ix_(order, order)]
    assert np.all(np.abs(shares - P) < 5.0 * np.sqrt(P * (1 - P) / from_row[order][:, None]))
    assert RUIN.simulate(50, rng=1, start=4) == [4] * 50
    assert WEATHER.simulate(0, rng=0, start="sun") == []


def test_learning():
    belief = learn_chain([["a", "b", "a"], ["b", "b"]], prior=2.0)
    assert belief.counts.tolist() == [[0, 1], [1, 1]]
    assert belief.mean.law("a", 1) == pytest.approx({"a": 2 / 5, "b": 3 / 5})
    assert belief.mode.law("a", 1) == pytest.approx({"a": 1 / 3, "b": 2 / 3})
    assert belief.mle.law("a", 1) == {"a": 0.0, "b": 1.0}
    # one row at a time, datum by datum: Π (prior + so far)/(total so far)
    assert belief.log_evidence == pytest.approx(math.log(2 / 4) + math.log(2 / 4 * 2 / 5), rel=1e-12)
    two = learn_chain("ab", states="ab", prior=2.0).update("ba")
    assert two.counts.tolist() == [[0, 1], [1, 0]]
    draws = np.array([c.transition.toarray() for c in belief.sample(4000, rng=0)])
    assert np.abs(draws.mean(axis=0) - belief.mean.transition.toarray()).max() < 5 * belief.sd.max() / np.sqrt(4000)


@pytest.mark.parametrize(
    ("call", "error", "names"),
    [
        (lambda: MarkovChain([[0.5, 0.5], [0.5, 0.6]]), DataError, "row 1 sums to 1.1"),
        (lambda: MarkovChain([[F(1, 2), F(1, 2)], [F(1, 3), F(1, 3)]]), DataError, "row 1 sums to 2/3"),
        (lambda: MarkovChain([[1.5, -0.5], [0.5, 0.5]]), DataError, "row 0 holds -0.5"),
        (lambda: MarkovChain([[1.0, 0.0], [np.nan, 1.0]]), DataError, "row 1 holds nan"),
        (lambda: MarkovChain(scipy.sparse.csr_array([[0.5, 0.5], [0.0, 0.0]])), DataError, "row 1 sums to 0"),
        (lambda: MarkovChain([[1.0, 0.0]]), ParameterError, "square"),
        (lambda: MarkovChain([]), ParameterError, "square"),
        (lambda: MarkovChain([["a", "b"], ["c", "d"]]), ParameterError, "numbers"),
        (lambda: MarkovChain(np.eye(2), ["a", "a"]), ParameterError, "2 distinct names"),
        (lambda: WEATHER.law("snow", 1), ParameterError, "start"),
        (lambda: WEATHER.law({"snow": 1.0}, 1), ParameterError, "one of its states"),
        (lambda: WEATHER.law("sun", -1), ParameterError, "≥ 0"),
        (lambda: WEATHER.law([0.5, 0.6], 1), ParameterError, "sum to 1"),
        (lambda: WEATHER.hitting_times("snow"), ParameterError, "a state or a list"),
        (lambda: WEATHER.hitting_times([]), ParameterError, "a state or a list"),
        (lambda: WEATHER.mixing_time(0.0), ParameterError, "eps"),
        (lambda: RUIN.reversed(), NotIdentifiedError, "irreducible"),
        (lambda: MarkovChain(np.eye(31)).diagram(), UnavailableError, "31 states"),
        (lambda: learn_chain([["a"], ["a", "b"]], states="a"), DataError, "path 1 visits 'b'"),
        (lambda: learn_chain("ab", prior=-1), ParameterError, "prior"),
        (lambda: learn_chain("ab", prior=0).mle, UnavailableError, "never left"),
        (lambda: learn_chain("ab", prior=0).log_evidence, UnavailableError, "proper prior"),
    ],
)
def test_bad_input_is_named(call, error, names):
    with pytest.raises(error, match=names):
        call()


def test_the_diagram_is_svg_with_its_words():
    import xml.etree.ElementTree as ElementTree

    text = WEATHER.diagram().svg()
    root = ElementTree.fromstring(text)
    assert sum(element.tag.endswith("circle") for element in root.iter()) == 2
    assert "sun to rain 7/10" in text
    ElementTree.fromstring(MarkovChain(np.eye(1), ["<&>"]).diagram().svg())
