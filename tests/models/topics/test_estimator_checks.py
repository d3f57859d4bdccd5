"""scikit-learn's estimator checks, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from credo.models.topics import PLSA, LatentDirichletAllocation


@parametrize_with_checks(
    [
        PLSA(3),
        PLSA(2, background=True, topic_word_prior=1.1),
        LatentDirichletAllocation(3),
        LatentDirichletAllocation(2, doc_topic_prior=0.1, topic_word_prior=0.1),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
