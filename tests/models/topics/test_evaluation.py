import numpy as np
import pytest
import scipy.sparse

from credo.errors import DataError, ParameterError
from credo.models.topics import PLSA, LatentDirichletAllocation
from credo.models.topics.evaluation import coherence, completion_score, dealt, token_log_probabilities

from .corpora import synthetic

X, TOPICS, SHARES = synthetic()


def test_halves_add_up_and_hold_half_of_each_document():
    first, second = dealt(X, np.random.default_rng(0))
    assert abs(first + second - X).max() == 0.0
    np.testing.assert_array_equal(first.sum(axis=1), X.sum(axis=1) // 2)
    assert first.data.min() > 0.0


def test_halves_are_drawn_without_replacement_as_cards_are():
    """A word's share of the first half is hypergeometric: 4,000 deals of (6, 3, 1) tokens, mean within 5 standard
    errors (false alarms: 1e-6)."""
    counts = scipy.sparse.csr_matrix(np.tile([[6.0, 3.0, 1.0]], (4000, 1)))
    first, _ = dealt(counts, np.random.default_rng(0))
    n, k = 10, 5
    variance = k * np.array([6, 3, 1]) / n * (1 - np.array([6, 3, 1]) / n) * (n - k) / (n - 1)
    error = np.asarray(first.mean(axis=0)).ravel() - np.array([3.0, 1.5, 0.5])
    assert np.all(np.abs(error) < 5 * np.sqrt(variance / 4000))


def test_counts_that_are_not_whole_are_dealt_by_words():
    counts = scipy.sparse.csr_matrix(np.full((3, 5), 0.5))
    first, second = dealt(counts, np.random.default_rng(0))
    np.testing.assert_array_equal(np.diff(first.indptr), 2)
    np.testing.assert_array_equal(np.diff(second.indptr), 3)


def test_token_probabilities_are_the_dense_formula():
    background = np.random.default_rng(0).dirichlet(np.ones(60))
    p = 0.2 * background + 0.8 * SHARES @ TOPICS
    rows = np.repeat(np.arange(120), np.diff(X.indptr))
    found = token_log_probabilities(X, SHARES, TOPICS, background, 0.2)
    np.testing.assert_allclose(found, np.log(p[rows, X.indices]), rtol=1e-12)


@pytest.mark.parametrize("kind", [PLSA, LatentDirichletAllocation])
def test_held_out_documents_are_predicted_nearly_as_well_as_by_the_truth(kind):
    stated = {"topic_word_prior": 1.1, "doc_topic_prior": 1.1} if kind is PLSA else {}
    model = kind(3, random_state=0, **stated).fit(X[:80])
    held = X[80:]
    truth = completion_score(lambda seen: SHARES[80:], TOPICS, held, np.random.default_rng(0))
    unigram = completion_score(
        lambda seen: np.ones((40, 1)),
        model.word_frequencies_[None] * 0.999 + 0.001 / 60,
        held,
        np.random.default_rng(0),
    )
    assert truth - 0.12 < model.score(held) < truth + 0.02
    assert model.score(held) > unigram + 0.3
    assert model.perplexity(held) == pytest.approx(np.exp(-model.score(held)))
    assert model.score(held) == model.score(held, random_state=0) != model.score(held, random_state=1)


def test_nothing_to_hold_out_is_an_error():
    with pytest.raises(DataError, match="no token"):
        PLSA(2, random_state=0).fit(X).score(np.zeros((3, 60)))


def test_coherence_is_a_number_whatever_the_words_do():
    reference = scipy.sparse.csr_matrix([[1, 1, 0, 1, 0], [3, 1, 0, 1, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 0]])
    topics = np.array([[5, 5, 0, 0, 0], [5, 0, 5, 0, 0], [5, 0, 0, 0, 5], [0, 0, 0, 5, 4], [5, 0, 0, 5, 0]]) / 10.0
    found = coherence(topics, reference, 2)
    # together only; never together; never seen; never seen beside an always-present one; independent of it
    np.testing.assert_allclose(found, [1.0, -1.0, -1.0, -1.0, 0.0], atol=1e-15)
    half = scipy.sparse.csr_matrix([[1, 1], [1, 0], [0, 1], [0, 0]])
    np.testing.assert_allclose(coherence(np.array([[0.5, 0.5]]), half, 2), [0.0], atol=1e-15)


def test_coherence_of_true_topics_is_higher_than_of_shuffled_ones():
    shuffled = np.random.default_rng(0).permuted(TOPICS, axis=1)
    assert coherence(TOPICS, X, 6).min() > coherence(shuffled, X, 6).max()


def test_coherence_refuses_by_name():
    with pytest.raises(ParameterError, match="n_words"):
        coherence(TOPICS, X, 1)
    with pytest.raises(DataError, match="shape"):
        coherence(TOPICS[:, :5], X)
