"""`OrdinalRegression`: belief about ordered levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
import scipy.special
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from credo.distributions.categorical import Categorical
from credo.distributions.likelihoods import Likelihood, OrdinalLogit, OrdinalProbit
from credo.errors import DataError, ParameterError
from credo.models.glm.base import PREDICTIVE_POINTS, GlmEstimator, in_chunks
from credo.models.glm.equations import Design, predictors
from credo.models.glm.fitting import GlmFit
from credo.prediction.classes import ClassPredictive
from credo.prediction.law_draws import LawDraws
from credo.saving.registry import register

__all__ = ["OrdinalRegression"]

LINKS = {"logit": OrdinalLogit, "probit": OrdinalProbit}


@register
class OrdinalRegression(ClassifierMixin, GlmEstimator):
    """Bayesian ordinal regression: P(y ≤ level j | x) = F(c_j − offset − w·x).

    F is logistic (proportional odds) or Normal.

    Cut-points c_1 < c_2 < … divide a latent scale on which w·x moves a row: a larger w·x means higher levels. There is
    no intercept: the cut-points are one.

    Parameters
    ----------
    prior : belief about the coefficients, as for `LogisticRegression`.
    link : "logit" or "probit".
    levels : all levels, lowest first; None takes the labels found, sorted (numbers by size, text by the alphabet: state
        the order of text).
    inference : as for `PoissonRegression`.

    Attributes
    ----------
    classes_ : (k,) the levels, lowest first
    coef_ (P,) ; cutpoints_ (k − 1,) : posterior means, or the mode for "map"
    posterior_ : `GlmPosterior`; `posterior_["cutpoints"]` draws (draws, k − 1); prior_scale_ : τ, where learned
    log_evidence_, result_ : as for `PoissonRegression`; n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError : a bad argument; bad rows, one level, a label that is not in `levels`.
    NotIdentifiedError : levels that are separated, so that a flat prior has no mode.

    Notes
    -----
    The prior of the cut-points makes the probabilities of the levels at the columns' means uniform on the simplex, so a
    level that no row has keeps some probability. `score` is accuracy; `predict` the most probable level.

    References
    ----------
    McCullagh (1980), Regression models for ordinal data, JRSS B 42; Betancourt (2019), Ordinal regression.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.models.glm import OrdinalRegression
    >>> X = np.arange(24.0)[:, None] / 3; y = ["low", "low", "mid", "low", "mid", "high", "mid", "high"]
    >>> y = np.repeat(y, 3)
    >>> model = OrdinalRegression(levels=["low", "mid", "high"]).fit(X, y)
    >>> model.predict([[0.0], [7.0]]).tolist(), bool(model.coef_[0] > 0), bool(np.all(np.diff(model.cutpoints_) > 0))
    (['low', 'high'], True, True)
    """

    _classify = True

    def __init__(
        self, *, prior: Any = None, link: str = "logit", levels: Sequence[Any] | None = None, inference: str = "auto"
    ) -> None:
        super().__init__(fit_intercept=False, prior=prior, inference=inference)
        del self.fit_intercept, self.prior_intercept
        self.link = link
        self.levels = levels

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> Self:
        """Fit to X (n, P) and labels y (n,), or to a `Source` of blocks that carry y.

        sample_weight : (n,) counts of each row; offset : (n,) added to w·x.
        """
        return super().fit(X, y, sample_weight, offset)

    def _checked_outcomes(self, y: np.ndarray) -> np.ndarray:
        check_classification_targets(y)
        if self.levels is not None:
            known = list(self.levels)
            odd = [row for row, label in enumerate(np.asarray(y).tolist()) if label not in known]
            if odd:
                raise DataError(
                    f"OrdinalRegression: label {y[odd[0]]!r} in row {odd[0]} is not one of the levels {known}.",
                    rows=odd[:20],
                    value=y[odd[0]],
                )
        return y

    def _levels(self) -> np.ndarray | None:
        if self.link not in LINKS:
            raise ParameterError("OrdinalRegression", "link", f"one of {tuple(LINKS)}", self.link)
        if self.levels is None:
            return None
        levels = np.asarray(self.levels)
        if levels.ndim != 1 or levels.size < 2 or len(set(levels.tolist())) != levels.size:
            raise ParameterError("OrdinalRegression", "levels", "two or more distinct labels", self.levels)
        return levels

    def _specification(self) -> Any:
        return self._specified(fit_intercept=False, prior_intercept=None, levels=self._levels())

    def _likelihood(self, classes: np.ndarray | None) -> Likelihood:
        assert classes is not None
        return LINKS[self.link](classes.size)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Classes without an order, as in scikit-learn's checks, are not on one line.
        tags.classifier_tags.poor_score = True
        return tags

    def _settle(self, fit: GlmFit) -> None:
        super()._settle(fit)
        del self.intercept_
        self.coef_ = self.coef_[0]
        self.cutpoints_ = np.asarray(fit.posterior.auxiliary_mean()["cutpoints"])

    # -- prediction ----------------------------------------------------------------------------------------------

    def decision_function(self, X: Any, offset: Any = None) -> np.ndarray:
        """Log probabilities of the levels, (n, k); log-odds of the higher, (n,), where there are two."""
        with np.errstate(divide="ignore"):
            log_p = np.log(self.predict_proba(X, offset))
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def predict_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Predictive probabilities (n, k), integrated over the posterior, columns in the order of `classes_`."""
        return self._integrate(X, offset)[0]

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """The most probable level of each row (the lowest of ties)."""
        best = np.argmax(self.predict_proba(X, offset), axis=1)
        return self.classes_[best]

    def predict_distribution(self, X: Any, offset: Any = None) -> ClassPredictive:
        """`ClassPredictive`: probabilities with the entropy split in aleatoric and epistemic."""
        table, aleatoric = self._integrate(X, offset)
        return ClassPredictive(table, self.classes_, aleatoric, self.result_.inference)

    def coefficient_scale(self, target: str = "y", labels: Sequence[str] = ()) -> str:
        return f"the log-odds of a higher {target}" if self.link == "logit" else f"the normal score of {target}"

    def law_draws(self, X: Any, offset: Any = None, draws: int | None = None) -> LawDraws:
        """Probabilities of the levels at the rows of X, at about a thousand points of the posterior, or `draws`."""
        X = self._rows(X)
        shift = self._offset(offset, X.shape[0], "law_draws")
        points, weights = self.posterior_._require("draws").thinned(draws or PREDICTIVE_POINTS)
        design = self.design_

        def law(rows: np.ndarray) -> Categorical:
            known = None if shift is None else shift[rows]
            parts = [each for _, each in _levels(design.rows(X[rows]), points, design, known)]
            return Categorical(np.concatenate(parts))

        return LawDraws(weights, law, X.shape[0], self.classes_)

    def _integrate(self, X: Any, offset: Any) -> tuple[np.ndarray, Callable[[], np.ndarray] | None]:
        X = self._rows(X)
        shift = self._offset(offset, X.shape[0], "predict")
        points, weights = self.posterior_.support(PREDICTIVE_POINTS)
        design = self.design_
        if self.posterior_.draws is not None:
            # what is asked for later is of the rows as they are now
            X, shift = X.copy(), None if shift is None else shift.copy()

        def averaged(what: Callable[..., np.ndarray]) -> np.ndarray:
            return in_chunks(lambda rows, some: (what(design.rows(rows), points, weights, design, some),), X, shift)[0]

        table = averaged(level_probabilities)
        certain = self.posterior_.draws is None
        return table / table.sum(axis=1, keepdims=True), None if certain else lambda: averaged(level_entropy)


def level_probabilities(
    phi: np.ndarray, points: np.ndarray, weights: np.ndarray, design: Design, offset: np.ndarray | None
) -> np.ndarray:
    """Σ_s w_s p(y | φ, θ_s), (n, levels). Cost n · S · k."""
    likelihood: Any = design.likelihood
    table = np.zeros((phi.shape[0], likelihood.n_classes))
    for part, p in _levels(phi, points, design, offset):
        table += np.tensordot(weights[part], p, axes=1)
    return table


def level_entropy(
    phi: np.ndarray, points: np.ndarray, weights: np.ndarray, design: Design, offset: np.ndarray | None
) -> np.ndarray:
    """Σ_s w_s H(y | φ, θ_s) in nats, (n,)."""
    entropy = np.zeros(phi.shape[0])
    for part, p in _levels(phi, points, design, offset):
        entropy += weights[part] @ scipy.special.entr(p).sum(axis=-1)
    return entropy


def _levels(
    phi: np.ndarray, points: np.ndarray, design: Design, offset: np.ndarray | None
) -> Iterator[tuple[slice, np.ndarray]]:
    """Chunks of points, with the probabilities (s, n, levels) at them."""
    likelihood: Any = design.likelihood
    for part, eta, psi in predictors(phi, points, design, offset):
        p = likelihood.probabilities(eta, psi)
        yield part, p / p.sum(axis=-1, keepdims=True)
