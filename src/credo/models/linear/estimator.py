"""`LinearRegression`: belief about a line."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from credo.blocks.array import ArraySource
from credo.blocks.source import Source
from credo.diagnostics.information import LeaveOneOut
from credo.distributions.noise import LogLinear
from credo.distributions.normal_inverse_gamma import NormalInverseGamma
from credo.errors import DataError, DataWarning, NotIdentifiedError, ParameterError, UnavailableError, warn
from credo.inference.exact.leave_one_out import linear_leave_one_out
from credo.inference.exact.posterior import LinearPosterior
from credo.inference.exact.propriety import count_distinct
from credo.inference.exact.sparse import SparseRows, is_sparse
from credo.inference.exact.statistics import RegressionStatistics
from credo.inference.exact.summary import combine, summarise
from credo.models.columns import checked_rows, checked_weights, column_names, note_columns
from credo.models.evidence import Evidence, Outcomes
from credo.models.linear.dispatch import LinearFit, fit_rows, fit_statistics
from credo.models.linear.equations import column_scale
from credo.models.linear.posterior import LinearMode
from credo.models.linear.prediction import law_draws, predictive
from credo.models.linear.specification import LinearSpecification, needs_rows, noise_of, rows_noise, specify
from credo.models.linear.targets import (
    SeparatePosterior,
    SeparateTargets,
    combine_targets,
    summarise_targets,
    without_missing,
)
from credo.models.reading import Readable, rows_of
from credo.prediction.law_draws import LawDraws
from credo.prediction.predictive import Predictive
from credo.saving.registry import register

__all__ = ["LinearRegression"]


@register
class LinearRegression(Readable, MultiOutputMixin, RegressorMixin, BaseEstimator):
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
    prior_scale_ : where the prior's scale is learned, its posterior mean E[s | y] in the units of the coefficients (on
        standardised columns for the default and `Horseshoe()`), the same on every rung: s is the sd of a Normal, the
        `scale` of a Laplace or Student-t, τ of a horseshoe; at "evidence" the s plugged in, for ARD one a coefficient.
        Under a log-linear noise s is relative to the noise at the mean row. Infinite at one row beside the intercept
    posterior_ : `LinearPosterior`, `LinearDraws` or `LinearMode` (`SeparatePosterior` of targets with missing entries);
        `posterior_.intercept` for the intercept
    log_evidence_ : log p(y | X); for the default, relative to the improper priors 1/σ² and flat intercept that all
        such models share, so that differences between models of one y are meaningful
    evidence_ : that with what it takes to compare it
    result_ : `Result`; statistics_ : what `partial_fit` adds to; n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError, NotIdentifiedError : a bad argument; bad rows; a posterior that is improper, as from
        copies (or weights) of rows too few to tell the noise by. The default prior, whose weights must equal copies as
        scikit-learn has it, warns of those (`DataWarning`) and sets `result_.status` to "not_identified".

    Notes
    -----
    Cost n P² + P³, or n² P when rows are fewer than columns; blocks of rows run in parallel and in bounded memory. X
    may be sparse and is never made dense: up to 4,096 rows or columns everything Gaussian is exact; beyond both, the
    mode (`inference="map"` with a stated Normal prior and noise) by conjugate gradients, its error the certificate. A
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
        """Fit to X (n, P), dense or sparse, and y (n,) or (n, targets), or to a `Source` of blocks that carry y.

        Of several targets NaN entries are missing: such a row is left out for that target alone, as `result_` says.
        """
        if needs_rows(self.noise):
            return self._fit_rows(X, y, sample_weight)
        statistics, single = self._summarise(X, y, sample_weight, reset=True)
        at_hand = None if isinstance(X, Source) else lambda: self._count_distinct(X, y, sample_weight)
        self._finish(statistics, single, at_hand)
        if rows_noise(self.noise) is not None:  # whose statistics weigh rows by their precision
            self.outcomes_ = Outcomes.of_numbers(y, sample_weight)
        return self

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
        return self._gather(combine_targets(self.statistics_, statistics), single)

    def fit_statistics(self, statistics: Any, single_target: bool = True) -> Self:
        """Finish from statistics gathered elsewhere (`inference.exact.RegressionStatistics`): what `fit` does after its
        one pass. Normal noise only; the columns are those of an earlier fit, or x0, x1, ..."""
        if not hasattr(self, "n_features_in_"):
            self.n_features_in_ = statistics.n_columns
        return self._finish(statistics, single_target)

    # -- how -----------------------------------------------------------------------------------------------------

    def _finish(self, statistics: Any, single_target: bool, distinct: Callable[[], int] | None = None) -> Self:
        spec = replace(specify(self, column_names(self)), distinct=distinct)
        if isinstance(statistics, SeparateTargets):
            fit = self._fit_separately(statistics, spec)
        else:
            fit = fit_statistics(statistics, spec, single_target, self._advice(statistics, spec))
        self.statistics_ = statistics
        self.outcomes_ = Outcomes.of_statistics(statistics)  # type: ignore[arg-type]
        return self._settle_fit(fit, spec, single_target)

    def _count_distinct(self, X: Any, y: Any, sample_weight: Any) -> int:
        kept = None if sample_weight is None else np.asarray(sample_weight) > 0.0
        return count_distinct(checked_rows(self, X, dtype=np.float64, accept_sparse="csr"), y, kept)

    def _gather(self, statistics: RegressionStatistics, single: bool) -> Self:
        try:
            return self.fit_statistics(statistics, single)
        except NotIdentifiedError as error:
            self.statistics_ = statistics
            warn(f"LinearRegression.partial_fit: {error} The rows are kept.", DataWarning)
            return self

    def _fit_separately(self, statistics: SeparateTargets, spec: LinearSpecification) -> LinearFit:
        """Targets that were not all seen in the same rows, one after the other."""
        advice, seen = statistics.advice(), statistics.seen
        fits = [fit_statistics(part, spec, True, (*advice, *self._advice(part, spec))) for part in seen]
        scales = [fit.prior_scale for fit in fits if fit.prior_scale is not None]
        posterior: Any = SeparatePosterior(tuple(fit.posterior for fit in fits), spec.names)
        return LinearFit(posterior, np.concatenate(scales) if scales else None)

    def _validated(self, X: Any, y: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        y, missing = without_missing(y)
        checked: Any = validate_data(
            self, X, y, reset=reset, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True,
            ensure_all_finite=False, accept_sparse="csr",
        )  # fmt: skip
        return checked if missing is None else (checked[0], np.where(missing, np.nan, checked[1]))

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Any, bool]:
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
        if y.ndim == 2 and np.isnan(y).any():
            return summarise_targets(X, y, sample_weight, scale), False
        return summarise(ArraySource(X, y, sample_weight), scale), y.ndim == 1

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit under noise that needs the rows; weights must be whole, since each counts rows."""
        if isinstance(X, Source):
            raise ParameterError("LinearRegression", "noise", "Normal for a source of blocks", self.noise)
        if is_sparse(X):
            raise ParameterError(
                "LinearRegression", "noise", "cr.noise.Normal for sparse X: others need dense rows", self.noise,
                "Use X.toarray() if it fits in memory.",
            )  # fmt: skip
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
        self.outcomes_ = Outcomes.of_numbers(y)
        return self._settle_fit(fit_rows(X, y, spec, single), spec, single)

    def _settle_fit(self, fit: LinearFit, spec: LinearSpecification, single: bool) -> Self:
        posterior = fit.posterior
        self.posterior_ = posterior
        self.coef_ = posterior.mean
        level = posterior.level if isinstance(posterior, LinearMode | SeparatePosterior) else posterior.intercept.mean
        self.intercept_ = float(level) if np.ndim(level) == 0 else level
        if not spec.fit_intercept:
            self.intercept_ = 0.0 if single else np.zeros(len(self.coef_))
        self.noise_scale_ = self._noise_scale(posterior)
        if fit.prior_scale is not None:
            self.prior_scale_ = fit.prior_scale if not single else fit.prior_scale[0]
        self.result_ = posterior.result
        return self

    def _noise_scale(self, posterior: Any) -> Any:
        known = noise_of(self.noise).scale
        if isinstance(posterior, SeparatePosterior) and known is None:
            scales = [self._noise_scale(part) for part in posterior.parts]
            return None if None in scales else np.array(scales)
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

    def _advice(self, statistics: RegressionStatistics | SparseRows, spec: LinearSpecification) -> tuple[str, ...]:
        constant = np.flatnonzero(column_scale(statistics, True) == 0.0)
        advice = []
        if constant.size and spec.fit_intercept:
            names = ", ".join(spec.names[i] for i in constant[:8])
            advice.append(f"Constant columns ({names}) cannot be told from the intercept: they keep their prior.")
        p = statistics.n_columns
        spread = np.diag(statistics.scatter)[p:] if statistics.scatter is not None else None
        if spread is not None and np.any(spread == 0.0) and not spec.noise_known and statistics.n_rows > 1:
            advice.append("A target is constant: its noise scale is at the floor of rounding.")
        return tuple(advice)

    # -- evidence ------------------------------------------------------------------------------------------------

    @property
    def log_evidence_(self) -> float:
        """log p(y | X), summed over targets; `UnavailableError` under a flat prior, whose evidence has no scale."""
        check_is_fitted(self, "coef_")
        parts: Any = getattr(self.posterior_, "parts", (self.posterior_,))
        if not all(isinstance(part, LinearPosterior) for part in parts):
            raise UnavailableError(
                f"The evidence is not computed by inference={self.result_.inference!r}.",
                remedy="Compare such models by cross-validated log score, or state a Normal prior and Normal noise.",
            )
        values = [part.belief.log_evidence for part in parts]
        if None in values:
            raise UnavailableError(
                "A flat prior on the coefficients is improper, so the evidence is not defined.",
                remedy="Compare such models by cross-validated log score, or state a proper prior.",
            )
        return float(sum(values))

    @property
    def evidence_(self) -> Evidence:
        """log p(y | X), the outcomes it is of, and what is improper: a flat intercept, a scale-free noise."""
        check_is_fitted(self, "coef_")
        missing, value = "", None
        try:
            value = self.log_evidence_
        except UnavailableError as error:
            missing = str(error).partition(". ")[0]
        spec = specify(self, column_names(self))
        improper = {"intercept"} if spec.fit_intercept and spec.intercept_prior is None else set()
        free = spec.noise_prior.is_conjugate and spec.noise_prior.scale == 0.0
        if not spec.noise_known and free and not isinstance(self.prior, NormalInverseGamma):
            improper.add("noise" if spec.noise_prior.shape == 0.0 else "noise, flat in its scale")
        size = float(np.size(self.coef_) + np.size(self.intercept_))
        maximised = self.result_.inference == "evidence"
        return Evidence(value, self.outcomes_, size, frozenset(improper), maximised=maximised, missing=missing)

    # -- reading -------------------------------------------------------------------------------------------------

    def law_draws(self, X: Any, noise_scale: Any = None, draws: int | None = None) -> LawDraws:
        """Laws of y at the rows of X, at `draws` of the posterior (by default 4,000; 2,000 where it was sampled); one
        target.

        noise_scale : as for `predict_distribution`.
        """
        X = self._rows(X)
        return law_draws(self.posterior_, X, noise_of(self.noise), noise_scale, draws)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> LeaveOneOut:
        """log p(y_i | x_i, the other rows) of the rows of `fit`, targets summed: algebra where the posterior is exact
        (given the units of the default prior, which stay those of all rows), else PSIS.

        Raises
        ------
        UnavailableError, NumericalError : the posterior is a point; a row has leverage 1.
        """
        X = self._rows(X)
        if not isinstance(self.posterior_, LinearPosterior):
            return super().leave_one_out(X, y, sample_weight, **options)
        known = noise_of(self.noise).scale
        variance = None if known is None else np.square(np.asarray(known, dtype=np.float64))
        return LeaveOneOut(linear_leave_one_out(self.posterior_.belief, X, y, sample_weight, variance))

    def held_out(self, X: Any, y: np.ndarray, sample_weight: Any, splits: Any) -> Iterator[tuple[np.ndarray, Any]]:
        """(rows scored, their `Predictive` from a fit to the other side) for each of `splits`.

        Under Normal noise each fit is finished from the merged statistics of the other blocks, so that each row is read
        once however many rounds there are. (Nothing is subtracted from a total, which would cancel digits.)
        """
        if needs_rows(self.noise):
            yield from super().held_out(X, y, sample_weight, splits)
            return
        X, single, scale = X.tocsr() if is_sparse(X) else np.asarray(X), np.ndim(y) == 1, rows_noise(self.noise)
        blocks = [np.flatnonzero(splits.blocks == b) for b in range(int(splits.blocks.max()) + 1)]
        statistics = [
            summarise(ArraySource(X[rows], y[rows], rows_of(sample_weight, rows)), rows_of(scale, rows))
            for rows in blocks
        ]
        for taught_by, scored in splits.rounds:
            fitted = copy.copy(self)
            fitted.fit_statistics(functools.reduce(combine, [statistics[b] for b in taught_by]), single)
            rows = blocks[scored]
            yield rows, fitted.predict_distribution(X[rows], rows_of(scale, rows))

    # -- prediction ----------------------------------------------------------------------------------------------

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
        return checked_rows(self, X, dtype=np.float64, accept_sparse="csr")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not needs_rows(self.noise)
        tags.target_tags.multi_output = True
        return tags
