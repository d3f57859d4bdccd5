"""What every estimator settles with its rows, whichever it is."""

import numpy as np
import pytest
import scipy.sparse

import credo as cr
from credo.errors import DataError, ParameterError
from credo.models.columns import require_range

X = np.random.default_rng(0).normal(size=(20, 3)) * np.array([1.0, 1e200, 1.0])
CLASSES, NUMBERS = np.arange(20) % 2, np.arange(20.0)


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (cr.LinearRegression(), NUMBERS),
        (cr.LogisticRegression(), CLASSES),
        (cr.PoissonRegression(), NUMBERS),
        (cr.KernelRidge(), NUMBERS),
        (cr.LinearDiscriminantAnalysis(), CLASSES),
        (cr.QuadraticDiscriminantAnalysis(), CLASSES),
        (cr.GaussianMixture(2), None),
        (cr.RegressionMixture(2), NUMBERS),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_columns_whose_squares_overflow_are_named(estimator, y):
    with pytest.raises(DataError, match="column 1 of X are too large"):
        estimator.fit(X, y)


def test_range_of_sparse_rows_and_of_missing_cells():
    with pytest.raises(DataError, match="column 1"):
        require_range(scipy.sparse.csr_matrix(X))
    require_range(np.full((2, 2), np.nan))
    require_range(np.empty((0, 3)))
    require_range(np.full((2, 2), 3e38, dtype=np.float32))
    require_range(scipy.sparse.csr_matrix((2, 3)))


@pytest.mark.parametrize(
    ("weights", "why"),
    [(np.zeros(20), "not all zero"), (-np.ones(20), "Negative"), (np.ones(19), "shape"), ([np.nan] * 20, "NaN")],
)
@pytest.mark.parametrize("estimator", [cr.LinearRegression(), cr.PoissonRegression()])
def test_weights_that_count_nothing_are_named(estimator, weights, why):
    with pytest.raises(ParameterError, match=f"{type(estimator).__name__}.fit.sample_weight must be .*{why}"):
        estimator.fit(X[:, :1], NUMBERS, sample_weight=weights)
