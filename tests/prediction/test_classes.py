"""ClassPredictive: entropies by hand and by direct summation, sets, draws, and what labels cannot answer."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.errors import DataError, ParameterError, UnavailableError
from credo.prediction.classes import ClassPredictive
from credo.prediction.mixture import mix


def random_draws(seed, size=30, rows=5, classes=3):
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.7), size=(size, rows))


def test_entropy_splits_by_definition():
    draws = random_draws(0)
    p = ClassPredictive.from_draws(draws, ["a", "b", "c"])
    mean = draws.mean(axis=0)
    # I(y; θ) is the mean Kullback-Leibler divergence of the draws from their mean.
    information = np.mean(np.sum(draws * np.log(draws / mean), axis=2), axis=0)
    np.testing.assert_allclose(p.epistemic, information, rtol=1e-10)
    np.testing.assert_allclose(p.aleatoric + p.epistemic, -np.sum(mean * np.log(mean), axis=1), rtol=1e-14)


def test_weights_of_draws_are_repetitions():
    draws = random_draws(1, size=3)
    weighted = ClassPredictive.from_draws(draws, [0, 1, 2], weights=[2, 0, 1])
    repeated = ClassPredictive.from_draws(draws[[0, 0, 2]], [0, 1, 2])
    np.testing.assert_allclose(weighted.probabilities, repeated.probabilities, rtol=1e-14)
    np.testing.assert_allclose(weighted.epistemic, repeated.epistemic, atol=1e-14)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), mass=st.floats(0.01, 0.99))
def test_prediction_set_is_the_smallest_that_holds_the_mass(seed, mass):
    table = np.random.default_rng(seed).dirichlet(np.ones(5), size=4)
    chosen = ClassPredictive(table, np.arange(5)).prediction_set(mass)
    for row, inside in zip(table, chosen):
        size = inside.sum()
        assert row[inside].sum() >= mass - 1e-12
        assert size == 1 or np.sort(row)[::-1][: size - 1].sum() < mass
        assert row[inside].min() >= row[~inside].max(initial=0.0)


def test_a_set_is_not_one_class_too_large_by_rounding():
    assert ClassPredictive([[0.6, 0.2, 0.1, 0.1]], list("abcd")).prediction_set(0.9).sum() == 3


def test_ties_go_to_the_first_class():
    p = ClassPredictive([[0.25, 0.375, 0.375]], ["z", "b", "a"])
    assert p.mode.tolist() == ["b"]


def test_log_prob_by_label_and_for_one_label():
    p = ClassPredictive([[0.2, 0.8], [1.0, 0.0]], ["no", "yes"])
    np.testing.assert_allclose(p.log_prob(["yes", "no"]), np.log([0.8, 1.0]))
    assert p.log_prob("yes")[1] == -np.inf
    with pytest.raises(DataError, match="'maybe' in row 1") as error:
        p.log_prob(["no", "maybe"])
    assert error.value.rows == [1]


def test_samples_follow_the_probabilities():
    # χ² on 2 degrees of freedom per row, two rows; 30 is exceeded by chance once in 10⁶.
    p = ClassPredictive([[0.2, 0.5, 0.3], [0.0, 0.1, 0.9]], ["a", "b", "c"])
    draws = p.sample(20_000, rng=3)
    assert draws.shape == (20_000, 2)
    for row in range(2):
        count = np.array([(draws[:, row] == c).sum() for c in p.classes])
        expected = 20_000 * p.probabilities[row]
        assert count[expected == 0].sum() == 0
        seen = expected > 0
        assert np.sum((count - expected)[seen] ** 2 / expected[seen]) < 30


def test_rows_are_selected_like_arrays():
    p = ClassPredictive.from_draws(random_draws(2), ["a", "b", "c"])
    for rows in (slice(1, 3), np.array([4, 0]), np.arange(5) > 2, -1):
        part = p[rows]
        np.testing.assert_array_equal(part.probabilities, np.atleast_2d(p.probabilities[rows]))
        np.testing.assert_array_equal(part.aleatoric, np.atleast_1d(p.aleatoric[rows]))
        assert part.inference == p.inference


def test_a_plug_in_says_so():
    p = ClassPredictive([[0.5, 0.5]], [0, 1])
    assert p.inference == "map"
    with pytest.raises(UnavailableError, match="point estimate"):
        _ = p.epistemic


@pytest.mark.parametrize("ask", [lambda p: p.mean, lambda p: p.sd, lambda p: p.cdf(0), lambda p: p.interval(0.9)])
def test_labels_have_no_moments(ask):
    with pytest.raises(UnavailableError, match="labels"):
        ask(ClassPredictive([[0.5, 0.5]], [0, 1]))


@pytest.mark.parametrize(
    ("table", "classes", "aleatoric"),
    [
        ([[0.5, 0.6]], [0, 1], None),
        ([[-0.1, 1.1]], [0, 1], None),
        ([[np.nan, 1.0]], [0, 1], None),
        ([0.5, 0.5], [0, 1], None),
        ([[0.5, 0.5]], [0], None),
        ([[0.5, 0.5]], [1, 1], None),
        ([[0.5, 0.5]], [0, 1], [0.7]),
        ([[0.5, 0.5]], [0, 1], [np.nan]),
    ],
)
def test_bad_parameters_are_named(table, classes, aleatoric):
    with pytest.raises(ParameterError, match="ClassPredictive"):
        ClassPredictive(table, classes, aleatoric)


def test_float32_probabilities_are_rescaled_and_exact_ones_kept():
    rough = np.full((1, 3), np.float32(1 / 3) + np.float32(1e-7))
    assert ClassPredictive(rough, [0, 1, 2]).probabilities.sum() == pytest.approx(1.0, abs=1e-15)
    assert ClassPredictive([[0.7, 0.1, 0.2]], [0, 1, 2]).probabilities[0, 0] == 0.7


def test_a_split_is_made_when_it_is_asked_for_and_once():
    calls = []

    def split():
        calls.append(1)
        return np.array([0.1, 0.0])

    p = ClassPredictive([[0.9, 0.1], [1.0, 0.0]], ["a", "b"], split)
    part, other, mixed = p[[0]], p.relabelled(["c", "d"]), mix([0.5, 0.5], [p, p])
    p.log_prob(["a", "a"])
    p.prediction_set()
    assert not calls
    assert p.inference == "exact"
    assert not mixed.plugs_in
    assert (part.aleatoric.tolist(), other.aleatoric.tolist(), mixed.aleatoric.tolist()) == ([0.1], [0.1, 0], [0.1, 0])
    assert calls == [1]
    assert pickle.loads(pickle.dumps(other)).aleatoric.tolist() == [0.1, 0.0]
    wrong = ClassPredictive([[0.9, 0.1]], ["a", "b"], lambda: [9.0])
    with pytest.raises(ParameterError, match="aleatoric"):
        _ = wrong.aleatoric
