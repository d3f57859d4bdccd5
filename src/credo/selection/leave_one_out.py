"""Leave-one-out log predictive densities from one fit, of any model that has them."""

from __future__ import annotations

from typing import Any

from credo.diagnostics.information import LeaveOneOut
from credo.errors import UnavailableError

__all__ = ["leave_one_out"]


def leave_one_out(model: Any, X: Any, y: Any, sample_weight: Any = None) -> LeaveOneOut:
    """log p(y_i | x_i, the other rows) of a model fitted to X, y, sample_weight, without fitting it again.

    Closed forms where the algebra allows (linear-Gaussian models, kernel ridge, baselines; logistic regression whose
    Normal posterior is certified), else Pareto-smoothed importance weights on the draws of the posterior, which say by
    k̂ in which rows they fail. A row of weight w is left out whole. Targets are summed. Models take part by a method
    `leave_one_out`; a pipeline does not, since its transformers may have seen the outcomes of all rows.

    Raises
    ------
    UnavailableError : a model without such a method, or whose posterior is a point or was not certified.
    NumericalError : a row has leverage 1, so that the others say nothing of it.

    Warns
    -----
    ConvergenceWarning : rows, by number, whose k̂ is 0.7 or more.

    >>> import credo as cr, numpy as np
    >>> X, y = np.arange(5.0)[:, None], np.array([0.1, 0.9, 2.2, 2.8, 4.1])
    >>> leave_one_out(cr.LinearRegression().fit(X, y), X, y).pointwise.shape
    (5,)

    References
    ----------
    Gelfand, Dey and Chang (1992), Bayesian Statistics 4; Vehtari, Gelman and Gabry (2017), Statistics and Computing 27.
    """
    if not hasattr(model, "leave_one_out"):
        raise UnavailableError(f"{type(model).__name__} cannot leave one row out of a fit.", remedy="Use folds (cv=5).")
    return model.leave_one_out(X, y, sample_weight)
