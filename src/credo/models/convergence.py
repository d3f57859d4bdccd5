"""The warning of estimators that did not converge: Credo's and scikit-learn's at once; filters of either work."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning as _ScikitLearns

from credo.errors import ConvergenceWarning

__all__ = ["FitConvergenceWarning"]


class FitConvergenceWarning(ConvergenceWarning, _ScikitLearns):
    """An estimator stopped before its certificate held."""
