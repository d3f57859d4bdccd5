"""`LinearRegression`: belief about a line, exactly."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from credo.blocks.array import ArraySource
from credo.blocks.source import Source
from credo.distributions import noise as noise_models
from credo.errors import DataError, DataWarning, NotIdentifiedError, ParameterError, UnavailableError
from credo.inference.exact.linear_gaussian import NoisePrior
from credo.inference.exact.posterior import LinearPosterior
from credo.inference.exact.statistics import RegressionStatistics, combine, summarise
from credo.inference.result import Result
from credo.models.columns import checked_rows, checked_weights, column_names, note_columns
from credo.models.linear.equations import LinearSpecification, column_scale, solve
from credo.models.priors import resolve_intercept_prior
from credo.prediction.mixture import MixturePredictive
from credo.prediction.normal import NormalPredictive
from credo.prediction.predictive import Predictive
from credo.prediction.student_t import StudentTPredictive
from credo.saving.registry import register

__all__ = ["LinearRegression"]

INFERENCES = ("auto", "exact", "evidence")


@register
class LinearRegression(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Bayesian linear regression, y = b + xᵀw + ε, ε ~ N(0, σ²), with the posterior in closed form.

    The default believes nothing about units: coefficients on standardised columns are N(0, σ² r), σ² has the scale-free
    prior 1/σ², and the ratio r is weighed by the evidence (a one-dimensional quadrature; a priori R² ~ Beta(½, ½)).
    Intervals then cover what they claim even at ten rows and five columns.

    Parameters
    ----------
    fit_intercept : whether to add an intercept with its own prior.
    prior : belief about the coefficients as you see them (raw columns).
        None, the default above; `Flat()`, least squares; `Normal(mean, sd)` with scalars or one entry per column,
        `sd=None` for a common scale learned by the evidence; `MultivariateNormal(mean, covariance)`;
        `NormalInverseGamma`, the conjugate prior of (coefficients, σ²).
    prior_intercept : None or `Flat()`; or `Normal(mean, sd)`.
    noise : `cr.noise.Normal(scale)`; None is `cr.noise.Normal()`, the scale learned. An array is a scale per row.
    inference : "auto" and "exact" integrate everything; "evidence" sets the prior's scale and the noise where the
        evidence is highest (type-II maximum likelihood) and plugs them in.

    Attributes
    ----------
    coef_ : (P,) or (targets, P), posterior mean
    intercept_ : float or (targets,)
    noise_scale_ : sd of the noise: the known one, or 1/√E[1/σ²]
    prior_scale_ : prior sd of a coefficient on its (standardised, for the default) column, where it is learned
    posterior_ : `LinearPosterior`; `posterior_.intercept` for the intercept
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
    `noise`.

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
    ) -> None:
        self.fit_intercept = fit_intercept
        self.prior = prior
        self.prior_intercept = prior_intercept
        self.noise = noise
        self.inference = inference

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to X (n, P) and y (n,) or (n, targets), or to a `Source` of blocks that carry y."""
        statistics, single = self._summarise(X, y, sample_weight, reset=True)
        return self._settle(statistics, single)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to what has been fitted: the result equals one fit to all the rows, up to rounding.

        Rows too few to identify the posterior are kept, with a `DataWarning`, until later ones do.
        """
        first = not hasattr(self, "statistics_")
        statistics, single = self._summarise(X, y, sample_weight, reset=first)
        if first:
            return self._gather(statistics, single)
        if statistics.n_targets != self.statistics_.n_targets:
            raise DataError(f"y has {statistics.n_targets} targets, but the model has {self.statistics_.n_targets}.")
        return self._gather(combine(self.statistics_, statistics), single)

    def _gather(self, statistics: RegressionStatistics, single: bool) -> Self:
        try:
            return self._settle(statistics, single)
        except NotIdentifiedError as error:
            self.statistics_ = statistics
            warnings.warn(f"LinearRegression.partial_fit: {error} The rows are kept.", DataWarning, stacklevel=3)
            return self

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[RegressionStatistics, bool]:
        rows_noise = self._rows_noise()
        if isinstance(X, Source):
            if rows_noise is not None:
                raise ParameterError("LinearRegression", "noise", "a scalar or None for a source of blocks", self.noise)
            statistics = summarise(X)
            if reset:
                note_columns(self, X, statistics.n_columns)
            elif statistics.n_columns != self.statistics_.n_columns:
                known = self.statistics_.n_columns
                raise DataError(f"The source has {statistics.n_columns} columns, the model {known}.")
            return statistics, statistics.n_targets == 1
        X, y = validate_data(
            self, X, y, reset=reset, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True,
            ensure_all_finite=False,
        )  # fmt: skip
        sample_weight = checked_weights("LinearRegression", sample_weight, X)
        if rows_noise is not None and rows_noise.shape != (X.shape[0],):
            raise ParameterError(
                "LinearRegression", "noise.scale", f"of shape {(X.shape[0],)}, one per row", rows_noise.shape
            )
        return summarise(ArraySource(X, y, sample_weight), rows_noise), y.ndim == 1

    def _noise(self) -> noise_models.Normal:
        noise = noise_models.Normal() if self.noise is None else self.noise
        if not isinstance(noise, noise_models.Normal):
            raise ParameterError("LinearRegression", "noise", "cr.noise.Normal(...) or None", self.noise)
        return noise

    def _rows_noise(self) -> np.ndarray | None:
        scale = self._noise().scale
        return np.asarray(scale, dtype=np.float64) if scale is not None and np.ndim(scale) == 1 else None

    def _specification(self) -> LinearSpecification:
        if self.inference not in INFERENCES:
            raise ParameterError("LinearRegression", "inference", f"one of {INFERENCES}", self.inference)
        noise = self._noise()
        prior = noise.variance_prior
        if prior is not None and type(prior).__name__ != "InverseGamma":
            raise ParameterError("LinearRegression", "noise.variance_prior", "an InverseGamma or None", prior)
        return LinearSpecification(
            prior=self.prior,
            fit_intercept=bool(self.fit_intercept),
            intercept_prior=resolve_intercept_prior("LinearRegression", self.prior_intercept)
            if self.fit_intercept
            else None,
            noise_scale=float(noise.scale) if noise.scale is not None and np.ndim(noise.scale) == 0 else None,
            noise_known=noise.scale is not None,
            noise_prior=NoisePrior() if prior is None else NoisePrior(float(prior.shape), float(prior.scale)),
            maximise=self.inference == "evidence",
            names=column_names(self),
        )

    def _settle(self, statistics: RegressionStatistics, single: bool) -> Self:
        spec = self._specification()
        belief, rung = solve(statistics, spec)
        advice = self._advice(statistics, spec)
        certificate = {"quadrature_error": belief.quadrature_error} if rung == "collapsed" else {}
        result = Result("exact" if rung == "exact" else "converged", rung, certificate=certificate, advice=advice)
        posterior = LinearPosterior(belief, result, spec.names, single)
        intercept = posterior.intercept.mean
        self.statistics_ = statistics
        self.posterior_ = posterior
        self.coef_ = posterior.mean
        self.intercept_ = float(intercept) if np.ndim(intercept) == 0 else intercept
        if not spec.fit_intercept:
            self.intercept_ = 0.0 if single else np.zeros(statistics.n_targets)
        self.noise_scale_ = self._noise_scale(posterior, spec)
        if belief.node_name.startswith("prior"):
            ratio = (belief.weights * belief.nodes * belief.noise_variance).sum(axis=0)
            scale = np.sqrt(ratio)
            self.prior_scale_ = float(scale[0]) if single else scale
        self.result_ = result
        return self

    def _noise_scale(self, posterior: LinearPosterior, spec: LinearSpecification) -> Any:
        if spec.noise_known:
            return self._noise().scale
        belief = posterior.belief
        scale = 1.0 / np.sqrt((belief.weights / belief.noise_variance).sum(axis=0))
        return float(scale[0]) if posterior.single_target else scale

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
            warnings.warn(
                "LinearRegression: a target is constant, so its learned noise scale is zero up to rounding.",
                DataWarning,
                stacklevel=4,
            )
        return tuple(advice)

    # -- prediction ----------------------------------------------------------------------------------------------

    @property
    def log_evidence_(self) -> float:
        """log p(y | X), summed over targets; `UnavailableError` under a flat prior, whose evidence has no scale."""
        check_is_fitted(self, "coef_")
        value = self.posterior_.belief.log_evidence
        if value is None:
            raise UnavailableError(
                "A flat prior on the coefficients is improper, so the evidence is not defined.",
                remedy="Compare such models by cross-validated log score, or state a proper prior.",
            )
        return value

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
        belief = self.posterior_.belief
        mean, spread = belief.evaluate(X)
        noise = self._new_noise(belief.noise_variance[:, None, :], noise_scale, X.shape[0])
        spread = spread * belief.noise_variance[:, None, :]
        noise = np.broadcast_to(noise, mean.shape)
        if self.posterior_.single_target:
            mean, spread, noise = mean[..., 0], spread[..., 0], noise[..., 0]
        rung = self.result_.inference
        parts = [
            NormalPredictive(mean[j], noise[j], spread[j], rung)
            if np.isinf(belief.df)
            else StudentTPredictive(belief.df, mean[j], noise[j], spread[j], rung)
            for j in range(mean.shape[0])
        ]
        if len(parts) == 1:
            return parts[0]
        weights = belief.weights[:, 0] if self.posterior_.single_target else belief.weights
        return MixturePredictive(weights, parts, rung)

    def _rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "coef_")  # statistics alone, of rows too few for a posterior, are no fit
        return checked_rows(self, X, dtype=np.float64)

    def _new_noise(self, learned: np.ndarray, stated: Any, n: int) -> np.ndarray:
        known = self._noise().scale
        if stated is None:
            if known is None:
                return learned
            if np.ndim(known) == 1:
                raise ParameterError(
                    "LinearRegression.predict_distribution",
                    "noise_scale",
                    "given, because the model was fitted with a noise scale per row",
                    None,
                    "Pass the noise sd at the new rows; 0 gives the belief about the line itself.",
                )
            stated = known
        elif known is None:
            raise ParameterError(
                "LinearRegression.predict_distribution",
                "noise_scale",
                "None, because the noise was learned",
                stated,
            )
        scale = np.asarray(stated, dtype=np.float64)
        if scale.shape not in ((), (n,)) or not np.all(np.isfinite(scale) & (scale >= 0)):
            raise ParameterError(
                "LinearRegression.predict_distribution",
                "noise_scale",
                f"finite, ≥ 0, a scalar or of shape {(n,)}",
                stated,
            )
        return np.square(scale).reshape(1, -1, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
