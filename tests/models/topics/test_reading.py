import numpy as np
import pytest
import scipy.spatial.distance

from credo.errors import ParameterError
from credo.models.topics import PLSA
from credo.models.topics.reading import hellinger, jensen_shannon, nearest_documents, nearest_topics, top_words

from .corpora import synthetic

NAMES = ["the", "cat", "dog", "sun"]
TOPIC_WORD = np.array([[0.5, 0.4, 0.1, 0.0], [0.6, 0.0, 0.1, 0.3]])
COMMON = np.array([0.55, 0.2, 0.1, 0.15])


def test_top_words_by_probability_lift_and_relevance():
    by = {
        how: top_words(TOPIC_WORD, COMMON, NAMES, np.ones(2) / 2, 2, how)
        for how in ("probability", "lift", "relevance")
    }
    assert by["probability"].words == (("the", "cat"), ("the", "sun"))
    assert by["lift"].words == (("cat", "dog"), ("sun", "the"))
    assert by["relevance"][0] == ("cat", "the")
    assert by["probability"].probabilities[0] == (0.5, 0.4)
    assert str(by["lift"]).splitlines()[0] == "  0   50.0 %  cat dog"


def test_words_that_a_topic_never_uses_are_left_out():
    assert top_words(TOPIC_WORD, COMMON, NAMES, np.ones(2) / 2, 10)[0] == ("the", "cat", "dog")


def test_distances_are_those_of_scipy():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(9, 0.3), 5)
    topics[0, 0], topics[0] = 0.0, topics[0] / topics[0].sum()
    want = [[scipy.spatial.distance.jensenshannon(a, b) ** 2 for b in topics] for a in topics]
    np.testing.assert_allclose(jensen_shannon(topics), want, atol=1e-12)
    near = nearest_topics(topics, 2)
    assert near.indices.shape == (5, 2)
    assert not np.any(near.indices == np.arange(5)[:, None])
    assert np.all(np.diff(near.distances, axis=1) >= 0)
    np.testing.assert_allclose(hellinger(topics, topics).diagonal(), 0.0, atol=1e-7)
    np.testing.assert_allclose(hellinger(np.eye(2), np.eye(2)), [[0, 1], [1, 0]])


def test_one_topic_has_no_neighbours():
    assert nearest_topics(TOPIC_WORD[:1]).indices.shape == (1, 0)


def test_documents_of_the_same_topic_are_near(monkeypatch):
    X, _, shares = synthetic()
    model = PLSA(3, random_state=0).fit(X)
    near = model.nearest_documents(X[:20], X[20:], 3)
    same = shares[20:].argmax(axis=1)[near.indices[:, 0]] == shares[:20].argmax(axis=1)
    assert same.mean() > 0.9
    monkeypatch.setattr("credo.models.topics.reading.PAIRS", 300)
    np.testing.assert_array_equal(
        nearest_documents(model.transform(X[:20]), model.transform(X[20:]), 3).indices, near.indices
    )


@pytest.mark.parametrize("stated", [{"n_words": 0}, {"by": "taste"}, {"names": ["a"]}])
def test_refused_by_name(stated):
    how = {"n_words": 2, "by": "lift", "names": NAMES, **stated}
    said = "feature_names" if "names" in stated else next(iter(stated))
    with pytest.raises(ParameterError, match=said):
        top_words(TOPIC_WORD, COMMON, how["names"], np.ones(2), how["n_words"], how["by"])
