"""scikit-learn's estimator checks, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from credo.models.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes


# Some checks hand it fractions, of which it warns.
@pytest.mark.filterwarnings("ignore:CategoricalNB. column")
@parametrize_with_checks([GaussianNB(), CategoricalNB(), BernoulliNB(), MultinomialNB(), NaiveBayes()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
