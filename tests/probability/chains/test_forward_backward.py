"""Hidden states against the sum over all paths, and where probabilities leave the range of floating point."""

from __future__ import annotations

import itertools
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse
from scipy.special import logsumexp

from credo.errors import ParameterError, ZeroProbabilityError
from credo.probability.chains import MarkovChain, forward_backward, hidden, viterbi


def all_paths(P, start, ll):
    """Every path of states (m, n), and log p(path, x) (m,)."""
    n, size = ll.shape
    with np.errstate(divide="ignore"):
        log_P, log_start = np.log(P), np.log(start)
    paths = np.array(list(itertools.product(range(size), repeat=n)))
    weight = log_start[paths[:, 0]] + ll[np.arange(n), paths].sum(axis=1)
    return paths, weight + log_P[paths[:, :-1], paths[:, 1:]].sum(axis=1)


def problem(seed):
    """A chain, a start and likelihoods; every other one has transitions and emissions of probability 0."""
    rng = np.random.default_rng(seed)
    size, n = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    P, start = rng.dirichlet(np.full(size, 0.7), size), rng.dirichlet(np.ones(size))
    ll = rng.normal(0.0, 4.0, (n, size))
    if seed % 2:
        P[rng.random((size, size)) < 0.3] = 0.0
        P[np.arange(size), np.arange(size)] += 0.1
        P /= P.sum(axis=1, keepdims=True)
        start[1:] = 0.0
        start[0] = 1.0
        ll[:, 1:][rng.random((n, size - 1)) < 0.2] = -np.inf
    return P, start, ll


@pytest.mark.parametrize("logarithms", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_everything_agrees_with_the_sum_over_paths(seed, logarithms, monkeypatch):
    if logarithms:  # every transition counts as too small for one scale factor a step
        monkeypatch.setattr(hidden, "SMALLEST", 2.0)
    P, start, ll = problem(seed)
    n, size = ll.shape
    paths, weight = all_paths(P, start, ll)
    total = logsumexp(weight)
    share = np.exp(weight - total)
    found = forward_backward(MarkovChain(P), ll, start)
    np.testing.assert_allclose(found.log_likelihood, [total], rtol=1e-12)
    np.testing.assert_allclose(found.log_predictive.sum(), total, rtol=1e-12)
    pairs = np.zeros((n, size, size))
    for t in range(n):
        smoothed = [share[paths[:, t] == k].sum() for k in range(size)]
        np.testing.assert_allclose(found.smoothed[t], smoothed, atol=1e-13)
        before, past = all_paths(P, start, ll[: t + 1])
        past = np.exp(past - logsumexp(past))
        np.testing.assert_allclose(found.filtered[t], [past[before[:, t] == k].sum() for k in range(size)], atol=1e-13)
        if t + 1 < n:
            np.add.at(pairs[t], (paths[:, t], paths[:, t + 1]), share)
            np.testing.assert_allclose(found.pair(t), pairs[t], atol=1e-13)
    np.testing.assert_allclose(found.transitions, pairs.sum(axis=0), atol=1e-12)
    best = viterbi(MarkovChain(P), ll, start)
    assert best.log_prob[0] == pytest.approx(weight.max(), rel=1e-12)
    assert weight[np.all(paths == best.numbers, axis=1)][0] == pytest.approx(weight.max(), rel=1e-12)


def test_sequences_are_those_of_one_call_each():
    rng = np.random.default_rng(0)
    chain, lengths = MarkovChain(rng.dirichlet(np.ones(3), 3), "abc"), [4, 1, 7, 1, 30]
    ll = rng.normal(0, 2, (sum(lengths), 3))
    both, path = forward_backward(chain, ll, lengths=lengths), viterbi(chain, ll, lengths=lengths)
    parts = np.split(ll, np.cumsum(lengths)[:-1])
    alone = [forward_backward(chain, part) for part in parts]
    for name in ("filtered", "smoothed", "log_predictive", "log_likelihood"):
        np.testing.assert_array_equal(getattr(both, name), np.concatenate([getattr(a, name) for a in alone]))
    np.testing.assert_allclose(both.transitions, sum(a.transitions for a in alone), rtol=1e-13)
    assert both.transitions.sum() == pytest.approx(sum(lengths) - len(lengths))
    assert path.states == [state for part in parts for state in viterbi(chain, part).states]


def test_a_row_without_observation_says_nothing():
    rng = np.random.default_rng(1)
    chain, ll = MarkovChain(rng.dirichlet(np.ones(3), 3)), rng.normal(size=(6, 3))
    ll[3:] = 0.0
    found = forward_backward(chain, ll, {1: 1.0})
    P = chain.transition.toarray()
    np.testing.assert_allclose(found.filtered[3], found.filtered[2] @ P, rtol=1e-12)
    np.testing.assert_allclose(found.filtered[5], found.filtered[2] @ np.linalg.matrix_power(P, 3), rtol=1e-12)
    np.testing.assert_allclose(found.log_predictive[3:], 0.0, atol=1e-13)


def test_a_constant_on_a_row_moves_the_likelihood_only():
    rng = np.random.default_rng(2)
    chain, ll = MarkovChain(rng.dirichlet(np.ones(4), 4)), rng.normal(size=(50, 4))
    shift = rng.choice([-1e5, 0.0, 1e5], 50)
    plain, moved = forward_backward(chain, ll), forward_backward(chain, ll + shift[:, None])
    np.testing.assert_allclose(moved.smoothed, plain.smoothed, atol=1e-9)
    np.testing.assert_allclose(moved.log_predictive - shift, plain.log_predictive, atol=1e-9)


def test_a_hundred_thousand_steps_without_underflow():
    """A chain that forgets at once: the likelihood factorises, and is e^−250,000."""
    rng = np.random.default_rng(3)
    pi = np.array([0.2, 0.5, 0.3])
    ll = rng.normal(-2.0, 2.0, (100_000, 3))
    found = forward_backward(MarkovChain(np.tile(pi, (3, 1))), ll, pi)
    each = logsumexp(ll, axis=1, b=pi)
    np.testing.assert_allclose(found.log_predictive, each, rtol=1e-10)
    np.testing.assert_allclose(found.smoothed, pi * np.exp(ll - each[:, None]), atol=1e-13)
    assert found.log_likelihood[0] == pytest.approx(each.sum(), rel=1e-12)
    np.testing.assert_allclose(found.smoothed.sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("gap", [100.0, 800.0, 5000.0])
def test_a_state_all_but_ruled_out_comes_back(gap):
    """Two worlds that never meet. The first rows favour one by e^gap, the later ones the other by e^(gap + 1).

    One scale factor a step would have lost it.
    """
    chain = MarkovChain(np.eye(2))
    rows = 40
    ll = np.zeros((2 * rows, 2))
    ll[:rows, 1], ll[rows:, 0] = -gap / rows, -(gap + 1.0) / rows
    found = forward_backward(chain, ll, [0.5, 0.5])
    expected = 1.0 / (1.0 + np.exp(-1.0))
    np.testing.assert_allclose(found.smoothed[:, 1], expected, rtol=1e-9)
    np.testing.assert_allclose(found.transitions[1, 1], (2 * rows - 1) * expected, rtol=1e-9)
    assert found.log_likelihood[0] == pytest.approx(np.log(0.5) + np.logaddexp(-gap, -gap - 1.0), rel=1e-12)


def test_the_only_possible_state_may_be_unlikely():
    chain = MarkovChain([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    ll = np.array([[-2000.0, 0.0, 0.0], [-3000.0, -3001.0, 0.0], [0.0, 0.0, 0.0]])
    found = forward_backward(chain, ll, 0)
    np.testing.assert_allclose(found.filtered[:2], [[1, 0, 0], [1 / (1 + np.exp(-1)), 1 / (1 + np.e), 0]], rtol=1e-9)
    total = all_paths(chain.transition.toarray(), np.array([1.0, 0, 0]), ll)[1]
    assert found.log_likelihood[0] == pytest.approx(logsumexp(total), rel=1e-13)


def test_a_left_to_right_chain_of_many_steps():
    """The first states die out geometrically, beyond the range of floating point."""
    chain = MarkovChain([[0.2, 0.8], [0.0, 1.0]])
    ll = np.zeros((2000, 2))
    found = forward_backward(chain, ll, 0)
    np.testing.assert_allclose(found.filtered[:, 0], 0.2 ** np.arange(2000), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(found.log_likelihood, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.transitions[0], [0.25, 1.0], rtol=1e-9)


def test_the_stationary_law_is_the_default_start():
    chain = MarkovChain([[0.9, 0.1], [0.3, 0.7]], ["a", "b"])
    np.testing.assert_allclose(forward_backward(chain, np.zeros((3, 2))).smoothed, [[0.75, 0.25]] * 3, rtol=1e-12)


@pytest.mark.parametrize("function", [forward_backward, viterbi])
def test_impossible_observations_name_the_step(function):
    chain = MarkovChain([[0.5, 0.5], [0.0, 1.0]])
    ll = np.zeros((9, 2))
    ll[6, 1], ll[7, 0] = -np.inf, -np.inf
    function(chain, ll, 0, lengths=[4, 5])
    ll[5, 0] = -np.inf
    with pytest.raises(ZeroProbabilityError, match=r"up to step 2 of sequence 1 \(row 6\)") as error:
        function(chain, ll, 0, lengths=[4, 5])
    assert error.value.value == 6
    with pytest.raises(ZeroProbabilityError, match=r"step 0 of sequence 0 \(row 0\)"):
        function(chain, np.full((1, 2), -np.inf))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"log_likelihood": np.zeros((3, 3))}, r"of shape \(rows, 2\)"),
        ({"log_likelihood": np.zeros((0, 2))}, "a row at least"),
        ({"log_likelihood": np.zeros(3)}, r"of shape \(rows, 2\)"),
        ({"log_likelihood": [["a", "b"]]}, "numbers"),
        ({"log_likelihood": [[0.0, 0.0], [np.nan, 0.0]]}, "row 1 is not"),
        ({"log_likelihood": [[np.inf, 0.0]]}, "row 0 is not"),
        ({"lengths": [1, 1]}, "sum to the 3 rows"),
        ({"lengths": [0, 3]}, "sum to the 3 rows"),
        ({"lengths": [1.5, 1.5]}, "sum to the 3 rows"),
        ({"chain": np.eye(2)}, "a MarkovChain of at most"),
        ({"start": [0.5, 0.6]}, "sum to 1"),
    ],
)
def test_bad_input_is_named(how, message):
    good = {"chain": MarkovChain([[0.5, 0.5], [0.5, 0.5]]), "log_likelihood": np.zeros((3, 2))}
    with pytest.raises(ParameterError, match=message):
        forward_backward(**{**good, **how})


def test_inputs_are_left_alone_and_may_be_read_only():
    rng = np.random.default_rng(0)
    ll = rng.normal(size=(20, 2))
    ll.setflags(write=False)
    before = ll.copy()
    chain = MarkovChain(np.array([[0.5, 0.5], [0.2, 0.8]]))
    for order in (ll, np.asfortranarray(ll), ll.astype(np.float32), ll.tolist()):
        np.testing.assert_allclose(forward_backward(chain, order).smoothed.sum(axis=1), 1.0)
        assert len(viterbi(chain, order).states) == 20
    np.testing.assert_array_equal(ll, before)


def test_chains_too_large_to_be_dense_are_refused():
    chain = MarkovChain(scipy.sparse.eye_array(hidden.MOST_STATES + 1, format="csr"))
    with pytest.raises(ParameterError, match="at most 5,000 states"):
        forward_backward(chain, np.zeros((1, hidden.MOST_STATES + 1)), 0)


def test_fractions_are_taken_as_numbers():
    chain = MarkovChain([[F(1, 2), F(1, 2)], [F(1, 4), F(3, 4)]], ["a", "b"])
    found = forward_backward(chain, np.zeros((2, 2)))
    np.testing.assert_allclose(found.smoothed, [[1 / 3, 2 / 3]] * 2, rtol=1e-12)
    assert viterbi(chain, np.zeros((2, 2))).states == ["b", "b"]


def test_pairs_end_with_the_sequence():
    found = forward_backward(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), np.zeros((5, 2)), lengths=[2, 3])
    np.testing.assert_allclose(found.pair(0), 0.25)
    for t in (1, 4, -1, 5):
        with pytest.raises(ParameterError, match="another of its sequence"):
            found.pair(t)
