"""Topics of the shared corpora: ranges of other implementations, held-out documents, people's judgements."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from credo.models.topics import PLSA, LatentDirichletAllocation
from credo.tables.corpus import read_corpus

DATA = Path(os.environ["CREDO_REFERENCE_DATA"])


def corpus(name):
    path = DATA / "text" / name / f"{name}.ldac"
    return read_corpus(path if path.exists() else path.with_suffix(".ldac.gz"))


@pytest.mark.parametrize("name", ["lee_background", "reuters395"])
class TestRanges:
    """Ranges over restarts of plain implementations are guard rails: ours must not be below their worst."""

    def reference(self, name):
        return json.loads((DATA / "references" / f"topics_{name}.json").read_text())

    def test_plsa(self, name):
        want = self.reference(name)
        model = PLSA(want["K"], random_state=0).fit(corpus(name))
        found = model.lower_bound_ * want["tokens"]
        assert found >= want["plsa_em"]["conditional_log_likelihood_sum_n_log_p_w_given_d"]["min"]
        stats = json.loads((DATA / "text" / name / f"{name}.stats.json").read_text())
        assert found <= stats["per_document_max_log_likelihood_upper_bound"]

    def test_lda(self, name):
        want = self.reference(name)
        stated = {key: want["lda_variational_bayes"][key] for key in ("doc_topic_prior", "topic_word_prior")}
        low = want["lda_variational_bayes"]["elbo"]["min"]
        bounds = [
            LatentDirichletAllocation(want["K"], random_state=seed, **stated).fit(corpus(name)).lower_bound_
            for seed in range(3)
        ]
        assert max(bounds) * want["tokens"] >= low


@pytest.mark.parametrize(
    ("name", "k", "others"),
    # The lowest held-out perplexity of scikit-learn 1.9 (50 iterations), gensim 4.4 (10 passes, learned priors) and
    # tomotopy 0.14 (500 sweeps) over two seeds, by the same halves of the same third of the documents.
    [("reuters395", 10, 1883.1), ("lee_background", 10, 1734.8), ("cora_abstracts", 20, 1108.1), ("ap", 20, 3134.7)],
)
def test_held_out_thirds_are_predicted_better_than_by_others(name, k, others):
    X = corpus(name).counts
    X = X[np.asarray(X.sum(axis=1)).ravel() >= 6]
    held = np.arange(X.shape[0]) % 3 == 0
    lda = LatentDirichletAllocation(k, random_state=0).fit(X[~held])
    plsa = PLSA(k, doc_topic_prior=1.5, topic_word_prior=1.1, random_state=0).fit(X[~held])
    assert lda.perplexity(X[held]) < others
    assert plsa.perplexity(X[held]) < others


def test_similar_documents_are_those_that_people_call_similar():
    """Lee, Pincombe and Welsh (2005): 50 news items judged in pairs, by 20 topics of 300 others.

    Correlations were 0.25 to 0.34 over models and seeds, and 0.50 for the cosine of tf-idf: few topics are coarse. The
    guard is 0.2; 1,225 unrelated pairs would correlate 0.03 (sd).
    """
    folder = DATA / "text" / "lee_background"
    people = np.loadtxt(folder / "lee_human_similarity.txt")
    background = read_corpus(folder / "lee_background.txt", stop_words="english")
    items = read_corpus(folder / "lee_test.txt", vocabulary=background.vocabulary)
    pairs = np.triu_indices(50, 1)
    model = PLSA(20, doc_topic_prior=1.5, topic_word_prior=1.1, random_state=0).fit(background)
    root = np.sqrt(model.transform(items))
    found = scipy.stats.pearsonr((root @ root.T)[pairs], people[pairs]).statistic
    assert found > 0.2
