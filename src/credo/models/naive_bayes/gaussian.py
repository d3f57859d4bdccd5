"""`GaussianNB`: Normal columns, independent given the class."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from credo.distributions.normal_inverse_gamma import NormalInverseGamma
from credo.errors import ParameterError
from credo.models.generative.classes import checked_class_prior
from credo.models.generative.estimator import GenerativeClassifier
from credo.models.generative.family import Part
from credo.models.naive_bayes.gaussian_family import GaussianFamily
from credo.saving.registry import register

__all__ = ["GaussianNB"]


@register
class GaussianNB(GenerativeClassifier):
    """Naive Bayes with Normal columns: p(x | c) = Π_j N(x_j; μ_cj, σ²_cj).

    Parameters
    ----------
    priors : probabilities (k,) of the classes; None: their frequencies, with a Dirichlet posterior
    var_smoothing : share of the largest variance of a column that is added to every variance
    prior : a scalar `NormalInverseGamma` on every (μ_cj, σ²_cj), used by `predict_distribution`. None: a variance worth
        as many rows of the variance within all classes as these are alike (two at least), means as spread as the
        column

    Attributes
    ----------
    classes_ (k,), class_count_ (k,), class_prior_ (k,)
    theta_, var_ (k, d) : maximum likelihood; var_ includes epsilon_ = var_smoothing × the largest variance
    beliefs_, class_belief_ : posteriors ; result_ ; n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError : bad arguments; infinite cells; labels that are not classes.

    Notes
    -----
    `predict`, `predict_proba`, `log_prob` and `sample` plug in `theta_` and `var_`, as scikit-learn's do;
    `predict_distribution` integrates over both: a product of Student-t densities, so that a class seen twice is unsure.

    Cells of NaN are integrated out, in fit and after it. Rows whose label is None or NaN join by EM. One pass over the
    data, O(n d); statistics merge, so that `partial_fit` gives what `fit` does to rounding.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §3.3.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.2], [1.2, 0.1], [0.9, np.nan], [3.0, 1.0], [3.1, 1.3]])
    >>> model = GaussianNB().fit(X, ["a", "a", "a", "b", "b"])
    >>> model.predict([[1.1, 0.3], [np.nan, 1.1]]).tolist()
    ['a', 'b']
    >>> model.predict_distribution([[2.0, 0.6]]).probabilities.round(2).tolist()
    [[0.7, 0.3]]
    """

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9, prior: Any = None) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.prior = prior

    def _check(self) -> None:
        value = self.var_smoothing
        if not (isinstance(value, (int, float, np.number)) and 0.0 <= value < np.inf):
            raise ParameterError("GaussianNB", "var_smoothing", "a number ≥ 0", value)
        if self.prior is not None and not (isinstance(self.prior, NormalInverseGamma) and self.prior.dimension == 1):
            raise ParameterError("GaussianNB", "prior", "a scalar NormalInverseGamma or None", self.prior)

    def _read(self, X: Any, *, reset: bool, fitting: bool) -> Any:
        # That no cell is infinite is seen in the sums that follow: a pass less over the rows.
        rows: Any = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False)
        return rows

    def _families(self, cells: Any, codes: Any = None, weights: Any = None) -> tuple[Part, ...]:
        return (Part(GaussianFamily(float(self.var_smoothing), self.prior)),)

    def _known_classes(self, n_classes: int) -> np.ndarray | None:
        return checked_class_prior("GaussianNB", "priors", self.priors, n_classes)

    def _settle(self) -> None:
        belief: Any = self.beliefs_[0]
        self.theta_, self.var_, self.epsilon_ = belief.mean, belief.variance, belief.epsilon
        self.class_prior_ = self.class_belief_.probability

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
