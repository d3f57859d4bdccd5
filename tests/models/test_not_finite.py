"""NaN and infinity where no estimator takes them: a named error that says where."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import credo as cr
from credo.errors import DataError

X = np.array([[0.0, 2.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]])
Y = np.array([0.0, 1.0, 1.0, 0.0])
MODELS = [
    cr.LinearRegression(), cr.LogisticRegression(), cr.PoissonRegression(), cr.KernelRidge(),
    cr.GaussianProcessRegressor(), cr.GaussianProcessClassifier(),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_cells_of_a_fit_and_of_new_rows(model: Any, bad: float) -> None:
    holed = X.copy()
    holed[2, 1] = bad
    for table in (holed, pd.DataFrame(holed)):
        with pytest.raises(DataError, match=r"row 2\b.* impute"):
            model.fit(table, Y)
    model.fit(X, Y)
    with pytest.raises(DataError, match=r"row 2\b.* impute"):
        model.predict(holed)


def test_outcomes_sparse_rows_and_nullable_columns() -> None:
    outcomes = np.where(np.arange(4) == 3, np.nan, Y)
    with pytest.raises(DataError, match=r"Input y contains NaN.*row 3"):
        cr.KernelRidge().fit(X, outcomes)
    holed = scipy.sparse.csr_array(np.where(X == 2.0, np.nan, X))
    with pytest.raises(DataError, match="2 such rows, the first is row 0") as caught:
        cr.PoissonRegression().fit(holed, Y)
    assert caught.value.rows == [0, 2]
    with pytest.raises(DataError, match="the first is row 1"):
        cr.KernelRidge().fit(pd.DataFrame({"a": [1.0, None, 2.0, 3.0]}, dtype="Float64"), Y)
