"""scikit-learn's estimator checks on the Gaussian processes of classes and counts, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from credo.models.gaussian_process.classification import GaussianProcessClassifier
from credo.models.gaussian_process.counts import (
    GaussianProcessNegativeBinomialRegressor,
    GaussianProcessPoissonRegressor,
)


# Its tables are pure noise or separable by one column: whether Laplace's check of three classes passes is not asked.
@pytest.mark.filterwarnings("ignore:.*certificate failed", "ignore:.*y is not whole:credo.errors.DataWarning")
@parametrize_with_checks(
    [
        GaussianProcessClassifier(),
        GaussianProcessClassifier(inference="laplace", mean="constant", optimizer=None),
        GaussianProcessPoissonRegressor(),
        GaussianProcessNegativeBinomialRegressor(dispersion=5.0, optimizer=None),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
