"""`LinearRegression`: belief about a line."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from credo.blocks.array import ArraySource
from credo.blocks.source import Source
from credo.distributions.noise import LogLinear
from credo.errors import DataError, DataWarning, NotIdentifiedError, ParameterError, UnavailableError, warn
from credo.inference.exact.posterior import LinearPosterior
from credo.inference.exact.statistics import RegressionStatistics, combine, summarise
from credo.models.columns import checked_rows, checked_weights, column_names, note_columns
from credo.models.linear.dispatch import LinearFit, fit_rows, fit_statistics
from credo.models.linear.equations import column_scale
from credo.models.linear.posterior import LinearMode
from credo.models.linear.prediction import predictive
from credo.models.linear.specification import LinearSpecification, needs_rows, noise_of, rows_noise, specify
from credo.prediction.predictive import Predictive
from credo.saving.registry import register

__all__ = ["LinearRegression"]


@register
class LinearRegression(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Bayesian linear regression, y = b + xᵀw + ε: the prior is the regulariser, the noise is the loss.

    The default believes nothing about units: coefficients on standardised columns are N(0, σ² r), σ² has the scale-free
    prior 1/σ², and the ratio r is weighed by the evidence (a one-dimensional quadrature; a priori R² ~ Beta(½, ½)).
    Intervals then cover what they claim even at ten rows and five columns.

    Parameters
    ----------
    fit_intercept : whether to add an intercept with its own prior.
    prior : belief about the coefficients as you see them (raw columns).
        None, the default above; `Flat()`, least squares; `Normal(mean, sd)` with scalars or one entry per column,
        `sd=None` for a common scale learned by the evidence; `MultivariateNormal(mean, covariance)`;
        `NormalInverseGamma`, the conjugate prior of (coefficients, σ²); `Uniform(low, high)`; `Laplace(mean, scale)`,
        the lasso, `StudentT(df, mean, scale)`, each with `scale=None` for a learned one; `ElasticNet`; `Horseshoe()`,
        few coefficients of any size; `ARD()`, a variance a column from the evidence.
    prior_intercept : None or `Flat()`; or `Normal(mean, sd)`.
    noise : `cr.noise.Normal(scale)`; None is `cr.noise.Normal()`, the scale learned. An array is a scale per row.
        `cr.noise.StudentT(df)` and `cr.noise.Laplace()` are robust.
    inference : "auto" climbs to the cheapest that is right: algebra where it is Gaussian ("exact", or one integral,
        "collapsed"), else Gibbs sampling with its certificate. "exact" and "gibbs" ask for one by name; "evidence"
        sets the prior's scale and the noise where the evidence is highest (type-II maximum likelihood) and plugs them
        in; "map" is the mode, with Laplace the lasso, and needs known noise.
    random_state : seed of what samples; None is a fixed one, so that a fit is a function of its data.

    Attributes
    ----------
    coef_ : (P,) or (targets, P), posterior mean
    intercept_ : float or (targets,)
    noise_scale_ : scale of the noise: the known one, or 1/√E[1/σ²]; None where log-linear or left open by a mode
    prior_scale_ : prior sd of a coefficient on its (standardised, for the default) column, where it is learned; of
        every coefficient for ARD; the shared scale of a Laplace, Student-t or horseshoe prior
    posterior_ : `LinearPosterior`, `LinearDraws` or `LinearMode`; `posterior_.intercept` for the intercept
    log_evidence_ : log p(y | X); for the default, relative to the improper priors 1/σ² and flat intercept that all
        such models share, so that differences between models of one y are meaningful
    result_ : `Result`; statistics_ : what `partial_fit` adds to; n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError, NotIdentifiedError : a bad argument; bad rows; a posterior that is improper.

    Notes
    -----
    Cost n P² + P³, or n² P when rows are fewer than columns; blocks of rows run in parallel and in bounded memory. A
    `Source` of blocks may stand for X (its blocks then carry y). `sample_weight` counts rows; precision goes through
    `noise`. Gibbs sampling reads the rows once and costs P³ (or n² P) a sweep; under robust noise it needs the rows,
    n P² a sweep.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, ch. 14; Bishop (2006), Pattern Recognition and Machine Learning, ch.
    3; MacKay (1992), Bayesian interpolation; Björck (1996), Numerical Methods for Least Squares Problems.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]]); y = np.array([0.1, 0.9, 2.1, 2.9])
    >>> model = cr.LinearRegression(prior=cr.Flat()).fit(X, y)
    >>> model.coef_.round(3).tolist(), round(model.intercept_, 3)
    ([0.96], 0.06)
    >>> p = model.predict_distribution([[4.0]])
    >>> np.allclose(p.variance, p.aleatoric + p.epistemic)
    True
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        prior: Any = None,
        prior_intercept: Any = None,
        noise: Any = None,
        inference: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.prior = prior
        self.prior_intercept = prior_intercept
        self.noise = noise
        self.inference = inference
        self.random_state = random_state

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to X (n, P) and y (n,) or (n, targets), or to a `Source` of blocks that carry y."""
        if needs_rows(self.noise):
            return self._fit_rows(X, y, sample_weight)
        statistics, single = self._summarise(X, y, sample_weight, reset=True)
        return self.fit_statistics(statistics, single)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to what has been fitted: the result equals one fit to all the rows, up to rounding.

        Rows too few to identify the posterior are kept, with a `DataWarning`, until later ones do.
        """
        if needs_rows(self.noise):
            raise ParameterError("LinearRegression.partial_fit", "noise", "Normal: others need all rows", self.noise)
        first = not hasattr(self, "statistics_")
        statistics, single = self._summarise(X, y, sample_weight, reset=first)
        if first:
            return self._gather(statistics, single)
        if statistics.n_targets != self.statistics_.n_targets:
            raise DataError(f"y has {statistics.n_targets} targets, but the model has {self.statistics_.n_targets}.")
        return self._gather(combine(self.statistics_, statistics), single)

    def fit_statistics(self, statistics: RegressionStatistics, single_target: bool = True) -> Self:
        """Finish from statistics gathered elsewhere (`inference.exact.RegressionStatistics`): what `fit` does after its
        one pass. Normal noise only; the columns are those of an earlier fit, or x0, x1, ..."""
        if not hasattr(self, "n_features_in_"):
            self.n_features_in_ = statistics.n_columns
        spec = specify(self, column_names(self))
        fit = fit_statistics(statistics, spec, single_target, self._advice(statistics, spec))
        self.statistics_ = statistics
        return self._settle_fit(fit, spec, single_target)

    # -- how: what selection and partial_fit share -----------------------------------------------------------------

    def _settle(self, statistics: RegressionStatistics, single: bool) -> Self:
        return self.fit_statistics(statistics, single)

    def _gather(self, statistics: RegressionStatistics, single: bool) -> Self:
        try:
            return self.fit_statistics(statistics, single)
        except NotIdentifiedError as error:
            self.statistics_ = statistics
            warn(f"LinearRegression.partial_fit: {error} The rows are kept.", DataWarning)
            return self

    def _validated(self, X: Any, y: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        checked: Any = validate_data(
            self, X, y, reset=reset, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True,
            ensure_all_finite=False,
        )  # fmt: skip
        return checked

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[RegressionStatistics, bool]:
        scale = rows_noise(self.noise)
        if isinstance(X, Source):
            if scale is not None:
                raise ParameterError("LinearRegression", "noise", "a scalar or None for a source of blocks", self.noise)
            statistics = summarise(X)
            if reset:
                note_columns(self, X, statistics.n_columns)
            elif statistics.n_columns != self.statistics_.n_columns:
                known = self.statistics_.n_columns
                raise DataError(f"The source has {statistics.n_columns} columns, the model {known}.")
            return statistics, statistics.n_targets == 1
        X, y = self._validated(X, y, reset=reset)
        sample_weight = checked_weights("LinearRegression", sample_weight, X)
        if scale is not None and scale.shape != (X.shape[0],):
            raise ParameterError(
                "LinearRegression", "noise.scale", f"of shape {(X.shape[0],)}, one per row", scale.shape
            )
        return summarise(ArraySource(X, y, sample_weight), scale), y.ndim == 1

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit under noise that needs the rows; weights must be whole, since each counts rows."""
        if isinstance(X, Source):
            raise ParameterError("LinearRegression", "noise", "Normal for a source of blocks", self.noise)
        X, y = self._validated(X, y, reset=True)
        weights = checked_weights("LinearRegression", sample_weight, X)
        summarise(ArraySource(X, y, weights))  # refuses what is not finite, by row and column
        if weights is not None:
            if np.any(weights != np.floor(weights)):
                kind = type(noise_of(self.noise)).__name__
                raise ParameterError(
                    "LinearRegression.fit", "sample_weight", f"whole numbers under {kind} noise", weights
                )
            X, y = (np.repeat(rows, weights.astype(int), axis=0) for rows in (X, y))
        spec, single = specify(self, column_names(self)), y.ndim == 1
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        return self._settle_fit(fit_rows(X, y, spec, single), spec, single)

    def _settle_fit(self, fit: LinearFit, spec: LinearSpecification, single: bool) -> Self:
        posterior = fit.posterior
        self.posterior_ = posterior
        self.coef_ = posterior.mean
        level = posterior.level if isinstance(posterior, LinearMode) else posterior.intercept.mean
        self.intercept_ = float(level) if np.ndim(level) == 0 else level
        if not spec.fit_intercept:
            self.intercept_ = 0.0 if single else np.zeros(len(self.coef_))
        self.noise_scale_ = self._noise_scale()
        if fit.prior_scale is not None:
            self.prior_scale_ = fit.prior_scale if not single else fit.prior_scale[0]
        self.result_ = posterior.result
        return self

    def _noise_scale(self) -> Any:
        known, posterior = noise_of(self.noise).scale, self.posterior_
        if known is not None or isinstance(posterior, LinearMode):
            return None if isinstance(known, LogLinear) else known
        if isinstance(posterior, LinearPosterior):
            belief = posterior.belief
            precision = (belief.weights / belief.noise_variance).sum(axis=0)
            precision = precision[0] if posterior.single_target else precision
        else:
            precision = np.mean(1.0 / np.square(posterior["noise_scale"]), axis=0)
        scale = 1.0 / np.sqrt(precision)
        return float(scale) if np.ndim(scale) == 0 else scale

    def _advice(self, statistics: RegressionStatistics, spec: LinearSpecification) -> tuple[str, ...]:
        constant = np.flatnonzero(column_scale(statistics, True) == 0.0)
        advice = []
        if constant.size and spec.fit_intercept:
            names = ", ".join(spec.names[i] for i in constant[:8])
            advice.append(f"Constant columns ({names}) cannot be told from the intercept: they keep their prior.")
        p = statistics.n_columns
        spread = np.diag(statistics.scatter)[p:] if statistics.scatter is not None else None
        if spread is not None and np.any(spread == 0.0) and not spec.noise_known and statistics.n_rows > 1:
            advice.append("A target is constant: its noise scale is at the floor of rounding.")
            warn(
                "LinearRegression: a target is constant, so its learned noise scale is zero up to rounding.",
                DataWarning,
            )
        return tuple(advice)

    # -- prediction ----------------------------------------------------------------------------------------------

    @property
    def log_evidence_(self) -> float:
        """log p(y | X), summed over targets; `UnavailableError` under a flat prior, whose evidence has no scale."""
        check_is_fitted(self, "coef_")
        belief = getattr(self.posterior_, "belief", None)
        if belief is None:
            raise UnavailableError(
                f"The evidence is not computed by inference={self.result_.inference!r}.",
                remedy="Compare such models by cross-validated log score, or state a Normal prior and Normal noise.",
            )
        if belief.log_evidence is None:
            raise UnavailableError(
                "A flat prior on the coefficients is improper, so the evidence is not defined.",
                remedy="Compare such models by cross-validated log score, or state a proper prior.",
            )
        return belief.log_evidence

    def predict(self, X: Any) -> np.ndarray:
        """Posterior predictive mean, (n,) or (n, targets)."""
        X = self._rows(X)
        return X @ self.coef_.T + self.intercept_

    def predict_distribution(self, X: Any, noise_scale: Any = None) -> Predictive:
        """`Predictive` of y at the rows of X: Normal, Student-t, or a mixture over the integrated hyperparameter.

        noise_scale : sd of the noise at the new rows, a scalar or one per row. Needed when the model was given a noise
            scale per row; otherwise it replaces a known scale.
        """
        X = self._rows(X)
        return predictive(self.posterior_, X, noise_of(self.noise), noise_scale)

    def _rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "coef_")  # statistics alone, of rows too few for a posterior, are no fit
        return checked_rows(self, X, dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
