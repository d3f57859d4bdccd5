"""scikit-learn's estimator checks, with no expected failures: on a regressor, a classifier and a Pipeline."""

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from credo.studies.search import CredoSearchCV

# As scikit-learn tests its own searches: what a fit raises is raised.
OPTIONS = {"n_iter": 2, "cv": 2, "error_score": "raise", "sampler": "random", "random_state": 0}


# scikit-learn casts infinite y to integers before it refuses them.
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@parametrize_with_checks(
    [
        CredoSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, **OPTIONS),
        CredoSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, **OPTIONS),
        CredoSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1.0]}, **OPTIONS),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
