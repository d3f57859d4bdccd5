"""scikit-learn's estimator checks, with no expected failures.

`QuadraticDiscriminantAnalysis` warns where a class's covariance has no inverse: some checks fit such rows.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from credo.models.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis


@pytest.mark.filterwarnings("ignore:.*not of full rank.*:credo.errors.DataWarning")
@parametrize_with_checks(
    [
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(covariance_type="diag"),
        QuadraticDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(prior="auto"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
