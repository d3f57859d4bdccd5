"""Naive Bayes: columns that are independent given the class, each with a family of its own.

`gaussian_family`, `discrete`, `counts`, `student_t`, `kde`  families: statistics, and beliefs about parameters in
                                every class; `values`, what the last two keep
`gaussian`, `categorical`, `counted`  `GaussianNB`, `CategoricalNB`, `BernoulliNB`, `MultinomialNB`
`estimator`, `columns`  `NaiveBayes` of any table; which family a column gets
`smoothing`, `smoothed`, `tables`  what they share
"""

from credo.models.naive_bayes.categorical import CategoricalNB
from credo.models.naive_bayes.counted import BernoulliNB, MultinomialNB
from credo.models.naive_bayes.estimator import NaiveBayes
from credo.models.naive_bayes.gaussian import GaussianNB

__all__ = ["NaiveBayes", "CategoricalNB", "BernoulliNB", "MultinomialNB", "GaussianNB"]
