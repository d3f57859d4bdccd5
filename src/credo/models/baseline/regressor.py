"""`InterceptOnlyRegressor`: y ~ N(μ, σ²) with both unknown, whatever the columns say."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.special
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from credo.blocks.array import ArraySource
from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.diagnostics.information import LeaveOneOut
from credo.distributions.normal import Normal
from credo.errors import DataError, NotIdentifiedError, UnavailableError
from credo.inference.exact.accumulate import accumulate_moments
from credo.inference.exact.statistics import RegressionStatistics
from credo.inference.result import Result
from credo.models.columns import checked_rows, checked_weights, note_columns
from credo.models.evidence import Evidence, Outcomes
from credo.models.reading import Readable
from credo.prediction.law_draws import LawDraws
from credo.prediction.student_t import StudentTPredictive
from credo.saving.registry import register

__all__ = ["InterceptOnlyRegressor"]

# Monte Carlo error of a mean is then 1.6 % of the sd.
DRAWS = 4000
LOG_2PI = float(np.log(2.0 * np.pi))


@register
class InterceptOnlyRegressor(Readable, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Normal outcomes of unknown mean and sd, the same for every row: the baseline of regression.

    With p(μ, σ²) ∝ 1/σ², as `LinearRegression` has for its intercept and noise,

        y_new ~ Student-t(W − 1, ȳ, s² (1 + 1/W)),     s² = Σ w (y − ȳ)²/(W − 1),  W = Σ w

    and the evidence is on the scale of that model's, so that Bayes factors between the two are meaningful.

    Attributes
    ----------
    intercept_ : ȳ, a float or (targets,); noise_scale_ : s; log_evidence_
    statistics_ ; result_ ; n_features_in_, feature_names_in_

    Raises
    ------
    DataError, NotIdentifiedError : NaN or infinities in y; fewer than two rows.

    Notes
    -----
    One pass over y, O(n). `sample_weight` counts rows.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, §3.2.

    Examples
    --------
    >>> import numpy as np
    >>> model = InterceptOnlyRegressor().fit(np.zeros((3, 1)), [1.0, 2.0, 3.0])
    >>> model.predict([[9.0]]).item(), model.predict_distribution([[9.0]]).df
    (2.0, 2.0)
    """

    @property
    def evidence_(self) -> Evidence:
        """log p(y), relative to a flat intercept and the scale-free noise."""
        check_is_fitted(self)
        size = float(np.size(self.intercept_))
        improper = frozenset({"intercept", "noise"})
        return Evidence(self.log_evidence_, Outcomes.of_statistics(self.statistics_), size, improper)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to y (n,) or (n, targets), or to a `Source` of blocks that carry y; X says how many columns to expect."""
        return self._settle(*self._summarise(X, y, sample_weight, reset=True))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows: the result equals one fit to all of them, up to rounding."""
        if not hasattr(self, "statistics_"):
            return self.fit(X, y, sample_weight)
        statistics, single = self._summarise(X, y, sample_weight, reset=False)
        if statistics.n_targets != self.statistics_.n_targets:
            raise DataError(f"y has {statistics.n_targets} targets, but the model has {self.statistics_.n_targets}.")
        return self._settle(self.statistics_.merge(statistics), single)

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[RegressionStatistics, bool]:
        if isinstance(X, Source):
            statistics = reduce(X, _outcomes, RegressionStatistics.merge)
            if reset:
                note_columns(self, X, next(block.X.shape[1] for block in X if block.n_rows))
            return statistics, statistics.n_targets == 1
        X, y = validate_data(self, X, y, reset=reset, multi_output=True, y_numeric=True, ensure_all_finite=False)
        sample_weight = checked_weights("InterceptOnlyRegressor", sample_weight, X)
        source = ArraySource(np.empty((len(y), 1)), y, sample_weight)
        return reduce(source, _outcomes, RegressionStatistics.merge), y.ndim == 1

    def _settle(self, statistics: RegressionStatistics, single: bool) -> Self:
        df = statistics.count - 1.0
        if df <= 0.0:
            raise NotIdentifiedError(
                f"InterceptOnlyRegressor: the noise scale cannot be learned from n_samples={statistics.count:g}.",
                value=statistics.count,
                remedy="It takes two rows.",
            )
        mean = statistics.mean
        # What a residual can be is limited by the rounding of y itself.
        floor = np.square(np.finfo(float).eps * mean) * statistics.count
        scatter = np.maximum(statistics.spread, np.maximum(floor, np.finfo(float).tiny))
        log_evidence = (
            scipy.special.gammaln(0.5 * df)
            - 0.5 * (df * LOG_2PI + np.log(statistics.count) + df * np.log(0.5 * scatter))
        ).sum()
        scale = np.sqrt(scatter / df)
        self.statistics_ = statistics
        self.intercept_ = float(mean[0]) if single else mean
        self.noise_scale_ = float(scale[0]) if single else scale
        self.log_evidence_ = float(log_evidence)
        self.result_ = Result("exact", "exact")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The mean of y, for every row: (n,) or (n, targets)."""
        n = self._count_rows(X)
        return np.full((n, *np.shape(self.intercept_)), self.intercept_)

    def predict_distribution(self, X: Any) -> StudentTPredictive:
        """The same Student-t for every row."""
        n = self._count_rows(X)
        shape = (n, *np.shape(self.intercept_))
        count, noise = self.statistics_.count, np.square(self.noise_scale_)
        location, noise = np.broadcast_to(self.intercept_, shape), np.broadcast_to(noise, shape)
        return StudentTPredictive(count - 1.0, location, noise, noise / count)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> LeaveOneOut:
        """log p(y_i | the other rows) (n,) for the rows of `fit`, exactly; targets are summed. Cost O(n)."""
        y = np.asarray(y, dtype=np.float64)
        w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if y.ndim == 2:
            w = w[:, None]
        rest = self.statistics_.count - w
        if np.any(rest <= 1.0):
            raise NotIdentifiedError("Leaving one row out leaves fewer than two.", value=self.statistics_.count)
        residual = y - self.intercept_
        # The mean without the row is ȳ − w e/rest, its scatter S − w e² (1 + w/rest).
        scatter = np.square(self.noise_scale_) * (self.statistics_.count - 1.0) - w * np.square(residual) * (
            1.0 + w / rest
        )
        noise = np.maximum(scatter, np.finfo(float).tiny) / (rest - 1.0)
        parts = StudentTPredictive(rest - 1.0, self.intercept_ - w * residual / rest, noise, noise / rest)  # type: ignore[arg-type]
        score = parts.log_prob(y)
        return LeaveOneOut(score if y.ndim == 1 else score.sum(axis=1))

    def law_draws(self, X: Any, **options: Any) -> LawDraws:
        """Normal laws at 4,000 draws of (μ, σ), the same for every row."""
        n = self._count_rows(X)
        if np.ndim(self.intercept_):
            raise UnavailableError("Laws are drawn for one target.", remedy="Fit one model a target.")
        rng, total = np.random.default_rng(0), self.statistics_.count
        sigma = self.noise_scale_ * np.sqrt((total - 1.0) / rng.chisquare(total - 1.0, DRAWS))
        law = Normal((self.intercept_ + sigma * rng.standard_normal(DRAWS) / np.sqrt(total))[:, None], sigma[:, None])
        return LawDraws(np.full(DRAWS, 1.0 / DRAWS), lambda rows: law, n)

    def _count_rows(self, X: Any) -> int:
        return checked_rows(self, X, ensure_all_finite=False).shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = True
        return tags


def _outcomes(block: Block) -> RegressionStatistics:
    """Moments of y alone."""
    if block.y is None:
        raise DataError("The blocks of the source carry no y.", remedy="Name the target column of the source.")
    return accumulate_moments(Block(np.empty((block.n_rows, 0)), block.y, block.weights, block.start))
