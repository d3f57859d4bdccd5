"""scikit-learn's estimator checks on every mixture, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from credo.models.mixture import (
    BayesianGaussianMixture,
    CategoricalMixture,
    GaussianMixture,
    PoissonMixture,
    RegressionMixture,
    StudentTMixture,
)


# the checks fit two rows of noise to see what happens: mixtures warn, as they should
@pytest.mark.filterwarnings("ignore::credo.errors.CredoWarning")
@parametrize_with_checks(
    [
        GaussianMixture(),
        GaussianMixture(covariance_type="diag", component_prior="auto"),
        BayesianGaussianMixture(),
        StudentTMixture(),
        PoissonMixture(),
        CategoricalMixture(),
        RegressionMixture(),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
