"""`LogisticRegression`: belief about classes, binary and multinomial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.special
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from credo.diagnostics.information import LeaveOneOut
from credo.diagnostics.labels import label_codes
from credo.diagnostics.psis import K_RELIABLE
from credo.distributions.categorical import Categorical
from credo.distributions.likelihoods import BernoulliLogit, CategoricalLogit, Likelihood
from credo.errors import ParameterError, UnavailableError
from credo.models.glm.base import PREDICTIVE_POINTS, GlmEstimator, in_chunks
from credo.models.glm.equations import Design, predictors
from credo.models.glm.leave_one_out import logit_leave_one_out
from credo.prediction.classes import ClassPredictive
from credo.prediction.law_draws import LawDraws
from credo.saving.registry import register

__all__ = ["LogisticRegression"]


@register
class LogisticRegression(ClassifierMixin, GlmEstimator):
    """Bayesian logistic regression: P(y = c | x) = softmax(b_c + w_c·x), or σ(b + w·x) for two classes.

    The posterior is a Gaussian at the mode, checked and corrected by Pareto-smoothed importance weights ("laplace");
    predictions integrate it.

    Parameters
    ----------
    fit_intercept : whether to add an intercept.
    prior : belief about the coefficients as you see them. None: N(0, τ²) on standardised columns, τ weighed by the
        evidence (a priori the linear predictor's sd √P τ is half-Normal(3)); `Flat()`; `Normal(mean, sd)`, `sd=None`
        for a learned common scale on raw columns; `MultivariateNormal`. scikit-learn's C is sd².
    prior_intercept : None or `Flat()`; or `Normal(mean, sd)`.
    inference : "laplace" is the weighted Gaussian; "hmc" and "nuts" sample; "gibbs" samples too, two classes by
        Pólya–Gamma variables; "map" is the mode alone, without uncertainty. "auto" is the first, and chains where its
        certificate fails; Gibbs under Laplace, Student-t, elastic-net and horseshoe priors.

    Attributes
    ----------
    classes_ ; coef_ (1, P) or (k, P) and intercept_ (1,) or (k,): posterior means, or the mode for "map"
    mode_ : (k, P + 1) intercept and coefficients at the mode
    posterior_ : `GlmPosterior`; prior_scale_ : τ, where learned
    log_evidence_ : log p(y | X), relative to the flat intercept
    result_ : certificate "pareto_k" or "rhat"; n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError, NotIdentifiedError : a bad argument; bad rows or one class; classes that are separated,
        so that a flat prior has no mode.

    Notes
    -----
    Newton over blocks: about ten passes over the rows, each n P² (k²/2 times that for k classes), in bounded memory;
    then one pass of up to 4,096 n for the weights. Dense in P: some thousand columns. `sample_weight` counts rows.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, ch. 16; Vehtari et al. (2024), Pareto smoothed importance sampling.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> X = np.array([[-2.0], [-1.0], [-0.5], [0.5], [1.0], [2.0]]); y = ["no", "no", "yes", "no", "yes", "yes"]
    >>> model = cr.LogisticRegression(prior=cr.Normal(0, 2.5)).fit(X, y)
    >>> p = model.predict_distribution([[0.0], [4.0]])
    >>> p.classes.tolist(), bool(p.epistemic[0] > 0)
    (['no', 'yes'], True)
    """

    _classify = True

    def _checked_outcomes(self, y: np.ndarray) -> np.ndarray:
        check_classification_targets(y)
        return y

    def _likelihood(self, classes: np.ndarray | None) -> Likelihood:
        assert classes is not None
        return BernoulliLogit() if classes.size == 2 else CategoricalLogit(classes.size)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> Self:
        """Fit to X (n, P) and labels y (n,), or to a `Source` of blocks that carry y.

        sample_weight : (n,) counts of each row; offset : (n,) added to the log-odds, for two classes.
        """
        return super().fit(X, y, sample_weight, offset)

    def decision_function(self, X: Any, offset: Any = None) -> np.ndarray:
        """Log-odds of the predictive probability, (n,), for two classes; log probabilities, (n, k), for more."""
        with np.errstate(divide="ignore"):
            log_p = np.log(self.predict_proba(X, offset))
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def predict_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Predictive probabilities (n, k), integrated over the posterior, columns in the order of `classes_`."""
        return self._integrate(X, offset)[0]

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """The most probable class of each row (the first of ties)."""
        best = np.argmax(self.predict_proba(X, offset), axis=1)
        return self.classes_[best]

    def predict_distribution(self, X: Any, offset: Any = None) -> ClassPredictive:
        """`ClassPredictive`: probabilities with the entropy split in aleatoric and epistemic."""
        table, aleatoric = self._integrate(X, offset)
        return ClassPredictive(table, self.classes_, aleatoric, self.result_.inference)

    def law_draws(self, X: Any, offset: Any = None, draws: int | None = None) -> LawDraws:
        """Class probabilities at the rows of X, at about a thousand points of the posterior, or `draws`."""
        X = self._rows(X)
        shift = self._offset(offset, X.shape[0], "law_draws")
        points, weights = self.posterior_._require("draws").thinned(draws or PREDICTIVE_POINTS)
        design = self.design_

        def law(rows: np.ndarray) -> Categorical:
            known = None if shift is None else shift[rows]
            parts = [eta for _, eta, _ in predictors(design.rows(X[rows]), points, design, known)]
            eta = np.concatenate(parts)
            if design.n_predictors > 1:
                return Categorical(design.likelihood.mean(eta))
            return Categorical(np.stack([scipy.special.expit(-eta), scipy.special.expit(eta)], axis=-1))

        return LawDraws(weights, law, X.shape[0], self.classes_)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> LeaveOneOut:
        """log P(y_i | x_i, the other rows) of the rows of `fit`: a closed form for the Normal posterior where it is
        certified and the predictors are well known, else PSIS."""
        X = self._rows(X)
        weighted = sample_weight is not None and np.any(np.asarray(sample_weight) != 1.0)
        draws = self.posterior_._require("draws")
        if not self.result_.ok:
            raise UnavailableError(
                "This LogisticRegression has no certified posterior to leave a row out of.", remedy="Use folds (cv=5)."
            )
        if draws.k_hat < K_RELIABLE and not weighted and not options:
            k, width = self.mode_.shape
            codes = label_codes(self.classes_, np.asarray(y), "LogisticRegression.leave_one_out")
            phi = np.column_stack([np.ones((len(codes), width - X.shape[1])), X])
            try:
                pointwise = logit_leave_one_out(phi, codes, draws.mean.reshape(k, width), draws.covariance)
                return LeaveOneOut(pointwise, "normal")
            except UnavailableError:  # too uncertain for a Normal
                pass
        return super().leave_one_out(X, y, sample_weight, **options)

    def _offset(self, offset: Any, n: int, method: str) -> np.ndarray | None:
        if offset is not None and method != "fit" and self.design_.is_softmax:
            raise ParameterError(
                f"LogisticRegression.{method}", "offset", "None for more than two classes", type(offset).__name__
            )
        return super()._offset(offset, n, method)

    def _integrate(self, X: Any, offset: Any) -> tuple[np.ndarray, Callable[[], np.ndarray] | None]:
        """Probabilities averaged over the posterior's points, and what averages their entropy; plug-in ones for a MAP
        fit."""
        X = self._rows(X)
        offset = self._offset(offset, X.shape[0], "predict")
        points, weights = self.posterior_.support(PREDICTIVE_POINTS)
        design = self.design_
        if self.posterior_.draws is not None:
            # what is asked for later is of the rows as they are now
            X, offset = X.copy(), None if offset is None else offset.copy()

        def averaged(what: Callable[..., np.ndarray]) -> np.ndarray:
            return in_chunks(lambda rows, some: (what(design.rows(rows), points, weights, design, some),), X, offset)[0]

        table = averaged(class_probabilities)
        if self.posterior_.draws is None:
            return table, None
        return table / table.sum(axis=1, keepdims=True), lambda: averaged(class_entropy)


def class_probabilities(
    phi: np.ndarray, points: np.ndarray, weights: np.ndarray, design: Design, offset: np.ndarray | None = None
) -> np.ndarray:
    """Σ_s w_s p(y | φ, θ_s), (n, classes). Cost n · S · kD."""
    k = design.n_predictors
    table = np.zeros((phi.shape[0], max(k, 2)))
    for part, eta, _ in predictors(phi, points, design, offset):
        w = weights[part]
        if k == 1:
            table[:, 1] += w @ scipy.special.expit(eta)
            table[:, 0] += w @ scipy.special.expit(-eta)
        else:
            table += np.tensordot(w, design.likelihood.mean(eta), axes=1)
    return table


def class_entropy(
    phi: np.ndarray, points: np.ndarray, weights: np.ndarray, design: Design, offset: np.ndarray | None = None
) -> np.ndarray:
    """Σ_s w_s H(y | φ, θ_s) in nats, (n,). As dear as the probabilities, and fewer ask for it."""
    entropy = np.zeros(phi.shape[0])
    for part, eta, _ in predictors(phi, points, design, offset):
        if design.n_predictors == 1:
            size = np.abs(eta)  # H = log(1 + e^−|η|) + |η| min(p, 1 − p)
            each = np.log1p(np.exp(-size)) + size * scipy.special.expit(-size)
        else:
            each = scipy.special.entr(design.likelihood.mean(eta)).sum(axis=-1)
        entropy += weights[part] @ each
    return entropy
