"""scikit-learn's estimator checks, with no expected failures.

`QuadraticDiscriminantAnalysis` with its prior: without one it refuses classes whose covariance has no inverse, as
scikit-learn's does, and three checks of weights (which scikit-learn's does not take) fit such rows.
"""

from sklearn.utils.estimator_checks import parametrize_with_checks

from credo.models.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis


@parametrize_with_checks(
    [
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(covariance_type="diag"),
        QuadraticDiscriminantAnalysis(prior="auto"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
