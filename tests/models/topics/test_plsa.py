import pickle

import numpy as np
import pytest
import scipy.sparse

import credo as cr
from credo.blocks import GeneratorSource
from credo.errors import ConvergenceWarning, DataError, ParameterError
from credo.models.topics import PLSA, LatentDirichletAllocation
from credo.models.topics.cells import TopicSource
from credo.tables.corpus import Corpus

from .corpora import synthetic

X, TOPICS, SHARES = synthetic()


def _matched(found, truth):
    """Total variation between each true topic and the nearest one found."""
    return np.array([min(0.5 * np.abs(row - true).sum() for row in found) for true in truth])


@pytest.mark.parametrize("kind", [PLSA, LatentDirichletAllocation])
def test_known_topics_are_found(kind):
    model = kind(3, random_state=0).fit(X)
    # 3,200 tokens a topic over 20 words: total variation of the estimate is about 0.03
    assert _matched(model.topic_word_, TOPICS).max() < 0.12
    shares = model.transform(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    order = [int(np.argmin([np.abs(row - true).sum() for row in model.topic_word_])) for true in TOPICS]
    assert np.mean(shares[:, order].argmax(axis=1) == SHARES.argmax(axis=1)) > 0.95


def test_one_topic_without_background_is_the_corpus():
    model = PLSA(1, random_state=0).fit(X)
    words = np.asarray(X.sum(axis=0)).ravel()
    np.testing.assert_allclose(model.components_[0], words / words.sum(), rtol=1e-12)
    np.testing.assert_allclose(model.lower_bound_, (words * np.log(words / words.sum())).sum() / words.sum())


def test_the_mode_is_that_of_another_optimiser():
    """The KL divergence of X from its expectation, minimised by scikit-learn's NMF, is minus PLSA's log-likelihood."""
    from sklearn.decomposition import NMF

    start = np.random.default_rng(0).dirichlet(np.ones(60), 3)
    model = PLSA(3, init=start, tol=1e-10, max_iter=5000).fit(X)
    n = np.asarray(X.sum(axis=1))
    nmf = NMF(3, init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=400, tol=0.0)
    W = nmf.fit_transform(X, W=np.full((X.shape[0], 3), 1 / 3) * n, H=start.copy())
    scale = nmf.components_.sum(axis=1)
    p = (W * scale / (W * scale).sum(axis=1, keepdims=True)) @ (nmf.components_ / scale[:, None])
    best = (X.data * np.log(p[X.tocoo().row, X.indices])).sum() / X.sum()
    assert abs(model.lower_bound_ - best) < 1e-4


def test_the_background_takes_up_what_is_common():
    common = np.zeros(60)
    common[0] = 1.0
    rng = np.random.default_rng(1)
    noisy = X.toarray().copy()
    noisy[:, 0] += rng.poisson(80, len(noisy))
    plain = PLSA(3, random_state=0).fit(noisy)
    with_background = PLSA(3, background=common, background_weight=None, random_state=0).fit(noisy)
    assert plain.components_[:, 0].min() > 0.3
    assert 0.0 <= with_background.background_weight_ < 1.0
    assert with_background.lower_bound_ >= plain.lower_bound_ - 1e-3
    fixed = PLSA(3, background=common, background_weight=0.5, random_state=0).fit(noisy)
    assert fixed.components_[:, 0].max() < plain.components_[:, 0].min()
    assert fixed.background_weight_ == 0.5
    corpus = PLSA(3, background=True, random_state=0).fit(noisy)
    np.testing.assert_allclose(corpus.background_, corpus.word_frequencies_)


def test_priors_keep_words_possible():
    model = PLSA(3, topic_word_prior=1.1, random_state=0).fit(X)
    assert model.components_.min() > 0.0


@pytest.mark.parametrize("kind", [PLSA, LatentDirichletAllocation])
def test_the_answer_for_a_document_does_not_depend_on_the_others(kind):
    model = kind(3, random_state=0).fit(X)
    together = model.transform(X)
    np.testing.assert_array_equal(together[7:19], model.transform(X[7:19]))
    np.testing.assert_array_equal(together[::-1], model.transform(X[::-1]))


@pytest.mark.parametrize("kind", [PLSA, LatentDirichletAllocation])
def test_bits_do_not_depend_on_threads_and_hardly_on_partitions(kind, monkeypatch):
    import credo.blocks.reduction as reduction
    import credo.models.topics.cells as cells

    monkeypatch.setattr(cells, "CELLS", 300)
    monkeypatch.setattr(cells, "CELLS_PER_WORD", 1)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(reduction, "available_threads", lambda threads=threads: threads)
        found.append(kind(3, random_state=0, max_iter=25, tol=0.0))
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            found[-1].fit(GeneratorSource(lambda: (X[i : i + 10] for i in range(0, 120, 10))))
    np.testing.assert_array_equal(found[0].components_, found[1].components_)
    monkeypatch.undo()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        whole = kind(3, random_state=0, max_iter=25, tol=0.0).fit(X)
    np.testing.assert_allclose(found[0].components_, whole.components_, rtol=1e-7, atol=1e-12)


def test_a_stream_is_the_same_fit_with_documents_on_disk():
    source = GeneratorSource(lambda: (X[i : i + 7] for i in range(0, 120, 7)))
    streamed, whole = PLSA(3, random_state=0).fit(source), PLSA(3, random_state=0).fit(X)
    np.testing.assert_array_equal(streamed.components_, whole.components_)
    np.testing.assert_array_equal(streamed.transform(source), whole.transform(X))
    assert not TopicSource(source, 60).in_memory


def test_any_form_of_the_same_counts_gives_the_same_model():
    want = PLSA(3, random_state=0).fit(X).components_
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    halves = scipy.sparse.coo_matrix(
        (np.tile(X.data / 2, 2), (np.tile(X.tocoo().row, 2), np.tile(X.indices, 2))), X.shape
    )
    for form in (X.toarray(), X.tocsc(), wide, halves, X.astype(np.float32), X.toarray().astype(int)):
        np.testing.assert_allclose(PLSA(3, random_state=0).fit(form).components_, want, rtol=1e-9, atol=1e-12)
    unsorted = X.copy()
    for start, stop in zip(X.indptr[:-1], X.indptr[1:]):
        unsorted.indices[start:stop], unsorted.data[start:stop] = X.indices[start:stop][::-1], X.data[start:stop][::-1]
    unsorted.has_sorted_indices = False
    before = unsorted.indices.copy()
    np.testing.assert_allclose(PLSA(3, random_state=0).fit(unsorted).components_, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(unsorted.indices, before)


def test_empty_documents_and_words_never_seen():
    some = scipy.sparse.vstack([X, scipy.sparse.csr_matrix((2, 60))]).tocsr()
    some = scipy.sparse.hstack([some, scipy.sparse.csr_matrix((122, 1))]).tocsr()
    model = PLSA(3, random_state=0).fit(some)
    assert np.all(model.components_[:, 60] == 0.0)
    np.testing.assert_array_equal(model.transform(some)[-1], model.topic_shares_)
    strange = np.zeros((1, 61))
    strange[0, 60] = 4.0
    np.testing.assert_array_equal(model.transform(strange)[0], model.topic_shares_)
    assert model.perplexity(strange) == np.inf
    lda = LatentDirichletAllocation(3, random_state=0).fit(some)
    np.testing.assert_allclose(lda.transform(some)[-1], lda.doc_topic_prior_ / lda.doc_topic_prior_.sum())
    assert np.isfinite(lda.perplexity(strange))


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ([[1.0, np.nan]], "NaN"),
        ([[1.0, np.inf]], "inf"),
        ([[2.0, 1.0], [1.0, -1.0]], "Negative"),
        ([[0, 0]], "no tokens"),
    ],
)
def test_counts_that_cannot_be_are_refused_by_name(bad, said):
    with pytest.raises(DataError, match=said):
        PLSA(2).fit(np.array(bad))


def test_a_bad_count_is_named_by_document_and_word():
    counts = np.ones((5, 2))
    counts[3, 1] = -2.0
    with pytest.raises(DataError, match="document 3 holds -2 for word 'dog'") as caught:
        PLSA(2).fit(Corpus(counts, ["cat", "dog"]))
    assert caught.value.rows == [3]
    with pytest.raises(DataError, match="document 3"):
        PLSA(2).fit(GeneratorSource(lambda: iter([counts[:2], counts[2:]])))


@pytest.mark.parametrize(
    "stated",
    [
        {"n_components": 0}, {"n_components": 2.5}, {"n_init": 0}, {"max_iter": 0}, {"tol": -1.0},
        {"doc_topic_prior": 0.5}, {"topic_word_prior": np.nan}, {"background_weight": 1.0}, {"init": "zeros"},
        {"init": np.ones((2, 60))}, {"background": np.ones(3)}, {"background": -np.ones(60)}, {"random_state": "a"},
    ],
)  # fmt: skip
def test_parameters_are_refused_by_name(stated):
    with pytest.raises(ParameterError, match=next(iter(stated))):
        PLSA(**{"n_components": 3, **stated}).fit(X)


@pytest.mark.parametrize("stated", [{"doc_topic_prior": 0.0}, {"doc_topic_prior": [1, 2]}, {"topic_word_prior": [1.0]}])
def test_lda_refuses_priors_by_name(stated):
    with pytest.raises(ParameterError, match=next(iter(stated))):
        LatentDirichletAllocation(3, **stated).fit(X)


def test_the_best_start_is_kept():
    model = PLSA(3, n_init=4, init="random", random_state=0).fit(X)
    assert model.lower_bound_ == max(model.lower_bounds_)
    assert len(model.lower_bounds_) == 4


def test_stopping_early_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter = 2"):
        model = PLSA(3, max_iter=2, random_state=0).fit(X)
    assert not model.converged_


@pytest.mark.parametrize("kind", [PLSA, LatentDirichletAllocation])
def test_saved_and_pickled_models_are_the_same(kind, tmp_path):
    corpus = Corpus(X, [f"word{i}" for i in range(60)])
    model = kind(3, random_state=0).fit(corpus)
    cr.save(model, tmp_path / "model.credo")
    for again in (cr.load(tmp_path / "model.credo"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.transform(corpus), model.transform(corpus))
        assert again.top_words(3).words == model.top_words(3).words
    assert list(model.feature_names_in_[:2]) == ["word0", "word1"]
    assert list(model.get_feature_names_out()) == [f"{kind.__name__.lower()}{z}" for z in range(3)]


def test_a_corpus_of_other_words_is_refused():
    model = PLSA(2, random_state=0).fit(Corpus(X, [f"word{i}" for i in range(60)]))
    with pytest.raises(DataError, match="other words"):
        model.transform(Corpus(X))


def test_learned_priors_raise_the_bound():
    fixed = LatentDirichletAllocation(3, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0).fit(X)
    learned = LatentDirichletAllocation(3, random_state=0).fit(X)
    assert learned.lower_bound_ > fixed.lower_bound_
    # made with α = 0.15 a topic
    assert 0.05 < learned.doc_topic_prior_.mean() < 0.45


@pytest.mark.parametrize("kind", [PLSA, LatentDirichletAllocation])
def test_more_topics_than_documents_one_document_one_word(kind):
    for counts in (np.array([[3.0, 1.0]]), np.array([[3.0], [2.0]]), X[:2]):
        model = kind(4, random_state=0).fit(counts)
        assert np.all(np.isfinite(model.transform(counts)))
        assert np.all(np.isfinite(model.topic_word_))
