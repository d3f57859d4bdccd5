"""Checks of scikit-learn that take long are left to `make calibrate`, which runs them at any size.

Those of sparse input, which fit a dozen times, run for a negative binomial whose dispersion is known.
"""

import pytest

LONG = (
    "OrdinalRegression()-check_sample_weight_equivalence",
    "NegativeBinomialRegression()-check_estimator_sparse_array",
    "NegativeBinomialRegression()-check_estimator_sparse_matrix",
)


def pytest_collection_modifyitems(items):
    for item in items:
        if any(name in item.nodeid for name in LONG):
            item.add_marker(pytest.mark.slow)
