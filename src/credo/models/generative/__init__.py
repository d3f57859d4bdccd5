"""What generative classifiers share: p(x, y) = p(y) p(x | y), a belief about each factor, and Bayes' rule.

`labels`       class labels → codes, some of them perhaps missing
`memberships`  how much of each row belongs to each class, and sums over the rows of each
`classes`      the belief about the probabilities of the classes
`family`       what the family of a group of columns supplies: statistics, and beliefs about its parameters
`rows`         rows in memory as blocks of views, labels of sources as codes
`equations`    Bayes' rule in log space; the aleatoric part of the entropy
`learning`     statistics over blocks; EM where labels are missing
`profile`      what is expected of a row of each class, as a table
`estimator`    `GenerativeClassifier`: fit, stream, predict, score, draw
"""

from credo.models.generative.estimator import GenerativeClassifier
from credo.models.generative.family import Belief, Family, Part
from credo.models.generative.memberships import Memberships

__all__ = ["GenerativeClassifier", "Family", "Belief", "Part", "Memberships"]
