"""What labels are worth, against enumeration, refitting and determinants."""

import itertools

import numpy as np
import pytest
from scipy.special import entr

from credo.design.active.equations import (
    batch_bald,
    far_apart,
    greedy_information,
    greedy_reduction,
    margin,
    variance_reduction,
)
from credo.errors import ParameterError


def random_covariance(rng, n):
    root = rng.normal(size=(n, n))
    return root @ root.T + 0.1 * np.eye(n)


@pytest.mark.parametrize("seed", range(5))
def test_reduction_by_conditioning_in_full(seed):
    rng = np.random.default_rng(seed)
    C, noise = random_covariance(rng, 7), rng.uniform(0.1, 2.0, 7)
    expected = []
    for i in range(7):
        precision = np.linalg.inv(C)
        precision[i, i] += 1 / noise[i]
        expected.append(np.mean(np.diag(C) - np.diag(np.linalg.inv(precision))))
    np.testing.assert_allclose(variance_reduction(C, np.diag(C), noise), expected, rtol=1e-9)
    # the second pick, given the first
    first, second = greedy_reduction(C, noise, np.arange(7), 2)
    assert first == int(np.argmax(expected))
    after = [
        np.mean(np.diag(np.linalg.inv(np.linalg.inv(C) + np.diag([(k in (first, i)) / noise[k] for k in range(7)]))))
        if i != first else np.inf
        for i in range(7)
    ]  # fmt: skip
    assert second == int(np.argmin(after))


@pytest.mark.parametrize("seed", range(5))
def test_information_is_the_log_determinant(seed):
    rng = np.random.default_rng(seed)
    C, noise = random_covariance(rng, 6), rng.uniform(0.1, 2.0, 6)

    def information(batch):
        b = list(batch)
        return 0.5 * np.linalg.slogdet(np.eye(len(b)) + C[np.ix_(b, b)] / noise[b][:, None])[1]

    chosen = greedy_information(C, noise, 3)
    for size in (1, 2, 3):
        others = [i for i in range(6) if i not in chosen[: size - 1]]
        best = max(others, key=lambda i: information([*chosen[: size - 1], i]))
        assert chosen[size - 1] == best
    top = max(information(b) for b in itertools.combinations(range(6), 3))
    assert information(chosen) >= (1 - 1 / np.e) * top


@pytest.mark.parametrize("seed", range(5))
def test_batch_bald_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    S, n, k = 6, 5, 3
    p = rng.dirichlet(np.full(k, 0.5), size=(S, n))
    w = rng.dirichlet(np.ones(S))

    def information(batch):
        joint = 0.0
        for outcome in itertools.product(range(k), repeat=len(batch)):
            given = np.prod([p[:, i, y] for i, y in zip(batch, outcome, strict=True)], axis=0)
            joint += entr(w @ given)
        return joint - sum(w @ entr(p[:, i]).sum(axis=1) for i in batch)

    chosen = batch_bald(p, w, 3)
    for size in (1, 2, 3):
        others = [i for i in range(n) if i not in chosen[: size - 1]]
        assert chosen[size - 1] == max(others, key=lambda i: information([*chosen[: size - 1], i]))
    with pytest.raises(ParameterError, match="4096"):
        batch_bald(p, w, 8)


def test_batch_bald_does_not_ask_twice_the_same():
    # rows 0 and 1 are copies: after one of them the other tells nothing
    draws = np.array([0.05, 0.95, 0.05, 0.95])
    other = np.array([0.2, 0.2, 0.8, 0.8])
    p = np.stack([draws, draws, other], axis=1)
    p = np.stack([p, 1 - p], axis=2)
    assert batch_bald(p, np.full(4, 0.25), 2) == [0, 2]


def test_far_apart_leaves_out_copies():
    rng = np.random.default_rng(0)
    embedding = np.array([[1.0, 0.0]] * 5 + [[0.0, 1.0]] * 5 + [[-1.0, -1.0]])
    for _ in range(20):
        chosen = far_apart(embedding, np.ones(11), 3, rng)
        assert sorted(len({tuple(e) for e in embedding[chosen]}) for _ in [0]) == [3]
    assert len(set(far_apart(embedding, np.ones(11), 11, rng))) == 11
    assert len(set(far_apart(embedding, np.zeros(11), 4, rng))) == 4


def test_margin():
    assert margin(np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])).round(12).tolist() == [0.8, 0.0]
    assert margin(np.ones((2, 1))).tolist() == [0.0, 0.0]
