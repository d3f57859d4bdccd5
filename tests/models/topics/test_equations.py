"""The pass over counts against dense formulas, and the bounds against independent computations."""

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.blocks import ArraySource
from credo.inference.em import em
from credo.models.topics.cells import TopicSource, aligned_zeros, by_document, by_word
from credo.models.topics.dirichlet import DirichletTopics, divergence, expected_log
from credo.models.topics.equations import MixtureTopics, expected_counts, log_likelihood, normalised, on_disk

from .corpora import synthetic


def _laid(values):
    rows = aligned_zeros(*values.shape)
    rows[:, : values.shape[1]] = values
    return rows


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 11))
def test_expected_counts_are_those_of_the_dense_formula_in_either_order(seed, k):
    rng = np.random.default_rng(seed)
    X, *_ = synthetic(9, 7, 2, 5, seed)
    theta, phi = rng.dirichlet(np.ones(k), 9), rng.dirichlet(np.ones(7), k).T
    p = theta @ phi.T
    dense = X.toarray() / p
    for cells, learning in ((by_word(X), True), (by_document(X), False)):
        probability, documents, words = expected_counts(cells, _laid(theta), _laid(phi), learning)
        np.testing.assert_allclose(documents[:, :k], theta * (dense @ phi), rtol=1e-12)
        assert not documents[:, k:].any()
        if learning:
            np.testing.assert_allclose(words[:, :k], phi * (dense.T @ theta), rtol=1e-12)
        total = log_likelihood(cells.counts, probability)
        np.testing.assert_allclose(total, (X.toarray() * np.log(p)).sum(), rtol=1e-12)


def test_a_cell_without_probability_adds_nothing_and_makes_the_likelihood_nothing():
    X, *_ = synthetic(2, 3, 1, 5)
    probability, documents, words = expected_counts(by_word(X), aligned_zeros(2, 1), aligned_zeros(3, 1), True)
    assert not probability.any()
    assert not documents.any()
    assert not words.any()
    assert log_likelihood(by_word(X).counts, probability) == -np.inf


def test_rows_begin_at_cache_lines():
    for columns in (1, 8, 20, 104):
        rows = aligned_zeros(3, columns)
        assert rows.ctypes.data % 64 == 0
        assert rows.shape == (3, -(-columns // 8) * 8)


def _params(model, d, v, k, rng, share=0.0, alpha=1.0, eta=1.0):
    return model.parameters(rng.dirichlet(np.ones(k), d), rng.dirichlet(np.ones(v), k).T, share, alpha, eta)


def test_one_step_of_plsa_with_a_background_is_the_formula():
    X, *_ = synthetic(20, 12)
    rng = np.random.default_rng(1)
    background = rng.dirichlet(np.ones(12))
    model = MixtureTopics((12, 4), background, True)
    params = _params(model, 20, 12, 4, rng, 0.3, 1.5, 1.1)
    (block,) = TopicSource(ArraySource(X), 12)
    statistics = model.accumulate(block, params)
    after = model.finalize(statistics)
    theta, phi, counts = params.documents, params.words, X.toarray()
    p = 0.3 * background + 0.7 * theta @ phi.T
    joint = 0.7 * theta[:, None, :] * phi[None] / p[..., None] * counts[..., None]
    np.testing.assert_allclose(after.words, normalised(joint.sum(axis=0) + 0.1, 0), rtol=1e-10)
    np.testing.assert_allclose(after.documents, normalised(joint.sum(axis=1) + 0.5, 1), rtol=1e-10)
    np.testing.assert_allclose(after.share, (counts * 0.3 * background / p).sum() / counts.sum(), rtol=1e-10)
    expected = (counts * np.log(p)).sum() + 0.5 * np.log(theta).sum() + 0.1 * np.log(phi).sum()
    np.testing.assert_allclose(model.bound(statistics, params), expected, rtol=1e-12)


@pytest.mark.parametrize("learn", [False, True])
def test_the_bound_of_lda_never_falls(learn):
    X, *_ = synthetic(60, 30)
    rng = np.random.default_rng(2)
    model = DirichletTopics((30, 3), learn_doc_prior=learn, learn_word_prior=learn)
    start = model.parameters(rng.gamma(5.0, size=(60, 3)), rng.gamma(5.0, size=(30, 3)), 0.0, 0.3, 0.2)
    fit = em(model, TopicSource(ArraySource(X), 30), start, tol=0.0, max_iter=60)  # a fall is an error
    assert np.all(np.diff(fit.result.objective) >= -1e-7)


def test_the_bound_of_lda_is_the_sum_of_its_parts():
    """Against E_q log p(w, z, θ, φ) + H(q), each Dirichlet entropy and expectation written out by itself."""
    X, *_ = synthetic(6, 5, 2, 9)
    rng = np.random.default_rng(3)
    alpha, eta, k = np.array([0.3, 0.8]), 0.4, 2
    model = DirichletTopics((5, k))
    gamma, lam = rng.gamma(3.0, size=(6, k)), rng.gamma(3.0, size=(5, k))
    params = model.parameters(gamma, lam, 0.0, alpha, eta)
    (block,) = TopicSource(ArraySource(X), 5)
    found = model.bound(model.accumulate(block, params), params)

    log_theta, log_phi = expected_log(gamma, 1), expected_log(lam, 0)
    weights = np.exp(log_theta[:, None, :] + log_phi[None])
    r = weights / weights.sum(axis=2, keepdims=True)
    c = X.toarray()[..., None]
    energy = (c * r * (log_theta[:, None, :] + log_phi[None])).sum() - (c * r * np.log(r)).sum()

    def log_b(a):
        return scipy.special.gammaln(a).sum() - scipy.special.gammaln(a.sum())

    for q, log_q, prior in [(g, e, alpha) for g, e in zip(gamma, log_theta)] + [
        (lam[:, z], log_phi[:, z], np.full(5, eta)) for z in range(k)
    ]:
        energy += ((prior - 1) * log_q).sum() - log_b(prior) - ((q - 1) * log_q).sum() + log_b(q)
    np.testing.assert_allclose(found, energy, rtol=1e-11)


def test_divergence_of_a_dirichlet_from_itself_is_nothing():
    q = np.random.default_rng(0).gamma(2.0, size=(4, 3))
    same = np.tile(q[:1], (4, 1))
    assert abs(divergence(same, q[0], expected_log(same, 1), 1)) < 1e-12


def test_shares_where_there_is_nothing_to_share_are_even():
    np.testing.assert_array_equal(normalised(np.array([[0.0, 0.0], [1.0, 3.0]]), 1), [[0.5, 0.5], [0.25, 0.75]])


def test_room_on_disk_is_gone_with_the_array():
    room = on_disk(4, 3)
    room[:] = 2.0
    assert room.sum() == 24.0
    assert isinstance(room, np.memmap)
