"""scikit-learn's estimator checks on every public estimator, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import credo as cr


# Its tables of copied rows leave σ unidentified, which is warned of: tests/inference/exact/test_propriety.py.
@pytest.mark.filterwarnings("ignore:.*(not identified|fit the rows exactly):credo.errors.DataWarning")
@parametrize_with_checks(
    [
        cr.LinearRegression(),
        cr.LinearRegression(inference="evidence"),
        cr.LinearRegression(prior=cr.Normal(0, 1.0), noise=cr.noise.Normal(1.0)),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
