"""scikit-learn's estimator checks on every hidden Markov model, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from credo.models.hidden_markov import CategoricalHMM, GaussianHMM, PoissonHMM


# the checks fit two rows of noise to see what happens: the models warn, as they should
@pytest.mark.filterwarnings("ignore::credo.errors.CredoWarning")
@parametrize_with_checks(
    [GaussianHMM(), GaussianHMM(covariance_type="diag", component_prior="auto"), PoissonHMM(), CategoricalHMM()]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
