"""`average`: several models, weighed, as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from credo.errors import DataError, ModelWarning, ParameterError, warn
from credo.inference.result import Result
from credo.models.evidence import Evidence
from credo.numerics.random import as_generator
from credo.prediction.mixture import mix
from credo.prediction.rounded import RoundedPredictive
from credo.saving.registry import register
from credo.selection.comparison import Comparison
from credo.selection.evidence import evidence_of, evidence_weights
from credo.selection.posteriors import average_posteriors, posteriors_in
from credo.selection.predictions import predictive_of
from credo.selection.scoring import Table, checked_models, columns_of, fit_all, hold_out
from credo.selection.stacking import stacking_weights

__all__ = ["ModelAverage", "average"]

WEIGHINGS = ("evidence", "stacking")


def _classifies(self: Any) -> bool:
    return is_classifier(self)


@register
class ModelAverage(BaseEstimator):
    """Models that predict together, p(y | x) = Σ_h w_h p(y | x, h).

    evidence  w_h = P(h | D) ∝ P(D | h) P(h): right if one of the models is; the belief settles on one as rows grow
    stacking  w maximises the log score of the mixture on held-out rows: best where none of them is

    Parameters
    ----------
    models : dict name → estimator (or a list), all regressors or all classifiers
    by : "evidence" or "stacking"
    prior : name → P(h) (any scale), for "evidence"; equal by default
    cv : how rows are held out for "stacking", as in `compare`
    random_state : of the folds
    columns : name → the columns of X that this model is given, as in `compare`

    Attributes
    ----------
    estimators_ : name → model fitted to all rows; weights_ : name → weight, summing to 1
    classes_ ; result_ : certificate "gap", by how many nats per row other stacking weights could beat these at most

    Raises
    ------
    UnavailableError, DataError : evidences that do not exist, or are not comparable (flat priors, point estimates,
        different improper parts or outcomes).

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 2)); y = X[:, 0] + rng.normal(size=50)
    >>> from credo.models.baseline import InterceptOnlyRegressor
    >>> average = ModelAverage({"line": cr.LinearRegression(), "nothing": InterceptOnlyRegressor()}).fit(X, y)
    >>> average.weights_["line"] > 0.99
    True

    References
    ----------
    Hoeting, Madigan, Raftery and Volinsky (1999), Statistical Science 14; Yao, Vehtari, Simpson and Gelman (2018),
    Bayesian Analysis 13(3).
    """

    def __init__(
        self,
        models: Any,
        by: str = "evidence",
        *,
        prior: Any = None,
        cv: Any = "auto",
        random_state: Any = 0,
        columns: Any = None,
    ) -> None:
        self.models = models
        self.by = by
        self.prior = prior
        self.cv = cv
        self.random_state = random_state
        self.columns = columns

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, time: Any = None) -> Self:
        """Fit every model to X, y and weigh them; `groups` and `time` say how rows are held out."""
        models = checked_models("ModelAverage", self.models)
        self._check()
        table = Table.checked(X, y, sample_weight, groups, time)
        trials = fit_all(models, table, self.columns)
        for trial in trials:
            if trial.failure is not None:
                trial.failure.add_note(f"In the model {trial.name!r} of a ModelAverage.")
                raise trial.failure
        fitted = {trial.name: trial.fitted for trial in trials}
        if self.by == "evidence":
            return self._settle(fitted, evidence_weights(fitted, self._prior(models)))
        hold_out(trials, table, self.cv, ("log",), as_generator(self.random_state))
        for trial in trials:
            if trial.failure is not None:
                raise trial.failure
        return self._stack(fitted, {trial.name: trial.pointwise["log"] for trial in trials}, table.weights)

    def _check(self) -> None:
        if self.by not in WEIGHINGS:
            raise ParameterError("ModelAverage", "by", f"one of {WEIGHINGS}", self.by)

    def _prior(self, models: Mapping[str, Any]) -> dict[str, float]:
        if self.prior is None:
            return dict.fromkeys(models, 1.0)
        prior = dict(self.prior) if isinstance(self.prior, Mapping) else {}
        values = np.array([prior.get(name, np.nan) for name in models], dtype=np.float64)
        if set(prior) != set(models) or not np.all(np.isfinite(values) & (values >= 0)) or not values.sum() > 0:
            raise ParameterError("ModelAverage", "prior", f"a number ≥ 0 for each of {list(models)}", self.prior)
        return {name: float(value) for name, value in zip(models, values, strict=True)}

    def _stack(self, fitted: dict[str, Any], pointwise: Mapping[str, np.ndarray], weights: Any) -> Self:
        table = np.column_stack([pointwise[name] for name in fitted])
        keep = ~np.isnan(table).any(axis=1)
        if not keep.any():
            raise DataError("Stacking: no row could be scored by every model.", remedy="Use fewer folds.")
        found = stacking_weights(table[keep], None if weights is None else weights[keep])
        named = dict(zip(fitted, found.weights.tolist(), strict=True))
        return self._settle(fitted, named, {"gap": found.gap, "log_score": found.log_score})

    def _settle(
        self, fitted: dict[str, Any], weights: dict[str, float], certificate: dict[str, float] | None = None
    ) -> Self:
        first = next(iter(fitted.values()))
        self.estimators_ = fitted
        self.weights_ = weights
        self.result_ = Result("exact" if self.by == "evidence" else "converged", self.by, certificate=certificate or {})
        # Of models that are given columns of their own the first says nothing of X as a whole.
        for name in ("classes_",) if self.columns else ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        return self

    def predict_distribution(self, X: Any) -> Any:
        """The weighted mixture of the models' predictives; their disagreement is epistemic. Beside models of counts,
        those of numbers are rounded."""
        check_is_fitted(self)
        used = [name for name, weight in self.weights_.items() if weight > 0.0]
        given = self.columns or {}
        parts = [predictive_of(self.estimators_[name], columns_of(X, given.get(name))) for name in used]
        if {"real", "count"} <= {part.kind for part in parts}:
            parts = [RoundedPredictive(part) if part.kind == "real" else part for part in parts]
        return parts[0] if len(parts) == 1 else mix([self.weights_[name] for name in used], parts)

    def predict(self, X: Any) -> np.ndarray:
        """Mean of the mixture, or its most probable class."""
        p = self.predict_distribution(X)
        return p.mode if is_classifier(self) else p.mean

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities (n, k) of the mixture."""
        return self.predict_distribution(X).probabilities

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy or R², as scikit-learn's estimators have it."""
        from sklearn.metrics import accuracy_score, r2_score

        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        models = list(self.models.values()) if isinstance(self.models, Mapping) else list(self.models)
        inner = [get_tags(model) for model in models]
        tags.estimator_type = inner[0].estimator_type
        tags.classifier_tags, tags.regressor_tags = inner[0].classifier_tags, inner[0].regressor_tags
        tags.target_tags = inner[0].target_tags
        tags.input_tags.allow_nan = all(each.input_tags.allow_nan for each in inner)
        return tags


def average(
    models: Any,
    X: Any = None,
    y: Any = None,
    by: str = "evidence",
    *,
    prior: Any = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    cv: Any = "auto",
    random_state: Any = 0,
    columns: Any = None,
) -> Any:
    """Weigh models and let them predict together.

    Parameters
    ----------
    models : dict name → estimator (or a list); fitted ones when X and y are left out; or a `Comparison`, whose fits
        and held-out scores are used as they are; or posteriors of a `Model`, without X and y
    X, y : rows to fit (clones of) the models to; needed for "stacking"
    by : "evidence" (Bayesian model averaging) or "stacking"
    prior, groups, time, sample_weight, cv, random_state, columns : see `ModelAverage` and `compare`

    Returns
    -------
    ModelAverage : fitted; `weights_`, `predict`, `predict_distribution`. Of posteriors a `PosteriorAverage`, with
        `weights_` and `predict`.

    Raises
    ------
    ParameterError : X without y, or "stacking" of fitted models without rows to hold out.
    UnavailableError, DataError : see `ModelAverage`.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> x = np.linspace(-1, 1, 40)[:, None]; y = x[:, 0] ** 2 + 0.1 * np.cos(40.0 * x[:, 0])
    >>> line = cr.LinearRegression().fit(x, y)
    >>> from credo.models.featured import FeaturedModel
    >>> curve = FeaturedModel(cr.features.PolynomialFeatures(2), cr.LinearRegression()).fit(x, y)
    >>> average({"line": line, "curve": curve}).weights_["curve"] > 0.99
    True
    """
    if isinstance(models, Comparison):
        return _from_comparison(models, by, prior)
    posteriors = posteriors_in(models)
    if posteriors is not None:
        return average_posteriors(posteriors, by, prior)
    named = checked_models("average", models)
    both = ModelAverage(named, by, prior=prior, cv=cv, random_state=random_state, columns=columns)
    if X is not None and y is not None:
        return both.fit(X, y, sample_weight, groups=groups, time=time)
    if X is not None or y is not None:
        raise ParameterError("average", "X" if X is None else "y", "given together with the other", None)
    both._check()
    if by == "stacking":
        raise ParameterError(
            "average", "X", "given for by='stacking', which weighs models by how they predict rows held out", None
        )
    for model in named.values():
        check_is_fitted(model)
    return both._settle(named, evidence_weights(named, both._prior(named)))


def _as_compared(record: Evidence | None, log_value: float | None) -> Evidence | None:
    """The evidence of the fit that was compared: one that was sampled afterwards has lost it."""
    if record is None or record.log_value is not None or log_value is None:
        return record
    return replace(record, log_value=log_value)


def _with_evidence(fitted: dict[str, Any]) -> dict[str, Any]:
    """The models that could have one on a scale with the others: those that model more than the outcomes compute none
    of the outcomes alone, and what a process maximises over its hyperparameters has other improper priors."""
    records = {name: evidence_of(model) for name, model in fitted.items()}
    known = {name: record for name, record in records.items() if record is not None}
    if not known:
        return fitted
    plain = next((record for record in known.values() if not record.maximised), None)
    apart = [n for n, r in known.items() if r.maximised and plain is not None and r.obstacle(plain) is not None]
    lacking = [name for name in fitted if name not in known]
    reasons = [f"{', '.join(lacking)} computes no evidence"] if lacking else []
    reasons += [f"{', '.join(apart)} has one on a scale of its own"] if apart else []
    if reasons:
        warn(
            f"average: {' and '.join(reasons)}, and is left out; by='stacking' weighs all by held-out scores.",
            ModelWarning,
        )
    return {name: model for name, model in fitted.items() if name not in (*lacking, *apart)}


def _from_comparison(comparison: Comparison, by: str, prior: Any) -> ModelAverage:
    fitted = dict(comparison.fitted)
    if by == "evidence" and not isinstance(prior, Mapping):
        fitted = _with_evidence(fitted)
    columns = {name: given for name, given in comparison.columns.items() if name in fitted}
    both = ModelAverage(
        {name: clone(model) for name, model in fitted.items()}, by, prior=prior, columns=columns or None
    )
    both._check()
    if by == "evidence":
        known = {
            row.name: _as_compared(evidence_of(fitted[row.name]), row.log_evidence)
            for row in comparison.rows
            if row.name in fitted
        }
        return both._settle(fitted, evidence_weights(fitted, both._prior(fitted), known))
    if comparison.scores[0] != "log":
        raise ParameterError("average", "models", "a comparison by log score", comparison.scores)
    return both._stack(fitted, comparison.pointwise, comparison.weights)
