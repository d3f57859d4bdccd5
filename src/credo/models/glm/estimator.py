"""`LogisticRegression`: belief about classes, binary and multinomial."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from credo.blocks.array import ArraySource
from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.diagnostics.psis import K_RELIABLE
from credo.distributions.likelihoods import BernoulliLogit, CategoricalLogit
from credo.distributions.statistics import WeightedMoments
from credo.errors import ConvergenceWarning, DataError, ParameterError, UnavailableError
from credo.inference.result import Result
from credo.inference.weighted import WeightedDraws
from credo.models.columns import checked_rows, checked_weights, column_names, note_columns
from credo.models.glm.equations import Design, GlmStatistics, accumulate, class_probabilities, log_likelihoods
from credo.models.glm.laplace import GlmFit, GlmPrior, fit_mode, fit_posterior
from credo.models.glm.posterior import GlmPosterior
from credo.models.glm.sampling import AFFORDABLE, sampled_posterior
from credo.models.glm.separation import SATURATED, describe_separation
from credo.models.priors import resolve_intercept_prior, resolve_prior
from credo.prediction.classes import ClassPredictive
from credo.saving.registry import register

__all__ = ["LogisticRegression"]

INFERENCES = ("auto", "laplace", "hmc", "map")
# Points that check and correct the Gaussian, by how many fit in a budget of row evaluations (about half a second).
POINTS = (4096, 2048, 1024, 512, 256)
EVALUATIONS = 4e7
# Scale of the half-Normal hyperprior on the sd of the linear predictor: at 3 a typical pair of rows has odds that
# differ by a factor of e⁴ ≈ 70, and a separated sample cannot run off far beyond that.
PREDICTOR_SD = 3.0
# Points a prediction averages over, a prefix of the lattice: 5 µs a row, and an error of some 0.1 % of a probability.
PREDICTIVE_POINTS = 1024
ROWS = 512


@dataclass(frozen=True)
class _Overview:
    """Of one pass: moments of the columns, class labels, first bad row."""

    moments: WeightedMoments
    classes: np.ndarray
    n_rows: int

    def merge(self, other: _Overview) -> _Overview:
        return _Overview(
            self.moments.merge(other.moments), np.union1d(self.classes, other.classes), self.n_rows + other.n_rows
        )


@register
class LogisticRegression(ClassifierMixin, BaseEstimator):
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
    inference : "laplace" is the weighted Gaussian; "hmc" samples; "auto" is the first, and the second where the
        certificate of the first fails; "map" is the mode alone, without uncertainty.

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

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        prior: Any = None,
        prior_intercept: Any = None,
        inference: str = "auto",
    ) -> None:
        self.fit_intercept = fit_intercept
        self.prior = prior
        self.prior_intercept = prior_intercept
        self.inference = inference

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to X (n, P) and labels y (n,), or to a `Source` of blocks that carry y."""
        if self.inference not in INFERENCES:
            raise ParameterError("LogisticRegression", "inference", f"one of {INFERENCES}", self.inference)
        source = self._source(X, y, sample_weight)
        overview = reduce(source, _overview, _Overview.merge)
        classes = overview.classes
        if classes.size < 2:
            raise DataError(
                f"LogisticRegression needs two classes, got one class: {classes.tolist()}.", value=classes.tolist()
            )
        design = self._design(overview, classes)
        if source is X:
            note_columns(self, X, design.centre.size)
        prior = self._prior(overview, design)
        prepared = design.prepare(source)
        fit = fit_mode(
            lambda theta: reduce(prepared, lambda block: accumulate(block, theta, design), GlmStatistics.merge),
            prior,
            np.zeros(design.n_predictors * design.width),
            self._stop(prepared, design) if prior.whitening is None else None,
        )
        draws, tau, result = self._posterior(prepared, design, prior, fit, overview.n_rows)
        self._settle(classes, design, fit, draws, result)
        if prior.learned:
            self.prior_scale_ = tau
        return self

    def _posterior(
        self, source: Source, design: Design, prior: GlmPrior, fit: GlmFit, n_rows: int
    ) -> tuple[WeightedDraws | None, float, Result]:
        """Up the ladder: the Gaussian with weights, and HMC where its certificate fails (or was asked for)."""
        if self.inference == "map":
            return None, fit.tau, fit.result
        advice: tuple[str, ...] = ()
        if self.inference != "hmc":
            n_points = next((s for s in POINTS if s * n_rows <= EVALUATIONS), POINTS[-1])
            draws = fit_posterior(
                lambda points: reduce(source, lambda block: log_likelihoods(block, points, design), np.add),
                fit,
                prior,
                n_points,
            )
            result = laplace_result(fit, draws)
            if result.ok or self.inference == "laplace" or n_rows * fit.mode.size > AFFORDABLE:
                return draws, scale_of(draws, prior), result
            advice = (
                f"Laplace's certificate failed (Pareto k̂ {draws.k_hat:.2f} ≥ 0.7), so the posterior was sampled (HMC).",
            )
        draws, result = sampled_posterior(
            source, design, prior, fit, coefficient_labels(design, feature_labels(self, design))
        )
        return draws, scale_of(draws, prior), replace(result, advice=advice + result.advice)

    # -- preparation ---------------------------------------------------------------------------------------------

    def _source(self, X: Any, y: Any, sample_weight: Any) -> Source:
        if isinstance(X, Source):
            return X
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        sample_weight = checked_weights("LogisticRegression", sample_weight, X)
        return ArraySource(X, y, sample_weight)

    def _design(self, overview: _Overview, classes: np.ndarray) -> Design:
        likelihood = BernoulliLogit() if classes.size == 2 else CategoricalLogit(classes.size)
        mean = overview.moments.mean
        centre = mean if self.fit_intercept else np.zeros_like(mean)
        return Design(likelihood, bool(self.fit_intercept), centre, classes)

    def _prior(self, overview: _Overview, design: Design) -> GlmPrior:
        mean, variance = overview.moments.mean, overview.moments.variance()
        # A column that is constant up to the rounding of its mean has no scale of its own.
        variance = np.where(variance > np.square(8.0 * np.finfo(float).eps * mean), variance, 0.0)
        scale = np.sqrt(variance if self.fit_intercept else variance + np.square(mean))
        resolved = resolve_prior("LogisticRegression", self.prior, scale)
        if resolved.kind == "conjugate":
            raise ParameterError("LogisticRegression", "prior", "None, Flat, Normal or MultivariateNormal", self.prior)
        spread = float(np.square(resolved.whitening.apply(np.diag(scale))).sum())
        return GlmPrior(
            whitening=None if resolved.kind == "flat" else resolved.whitening,
            learned=resolved.kind == "learned",
            intercept=resolve_intercept_prior("LogisticRegression", self.prior_intercept)
            if self.fit_intercept
            else None,
            has_intercept=bool(self.fit_intercept),
            centre=design.centre,
            k=design.n_predictors,
            gain=max(spread, 1.0) / PREDICTOR_SD**2,
        )

    def _stop(self, source: Source, design: Design) -> Any:
        """Under a flat prior, a linear predictor that saturates is looked into: are the classes separated?"""

        def stop(theta: np.ndarray) -> str | None:
            if np.abs(theta).max() == 0.0:
                return None
            largest = reduce(source, lambda block: _largest_margin(block, theta, design), max)
            return (
                describe_separation(source, design, tuple(feature_labels(self, design)))
                if largest > SATURATED
                else None
            )

        return stop

    def _settle(
        self,
        classes: np.ndarray,
        design: Design,
        fit: GlmFit,
        draws: WeightedDraws | None,
        result: Result,
    ) -> None:
        k, lead = design.n_predictors, int(design.intercept)
        mode = to_raw(fit.mode, design)
        if not result.ok:
            warnings.warn(f"LogisticRegression: {result.message}", ConvergenceWarning, stacklevel=3)
        improper = type(self.prior).__name__ == "Flat"
        posterior = GlmPosterior(
            None if draws is None else draws_to_raw(draws, design),
            mode.reshape(k, -1),
            bool(lead),
            column_names(self),
            result,
            None if draws is None or improper or np.isnan(draws.log_normaliser) else draws.log_normaliser,
        )
        self.classes_ = classes
        self.mode_ = posterior.mode
        self.posterior_ = posterior
        self.coef_ = posterior.mean
        self.intercept_ = posterior.intercept_mean
        self.design_ = replace(design, classes=None, centre=np.zeros_like(design.centre))
        self.result_ = result

    # -- prediction ----------------------------------------------------------------------------------------------

    @property
    def log_evidence_(self) -> float:
        """log p(y | X), by importance sampling about the mode; `UnavailableError` for a flat prior or a MAP fit."""
        check_is_fitted(self)
        value = self.posterior_.log_evidence
        if value is None:
            raise UnavailableError(
                "The evidence needs a proper prior on the coefficients and an inference that integrates over them."
            )
        return value

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-odds of the predictive probability, (n,), for two classes; log probabilities, (n, k), for more."""
        with np.errstate(divide="ignore"):
            log_p = np.log(self.predict_proba(X))
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predictive probabilities (n, k), integrated over the posterior, columns in the order of `classes_`."""
        return self._integrate(self._rows(X))[0]

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row (the first of ties)."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def predict_distribution(self, X: Any) -> ClassPredictive:
        """`ClassPredictive`: probabilities with the entropy split in aleatoric and epistemic."""
        table, aleatoric = self._integrate(self._rows(X))
        return ClassPredictive(table, self.classes_, aleatoric, self.result_.inference)

    def _rows(self, X: Any) -> np.ndarray:
        return checked_rows(self, X, dtype=np.float64)

    def _integrate(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Probabilities averaged over the posterior's points, and the average entropy; plug-in ones for a MAP fit."""
        draws, design = self.posterior_.draws, self.design_
        if draws is None:
            table, _ = class_probabilities(design.rows(X), self.mode_.reshape(1, -1), np.ones(1), design)
            return table, None
        points, weights = draws.thinned(PREDICTIVE_POINTS)
        parts = [
            class_probabilities(design.rows(X[start : start + ROWS]), points, weights, design)
            for start in range(0, X.shape[0], ROWS)
        ]
        table, entropy = (np.concatenate(each) for each in zip(*parts, strict=True))
        return table / table.sum(axis=1, keepdims=True), entropy


def feature_labels(model: Any, design: Design) -> list[str]:
    """Names of the columns while the model is being fitted, when a source has not set them yet."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{i}" for i in range(design.centre.size)] if names is None else [str(name) for name in names]


def coefficient_labels(design: Design, columns: list[str]) -> list[str]:
    """One name for each entry of Θ: a column, with its class where there are several predictors."""
    columns = (["intercept"] if design.intercept else []) + columns
    if design.n_predictors == 1 or design.classes is None:
        return columns
    return [f"{column} of class {label}" for label in design.classes for column in columns]


def scale_of(draws: WeightedDraws, prior: GlmPrior) -> float:
    """exp E[log τ]; 1 where the prior is stated."""
    return float(np.exp(draws.weights @ prior.expected_log_scale(draws.points))) if prior.learned else 1.0


def laplace_result(fit: GlmFit, draws: WeightedDraws) -> Result:
    """Newton's report with the certificate of the weights."""
    status, advice = fit.result.status, fit.result.advice
    if status == "converged" and not draws.k_hat < K_RELIABLE:
        status = "not_certified"
        advice = (
            *advice,
            f"Pareto k̂ is {draws.k_hat:.2f} (≥ 0.7): the posterior is too far from a Gaussian for its weights to "
            "correct, so intervals are approximate. Use inference='hmc', more rows or a tighter prior.",
        )
    certificate = {"pareto_k": draws.k_hat, "ess": draws.ess}
    return replace(fit.result, status=status, inference="laplace", certificate=certificate, advice=advice)


def _overview(block: Block) -> _Overview:
    X = np.asarray(block.X)
    if not np.all(np.isfinite(X.sum(axis=0))):
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
        row = block.start + (int(bad[0]) if bad.size else 0)
        raise DataError(f"Input X contains NaN, infinity or a value too large in row {row}.", rows=[row])
    assert block.y is not None
    weights = None if block.weights is None else np.asarray(block.weights, dtype=np.float64)
    seen = block.y if weights is None else block.y[weights > 0]
    return _Overview(WeightedMoments.accumulate(X, weights), np.unique(seen), block.n_rows)


def _largest_margin(block: Block, theta: np.ndarray, design: Design) -> float:
    eta = block.X @ theta.reshape(design.n_predictors, -1).T
    return float(np.abs(eta).max())


def to_raw(theta: np.ndarray, design: Design) -> np.ndarray:
    """Levels at the centre → intercepts at x = 0: (..., kD)."""
    if not design.intercept:
        return theta
    shaped = np.array(theta).reshape(*theta.shape[:-1], design.n_predictors, design.width)
    shaped[..., 0] -= shaped[..., 1:] @ design.centre
    return shaped.reshape(theta.shape)


def draws_to_raw(draws: WeightedDraws, design: Design) -> WeightedDraws:
    """The same map on points and moments."""
    jacobian = to_raw(np.eye(draws.mean.size), design).T
    return replace(
        draws,
        points=to_raw(draws.points, design),
        mean=to_raw(draws.mean, design),
        covariance=jacobian @ draws.covariance @ jacobian.T,
    )
