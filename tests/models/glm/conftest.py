"""Checks of scikit-learn that take half a minute each are left to `make calibrate`, which runs them at any size."""

import pytest

LONG = "OrdinalRegression()-check_sample_weight_equivalence"


def pytest_collection_modifyitems(items):
    for item in items:
        if LONG in item.nodeid:
            item.add_marker(pytest.mark.slow)
